// What every sink behind ports/sink.h must do.
#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "tests/contract/sink_contract.h"

namespace bartleby::contract {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string ticket(int n, const std::string& more = "") {
  return R"({"ticket_id":"t-)" + std::to_string(n) + R"(","task_type":"BUILD")" + more + "}";
}

TEST_P(SinkContract, ALetterIsADocumentWithItsFieldsAndItsStory) {
  write({life(1, ticket(1, R"(,"steps":[1,{"a":null}],"ok":true)"))});
  const std::string document = rig().document("t-1");
  EXPECT_THAT(document, HasSubstr(R"("ticket_id" : "t-1", "task_type" : "BUILD", "steps" : [ 1, { "a" : null } ])"));
  EXPECT_THAT(document, HasSubstr(R"("dlq_metadata" : { "original_error" : "no answer", "error_type" : "TimeoutError",)"
                                  R"( "retry_count" : 3, "last_failure_timestamp" : 1700000000001,)"
                                  R"( "dlq_published_at" : 1700000000011 })"));
  EXPECT_THAT(document, HasSubstr(R"("processed_at" : { "$date" : )"));
  EXPECT_THAT(document, HasSubstr(R"("history" : [  ])"));
  EXPECT_THAT(document, HasSubstr(R"("letter" : "ltr_1")"));
}

TEST_P(SinkContract, WritingTwiceChangesNothing) {
  const std::vector letters = {life(1, ticket(1)), life(2, ticket(1)), life(3, ticket(3))};
  write(letters);
  const std::string one = rig().document("t-1"), other = rig().document("t-3");
  write(letters);
  write({life(2, ticket(1))});
  EXPECT_EQ(rig().document("t-1"), one);
  EXPECT_EQ(rig().document("t-3"), other);
  EXPECT_EQ(rig().documents(), 2U);
}

TEST_P(SinkContract, ALaterLifeMovesTheEarlierOneIntoTheHistory) {
  write({life(1, ticket(1, R"(,"try":"first")"))});
  write({life(1, ticket(1, R"(,"again":"second")"), 1)});
  const std::string document = rig().document("t-1");
  const std::size_t history = document.find(R"("history" : [)");
  EXPECT_THAT(document.substr(0, history), HasSubstr(R"("again" : "second")"));
  EXPECT_THAT(document.substr(0, history), Not(HasSubstr(R"("try")")));
  EXPECT_THAT(document.substr(history), HasSubstr(R"("try" : "first")"));
  EXPECT_THAT(document.substr(history), HasSubstr(R"("retry_count" : 3)"));
  EXPECT_EQ(rig().documents(), 1U);
}

TEST_P(SinkContract, TheOrderOfWritingDoesNotMatter) {
  const std::vector lives = {life(1, ticket(1)), life(1, ticket(1), 1), life(1, ticket(1), 2), life(9, ticket(1))};
  write(lives);
  const std::string forward = rig().document("t-1");
  const std::vector backward(lives.rbegin(), lives.rend());
  for (SinkLetter one : backward) {
    one.payload.value = ticket(2);
    write({one});
  }
  std::string other = rig().document("t-2");
  for (std::size_t at = other.find("t-2"); at != std::string::npos; at = other.find("t-2")) other.replace(at, 3, "t-1");
  const auto state = [](const std::string& text) { return text.find(R"("history_state")"); };  // counts its writes
  EXPECT_EQ(other.substr(0, state(other)), forward.substr(0, state(forward)));
}

TEST_P(SinkContract, WhatHasNoUsableKeyHasTheLettersIdInstead) {
  write({life(1, "no json"), life(2, R"({"task_type":"BUILD"})"), life(3, R"({"ticket_id":null,"a":1})"),
         life(4, R"([1])"), life(5, R"({"ticket_id":{"a":1}})"), life(6, R"({"ticket_id":""})"),
         life(7, std::string("\xff\x00", 2)), life(8, R"({"ticket_id":")" + std::string(513, 'x') + R"("})")});
  for (int n = 1; n <= 8; ++n) EXPECT_NE(rig().document("ltr_" + std::to_string(n)), "") << n;
  EXPECT_THAT(rig().document("ltr_1"), HasSubstr(R"("value" : "no json")"));
  EXPECT_THAT(rig().document("ltr_2"), HasSubstr(R"("task_type" : "BUILD")"));
  EXPECT_THAT(rig().document("ltr_3"), HasSubstr(R"("value" : "{\"ticket_id\":null,\"a\":1}")"));
  EXPECT_THAT(rig().document("ltr_7"), HasSubstr(R"("$binary")"));
  SinkLetter none = life(9, "");
  none.payload.value = std::nullopt;
  none.payload.key = std::nullopt;
  write({none});
  EXPECT_NE(rig().document("ltr_9"), "");
}

TEST_P(SinkContract, NumbersAndNamesAreKeptOrSaidToBeOthers) {
  write({life(1, ticket(1, R"(,"a":9223372036854775807,"b":-9223372036854775808,"c":0.1,"d":1.50,"e":1e3)")),
         life(2, ticket(2, R"(,"big":18446744073709551615)")), life(3, ticket(3, R"(,"pi":3.14159265358979323846)")),
         life(4, ticket(4, R"(,"$where":1,"a.b":2,"history":3)")), life(5, ticket(5, R"(,"a":1,"a":2)")),
         life(6, ticket(6, R"(,"\ud83d":1,"in":{"\udc00":"\ud83d"})"))});
  EXPECT_THAT(rig().document("t-1"), HasSubstr(R"("a" : 9223372036854775807, "b" : -9223372036854775808)"));
  EXPECT_THAT(rig().document("t-1"), HasSubstr(R"("c" : 0.1)"));
  EXPECT_THAT(rig().document("t-1"), Not(HasSubstr(R"("value" : )")));  // nothing else is needed
  EXPECT_THAT(rig().document("t-2"), HasSubstr(R"(\"big\":18446744073709551615})"));
  EXPECT_THAT(rig().document("t-3"), HasSubstr(R"(\"pi\":3.14159265358979323846})"));
  EXPECT_THAT(rig().document("t-4"), HasSubstr(R"(\"$where\":1,\"a.b\":2,\"history\":3)"));
  EXPECT_THAT(rig().document("t-4"), HasSubstr(R"("history_" : 3)"));
  EXPECT_THAT(rig().document("t-5"), HasSubstr(R"("a" : 2)"));
  EXPECT_THAT(rig().document("t-5"), HasSubstr(R"(\"a\":1,\"a\":2)"));
  EXPECT_THAT(rig().document("t-6"), HasSubstr("\"\uFFFD\uFFFD\uFFFD\" : 1"));
  EXPECT_THAT(rig().document("t-6"), HasSubstr(R"(\"\\ud83d\":1,\"in\":{\"\\udc00\":\"\\ud83d\"})"));
}

TEST_P(SinkContract, VeryDeepAndVeryLargeValuesAreTaken) {
  std::string deep = "1";
  for (int i = 0; i < 300; ++i) deep = R"({"d":)" + deep + "}";
  write({life(1, ticket(1, R"(,"deep":)" + deep)),
         life(2, ticket(2, R"(,"log":")" + std::string(17 << 20, 'x') + "\""))});
  EXPECT_THAT(rig().document("t-1"), HasSubstr(R"(\"d\":1})"));
  EXPECT_THAT(rig().document("t-2"), HasSubstr(R"("left_out" : "value: too large for a document")"));
}

TEST_P(SinkContract, ADocumentOfSomebodyElseIsTheOldestLife) {
  rig().put(R"({"ticket_id":"t-1","task_type":"DEPLOY","dlq_metadata":{"retry_count":7}})");
  write({life(1, ticket(1))});
  write({life(1, ticket(1))});
  const std::string document = rig().document("t-1");
  const std::size_t history = document.find(R"("history" : [)");
  EXPECT_THAT(document.substr(0, history), HasSubstr(R"("task_type" : "BUILD")"));
  EXPECT_THAT(document.substr(history), HasSubstr(R"("task_type" : "DEPLOY")"));
  EXPECT_EQ(document.find("DEPLOY"), document.rfind("DEPLOY"));
}

TEST_P(SinkContract, WritersOfTheSameLettersAtTheSameTimeMakeOneDocumentEach) {
  constexpr int kLetters = 20;
  std::array<std::unique_ptr<Sink>, 3> sinks = {rig().another(), rig().another(), rig().another()};
  std::array<int, 3> failures{};
  {
    std::array<std::jthread, 3> threads;
    for (std::size_t t = 0; t < threads.size(); ++t)
      threads[t] = std::jthread([&, t] {
        for (int i = 0; i < kLetters; ++i) {
          const int n = t == 1 ? kLetters - 1 - i : i;
          const std::vector letters = {life(n, ticket(n))};
          const auto done = sinks[t]->write(letters);
          if (!done || !done->empty()) ++failures[t];
        }
      });
  }
  EXPECT_EQ(failures, (std::array<int, 3>{}));
  EXPECT_EQ(rig().documents(), static_cast<std::size_t>(kLetters));
  for (int n = 0; n < kLetters; ++n) EXPECT_THAT(rig().document("t-" + std::to_string(n)), HasSubstr("[  ]")) << n;
}

}  // namespace
}  // namespace bartleby::contract
