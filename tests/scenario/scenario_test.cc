// Every scenario on every broker; and that a scenario which is wrong, or goes wrong, is not taken for a good one.
#include "tests/scenario/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/scenario/play.h"

namespace bartleby::scenario {
namespace {

const std::string kFolder = BARTLEBY_SOURCE "/tests/scenario";

std::vector<std::string> all_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".scenario") files.push_back(entry.path().stem());
  std::ranges::sort(files);
  return files;
}

std::string on(const Scenario& scenario, std::unique_ptr<Stage> stage) {
  const Played played = play(scenario, *stage);
  const std::string wrong = unmet(scenario, played);
  return wrong.empty() ? "" : wrong + "what happened:\n" + played.text();
}

class Scenarios : public testing::TestWithParam<std::string> {
 protected:
  Scenario load() {
    std::ifstream in(kFolder + "/" + GetParam() + ".scenario", std::ios::binary);
    auto parsed = parse(GetParam() + ".scenario", std::string(std::istreambuf_iterator<char>(in), {}));
    EXPECT_TRUE(parsed.has_value()) << parsed.error();
    return parsed ? std::move(*parsed) : Scenario{};
  }
};

TEST_P(Scenarios, OnTheSimulatedBroker) {
  const Scenario scenario = load();
  ASSERT_FALSE(HasFailure());
  if (const std::string wrong = on(scenario, simulated_stage()); !wrong.empty()) ADD_FAILURE() << wrong;
}

TEST_P(Scenarios, OnTheEmbeddedBroker) {
  const Scenario scenario = load();
  ASSERT_FALSE(HasFailure());
  if (const std::string wrong = on(scenario, embedded_stage()); !wrong.empty()) ADD_FAILURE() << wrong;
}

INSTANTIATE_TEST_SUITE_P(All, Scenarios, testing::ValuesIn(all_files()),
                         [](const auto& instance) { return instance.param; });

// ---- the reader and the judge --------------------------------------------------------------------------

const std::string kConfig =
    "workers:\n  w: {topics: [t], handler: {pull: {}}, guard: null, retry: {max_attempts: 2, schedule: [5s]}}\n---\n";
const std::string kGood = "at 0s send m1 to t key=a\nhandler m1: fail, done\nuntil 10s\n";

std::string mistake(const std::string& text) {
  const auto parsed = parse("f", text);
  return parsed ? "" : parsed.error();
}

TEST(ScenarioText, AMistakeNamesItsFileAndLine) {
  EXPECT_EQ(mistake(kConfig + kGood + "expect m1 done after 2 attempts\n"), "");
  EXPECT_TRUE(mistake("workers:\n  w: {topcs: [t]}\n---\n").find("f:2") != std::string::npos)
      << mistake("workers:\n  w: {topcs: [t]}\n---\n");
  EXPECT_EQ(mistake("workers: {}\n"), "f:1: wants a line --- between the configuration and what happens");
  for (const char* bad :
       {"at 5 send m2 to t", "at 0s sent m2 to t", "at 0s send m2 to t keys=a", "handler m1 done", "handler m1: dne",
        "handler m1: fail often", "handler m1: done, , done", "until soon", "expect m1 dead",
        "expect m1 letter BORED after 1 attempt", "expect m1 done", "expect m1..m0 skipped", "expect m1 skipped early",
        "expect guard opens", "expect guard", "expect", "hello"}) {
    const std::string said = mistake(kConfig + "# a comment\n" + bad + "\n");
    EXPECT_TRUE(said.starts_with("f:5: ")) << bad << ": " << said;
  }
}

