// Which records a match takes.
#include "codec/match.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

LogRecord with_value(Bytes value) { return {Offset(0), timestamp_ms(0), Bytes(), std::move(value), {}}; }

Match json(std::string pointer, std::vector<std::string> in) {
  return {Match::Field::kJson, std::move(pointer), std::move(in)};
}

bool takes(const Match& match, std::string_view value) {
  Matcher matcher;
  return matcher.matches(match, with_value(Bytes(value)));
}

TEST(Match, ComparesStringsByTheirContent) {
  EXPECT_TRUE(takes(json("/event_type", {"PAYOUT"}), R"({"a":1,"event_type":"PAYOUT"})"));
  EXPECT_TRUE(takes(json("/event_type", {"REFUND", "PAYOUT"}), R"({"event_type":"PAY\u004fUT"})"));
  EXPECT_FALSE(takes(json("/event_type", {"PAYOUT"}), R"({"event_type":"PAYOUTS"})"));
  EXPECT_FALSE(takes(json("/event_type", {"PAYOUT"}), R"({"event":"PAYOUT"})"));
}

TEST(Match, ComparesNumbersAndBooleansAsTheyAreWritten) {
  EXPECT_TRUE(takes(json("/n", {"5"}), R"({"n":5})"));
  EXPECT_TRUE(takes(json("/n", {"5"}), R"({"n": 5 , "m":6})"));
  EXPECT_FALSE(takes(json("/n", {"5"}), R"({"n":5.0})"));
  EXPECT_TRUE(takes(json("/n", {"123456789012345678901234567890"}), R"({"n":123456789012345678901234567890})"));
  EXPECT_TRUE(takes(json("/n", {"true"}), R"({"n":true})"));
  EXPECT_FALSE(takes(json("/n", {"null"}), R"({"n":null})"));
  EXPECT_FALSE(takes(json("/n", {"{}"}), R"({"n":{}})"));
}

TEST(Match, FollowsThePointerThroughObjectsAndArrays) {
  EXPECT_TRUE(takes(json("/a/1/b", {"x"}), R"({"a":[0,{"b":"x"}]})"));
  EXPECT_TRUE(takes(json("/0", {"x"}), R"(["x"])"));
  EXPECT_TRUE(takes(json("/a~1b/c~0d", {"x"}), R"({"a/b":{"c~d":"x"}})"));
  EXPECT_FALSE(takes(json("/a/2/b", {"x"}), R"({"a":[0,{"b":"x"}]})"));
  EXPECT_FALSE(takes(json("/a/b", {"x"}), R"({"a":"x"})"));
}

TEST(Match, AValueThatIsNoJsonDoesNotMatch) {
  const Match match = json("/t", {"x"});
  for (const char* value : {"", " ", "x", "{", "}", "{\"t\"", "{\"t\":", "{\"t\":\"x", "{\"t\":\"x\"", "[", "\"x\"",
                            "17", "{\"t\":\"\xff\"}", "{\"t\":tru}", "{\"t\" \"x\"}", "\x00\x01"}) {
    EXPECT_FALSE(takes(match, value)) << value;
  }
  Matcher matcher;
  EXPECT_FALSE(matcher.matches(match, with_value(Bytes())));
}

TEST(Match, ComparesTheFirstHeaderOfThatName) {
  const Match match{Match::Field::kHeader, "type", {"a", "b"}};
  LogRecord record = with_value(Bytes());
  Matcher matcher;
  EXPECT_FALSE(matcher.matches(match, record));
  record.headers = {{"Type", "a"}, {"type", Bytes()}};
  EXPECT_FALSE(matcher.matches(match, record));
  record.headers = {{"type", "b"}, {"type", "c"}};
  EXPECT_TRUE(matcher.matches(match, record));
  record.headers = {{"type", "c"}, {"type", "b"}};
  EXPECT_FALSE(matcher.matches(match, record));
}

TEST(Match, TheFirstCaseThatMatchesDecides) {
  const std::vector<std::optional<Match>> cases = {json("/t", {"a"}), json("/u", {"b"}), json("/t", {"a", "c"})};
  Matcher matcher;
  EXPECT_EQ(matcher.first(cases, with_value(R"({"u":"b","t":"a"})")), 0U);
  EXPECT_EQ(matcher.first(cases, with_value(R"({"t":"c","u":"b"})")), 1U);
  EXPECT_EQ(matcher.first(cases, with_value(R"({"t":"c"})")), 2U);
  EXPECT_EQ(matcher.first(cases, with_value(R"({"t":"d"})")), std::nullopt);
  EXPECT_EQ(matcher.first(cases, with_value("no json")), std::nullopt);
}

TEST(Match, AnAbsentMatchTakesEverything) {
  const std::vector<std::optional<Match>> cases = {json("/t", {"a"}), std::nullopt};
  Matcher matcher;
  EXPECT_EQ(matcher.first(cases, with_value("no json")), 1U);
  EXPECT_EQ(matcher.first(cases, with_value(Bytes())), 1U);
  EXPECT_EQ(matcher.first(cases, with_value(R"({"t":"a"})")), 0U);
}

}  // namespace
}  // namespace bartleby
