// Plays every row of tests/robustness/push_answers.txt.
#include <gtest/gtest.h>

#include <fstream>

#include "adapters/handler/http/http_handler.h"
#include "tests/support/attempts.h"
#include "tests/support/http_server.h"

namespace bartleby {
namespace {

using namespace test;  // NOLINT: the servers and attempts of this test
using std::chrono::milliseconds;

constexpr char kTable[] = "tests/robustness/push_answers.txt";

struct Case {
  std::string name, status, headers, body, outcome;
};

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(' ');
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char what = text[++i];
    if (what == 'x') {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else if (what == '{') {
      const std::size_t star = text.find('*', i);
      out += std::string(std::stoul(text.substr(i + 1, star - i - 1)), text[star + 1]);
      i = star + 2;
    } else {
      out += what == 'n' ? '\n' : what == 'r' ? '\r' : what;
    }
  }
  return out;
}

std::vector<Case> table() {
  std::vector<Case> cases;
  std::ifstream file(kTable);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields;
    for (std::size_t at = 0; fields.size() < 4;) {
      const std::size_t bar = line.find('|', at);
      if (bar == std::string::npos) break;
      fields.push_back(trimmed(line.substr(at, bar - at)));
      at = bar + 1;
      if (fields.size() == 4) fields.push_back(trimmed(line.substr(at)));
    }
    if (fields.size() != 5) {
      ADD_FAILURE() << "not a row: " << line;
      continue;
    }
    cases.push_back({fields[0], fields[1], unescaped(fields[2]), unescaped(fields[3]), unescaped(fields[4])});
  }
  return cases;
}

const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n";
const std::string kEmit = "Content-Type: application/vnd.bartleby.emit+json\r\n";

const std::map<std::string, std::vector<ServerStep>> kTroubles = {
    {"!interim",
     {{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nBartleby-Outcome: reject\r\n\r\n"},
      {http_answer(200, "", "ok")}}},
    {"!chunked", {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"}, {"0\r\n\r\n"}}},
    {"!trailer",
     {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Bartleby-Outcome\r\n\r\n"
       "2\r\nok\r\n0\r\nBartleby-Outcome: reject\r\n\r\n"}}},
    {"!until-close", {{"HTTP/1.1 200 OK\r\n\r\nok", milliseconds(0), After::kClose}}},
    {"!endless", {{"HTTP/1.1 200 OK\r\n\r\n"}, {std::string(10000, 'x'), milliseconds(0), After::kForever}}},
    {"!emit-cut-off", {{kHead + kEmit + "\r\n{\"emit\":[]}", milliseconds(0), After::kClose}}},
    {"!reset", {{"", milliseconds(0), After::kReset}}},
    {"!close", {{"", milliseconds(0), After::kClose}}},
    {"!reset-in-headers", {{kHead}, {"", milliseconds(50), After::kReset}}},
    {"!close-in-headers", {{kHead}, {"", milliseconds(50), After::kClose}}},
    {"!reset-in-body", {{kHead + "\r\nhalf"}, {"", milliseconds(50), After::kReset}}},
    {"!close-in-body", {{kHead + "\r\nhalf"}, {"", milliseconds(50), After::kClose}}},
    {"!silence", {{"", std::chrono::minutes(1), After::kClose}}},
    {"!slow-headers", {{"H"}, {"T", milliseconds(300)}, {"T", milliseconds(300)}, {"P", std::chrono::minutes(1)}}},
    {"!slow-body",
     {{kHead + "\r\n"}, {"x", milliseconds(300)}, {"x", milliseconds(300)}, {"x", std::chrono::minutes(1)}}},
    {"!garbage", {{"220 mail.example ready\r\n", milliseconds(0), After::kClose}}},
    {"!http09", {{"<html>hello</html>", milliseconds(0), After::kClose}}},
    {"!many-headers", {{kHead}, {"X: " + std::string(1000, 'y') + "\r\n", milliseconds(0), After::kForever}}},
    {"!long-header", {{kHead + "X: " + std::string(1 << 20, 'y') + "\r\n\r\n"}}},
    {"!endless-headers", {{kHead + "X: "}, {std::string(1000, 'y'), milliseconds(0), After::kForever}}},
    {"!endless-interim", {{"HTTP/1.1 100 Continue\r\n\r\n", milliseconds(0), After::kForever}}},
};

// What is pending stays pending: that is all this table asks about it.
class Shelf : public PendingAttempts {
 public:
  bool announce(const std::shared_ptr<AttemptIn>&) override { return true; }
  void keep(const std::shared_ptr<AttemptIn>&, Answer answer) override { answer(failure("pending")); }
  std::optional<Decision> withdraw(const std::string&) override { return std::nullopt; }
};

bool matches(const std::string& outcome, const std::string& wanted) {
  const std::size_t any = wanted.find("\"*\"");
  if (any == std::string::npos) return outcome == wanted;
  return outcome.starts_with(wanted.substr(0, any + 1)) && outcome.ends_with(wanted.substr(any + 2));
}

TEST(PushAnswers, EveryRowOfTheTableHasItsOutcome) {
  const std::vector<Case> cases = table();
  ASSERT_GT(cases.size(), 90U) << "is this the project's folder? " << kTable;
  HttpServer server([&](const ServerRequest& request) -> std::vector<ServerStep> {
    const Case& c = cases.at(std::stoul(request.path.substr(1)));
    if (const auto trouble = kTroubles.find(c.status); trouble != kTroubles.end()) return trouble->second;
    // 204 and 304 have no body, whatever their length says.
    if (c.status == "204" || c.status == "304") return {{"HTTP/1.1 " + c.status + " Status\r\n\r\n"}};
    return {{http_answer(std::stoi(c.status), c.headers, c.body)}};
  });
  const auto loop = std::make_shared<HttpLoop>(
      HttpLoopOptions{.clock = [] { return Now{system_now().steady, timestamp_ms(1736937000000)}; }});
  const int closed = closed_port();

  // All at once: the slow ones wait together, and no answer may be taken for another.
  Outcomes outcomes;
  std::vector<std::unique_ptr<HttpHandler>> handlers;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string& status = cases[i].status;
    ASSERT_TRUE(status[0] != '!' || status == "!refused" || status == "!tls" || kTroubles.contains(status)) << status;
    std::string url = server.url("/" + std::to_string(i));
    if (status == "!refused") url = "http://127.0.0.1:" + std::to_string(closed);
    if (status == "!tls") url.insert(4, "s");
    auto handler = HttpHandler::make({.target = {.url = url, .allow_private = true}}, loop, std::make_shared<Shelf>());
    ASSERT_TRUE(handler) << handler.error().message;
    handlers.push_back(std::move(*handler));
    const bool slow = cases[i].outcome.starts_with("retry timeout \"Timeout\"");
    handlers.back()->start(make_attempt(plain_record(), slow ? Duration(1000) : Duration(60000)),
                           outcomes.answer(static_cast<int>(i)));
  }
  ASSERT_TRUE(outcomes.wait(cases.size()));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Decision decision = outcomes.of(static_cast<int>(i));
    const std::string outcome = decision.error.type == "pending" ? "pending" : text_of(decision);
    EXPECT_TRUE(matches(outcome, cases[i].outcome))
        << cases[i].name << "\n  wanted " << cases[i].outcome << "\n  got    " << outcome;
  }
  EXPECT_EQ(outcomes.answers(), cases.size());
}

}  // namespace
}  // namespace bartleby
