#include "codec/json_patch.h"

#include <gtest/gtest.h>

#include "codec/json_tree.h"

namespace bartleby {
namespace {

std::string edited(std::string_view document, std::string_view patch) {
  const auto parsed = JsonPatch::parse(patch);
  if (!parsed) return "no patch: " + parsed.error().message;
  const auto result = parsed->apply(document);
  return result ? *result : "no: " + result.error().message;
}

// RFC 6902, appendix A; and what it leaves to a reader's care.
TEST(JsonPatchTest, TheExamplesOfTheRfc) {
  struct Case {
    std::string_view document, patch, result;
  };
  for (const auto& [document, patch, result] : std::initializer_list<Case>{
           {R"({"foo": "bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])", R"({"foo":"bar","baz":"qux"})"},
           {R"({"foo":["bar","baz"]})", R"([{"op":"add","path":"/foo/1","value":"qux"}])",
            R"({"foo":["bar","qux","baz"]})"},
           {R"({"baz":"qux","foo":"bar"})", R"([{"op":"remove","path":"/baz"}])", R"({"foo":"bar"})"},
           {R"({"foo":["bar","qux","baz"]})", R"([{"op":"remove","path":"/foo/1"}])", R"({"foo":["bar","baz"]})"},
           {R"({"baz":"qux","foo":"bar"})", R"([{"op":"replace","path":"/baz","value":"boo"}])",
            R"({"baz":"boo","foo":"bar"})"},
           {R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})",
            R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])",
            R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})"},
           {R"({"foo":["all","grass","cows","eat"]})", R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])",
            R"({"foo":["all","cows","eat","grass"]})"},
           {R"({"baz":"qux","foo":["a",2,"c"]})",
            R"([{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}])",
            R"({"baz":"qux","foo":["a",2,"c"]})"},
           {R"({"baz":"qux"})", R"([{"op":"test","path":"/baz","value":"bar"}])", "no: step 1: /baz has another value"},
           {R"({"foo":"bar"})", R"([{"op":"add","path":"/child","value":{"grandchild":{}}}])",
            R"({"foo":"bar","child":{"grandchild":{}}})"},
           {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux","xyz":123}])",
            R"({"foo":"bar","baz":"qux"})"},
           {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz/bat","value":"qux"}])",
            "no: step 1: /baz/bat is not there"},
           {R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])", R"({"/":9,"~1":10})"},
           {R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":"10"}])",
            "no: step 1: /~01 has another value"},
           {R"({"foo":["bar"]})", R"([{"op":"add","path":"/foo/-","value":["abc","def"]}])",
            R"({"foo":["bar",["abc","def"]]})"},
           {R"({"a":1})", R"([{"op":"replace","path":"","value":[]}])", "[]"},
           {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])", R"({"a":{"b":1},"c":{"b":1}})"},
           {R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])",
            "no: step 1: /a cannot be moved into itself"},
           {R"({"a":[1]})", R"([{"op":"add","path":"/a/01","value":2}])",
            "no: step 1: /a/01 is not a place in the array"},
           {R"({"a":[1]})", R"([{"op":"remove","path":"/a/-"}])", "no: step 1: /a/- is not there"},
           {R"({"a":1})", R"([{"op":"remove","path":""}])", "no: step 1: the whole document cannot be removed"},
           {R"({"a":1,"a":2})", R"([{"op":"remove","path":"/a"}])", "no: step 1: the name a stands there twice"},
       })
    EXPECT_EQ(edited(document, patch), result) << document << " " << patch;
}

TEST(JsonPatchTest, WhatIsNotTouchedKeepsItsWords) {
  EXPECT_EQ(edited(R"({ "id" : 9223372036854775807, "big":123456789012345678901234567890, "money":1.10,"e":1E+2,
                       "t":"\u00e9\/", "n":null })",
                   R"([{"op":"replace","path":"/n","value":18446744073709551615}])"),
            R"({"id":9223372036854775807,"big":123456789012345678901234567890,"money":1.10,"e":1E+2,"t":"\u00e9\/",)"
            R"("n":18446744073709551615})");
}

