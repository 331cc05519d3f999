#include "codec/json_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bartleby {
namespace {

TEST(JsonScan, TakesWhatEveryReaderTakes) {
  for (const char* good : {"null", " true ", "false", "0", "-0.5e+10", "1E3", "\"\"", R"("a\"\\\/\b\f\n\r\tA")", "[]",
                           "[ ]", "{}", "{ \"a\" : [ 1 , { } ] }\n", R"("😀")", "\"\xc3\xbc\"", R"({"a":1,"a":2})"})
    EXPECT_TRUE(is_json(good)) << good;
}

TEST(JsonScan, RefusesTheRest) {
  for (const std::string& bad : std::vector<std::string>{"",
                                                         " ",
                                                         "nul",
                                                         "nulll",
                                                         "01",
                                                         "1.",
                                                         ".5",
                                                         "1e",
                                                         "+1",
                                                         "-",
                                                         "\"",
                                                         "\"\t\"",
                                                         R"("\x")",
                                                         R"("\u12g4")",
                                                         R"("\u123)",
                                                         "[1,]",
                                                         "[",
                                                         "]",
                                                         "[1 2]",
                                                         "{\"a\"}",
                                                         "{\"a\":}",
                                                         "{\"a\":1,}",
                                                         "{a:1}",
                                                         "{\"a\":1",
                                                         "{,}",
                                                         "1 2",
                                                         "{} {}",
                                                         "NaN",
                                                         "'a'",
                                                         "\"\xff\"",
                                                         "\xef\xbb\xbf{}",
                                                         R"("\ud83d")",
                                                         R"("\ud83dx")",
                                                         R"("\ude00")",
                                                         R"("\ud83dA")",
                                                         std::string("\"\0\"", 3),
                                                         "[}",
                                                         "{]"})
    EXPECT_FALSE(is_json(bad)) << bad;
}

TEST(JsonScan, EndsAtItsDepth) {
  const std::string open(kMaxScanDepth, '['), close(kMaxScanDepth, ']');
  EXPECT_TRUE(is_json(open + close));
  EXPECT_TRUE(is_json(open + "1" + close));
  EXPECT_FALSE(is_json("[" + open + close + "]"));
  EXPECT_FALSE(is_json(std::string(10'000'000, '[')));
}

TEST(JsonScan, TellsWhereMembersAre) {
  std::vector<JsonPlace> members;
  const std::string text = " { \"a\" : 1 ,\n\"b\":[2, {\"c\":3}]} ";
  const auto brace = scan_object(text, [&](const JsonPlace& m) { members.push_back(m); });
  ASSERT_TRUE(brace);
  EXPECT_EQ(*brace, text.rfind('}'));
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].name, "\"a\"");
  EXPECT_EQ(members[0].value, "1");
  EXPECT_EQ(members[0].slot, " 1 ");
  EXPECT_EQ(members[1].name, "\"b\"");
  EXPECT_EQ(members[1].value, "[2, {\"c\":3}]");
  EXPECT_EQ(members[1].slot, members[1].value);
  for (const char* other : {"[]", "1", "\"a\"", "{\"a\":1}x", "{\"a\":1", "", "{\"a\" 1}", "{1:1}"})
    EXPECT_FALSE(scan_object(other, [](const JsonPlace&) {})) << other;
  EXPECT_TRUE(scan_object("{}", [](const JsonPlace&) { ADD_FAILURE(); }));
}

}  // namespace
}  // namespace bartleby
