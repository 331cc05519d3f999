// What the command line prints: numbers, times, tables, messages and letters; and the receiver without its sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/api_client.h"
#include "cli/flaky.h"
#include "cli/json_value.h"
#include "cli/message_text.h"
#include "cli/operation_text.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"
#include "codec/letter.h"

namespace bartleby::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr Timestamp kNow = timestamp_ms(1736937000000);  // 2025-01-15T10:30:00.000Z

TEST(CliText, NumbersAndCounts) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(7769), "7 769");
  EXPECT_EQ(grouped(-1234567), "-1 234 567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(counted(1, "topic"), "1 topic");
  EXPECT_EQ(counted(12, "topic"), "12 topics");
}

TEST(CliText, HowFarSomethingHasCome) {
  const auto page = [](std::string_view count) { return *JsonValue::parse("{\"count\":" + std::string(count) + "}"); };
  EXPECT_EQ(so_far_text(40, page(R"({"value":1200,"exact":true})"), "letter"), "40 of 1 200 letters");
  EXPECT_EQ(so_far_text(40, page(R"({"value":10000,"exact":false})"), "letter"), "40 of more than 10 000 letters");
  EXPECT_EQ(so_far_text(7, page(R"({"value":6,"exact":true})"), "letter"), "7 of 7 letters") << "one came meanwhile";
  std::ostringstream terminal, file;
  for (std::ostream* err : {&terminal, &file}) {
    Progress progress(*err, err == &terminal);
    progress.tell("");
    progress.tell("1 of 2 letters");
    progress.tell("2 of 2 letters");
  }
  EXPECT_EQ(terminal.str(), "\r\x1b[K1 of 2 letters\r\x1b[K2 of 2 letters\r\x1b[K") << "the line is free again";
  EXPECT_EQ(file.str(), "");
}

TEST(CliText, TheBarOfAnOperation) {
  const auto operation = [](std::int64_t letters, std::int64_t dealt_with, const std::string& results) {
    return *JsonValue::parse(R"({"kind":"replay","id":"op_7f3","state":"running","letters":)" +
                             std::to_string(letters) + R"(,"dealt_with":)" + std::to_string(dealt_with) +
                             R"(,"results":{)" + results + "}}");
  };
  const JsonValue some = operation(1000, 400, R"("succeeded":390,"sent":8,"came_back":2)");
  EXPECT_EQ(bar_text(some, 0),
            "████████████░░░░░░░░░░░░░░░░░░ 400/1 000  succeeded 390 · waiting 8 · came back 2  running");
  EXPECT_EQ(progress_line(some), "replay op_7f3 running: 400 of 1 000 (40 %), succeeded 390, waiting 8, came back 2");
  EXPECT_THAT(bar_text(operation(0, 0, ""), 0), HasSubstr("░ 0/0 "));
  EXPECT_THAT(bar_text(operation(3, 3, R"("succeeded":3)"), 0), Not(HasSubstr("░")));
  EXPECT_THAT(bar_text(operation(1000, 999, ""), 0), HasSubstr("█░ 999/1 000")) << "full when all is done, not before";
  EXPECT_EQ(bar_text(some, 30).find("running"), std::string::npos) << "it stays on one line of a narrow terminal";
}

TEST(CliText, TimesRelativeToNow) {
  EXPECT_EQ(ago_text(kNow - 3min, kNow), "3m ago");
  EXPECT_EQ(ago_text(kNow - 3min - 20s, kNow), "3m ago");
  EXPECT_EQ(ago_text(kNow + 4min + 12s, kNow), "in 4m 12s");
  EXPECT_EQ(ago_text(kNow + 250ms, kNow), "in 250ms");
  EXPECT_EQ(ago_text(kNow, kNow), "now");
  EXPECT_EQ(ago_text(std::string(), kNow), "-");
  EXPECT_EQ(span_text(std::chrono::hours(51)), "2d 3h");
  EXPECT_EQ(span_text(3600s), "1h");
  EXPECT_EQ(clock_text(kNow + 7s), "10:30:07");
}

TEST(CliText, MomentsAsPeopleWriteThem) {
  EXPECT_EQ(moment_from("10m", kNow), kNow - 10min);
  EXPECT_EQ(moment_from("2025-01-15T10:30:00.000Z", kNow), kNow);
  EXPECT_EQ(moment_from("2025-01-15T10:30:00Z", kNow), kNow);
  EXPECT_EQ(moment_from("2025-01-15 10:30", kNow), kNow);
  EXPECT_EQ(moment_from("2025-01-15", kNow), kNow - 10h - 30min);
  for (const char* wrong : {"", "start", "1736937000000", "2025-13-01", "2025-01-15T10", "10 m"})
    EXPECT_FALSE(moment_from(wrong, kNow)) << wrong;
}

