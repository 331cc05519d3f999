#include "runtime/pull_handler.h"

#include <gtest/gtest.h>

#include "tests/support/attempts.h"

namespace bartleby {
namespace {

using test::make_attempt;
using test::Outcomes;
using test::text_of;

class PullHandlerTest : public testing::Test {
 protected:
  Now now_{Instant(Duration(1000)), timestamp_ms(1736937000000)};
  TellTime clock_ = [this] { return now_; };
  Outcomes outcomes_;
  std::shared_ptr<OpenAttempts> open_ = std::make_shared<OpenAttempts>(OpenAttemptsOptions{.clock = clock_});
  PullHandler pull_{
      open_, {.max_offered = 5, .max_waiting_claims = 2, .max_per_claim = 3, .max_claim_bytes = 100, .clock = clock_}};
  std::vector<std::vector<std::string>> claims_;  // the tokens of each claim that has been answered
  std::vector<Timestamp> deadlines_;

  void pass(Duration d) { now_ = {now_.steady + d, now_.wall + d}; }

  std::shared_ptr<AttemptIn> offer(int name, std::size_t bytes = 1) {
    LogRecord record;
    record.value = std::string(bytes, 'x');
    auto a = make_attempt(record, Duration(0), "at_" + std::to_string(name));
    a->deadline = now_.steady + Duration(30000);
    pull_.start(a, outcomes_.answer(name));
    return a;
  }

  Result<PullHandler::ClaimId> claim(std::size_t max, Duration wait = Duration(0)) {
    return pull_.claim({max, wait, "gpu-7"}, [this](std::vector<Claimed> got) {
      auto& tokens = claims_.emplace_back();
      for (const Claimed& c : got) {
        tokens.push_back(c.attempt->token);
        deadlines_.push_back(c.deadline);
      }
    });
  }
  using Claims = std::vector<std::vector<std::string>>;
};

TEST_F(PullHandlerTest, GivesWhatWasOfferedInOrder) {
  for (int i = 1; i <= 4; ++i) offer(i);
  ASSERT_TRUE(claim(2));
  ASSERT_TRUE(claim(10));
  ASSERT_TRUE(claim(1));
  EXPECT_EQ(claims_, (Claims{{"at_1", "at_2"}, {"at_3", "at_4"}, {}}));
  EXPECT_EQ(open_->finish("at_2", {}), OpenAttempts::Finish::kOk);
  EXPECT_EQ(text_of(outcomes_.of(2)), "done");
}

TEST_F(PullHandlerTest, TheDeadlineBeginsWhenItIsClaimed) {
  offer(1);
  pass(std::chrono::hours(5));
  pull_.tick();
  open_->tick();
  EXPECT_EQ(outcomes_.answers(), 0U);
  ASSERT_TRUE(claim(1));
  EXPECT_EQ(deadlines_.at(0), now_.wall + Duration(30000));
  pass(Duration(29999));
  open_->tick();
  EXPECT_EQ(outcomes_.answers(), 0U);
  pass(Duration(1));
  open_->tick();
  EXPECT_EQ(outcomes_.of(1).kind, Kind::kTimeout);
}

TEST_F(PullHandlerTest, AClaimWaitsUntilThereIsSomething) {
  ASSERT_TRUE(claim(2, Duration(10000)));
  EXPECT_TRUE(claims_.empty());
  offer(1);
  EXPECT_EQ(claims_, (Claims{{"at_1"}}));
  EXPECT_EQ(pull_.figures().claims, 0U);
}

TEST_F(PullHandlerTest, AClaimEndsWithNothingWhenItsWaitIsOver) {
  ASSERT_TRUE(claim(2, Duration(10000)));
  ASSERT_TRUE(claim(2, std::chrono::hours(9)));
  EXPECT_EQ(pull_.next_deadline(), now_.steady + Duration(10000));
  pass(Duration(10000));
  pull_.tick();
  EXPECT_EQ(claims_, (Claims{{}}));
  pass(Duration(50000));  // the longest wait is a minute, whatever is asked for
  pull_.tick();
  EXPECT_EQ(claims_, (Claims{{}, {}}));
  EXPECT_EQ(pull_.next_deadline(), kNever);
}

TEST_F(PullHandlerTest, AnAbandonedClaimGetsNothing) {
  const auto id = claim(1, Duration(10000));
  EXPECT_TRUE(pull_.abandon(*id));
  EXPECT_FALSE(pull_.abandon(*id));
  offer(1);
  EXPECT_TRUE(claims_.empty());
  EXPECT_EQ(pull_.figures().offered, 1U);
}

TEST_F(PullHandlerTest, CancelledAttemptsAreDropped) {
  const auto first = offer(1);
  offer(2);
  const auto third = offer(3);
  first->cancelled = true;
  ASSERT_TRUE(claim(1));
  EXPECT_EQ(claims_, (Claims{{"at_2"}}));
  EXPECT_EQ(outcomes_.of(1).error.type, "Cancelled");
  third->cancelled = true;
  pull_.tick();
  EXPECT_EQ(outcomes_.of(3).error.type, "Cancelled");
  EXPECT_EQ(pull_.figures().offered, 0U);
}

TEST_F(PullHandlerTest, KeepsToItsLimits) {
  EXPECT_FALSE(claim(0));
  ASSERT_TRUE(claim(1, Duration(5)));
  ASSERT_TRUE(claim(1, Duration(5)));
  EXPECT_FALSE(claim(1, Duration(5)));
  pass(Duration(5));
  pull_.tick();
  claims_.clear();
  for (int i = 1; i <= 6; ++i) offer(i, i == 2 ? 200 : 60);
  EXPECT_EQ(outcomes_.of(6).kind, Kind::kThrottled);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(claim(100));
  EXPECT_EQ(claims_, (Claims{{"at_1"}, {"at_2"}, {"at_3"}, {"at_4"}, {"at_5"}}));  // 100 bytes each, one at least
}

TEST_F(PullHandlerTest, AClaimIsCutAtItsNumber) {
  for (int i = 1; i <= 5; ++i) offer(i);
  ASSERT_TRUE(claim(100));
  EXPECT_EQ(claims_.at(0).size(), 3U);
}

TEST_F(PullHandlerTest, CloseAnswersWhatWaits) {
  ASSERT_TRUE(claim(1, Duration(10000)));
  pull_.close();
  EXPECT_EQ(claims_, (Claims{{}}));
  offer(1);
  EXPECT_TRUE(outcomes_.of(1).unrun);
  ASSERT_TRUE(claim(1, Duration(10000)));
  EXPECT_EQ(claims_.size(), 2U);
}

}  // namespace
}  // namespace bartleby
