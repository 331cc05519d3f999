#include "runtime/open_attempts.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "runtime/attempt_token.h"
#include "tests/support/attempts.h"

namespace bartleby {
namespace {

using test::make_attempt;
using test::Outcomes;
using test::text_of;
using enum OpenAttempts::Finish;

class OpenAttemptsTest : public testing::Test {
 protected:
  Now now_{Instant(Duration(1000)), timestamp_ms(1736937000000)};
  Outcomes outcomes_;
  OpenAttempts open_{{.max_open = 3, .clock = [this] { return now_; }}};

  void pass(Duration d) { now_ = {now_.steady + d, now_.wall + d}; }
  static std::shared_ptr<AttemptIn> attempt(std::string token) {
    return make_attempt({}, Duration(0), std::move(token));
  }
  static Decision done() { return {}; }
  static Decision skip() {
    Decision d;
    d.fate = Fate::kSkip;
    return d;
  }
};

TEST_F(OpenAttemptsTest, FinishAnswersOnceAndThenTheAttemptIsGone) {
  EXPECT_EQ(open_.open(attempt("at_1"), Duration(5000), outcomes_.answer(1)), timestamp_ms(1736937005000));
  EXPECT_EQ(open_.finish("at_1", done()), kOk);
  EXPECT_EQ(open_.finish("at_1", done()), kGone);
  EXPECT_EQ(open_.finish("at_2", done()), kGone);
  EXPECT_EQ(open_.extend("at_1", Duration(1)).error(), OpenAttempts::NotExtended::kGone);
  EXPECT_EQ(outcomes_.answers(), 1U);
  EXPECT_EQ(open_.size(), 0U);
}

TEST_F(OpenAttemptsTest, ADeadlineEndsItAsATimeout) {
  open_.open(attempt("at_1"), Duration(5000), outcomes_.answer(1));
  open_.tick();
  pass(Duration(4999));
  open_.tick();
  EXPECT_EQ(outcomes_.answers(), 0U);
  pass(Duration(1));
  EXPECT_LE(open_.next_deadline(), now_.steady);
  open_.tick();
  EXPECT_EQ(text_of(outcomes_.of(1)), "retry timeout \"Timeout\" \"not finished by its deadline\"");
  EXPECT_EQ(open_.finish("at_1", done()), kGone);
  EXPECT_EQ(open_.next_deadline(), kNever);
}

TEST_F(OpenAttemptsTest, ALateSuccessBeforeTheVerdictIsASuccess) {
  open_.open(attempt("at_1"), Duration(5000), outcomes_.answer(1));
  pass(Duration(6000));
  EXPECT_EQ(open_.finish("at_1", done()), kOk);
  open_.tick();
  EXPECT_EQ(text_of(outcomes_.of(1)), "done");
  EXPECT_EQ(outcomes_.answers(), 1U);
}

TEST_F(OpenAttemptsTest, ExtendMovesTheDeadlineUpToADay) {
  open_.open(attempt("at_1"), Duration(5000), outcomes_.answer(1));
  EXPECT_EQ(open_.extend("at_1", Duration(60000)), timestamp_ms(1736937065000));
  EXPECT_EQ(open_.extend("at_1", Duration(-60000)), timestamp_ms(1736937065000));
  pass(Duration(64999));
  open_.tick();
  EXPECT_EQ(outcomes_.answers(), 0U);
  const Timestamp latest = timestamp_ms(1736937000000) + kLongestAttempt;
  EXPECT_EQ(open_.extend("at_1", Duration::max()), latest);
  EXPECT_EQ(open_.extend("at_1", Duration(1)), latest);
  pass(kLongestAttempt - Duration(65000));
  open_.tick();
  EXPECT_EQ(outcomes_.answers(), 0U);
  pass(Duration(1));
  open_.tick();
  EXPECT_EQ(outcomes_.answers(), 1U);
}

TEST_F(OpenAttemptsTest, WhatIsFinishedBeforeThePendingAnswerArrivesIsNotLost) {
  const auto a = attempt("at_1");
  ASSERT_TRUE(open_.announce(a));
  EXPECT_EQ(open_.finish("at_1", skip()), kOk);
  EXPECT_EQ(open_.finish("at_1", done()), kGone);
  open_.keep(a, outcomes_.answer(1));
  EXPECT_EQ(outcomes_.of(1).fate, Fate::kSkip);
  EXPECT_EQ(open_.size(), 0U);
}

TEST_F(OpenAttemptsTest, AFinishWinsOverAnAnswerThatFails) {
  const auto a = attempt("at_1");
  ASSERT_TRUE(open_.announce(a));
  EXPECT_EQ(open_.finish("at_1", done()), kOk);
  const auto decided = open_.withdraw("at_1");
  ASSERT_TRUE(decided);
  EXPECT_EQ(decided->fate, Fate::kDone);
  ASSERT_TRUE(open_.announce(a));
  EXPECT_FALSE(open_.withdraw("at_1"));
  EXPECT_FALSE(open_.withdraw("at_1"));
}

TEST_F(OpenAttemptsTest, AnAnnouncedAttemptIsTheSendersToTimeOut) {
  const auto a = make_attempt({}, Duration(0), "at_1");
  a->deadline = now_.steady + Duration(10);
  a->deadline_wall = now_.wall + Duration(10);
  ASSERT_TRUE(open_.announce(a));
  EXPECT_EQ(open_.extend("at_1", Duration(90)).error(), OpenAttempts::NotExtended::kUnanswered);
  pass(Duration(5));
  open_.tick();
  open_.keep(a, outcomes_.answer(1));
  EXPECT_EQ(open_.extend("at_1", Duration(90)), now_.wall + Duration(95));
  pass(Duration(45));
  open_.tick();
  EXPECT_EQ(outcomes_.answers(), 0U);
  pass(Duration(50));
  open_.tick();
  EXPECT_EQ(outcomes_.of(1).kind, Kind::kTimeout);
}

TEST_F(OpenAttemptsTest, RefusesMoreThanItsLimitAndATokenTwice) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(open_.announce(attempt("at_" + std::to_string(i))));
  EXPECT_FALSE(open_.announce(attempt("at_3")));
  EXPECT_EQ(open_.open(attempt("at_4"), Duration(1), outcomes_.answer(4)), std::nullopt);
  EXPECT_EQ(outcomes_.of(4).kind, Kind::kThrottled);
  open_.withdraw("at_0");
  EXPECT_FALSE(open_.announce(attempt("at_1")));
  EXPECT_TRUE(open_.announce(attempt("at_0")));
}

TEST_F(OpenAttemptsTest, ACancelledAttemptIsGone) {
  const auto a = attempt("at_1");
  open_.tick();
  open_.open(a, Duration(50000), outcomes_.answer(1));
  a->cancelled = true;
  EXPECT_EQ(open_.finish("at_1", done()), kGone);
  EXPECT_EQ(open_.extend("at_1", Duration(1)).error(), OpenAttempts::NotExtended::kGone);
  pass(Duration(1000));
  open_.tick();
  EXPECT_EQ(outcomes_.answers(), 1U);
  EXPECT_EQ(open_.size(), 0U);
}

TEST_F(OpenAttemptsTest, CloseAnswersEverythingAndTakesNothingMore) {
  const auto a = attempt("at_2");
  open_.open(attempt("at_1"), Duration(50000), outcomes_.answer(1));
  ASSERT_TRUE(open_.announce(a));
  open_.close();
  open_.keep(a, outcomes_.answer(2));
  EXPECT_TRUE(outcomes_.of(1).unrun);
  EXPECT_TRUE(outcomes_.of(2).unrun);
  EXPECT_FALSE(open_.announce(attempt("at_3")));
  EXPECT_EQ(open_.finish("at_1", done()), kGone);
}

TEST(OpenAttempts, RacingFinishesAnswerEachAttemptOnce) {
  OpenAttempts open;
  Outcomes outcomes;
  std::atomic<int> ok{0};
  constexpr int kCount = 2000;
  for (int i = 0; i < kCount; ++i)
    open.open(make_attempt({}, Duration(0), "at_" + std::to_string(i)), Duration(60000), outcomes.answer(i));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kCount; ++i) ok += open.finish("at_" + std::to_string(i), {}) == kOk;
      });
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) open.tick();
    });
  }
  EXPECT_EQ(ok, kCount);
  EXPECT_EQ(outcomes.answers(), static_cast<std::size_t>(kCount));
}

TEST(AttemptToken, HasTheAgreedShapeAndNeverRepeats) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = new_attempt_token();
    EXPECT_EQ(token.size(), 29U);
    EXPECT_TRUE(token.starts_with("at_"));
    EXPECT_EQ(token.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567", 3), std::string::npos);
    EXPECT_TRUE(seen.insert(token).second);
  }
}

}  // namespace
}  // namespace bartleby
