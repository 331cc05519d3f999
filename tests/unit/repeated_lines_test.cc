#include "base/repeated_lines.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

constexpr Instant kBegin{Duration(1000)};

TEST(RepeatedLines, OfAlikeOnesOneAMinuteIsToldWithHowManyWereLeftOut) {
  RepeatedLines lines;
  EXPECT_EQ(lines.tell("1/1 brokers are down", kBegin), 0u);
  for (int i = 0; i < 1200; ++i)
    EXPECT_FALSE(lines.tell(std::to_string(i) + "/3 brokers are down", kBegin + Duration(i * 49)));
  EXPECT_EQ(lines.tell("2/3 brokers are down", kBegin + RepeatedLines::kQuiet), 1200u);
  EXPECT_FALSE(lines.tell("2/3 brokers are down", kBegin + RepeatedLines::kQuiet + Duration(1)));
}

TEST(RepeatedLines, AnotherKindOfLineIsToldAtOnce) {
  RepeatedLines lines;
  EXPECT_EQ(lines.tell("connection refused", kBegin), 0u);
  EXPECT_EQ(lines.tell("authentication failed", kBegin), 0u);
}

TEST(RepeatedLines, EverNewKindsAreAllToldAndTakeNoMoreRoom) {
  RepeatedLines lines;
  std::string kind;
  for (int i = 0; i < 1000; ++i) {
    kind += 'x';
    EXPECT_EQ(lines.tell(kind, kBegin), 0u);
  }
}

}  // namespace
}  // namespace bartleby
