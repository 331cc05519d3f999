#include "adapters/handler/http/http_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>

#include "runtime/open_attempts.h"
#include "tests/support/attempts.h"
#include "tests/support/child.h"
#include "tests/support/http_server.h"

namespace bartleby {
namespace {

using namespace test;  // NOLINT: the servers and attempts of this test
using std::chrono::milliseconds;

ServerScript always(int status, std::string headers = "", std::string body = "") {
  return [=](const ServerRequest&) -> std::vector<ServerStep> { return {{http_answer(status, headers, body)}}; };
}

std::unique_ptr<HttpHandler> handler_for(std::string url, const std::shared_ptr<HttpLoop>& loop,
                                         bool allow_private = true,
                                         std::shared_ptr<PendingAttempts> pending = nullptr) {
  auto handler = HttpHandler::make({.target = {.url = std::move(url), .allow_private = allow_private}}, loop, pending);
  EXPECT_TRUE(handler) << handler.error().message;
  return std::move(*handler);
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t whole = 0, resident = 0;
  statm >> whole >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void allow_many_files() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class HttpHandlerTest : public testing::Test {
 protected:
  std::shared_ptr<HttpLoop> loop_ = std::make_shared<HttpLoop>();
};

TEST_F(HttpHandlerTest, PostsTheValueByteForByte) {
  std::vector<ServerRequest> seen;
  HttpServer server([&](const ServerRequest& r) -> std::vector<ServerStep> {
    seen.push_back(r);
    return {{http_answer(200, "", "")}};
  });
  LogRecord record = plain_record();
  record.value = std::string("\0\r\n\xff", 4) + std::string(3'000'000, 'x');
  record.headers = {{"traceparent", "00-ab"}, {"evil", "1\r\nEvil: 2"}};
  const auto handler = handler_for(server.url("/run?x=1"), loop_);
  EXPECT_EQ(text_of(run(*handler, make_attempt(record))), "done");
  record.value = std::nullopt;
  EXPECT_EQ(text_of(run(*handler, make_attempt(record))), "done");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].line, "POST /run?x=1 HTTP/1.1");
  EXPECT_EQ(seen[0].body, std::string("\0\r\n\xff", 4) + std::string(3'000'000, 'x'));
  EXPECT_EQ(seen[0].header("traceparent"), "00-ab");
  EXPECT_EQ(seen[0].header("content-type"), "application/octet-stream");
  EXPECT_EQ(seen[0].header("bartleby-attempt"), "2");
  for (const char* absent : {"evil", "expect", "bartleby-null", "cookie", "authorization"})
    EXPECT_FALSE(seen[0].has(absent)) << absent;
  EXPECT_EQ(seen[1].header("bartleby-null"), "true");
  EXPECT_EQ(seen[1].header("content-length"), "0");
  EXPECT_EQ(server.connections(), 1U);  // used again
}

TEST_F(HttpHandlerTest, KeepsNoCookiesAndIgnoresProxiesOfTheEnvironment) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  bool cookie = false;
  HttpServer server([&](const ServerRequest& r) -> std::vector<ServerStep> {
    cookie |= r.has("cookie");
    return {{http_answer(200, "Set-Cookie: a=b", "")}};
  });
  const auto handler = handler_for(server.url(), loop_);
  EXPECT_EQ(text_of(run(*handler)), "done");
  EXPECT_EQ(text_of(run(*handler)), "done");
  unsetenv("http_proxy");
  EXPECT_FALSE(cookie);
}