TEST(CliText, NothingFromOutsideReachesTheTerminalUnescaped) {
  EXPECT_EQ(shown("a\nb\tc\x1b[31m"), "a\\nb\\tc\\x1b[31m");
  EXPECT_EQ(shown("\xC2\x9B"), "\\x9b") << "the eight-bit escape too";
  EXPECT_EQ(shown("caf\xC3\xA9 \xFF"), "café \xEF\xBF\xBD");
}

TEST(CliText, CutsBetweenCharacters) {
  EXPECT_EQ(cut("ééééé", 5), "ééééé");
  EXPECT_EQ(cut("éééééé", 5), "éééé…");
  EXPECT_EQ(width_of(cut("abcdefgh", 3)), 3U);
}

TEST(CliTable, AlignsCutsAndLeavesNoBlanksAtTheEnd) {
  Table table({{"NAME", 6}, {"N", 10, true}, {"LAST", 20}});
  table.add({"a", "1", "x"});
  table.add({"abcdefghij", "1 000", "é"});
  EXPECT_EQ(table.text(),
            "NAME        N  LAST\n"
            "a           1  x\n"
            "abcde…  1 000  é\n");
}

TEST(CliTable, AnEmptyLastCellLeavesNoBlanks) {
  Table table({{"A"}, {"TROUBLE"}});
  table.add({"x", ""});
  EXPECT_EQ(table.text(), "A  TROUBLE\nx\n");
}

