// A line of the log: one line, valid, and nothing in it that a terminal would obey.
#include "base/log.h"

#include <gtest/gtest.h>

#include <limits>

namespace bartleby {
namespace {

std::string value_of(std::string text) {
  const std::string line = log_line(LogFormat::kJson, timestamp_ms(0), LogLevel::kInfo, "e", {{"v", std::move(text)}});
  const std::string start = R"({"time":"1970-01-01T00:00:00.000Z","level":"info","event":"e","v":")";
  EXPECT_TRUE(line.starts_with(start) && line.ends_with("\"}")) << line;
  return line.substr(start.size(), line.size() - start.size() - 2);
}

TEST(Log, TextIsWrittenAsJsonWrites) {
  EXPECT_EQ(value_of("a \"b\" c\\d\ne"), R"(a \"b\" c\\d\ne)");
  EXPECT_EQ(value_of("größer €𝄞"), "größer €𝄞");
}

TEST(Log, ControlCharactersOfBothKindsAreEscaped) {
  EXPECT_EQ(value_of("\x1b[31m\x7f"), R"(\u001b[31m\u007f)");
  EXPECT_EQ(value_of("\xc2\x9b"
                     "31m"),
            R"(\u009b31m)");
  EXPECT_EQ(value_of("\xc2\xa0"), "\xc2\xa0");
}

TEST(Log, WhatIsNoUtf8IsReplaced) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(value_of("a\xff"
                     "b"),
            "a" + mark + "b");
  EXPECT_EQ(value_of("\xc0\xaf"), mark + mark);                        // longer than it must be
  EXPECT_EQ(value_of("\xed\xa0\x80"), mark + mark + mark);             // a surrogate
  EXPECT_EQ(value_of("\xf4\x90\x80\x80"), mark + mark + mark + mark);  // beyond the last
  EXPECT_EQ(value_of("\xe2\x82"), mark + mark);                        // cut off
}

TEST(Log, WhatIsTooLongIsCutBetweenCharacters) {
  std::string text(1023, 'a');
  EXPECT_EQ(value_of(text + "€€"), text + "…");
  EXPECT_EQ(value_of(text + "b"), text + "b");
}

TEST(Log, NumbersAreThoseOfJson) {
  const auto number = [](double n) {
    return log_line(LogFormat::kJson, timestamp_ms(0), LogLevel::kInfo, "e", {{"v", n}}).substr(66);
  };
  EXPECT_EQ(number(1.5), "1.500}");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "null}");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "null}");
  EXPECT_EQ(number(1e300).size(), 301U + 4U + 1U);
}

}  // namespace
}  // namespace bartleby