TEST_F(HttpHandlerTest, RefusesSettingsThatCannotWork) {
  const auto error = [&](HttpHandlerOptions options) {
    const auto made = HttpHandler::make(std::move(options), loop_);
    return made ? "none" : made.error().message;
  };
  EXPECT_THAT(error({.target = {.url = "file:///etc/passwd"}}), testing::HasSubstr("neither http nor https"));
  EXPECT_THAT(error({.target = {.url = "gopher://x"}}), testing::HasSubstr("neither http nor https"));
  EXPECT_THAT(error({.target = {.url = ""}}), testing::HasSubstr("not an address"));
  EXPECT_THAT(error({.target = {.url = "http://"}}), testing::HasSubstr("not an address"));
  EXPECT_THAT(error({.target = {.url = "http://x"}, .secret = "whsec_!"}), testing::HasSubstr("base64"));
  EXPECT_THAT(error({.target = {.url = "http://x"}, .reject = {200}}), testing::HasSubstr("200"));
  EXPECT_THAT(error({.target = {.url = "http://x"}, .headers = {{"A", "b\r\nC: d"}}}), testing::HasSubstr("header"));
}

TEST_F(HttpHandlerTest, ATimeoutClosesTheConnection) {
  HttpServer server([](const ServerRequest&) -> std::vector<ServerStep> {
    return {{"HTTP/1.1 200 OK\r\n"}, {"x", std::chrono::minutes(1)}};
  });
  const auto handler = handler_for(server.url(), loop_);
  EXPECT_EQ(run(*handler, make_attempt(plain_record(), Duration(200))).kind, Kind::kTimeout);
  for (int i = 0; i < 200 && server.open_now() > 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(server.open_now(), 0U);
}

TEST_F(HttpHandlerTest, AnAttemptPastItsDeadlineOrCancelledIsNotSent) {
  HttpServer server(always(200));
  const auto handler = handler_for(server.url(), loop_);
  EXPECT_EQ(run(*handler, make_attempt(plain_record(), Duration(-1))).kind, Kind::kThrottled);
  const auto attempt = make_attempt();
  attempt->cancelled = true;
  EXPECT_EQ(run(*handler, attempt).error.type, "Stopped");
  EXPECT_EQ(server.requests(), 0U);
}

TEST_F(HttpHandlerTest, GuardsPrivateAddressesWhateverTheirName) {
  HttpServer server(always(200));
  const std::string port = std::to_string(server.port());
  for (const char* host : {"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1",
                           "127.1", "169.254.169.254", "10.0.0.1"}) {
    const auto handler = handler_for("http://" + std::string(host) + ":" + port + "/", loop_, false);
    EXPECT_EQ(text_of(run(*handler)),
              "retry config \"PrivateAddress\" \"the address is private or reserved, and allow_private is off\"")
        << host;
  }
  EXPECT_EQ(server.connections(), 0U);
}

TEST_F(HttpHandlerTest, TheGuardAlsoLooksAtConnectionsThatOthersMade) {
  HttpServer server(always(200));
  const auto trusted = handler_for(server.url(), loop_, true);
  const auto stranger = handler_for(server.url(), loop_, false);
  EXPECT_EQ(text_of(run(*trusted)), "done");
  EXPECT_EQ(run(*stranger).error.type, "PrivateAddress");
  EXPECT_EQ(text_of(run(*trusted)), "done");
  EXPECT_EQ(server.requests(), 2U);
}

TEST_F(HttpHandlerTest, TrustsOnlyCertificatesItCanVerify) {
  char folder[] = "/tmp/bartleby-tls-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  Child child({"python3", "tests/support/tls_server.py", folder});
  const std::string port = child.first_line(std::chrono::seconds(20));
  ASSERT_FALSE(port.empty()) << "tests/support/tls_server.py did not start";
  HttpHandlerOptions options{.target = {.url = "https://127.0.0.1:" + port, .allow_private = true}};
  const Decision unknown = run(**HttpHandler::make(options, loop_));
  EXPECT_EQ(unknown.kind, Kind::kConfig);
  EXPECT_EQ(unknown.error.type, "CertificateNotTrusted");
  options.target.ca_file = std::string(folder) + "/cert.pem";
  EXPECT_EQ(text_of(run(**HttpHandler::make(options, loop_))), "done");
  options.target.url = "https://localhost:" + port;  // the certificate names the address, not this
  EXPECT_EQ(run(**HttpHandler::make(options, loop_)).error.type, "CertificateNotTrusted");
  std::filesystem::remove_all(folder);
}

TEST_F(HttpHandlerTest, PendingIsFinishedByItsToken) {
  HttpServer server(always(202, "Bartleby-Outcome: pending"));
  const auto open = std::make_shared<OpenAttempts>();
  const auto handler = handler_for(server.url(), loop_, true, open);
  Outcomes outcomes;
  handler->start(make_attempt(plain_record(), Duration(60000), "at_1"), outcomes.answer(1));
  for (int i = 0; i < 500 && open->next_deadline() == kNever; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(outcomes.answers(), 0U);
  EXPECT_EQ(open->finish("at_1", {}), OpenAttempts::Finish::kOk);
  EXPECT_EQ(text_of(outcomes.of(1)), "done");
}

TEST_F(HttpHandlerTest, AFinishThatOvertakesTheAnswerCounts) {
  const auto open = std::make_shared<OpenAttempts>();
  OpenAttempts::Finish early = OpenAttempts::Finish::kGone;
  HttpServer server([&](const ServerRequest& r) -> std::vector<ServerStep> {
    early = open->finish(r.header("bartleby-attempt-token"), {});
    return {{http_answer(r.path == "/202" ? 202 : 500, r.path == "/202" ? "Bartleby-Outcome: pending" : "", "")}};
  });
  for (const char* path : {"/202", "/500"}) {
    EXPECT_EQ(text_of(run(*handler_for(server.url(path), loop_, true, open))), "done") << path;
    EXPECT_EQ(early, OpenAttempts::Finish::kOk);
  }
  EXPECT_EQ(open->size(), 0U);
}

TEST_F(HttpHandlerTest, WithoutATableOfOpenAttemptsPendingIsAMistake) {
  HttpServer server(always(202, "Bartleby-Outcome: pending"));
  EXPECT_EQ(run(*handler_for(server.url(), loop_)).kind, Kind::kConfig);
}

TEST_F(HttpHandlerTest, StopAnswersWhatIsInFlightAndWhatComesLater) {
  HttpServer server([](const ServerRequest&) -> std::vector<ServerStep> { return {{"x", std::chrono::minutes(1)}}; });
  const auto handler = handler_for(server.url(), loop_);
  Outcomes outcomes;
  for (int i = 0; i < 200; ++i) handler->start(make_attempt(), outcomes.answer(i));
  for (int i = 0; i < 500 && server.requests() < 100; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GE(server.requests(), 100U);
  loop_->stop();
  handler->start(make_attempt(), outcomes.answer(200));
  ASSERT_TRUE(outcomes.wait(201, milliseconds(0)));
  for (int i = 0; i < 201; ++i) EXPECT_EQ(outcomes.of(i).error.type, "Stopped");
  EXPECT_EQ(outcomes.answers(), 201U);
}

TEST(HttpLoop, MoreThanItMayHoldWaitOrAreThrottled) {
  HttpServer server(
      [](const ServerRequest&) -> std::vector<ServerStep> { return {{http_answer(200, "", ""), milliseconds(50)}}; });
  const auto loop = std::make_shared<HttpLoop>(HttpLoopOptions{.max_in_flight = 4, .max_waiting = 20});
  const auto handler = handler_for(server.url(), loop);
  Outcomes outcomes;
  for (int i = 0; i < 16; ++i) handler->start(make_attempt(), outcomes.answer(i));
  ASSERT_TRUE(outcomes.wait(16));
  for (int i = 0; i < 16; ++i) EXPECT_EQ(text_of(outcomes.of(i)), "done");
  EXPECT_LE(server.connections(), 4U);
  for (int i = 100; i < 600; ++i) handler->start(make_attempt(), outcomes.answer(i));
  ASSERT_TRUE(outcomes.wait(516));
  int throttled = 0;
  for (int i = 100; i < 600; ++i) throttled += outcomes.of(i).kind == Kind::kThrottled;
  EXPECT_GT(throttled, 0);
  EXPECT_EQ(outcomes.answers(), 516U);
}

TEST(HttpLoop, RequestsBegunInsideAnswersAreSentAtOnce) {
  HttpServer server(always(200));
  const auto loop = std::make_shared<HttpLoop>();
  const auto handler = handler_for(server.url(), loop);
  std::promise<void> end;
  std::function<void(int)> next = [&](int left) {
    handler->start(make_attempt(), [&next, &end, left](const Decision&) {
      if (left == 0) return end.set_value();
      next(left - 1);
    });
  };
  next(99);
  // Nothing else would wake the loop before the deadline of its connections.
  EXPECT_EQ(end.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(loop->figures().requests, 100U);
}

TEST(HttpHandler, AMessageWhoseHeadersCanNeverBeSentIsRejected) {
  LogRecord record = plain_record();
  record.headers.emplace_back("long", std::string(400000, 'x'));
  HttpServer server(always(200));
  const auto handler = handler_for(server.url(), std::make_shared<HttpLoop>());
  EXPECT_TRUE(
      text_of(run(*handler, make_attempt(record))).starts_with("reject permanent REJECTED \"HeadersTooLarge\""));
}

TEST(HttpLoop, WhatWaitsForAConnectionKeepsItsDeadline) {
  HttpServer server([](const ServerRequest&) -> std::vector<ServerStep> { return {{"x", std::chrono::minutes(1)}}; });
  const auto loop = std::make_shared<HttpLoop>(HttpLoopOptions{.max_in_flight = 1});
  const auto handler = handler_for(server.url(), loop);
  Outcomes outcomes;
  handler->start(make_attempt(plain_record(), Duration(2000)), outcomes.answer(0));
  handler->start(make_attempt(plain_record(), Duration(300)), outcomes.answer(1));
  ASSERT_TRUE(outcomes.wait(1));
  EXPECT_EQ(text_of(outcomes.of(1)),
            "retry throttled after=1s \"Overloaded\" \"no connection was free by the deadline\"");
}

// BARTLEBY_PUSH_MANY=5000x2000 asks for more and slower ones than every run of the tests should wait for.
TEST(HttpLoop, ThousandsInFlightInBoundedMemory) {
  allow_many_files();
  int count = 1000, pause_ms = 3000;  // long beside what a busy machine needs to begin them
  if (const char* asked = getenv("BARTLEBY_PUSH_MANY")) std::sscanf(asked, "%dx%d", &count, &pause_ms);
  HttpServer server([&](const ServerRequest&) -> std::vector<ServerStep> {
    return {{http_answer(200, "", "ok"), milliseconds(pause_ms)}};
  });
  const auto loop = std::make_shared<HttpLoop>();
  const auto handler = handler_for(server.url(), loop);
  Outcomes outcomes;
  const std::size_t before = resident_bytes();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) handler->start(make_attempt(plain_record(), Duration(60000)), outcomes.answer(i));
  std::uint64_t most = 0;
  std::size_t memory = 0;
  while (!outcomes.wait(static_cast<std::size_t>(count), milliseconds(50))) {
    most = std::max(most, loop->figures().in_flight);
    memory = std::max(memory, resident_bytes());
    ASSERT_LT(std::chrono::steady_clock::now() - began, std::chrono::minutes(2));
  }
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (int i = 0; i < count; ++i) ASSERT_EQ(text_of(outcomes.of(i)), "done");
  const std::size_t each = (std::max(memory, before) - before) / static_cast<std::size_t>(count);
  std::printf("%d attempts of %d ms: %.2f s, %llu in flight at most, %zu bytes of memory each\n", count, pause_ms, took,
              static_cast<unsigned long long>(most), each);
#ifdef __SANITIZE_THREAD__
  constexpr std::size_t kMost = 300'000;  // most of it the sanitizer's
#else
  constexpr std::size_t kMost = 100'000;
#endif
  EXPECT_LT(each, kMost);  // client and server together
  EXPECT_GT(most, static_cast<std::uint64_t>(count) / 2);
}

}  // namespace
}  // namespace bartleby