TEST(JsonPatchTest, NumbersAreEqualByValueAndExactly) {
  const auto same = [](std::string_view a, std::string_view b) {
    return json_equal(*json_tree(a, 8), *json_tree(b, 8));
  };
  EXPECT_TRUE(same("100", "1e2"));
  EXPECT_TRUE(same("1.10", "1.1"));
  EXPECT_TRUE(same("-0", "0.00"));
  EXPECT_TRUE(same("0.001", "1E-3"));
  EXPECT_FALSE(same("9007199254740993", "9007199254740992"));
  EXPECT_FALSE(same("1", "-1"));
  EXPECT_FALSE(same("1e99999999999", "2e99999999999"));
  EXPECT_FALSE(same("1", "\"1\""));
  EXPECT_TRUE(same(R"({"a":1,"b":"\u0041"})", R"({"b":"A","a":1.0})"));
  EXPECT_TRUE(same(R"("\ud83d\ude00")", "\"\xF0\x9F\x98\x80\""));
}

TEST(JsonPatchTest, WhatIsNoPatchSaysWhichStepAndWhy) {
  EXPECT_EQ(edited("{}", "{}").substr(0, 36), "no patch: the edit must be a list su");
  EXPECT_EQ(edited("{}", R"([{"op":"add","path":"/a"}])"), "no patch: step 1 of the edit: value is missing");
  EXPECT_EQ(edited("{}", R"([{"op":"spoil","path":"/a"}])").substr(0, 38), "no patch: step 1 of the edit: op must ");
  EXPECT_EQ(edited("{}", R"([{"op":"remove","path":"a"}])").substr(0, 40), "no patch: step 1 of the edit: path must ");
  EXPECT_EQ(edited("{}", R"([{"op":"remove","path":"/~2"}])").substr(0, 40),
            "no patch: step 1 of the edit: path must ");
  EXPECT_EQ(edited("{}", R"([{"op":"copy","path":"/a"}])").substr(0, 40), "no patch: step 1 of the edit: from must ");
  EXPECT_EQ(edited("not json", "[]").substr(0, 23), "no: not JSON at byte 0:");
  EXPECT_EQ(edited("\"\xff\"", "[]"), "no: not JSON: not UTF-8");
  for (const std::string_view bad : {"", "[1,]", "{\"a\"}", "01", "1.", "\"\\x\"", "\"\\u12g4\"", "[1 2]", "nul", "-",
                                     "\"\n\"", "1 1", "{\"a\":1,}", "+1", ".5", "1e"})
    EXPECT_FALSE(json_tree(bad, 8).has_value()) << bad;
}

TEST(JsonPatchTest, EverythingIsBounded) {
  EXPECT_EQ(JsonPatch::parse(std::string(kMaxPatch + 1, ' ')).error().code, ErrorCode::kTooLarge);
  std::string steps = "[";
  for (std::size_t i = 0; i <= kMaxPatchSteps; ++i)
    steps += std::string(i == 0 ? "" : ",") + R"({"op":"remove","path":"/a"})";
  EXPECT_EQ(JsonPatch::parse(steps + "]").error().code, ErrorCode::kTooLarge);
  const std::string deep(kMaxPatchDepth + 2, '[');
  EXPECT_FALSE(JsonPatch::parse("[]")->apply(deep + std::string(kMaxPatchDepth + 2, ']')).has_value());
  // Doubled thirty times it would have a gigabyte.
  std::string doubles = "[";
  for (int i = 0; i < 30; ++i)
    doubles += std::string(i == 0 ? "" : ",") + R"({"op":"copy","from":"","path":"/)" + std::to_string(i) + "\"}";
  const auto grown = JsonPatch::parse(doubles + "]")->apply(R"({"a":")" + std::string(100, 'x') + "\"}");
  ASSERT_FALSE(grown.has_value());
  EXPECT_EQ(grown.error().code, ErrorCode::kTooLarge);
}

TEST(JsonPatchTest, AMemberIsReadAsItIsWritten) {
  EXPECT_EQ(*json_member(R"({"a": 1, "edit": [ {"v": 1.10} ]})", "edit"), R"([{"v":1.10}])");
  EXPECT_EQ(*json_member("{}", "edit"), "");
  EXPECT_FALSE(json_member("[]", "edit").has_value());
}

}  // namespace
}  // namespace bartleby
