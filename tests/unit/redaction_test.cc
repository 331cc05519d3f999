// What is hidden where messages are shown.
#include "server/redaction.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

std::string shown(std::vector<std::string> pointers, std::string_view value) {
  return Redaction({std::move(pointers), {}}).value(Bytes(value)).value_or("null");
}

TEST(Redaction, HidesAFieldAtAnyDepth) {
  const char* value = R"({"password":"a","list":[{"password":{"deep":1}},2],"user":{"password":null,"name":"n"}})";
  EXPECT_EQ(shown({"/**/password"}, value), R"({"password":"[redacted]","list":[{"password":"[redacted]"},2],)"
                                            R"("user":{"password":"[redacted]","name":"n"}})");
  EXPECT_EQ(shown({"/user/password"}, value),
            R"({"password":"a","list":[{"password":{"deep":1}},2],"user":{"password":"[redacted]","name":"n"}})");
}

TEST(Redaction, AStarIsOneStep) {
  EXPECT_EQ(shown({"/*/b"}, R"({"b":1,"a":{"b":2,"c":{"b":3}}})"), R"({"b":1,"a":{"b":"[redacted]","c":{"b":3}}})");
  EXPECT_EQ(shown({"/a/**/b/c"}, R"({"a":{"b":{"b":{"c":1},"c":2}}})"),
            R"({"a":{"b":{"b":{"c":"[redacted]"},"c":"[redacted]"}}})");
  EXPECT_EQ(shown({"/0"}, "[1,2]"), R"(["[redacted]",2])");
  EXPECT_EQ(shown({"/**"}, "[1,2]"), R"("[redacted]")");
}

TEST(Redaction, StepsMayHoldSlashes) {
  EXPECT_EQ(shown({"/a~1b/~0"}, R"({"a/b":{"~":1}})"), R"({"a/b":{"~":"[redacted]"}})");
}

TEST(Redaction, LeavesTheBytesWhereNothingIsHidden) {
  for (const char* value : {R"({ "a" : 1.10 })", "no json", "", "12.50", "failed: [password]"})
    EXPECT_EQ(shown({"/**/password"}, value), value);
  EXPECT_EQ(Redaction({{"/**"}, {}}).value(Bytes()), Bytes());
}

TEST(Redaction, KeepsTheDigitsOfWhatItDoesNotHide) {
  EXPECT_EQ(shown({"/**/password"}, R"({"price": 12.50, "id": 12345678901234567890123, "n": "\u00e9", "password": 1})"),
            R"({"price":12.50,"id":12345678901234567890123,"n":"\u00e9","password":"[redacted]"})");
  EXPECT_EQ(shown({"/**/password"}, R"({"p\u0061ssword": 1, "password": 2, "password": 3})"),
            R"({"p\u0061ssword":"[redacted]","password":"[redacted]","password":"[redacted]"})");
}

TEST(Redaction, HidesWholeWhatLooksLikeJsonAndCannotBeRead) {
  for (const std::string_view value :
       {std::string_view(R"({"bad": 2, "password": "hunter2")"), std::string_view(R"({"password":)"),
        std::string_view("{\"password\":\"hunter2\"}\n{\"password\":\"hunter2\"}"),
        std::string_view("\xef\xbb\xbf {\"password\":\"hunter2\"}"), std::string_view(" [{\"password\":\"hunter2\"}"),
        std::string_view("\0\0\0\0\7{\"password\":\"hunter2\"}", 27)}) {
    EXPECT_EQ(shown({"/**/password"}, value), kHiddenWhole);
    EXPECT_EQ(shown({}, value), value) << "without a rule nothing is hidden";
  }
}

TEST(Redaction, HidesWhatIsTooDeepToLookThrough) {
  std::string deep = R"({"password":1})";
  for (int i = 0; i < 65; ++i) deep.insert(0, "[").append("]");
  EXPECT_EQ(shown({"/**/password"}, deep), kHiddenWhole);
  EXPECT_EQ(shown({}, deep), deep);
}

TEST(Redaction, HidesHeadersInAnyCase) {
  const Redaction rules({{}, {"Authorization"}});
  const Headers headers = rules.headers({{"authorization", Bytes("x")}, {"AUTHORIZATION", {}}, {"other", Bytes("y")}});
  EXPECT_EQ(headers[0].second, "[redacted]");
  EXPECT_EQ(headers[1].second, std::nullopt);
  EXPECT_EQ(headers[2].second, "y");
  EXPECT_TRUE(rules.hides("header.AuthorizatioN"));
  EXPECT_FALSE(rules.hides("header.other"));
}

TEST(Redaction, KnowsPointersOfFacts) {
  const Redaction rules({{"/**/password"}, {}});
  EXPECT_TRUE(rules.hides("/user/password"));
  EXPECT_FALSE(rules.hides("/user/name"));
  EXPECT_FALSE(rules.hides("worker"));
}

TEST(Redaction, HidesFactsInsideOfWhatIsHidden) {
  const Redaction rules({{"/auth", "/**/credentials", "/users/*/secrets"}, {}});
  EXPECT_TRUE(rules.hides("/auth/token"));
  EXPECT_TRUE(rules.hides("/auth/deeper/token"));
  EXPECT_TRUE(rules.hides("/db/credentials/password"));
  EXPECT_TRUE(rules.hides("/users/ann/secrets/pin"));
  EXPECT_FALSE(rules.hides("/author"));
  EXPECT_FALSE(rules.hides("/db/host"));
  EXPECT_FALSE(rules.hides("worker"));
  const Redaction all({{"/**"}, {}});
  EXPECT_TRUE(all.hides("/a"));
  EXPECT_FALSE(all.hides("worker"));
}

}  // namespace
}  // namespace bartleby
