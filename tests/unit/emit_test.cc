#include "codec/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/problem.h"

namespace bartleby {
namespace {

std::string error_of(std::string_view json) {
  const auto records = emit_from_json(json);
  return records ? "no error" : records.error().message;
}

TEST(Emit, ReadsTextBase64TombstonesAndHeaders) {
  const auto records = emit_from_json(R"({"emit":[
    {"topic":"a","key":"k","value":"v","headers":[["h","x"],["h",null],["b",{"base64":"/w=="}]]},
    {"topic":"b","key":{"base64":"AP8="},"base64":"/wA="},
    {"topic":"c","value":null}, {"topic":"d","value":{"base64":"AA=="},"key":null}]})");
  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 4U);
  EXPECT_EQ((*records)[0].key, "k");
  EXPECT_EQ((*records)[0].value, "v");
  EXPECT_EQ((*records)[0].headers, (Headers{{"h", "x"}, {"h", std::nullopt}, {"b", "\xff"}}));
  EXPECT_EQ((*records)[1].key, std::string("\0\xff", 2));
  EXPECT_EQ((*records)[1].value, std::string("\xff\0", 2));
  EXPECT_EQ((*records)[2].value, std::nullopt);
  EXPECT_EQ((*records)[3].value, std::string("\0", 1));
  EXPECT_EQ((*records)[3].key, std::nullopt);
}

TEST(Emit, NamesThePlaceOfAnError) {
  EXPECT_THAT(error_of(""), testing::HasSubstr("not JSON"));
  EXPECT_THAT(error_of("{\"emit\":["), testing::HasSubstr("not JSON"));
  EXPECT_EQ(error_of("[]"), "the emit document is not {\"emit\": [...]}");
  EXPECT_EQ(error_of(R"({"emit":{}})"), "the emit document is not {\"emit\": [...]}");
  EXPECT_EQ(error_of(R"({"emit":[{"topic":"t","value":"v"},7]})"), "/emit/1: not an object");
  EXPECT_EQ(error_of(R"({"emit":[{"value":"v"}]})"), "/emit/0/topic: missing");
  EXPECT_EQ(error_of(R"({"emit":[{"topic":"a b","value":"v"}]})"), "/emit/0/topic: not the name of a topic");
  EXPECT_EQ(error_of(R"({"emit":[{"topic":"orders.parked.g","value":"v"}]})"),
            "/emit/0/topic: a topic of Bartleby's own, which takes no messages");
  EXPECT_EQ(error_of(R"({"emit":[{"topic":"t"}]})"), "/emit/0/value: missing (null for a tombstone)");
  EXPECT_EQ(error_of(R"({"emit":[{"topic":"t","value":"v","base64":"AA=="}]})"),
            "/emit/0/base64: the value is given twice");
  EXPECT_EQ(error_of(R"({"emit":[{"topic":"t","base64":"?"}]})"), "/emit/0/base64: not base64");
  EXPECT_EQ(error_of(R"({"emit":[{"topic":"t","vaule":"v"}]})"), "/emit/0/vaule: no such member");
  EXPECT_THAT(error_of(R"({"emit":[{"topic":"t","value":{"a":1}}]})"),
              testing::HasSubstr("/emit/0/value: not a string"));
  EXPECT_EQ(error_of(R"({"emit":[{"topic":"t","value":"","headers":[["a"]]}]})"),
            "/emit/0/headers/0: not [\"name\", value]");
}

TEST(Emit, StopsAtItsLimits) {
  const auto document = [](std::size_t records, std::size_t bytes) {
    std::string json = R"({"emit":[)";
    for (std::size_t i = 0; i < records; ++i) {
      json += i == 0 ? "" : ",";
      json += R"({"topic":"t","value":")" + std::string(bytes, 'x') + "\"}";
    }
    return json + "]}";
  };
  EXPECT_TRUE(emit_from_json(document(kMaxEmitRecords, 1)));
  EXPECT_THAT(error_of(document(kMaxEmitRecords + 1, 1)), testing::HasSubstr("/emit/500: more than 500 records"));
  EXPECT_TRUE(emit_from_json(document(8, kMaxEmitBytes / 8)));
  EXPECT_THAT(error_of(document(8, kMaxEmitBytes / 8 + 1)), testing::HasSubstr("/emit/7: the records have more than"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), testing::HasSubstr("not JSON"));
}

TEST(Problem, BecomesAnErrorText) {
  const auto error = error_from_problem(
      R"({"type":"/problems/no-money","title":"No money","detail":"balance is 3","stack":"at pay","status":402})");
  EXPECT_EQ(error, (ErrorText{"/problems/no-money", "No money: balance is 3", "at pay"}));
  EXPECT_EQ(error_from_problem(R"({"type":"about:blank","detail":"d","title":7})"), (ErrorText{"", "d", ""}));
  EXPECT_FALSE(error_from_problem("[]"));
  EXPECT_FALSE(error_from_problem(std::string(1000, '[')));
  EXPECT_FALSE(error_from_problem(""));
}

}  // namespace
}  // namespace bartleby