TEST(CliTable, TheWidestColumnGivesWhereTheTerminalIsNarrow) {
  Table table({{"A", 80}, {"B", 80}});
  table.add({std::string(60, 'a'), "short"});
  const std::string text = table.text(40);
  EXPECT_THAT(text, HasSubstr("…  short"));
  EXPECT_THAT(table.text(40, true), HasSubstr("\x1b[1m"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(CliJson, KeepsIntegersAndOrderAndNeverThrowsOnWhatIsMissing) {
  const auto v =
      JsonValue::parse(R"({"b":9007199254740993,"a":[1,{"x":"é"}],"n":null,"t":true,"raw":{"base64":"AP8="}})");
  ASSERT_TRUE(v);
  EXPECT_EQ(v->integer("b"), 9007199254740993);
  EXPECT_EQ(v->compact(), R"({"b":9007199254740993,"a":[1,{"x":"é"}],"n":null,"t":true,"raw":{"base64":"AP8="}})");
  EXPECT_EQ((*v)["nothing"]["at"]["all"].integer("x", 7), 7);
  EXPECT_TRUE((*v)["b"].items().empty());
  EXPECT_EQ((*v)["raw"].if_bytes(), std::string("\0\xFF", 2));
  EXPECT_FALSE(JsonValue::parse("{\"a\":"));
  EXPECT_FALSE(JsonValue::parse(std::string(100, '[') + std::string(100, ']')));
}

TEST(CliApi, AProblemIsASentenceWithItsFields) {
  const ApiReply reply{
      422, "application/problem+json",
      R"({"type":"/problems/invalid","title":"Invalid","detail":"two things are wrong",)"
      R"("errors":[{"pointer":"/kind","detail":"unknown"},{"pointer":"/all","detail":"must be true"}]})"};
  const Failure failure = failure_of(reply, "http://x");
  EXPECT_EQ(failure.status, 2);
  EXPECT_EQ(failure.text, "two things are wrong\n  /kind: unknown\n  /all: must be true");
}

TEST(CliApi, StatusesBecomeExitStatuses) {
  const std::vector<std::pair<int, int>> cases = {{400, 2}, {401, 4}, {403, 4}, {404, 3}, {409, 5}, {410, 3},
                                                  {412, 5}, {422, 2}, {429, 1}, {500, 1}, {503, 8}, {504, 8}};
  for (const auto& [http, exit] : cases) EXPECT_EQ(failure_of({http, "", "not JSON"}, "s").status, exit) << http;
  EXPECT_THAT(failure_of({502, "", "<html>"}, "http://x").text, HasSubstr("answered 502"));
  EXPECT_EQ(encoded("a b/ü"), "a%20b%2F%C3%BC");
}

LogRecord letter_record() {
  LetterFacts facts;
  facts.cluster = "main";
  facts.topic = "orders";
  facts.partition = Partition(3);
  facts.offset = Offset(12345);
  facts.timestamp = kNow - 1h;
  facts.group = "cg-orders";
  facts.worker = "orders";
  facts.instance = "orders-1";
  facts.reason = Reason::kExhausted;
  facts.kind = Kind::kTimeout;
  facts.attempts = 6;
  facts.first_failure = kNow - 40min;
  facts.last_failure = kNow - 5min;
  facts.error = {"BankTimeout", "no answer\nafter 30s", ""};
  LogRecord origin;
  origin.offset = facts.offset;
  origin.timestamp = facts.timestamp;
  origin.key = Bytes(std::string_view("deal_1"));
  origin.value = Bytes(std::string_view("{\"id\":1}"));
  origin.headers = {{"trace", Bytes(std::string_view("abc"))}};
  const Record written = letter_records(facts, origin, LetterForm::kCompressed, {"orders.dlq"}).front();
  return {Offset(7), kNow, written.key, written.value, written.headers};
}

TEST(CliMessage, ALetterTellsItsStory) {
  const std::string text = message_text(3, letter_record(), {kNow});
  EXPECT_THAT(text, HasSubstr("3:7  2025-01-15T10:30:00.000Z  key deal_1  letter ltr_"));
  EXPECT_THAT(text, HasSubstr("died EXHAUSTED after 6 attempts over 35m  worker orders  group cg-orders"));
  EXPECT_THAT(text, HasSubstr("error timeout  BankTimeout: no answer\\nafter 30s"));
  EXPECT_THAT(text, HasSubstr("last 2025-01-15T10:25:00.000Z (5m ago)"));
  EXPECT_THAT(text, HasSubstr("came from orders 3:12345 of 2025-01-15T09:30:00.000Z"));
  EXPECT_THAT(text, HasSubstr("headers  trace=abc\n  {\"id\":1}\n")) << "unpacked, without the headers of ours";
}

TEST(CliMessage, ALetterThatIsNoneIsShownAsItIs) {
  LogRecord record = letter_record();
  std::erase_if(record.headers, [](const auto& h) { return h.first == "bartleby-reason"; });
  const std::string text = message_text(3, record, {kNow});
  EXPECT_THAT(text, HasSubstr("not a letter that can be read"));
  EXPECT_THAT(text, HasSubstr("bartleby-worker=orders"));
}

TEST(CliMessage, OddValues) {
  LogRecord record;
  EXPECT_THAT(message_text(0, record, {kNow}), HasSubstr("no key\n  (null)\n"));
  record.value = Bytes(std::string_view(""));
  EXPECT_THAT(message_text(0, record, {kNow}), HasSubstr("(empty)"));
  record.value = Bytes(std::string_view("\xFF\x00", 2));
  EXPECT_THAT(message_text(0, record, {kNow}), HasSubstr("(2 bytes, not text)"));
  record.value = Bytes(std::string_view(std::string(5000, 'x')));
  EXPECT_THAT(message_text(0, record, {kNow}), HasSubstr("… (5 000 bytes; all of it: -o jsonl)"));
}

TEST(Flaky, TheShareHoldsAndTheSeedDecides) {
  const Flaky flaky{0.2, Duration(0), 7};
  int failed = 0;
  int same = 0;
  for (int i = 0; i < 10000; ++i) {
    ReceivedRequest request;
    request.id = "msg_" + std::to_string(i);
    request.attempt = "1";
    const bool fails_now = fails(flaky, request, 0);
    failed += fails_now ? 1 : 0;
    EXPECT_EQ(fails_now, fails(flaky, request, 99)) << "the order of requests does not matter";
    same += fails_now == fails({0.2, Duration(0), 8}, request, 0) ? 1 : 0;
  }
  EXPECT_NEAR(failed, 2000, 150);
  EXPECT_LT(same, 9000);
  EXPECT_FALSE(fails({0, Duration(0), 7}, {}, 1));
  EXPECT_TRUE(fails({1, Duration(0), 7}, {}, 1));
  EXPECT_EQ(percent_from("20%"), 0.2);
  for (const char* wrong : {"", "%", "-1%", "101", "x", "nan"}) EXPECT_FALSE(percent_from(wrong)) << wrong;
}

TEST(Flaky, ReadsRequestsByteByByte) {
  const std::string bytes =
      "POST /run HTTP/1.1\r\nContent-Length: 5\r\nBartleby-Key: a%20b\r\nBartleby-Attempt: 2\r\n\r\nhello"
      "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
  RequestReader reader;
  std::vector<ReceivedRequest> seen;
  for (const char c : bytes) {
    reader.add({&c, 1});
    for (auto got = reader.next(); got != RequestReader::Got::kMore; got = reader.next()) {
      ASSERT_NE(got, RequestReader::Got::kBad);
      if (got == RequestReader::Got::kRequest) seen.push_back(reader.request());
    }
  }
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].key, "a b");
  EXPECT_EQ(seen[0].attempt, "2");
  EXPECT_EQ(seen[0].body, 5U);
  EXPECT_TRUE(seen[0].keep);
  EXPECT_FALSE(seen[1].keep);
}

TEST(Flaky, RefusesWhatItCannotBound) {
  const auto first = [](std::string_view bytes) {
    RequestReader reader;
    reader.add(bytes);
    return reader.next();
  };
  EXPECT_EQ(first("hello\r\n\r\n"), RequestReader::Got::kBad);
  EXPECT_EQ(first("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), RequestReader::Got::kBad);
  EXPECT_EQ(first("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), RequestReader::Got::kBad);
  EXPECT_EQ(first("POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"), RequestReader::Got::kTooLarge);
  EXPECT_EQ(first(std::string(70000, 'x')), RequestReader::Got::kTooLarge);
}

}  // namespace
}  // namespace bartleby::cli
