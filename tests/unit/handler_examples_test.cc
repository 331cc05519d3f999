// Runs the handlers of examples/handlers against the push handler: what a reader copies must work.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "adapters/handler/http/http_handler.h"
#include "tests/support/attempts.h"
#include "tests/support/child.h"

namespace bartleby {
namespace {

using namespace test;  // NOLINT: the attempts of this test

constexpr char kSecret[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

bool is_installed(const std::string& program) {
  const std::string path = getenv("PATH") != nullptr ? getenv("PATH") : "";
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t end = std::min(path.find(':', from), path.size());
    if (access((path.substr(from, end - from) + "/" + program).c_str(), X_OK) == 0) return true;
    from = end + 1;
  }
  return false;
}

void try_handler(const std::vector<std::string>& command, std::vector<std::string> environment = {}) {
  if (!is_installed(command[0])) GTEST_SKIP() << command[0] << " is not installed";
  environment.push_back("HOOK=" + std::string(kSecret));
  Child child(command, environment);
  const std::string port = child.first_line(std::chrono::seconds(120));  // `go run` compiles first
  ASSERT_FALSE(port.empty()) << command.back() << " did not start; the tests run in the project's folder";
  const auto loop = std::make_shared<HttpLoop>();
  const auto outcome = [&](std::string secret, const char* value) {
    auto handler = HttpHandler::make(
        {.target = {.url = "http://127.0.0.1:" + port, .allow_private = true}, .secret = std::move(secret)}, loop);
    LogRecord record = plain_record();
    record.value = value;
    Decision decision = run(**handler, make_attempt(record));
    return text_of(decision);
  };
  EXPECT_EQ(outcome(kSecret, R"({"amount":5})"), "done");
  EXPECT_EQ(outcome(kSecret, R"({"amount":5,"bank":"down"})"),
            "retry unavailable \"HTTP 503\" \"the bank does not answer\"");
  EXPECT_EQ(outcome(kSecret, R"({"amont":5})"), "reject permanent REJECTED \"HTTP 422\" \"an order needs an amount\"");
  EXPECT_EQ(outcome(kSecret, "not json"), "reject permanent REJECTED \"HTTP 422\" \"an order needs an amount\"");
  EXPECT_EQ(outcome("somebody else", R"({"amount":5})"), "retry config \"HTTP 401\" \"not signed by us\"");
}

TEST(HandlerExamples, Python) { try_handler({"python3", "examples/handlers/python/handler.py"}); }

TEST(HandlerExamples, Node) { try_handler({"node", "examples/handlers/node/handler.js"}); }

TEST(HandlerExamples, Go) {
  // Built first: `go run` starts a second process, which would outlive the one that is ended here.
  if (!is_installed("go")) GTEST_SKIP() << "go is not installed";
  char folder[] = "/tmp/bartleby-go-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string program = std::string(folder) + "/handler";
  {
    Child build({"sh", "-c", "go build -o " + program + " examples/handlers/go/handler.go && echo built"},
                {"CGO_ENABLED=0", "GOTOOLCHAIN=local", "GO111MODULE=off"});
    ASSERT_EQ(build.first_line(std::chrono::seconds(400)), "built");
  }
  try_handler({"sh", "-c", "exec " + program});
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace bartleby
