// Which alerts hold, and when who is told.
#include "office/alert_book.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

constexpr Duration kResend{60000};
constexpr Duration kKeep{240000};

Now at(std::int64_t seconds) {
  return {Instant(Duration(seconds * 1000)), timestamp_ms(1736937000000 + seconds * 1000)};
}

DlqState dlq(std::string name, std::int64_t open, DlqClass dlq_class = DlqClass::kNormal) {
  DlqState out;
  out.name = std::move(name);
  out.dlq_class = dlq_class;
  out.letters[static_cast<std::size_t>(LetterState::kOpen)] = open;
  return out;
}

Issue issue(std::string id, IssueState state, std::int64_t open) {
  Issue out;
  out.id = std::move(id);
  out.state = state;
  out.open = open;
  out.title = "Timeout after #s";
  return out;
}

std::vector<std::string> names(const Alerts& alerts) {
  std::vector<std::string> out;
  for (const auto& [key, alert] : alerts) {
    out.push_back(alert.name);
    for (const auto& [label, value] : alert.labels) out.back() += " " + label + "=" + value;
  }
  return out;
}

Alerts holding(std::vector<DlqState> dlqs, const Alerts& before = {}, Now now = at(0)) {
  return alerts_of({std::move(dlqs), {}}, before, now.wall, kKeep);
}

TEST(Alerts, OpenLettersAreAWarningAndAboutMoneyCritical) {
  const auto found = holding({dlq("a.dlq", 3), dlq("b.dlq", 1, DlqClass::kFinancial), dlq("c.dlq", 0)});
  EXPECT_EQ(names(found), (std::vector<std::string>{"LetterArrived class=financial dlq=b.dlq severity=critical",
                                                    "LetterArrived class=normal dlq=a.dlq severity=warning"}));
}

TEST(Alerts, OnlyNewAndRegressedIssuesWithOpenLettersAre) {
  const auto found = alerts_of({{},
                                {issue("iss_1", IssueState::kNew, 2), issue("iss_2", IssueState::kRegressed, 1),
                                 issue("iss_3", IssueState::kActive, 5), issue("iss_4", IssueState::kNew, 0)}},
                               {}, at(0).wall, kKeep);
  EXPECT_EQ(names(found), (std::vector<std::string>{"IssueNew issue=iss_1 severity=warning",
                                                    "IssueRegressed issue=iss_2 severity=warning"}));
  EXPECT_EQ(found.begin()->second.annotations.at("summary"), "Timeout after #s");
}

TEST(Alerts, CountsChangeAnnotationsAndNeverLabels) {
  const auto first = holding({dlq("a.dlq", 1)});
  const auto later = holding({dlq("a.dlq", 40)}, first, at(30));
  EXPECT_EQ(names(first), names(later));
  EXPECT_EQ(later.begin()->second.annotations.at("open"), "40");
  EXPECT_EQ(later.begin()->second.starts, at(0).wall);
  EXPECT_EQ(later.begin()->second.ends, at(30).wall + kKeep);
}

TEST(Alerts, ThereIsALimit) {
  std::vector<DlqState> many;
  for (std::size_t i = 0; i < kMaxAlerts + 5; ++i) many.push_back(dlq("d" + std::to_string(i) + ".dlq", 1));
  EXPECT_EQ(holding(many).size(), kMaxAlerts);
}

TEST(AlertTelling, IsToldAtOnceThenEveryResendAndWhenItEnds) {
  AlertTelling telling;
  const auto one = holding({dlq("a.dlq", 1)});
  ASSERT_EQ(telling.due(one, at(0)).size(), 1U);
  telling.told(one, true, at(0), kResend);
  EXPECT_TRUE(telling.due(holding({dlq("a.dlq", 9)}, one), at(59)).empty());  // a count is no reason
  EXPECT_EQ(telling.due(one, at(60)).size(), 1U);
  const auto two = holding({dlq("a.dlq", 1), dlq("b.dlq", 1)}, one);
  EXPECT_EQ(telling.due(two, at(1)).size(), 2U);  // another one is
  const auto ended = telling.due({}, at(5));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_TRUE(ended[0].ended);
  EXPECT_EQ(ended[0].ends, at(5).wall);
  EXPECT_EQ(ended[0].labels, one.begin()->second.labels);
  telling.told({}, true, at(5), kResend);
  EXPECT_TRUE(telling.due({}, at(500)).empty());  // once
}

TEST(AlertTelling, AFailureIsTriedAgainLaterEachTimeAndAnEndIsNotForgotten) {
  AlertTelling telling;
  const auto one = holding({dlq("a.dlq", 1)});
  telling.told(one, false, at(0), kResend);
  EXPECT_TRUE(telling.due(one, at(0)).empty());
  EXPECT_EQ(telling.due(one, at(1)).size(), 1U);
  telling.told(one, false, at(1), kResend);
  EXPECT_TRUE(telling.due(one, at(2)).empty());
  EXPECT_EQ(telling.due(one, at(3)).size(), 1U);
  for (int i = 0; i < 20; ++i) telling.told(one, false, at(3), kResend);
  EXPECT_TRUE(telling.due({}, at(62)).empty());
  const auto ended = telling.due({}, at(63));  // never longer than a resend; it may have heard of it
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_TRUE(ended[0].ended);
  telling.told({}, false, at(63), kResend);
  EXPECT_EQ(telling.due({}, at(123)).size(), 1U);
  telling.told({}, true, at(123), kResend);
  EXPECT_TRUE(telling.due({}, at(1000)).empty());
}

}  // namespace
}  // namespace bartleby