TEST(ScenarioText, EveryMessageHasAnEndAndNobodyElseHas) {
  const std::string end = "expect m1 done after 2 attempts\n";
  EXPECT_NE(mistake(kConfig + kGood).find("nothing says how m1 ends"), std::string::npos);
  EXPECT_NE(mistake(kConfig + kGood + end + end).find("expected twice"), std::string::npos);
  EXPECT_NE(mistake(kConfig + kGood + end + "at 0s send m1 to t\n").find("sent twice"), std::string::npos);
  EXPECT_NE(mistake(kConfig + kGood + end + "at 11s send m2 to t\n").find("after the end"), std::string::npos);
  EXPECT_NE(mistake(kConfig + kGood + end + "expect order m1, m2\n").find("no message m2"), std::string::npos);
  EXPECT_NE(mistake(kConfig + kGood + end + "handler m2: done\n").find("no message m2"), std::string::npos);
  EXPECT_NE(mistake(kConfig + "until 1s\n").find("no message is sent"), std::string::npos);
  EXPECT_NE(mistake(kConfig + "at 0s send m1 to t\nexpect m1 skipped\n").find("until"), std::string::npos);
  EXPECT_NE(mistake(kConfig + "at 0s send m1 to u\n").find("does not read topic u"), std::string::npos);
}

// Lines that are not so, each with a piece of what must be said about it.
TEST(ScenarioText, WhatIsNotSoIsSaidWithTheWholeTimeline) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"expect m1 done after 1 attempt", "f:7: m1: expected done after 1 attempt, got done after 2 attempts"},
      {"expect m1 letter EXHAUSTED after 2 attempts", "expected letter EXHAUSTED after 2 attempts, got done"},
      {"expect m1 skipped", "expected skipped, got done after 2 attempts"},
      {"expect m1 done after 2 attempts\nexpect m1 waits 4s", "f:8: m1: expected to wait 4s, waited 5s"},
      {"expect m1 done after 2 attempts\nexpect m1 waits 6s", "expected to wait 6s, waited 5s"},
      {"expect m1 done after 2 attempts\nexpect m1 waits 5s, 5s", "expected to wait 5s, 5s, waited 5s"},
      {"expect m1 done after 2 attempts\nexpect m1 attempts at 0s", "expected attempts at 0s, got"},
      {"expect m1 done after 2 attempts\nexpect order m1", "expected the order m1, got m1, m1"},
      {"expect m1 done after 2 attempts\nexpect guard opens 1s", "expected the guard to open at 1s, got none"},
      {"expect m1 done after 2 attempts kind timeout", "what is done has left no story"},
  };
  for (const auto& [lines, said] : wrong) {
    const auto parsed = parse("f", kConfig + kGood + lines + "\n");
    ASSERT_TRUE(parsed.has_value()) << parsed.error();
    const std::string text = on(*parsed, simulated_stage());
    EXPECT_NE(text.find(said), std::string::npos) << lines << "\n" << text;
    EXPECT_NE(text.find("m1 attempt 2 begins"), std::string::npos) << text;
  }
}

TEST(ScenarioText, TheStoryOfALetterIsHeldAgainstWhatItSays) {
  const std::string script = "at 0s send m1 to t key=a\nhandler m1: fail saying no\nuntil 10s\n";
  const std::string end = "expect m1 letter EXHAUSTED after 2 attempts ";
  for (const auto& [story, said] :
       {std::pair<std::string, std::string>{"kind timeout", "expected kind timeout, got transient"},
        {"first 1s", "expected the first failure at 1s"},
        {"last 1s", "expected the last failure at 1s"},
        {"saying yes", "expected the error 'yes', got 'no'"}}) {
    const auto parsed = parse("f", kConfig + script + end + story + "\n");
    ASSERT_TRUE(parsed.has_value()) << parsed.error();
    EXPECT_NE(on(*parsed, simulated_stage()).find(said), std::string::npos) << on(*parsed, simulated_stage());
  }
  const auto right = parse("f", kConfig + script + end + "kind transient first 0s last 5s saying no\n");
  EXPECT_EQ(on(*right, simulated_stage()), "");
}

}  // namespace
}  // namespace bartleby::scenario
