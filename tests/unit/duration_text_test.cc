#include "codec/duration_text.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(DurationText, ReadsEveryUnit) {
  EXPECT_EQ(duration_from_text("250ms"), Duration(250));
  EXPECT_EQ(duration_from_text("10s"), Duration(seconds(10)));
  EXPECT_EQ(duration_from_text("5m"), Duration(minutes(5)));
  EXPECT_EQ(duration_from_text("1h"), Duration(hours(1)));
  EXPECT_EQ(duration_from_text("30d"), Duration(hours(720)));
  EXPECT_EQ(duration_from_text("0s"), Duration(0));
  EXPECT_EQ(duration_from_text("007s"), Duration(seconds(7)));
}

TEST(DurationText, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "5", "s", "ms", "-5s", "-0s", "+5s", " 5s", "5 s", "5s ", "5S", "5sec", "1h30m", "1.5s",
                           "0x5s", "5w", "NaN", "9223372036854775808ms", "99999999999999999999s"})
    EXPECT_EQ(duration_from_text(text), std::nullopt) << text;
  EXPECT_EQ(duration_from_text(std::string_view("5s\0", 3)), std::nullopt);
}

TEST(DurationText, RefusesWhatDoesNotFitInsteadOfWrappingAround) {
  EXPECT_EQ(duration_from_text("9223372036854775807ms"), Duration(INT64_MAX));
  EXPECT_EQ(duration_from_text("106751991167d"), Duration(106751991167 * 86400000));
  EXPECT_EQ(duration_from_text("106751991168d"), std::nullopt);
}

TEST(DurationText, IsReadBackAsItWasWritten) {
  for (const Duration d : {Duration(0), Duration(1), Duration(1500), Duration(minutes(90)), Duration(hours(48))})
    EXPECT_EQ(duration_from_text(duration_text(d)), d);
  EXPECT_EQ(duration_text(Duration(0)), "0s");
  EXPECT_EQ(duration_text(minutes(90)), "90m");
  EXPECT_EQ(duration_text(hours(48)), "2d");
  EXPECT_EQ(duration_text(Duration(1500)), "1500ms");
}

}  // namespace
}  // namespace bartleby
