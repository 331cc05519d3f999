// When a failing message is tried again, row by row.
#include "model/retry_policy.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace bartleby {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// A policy as the tables of workers give it: how many retries, how far apart.
struct Row {
  std::string worker;
  std::uint32_t max_retries;
  std::vector<Duration> waits;
  Duration timeout{30000};
};

RetryPolicy scheduled(const Row& row) {
  RetryPolicy p;
  p.max_attempts = row.max_retries + 1;
  if (!row.waits.empty()) p.backoff = Schedule{row.waits};
  p.timeout = row.timeout;
  return p;
}

std::vector<Duration> waits_of(const RetryPolicy& p, Random& random) {
  std::vector<Duration> waits;
  for (std::uint32_t failed = 1; failed < p.attempts_for(Kind::kTransient); ++failed)
    waits.push_back(p.delay(failed, random));
  return waits;
}

TEST(RetryPolicy, FollowsTheSchedulesOfAnEscrow) {
  const std::vector<Row> rows = {
      {"TON Deposit Watcher", 5, {seconds(1), seconds(5), seconds(30), minutes(5), minutes(30)}},
      {"Payout Executor", 5, {seconds(1), seconds(5), seconds(30), minutes(5), minutes(30)}},
      {"Refund Executor", 5, {seconds(1), seconds(5), seconds(30), minutes(5), minutes(30)}},
      {"Deal Timeout Worker", 3, {seconds(1), seconds(5), seconds(30)}},
      {"Post Scheduler", 3, {seconds(1), seconds(10), seconds(60)}},
      {"Delivery Verifier", 3, {seconds(1), seconds(10), seconds(60)}},
      {"Reconciliation Worker", 2, {seconds(5), seconds(60)}},
  };
  Random random(1);
  for (const Row& row : rows) EXPECT_EQ(waits_of(scheduled(row), random), row.waits) << row.worker;
}

TEST(RetryPolicy, FollowsTheBackoffsOfItsWorkersByDoubling) {
  const std::vector<Row> rows = {
      {"TON Deposit Watcher", 5, {seconds(2), seconds(4), seconds(8), seconds(16), seconds(32)}, seconds(60)},
      {"Payout Executor", 3, {seconds(5), seconds(10), seconds(20)}, seconds(120)},
      {"Refund Executor", 3, {seconds(5), seconds(10), seconds(20)}, seconds(120)},
      {"Auto-Publisher", 3, {seconds(2), seconds(4), seconds(8)}, seconds(30)},
      {"Delivery Verifier", 5, {seconds(60), seconds(120), seconds(240), seconds(480), seconds(960)}, seconds(30)},
      {"Reconciliation", 1, {}, seconds(300)},
  };
  Random random(1);
  for (const Row& row : rows) {
    RetryPolicy p = scheduled(row);
    if (row.waits.empty()) {  // no wait is given for its one retry
      p.backoff = Schedule{{Duration(0)}};
      EXPECT_EQ(waits_of(p, random), (std::vector<Duration>{Duration(0)})) << row.worker;
    } else {
      EXPECT_EQ(waits_of(p, random), row.waits) << row.worker;
      p.backoff = Exponential{.initial = row.waits.front(), .factor = 2, .max = row.waits.back()};
      EXPECT_EQ(waits_of(p, random), row.waits) << row.worker;
    }
    EXPECT_EQ(p.timeout, row.timeout) << row.worker;
  }
}

TEST(RetryPolicy, TheLastStepOfAScheduleRepeats) {
  RetryPolicy p;
  p.backoff = Schedule{{seconds(1), seconds(5)}};
  Random random(1);
  EXPECT_EQ(p.delay(2, random), seconds(5));
  EXPECT_EQ(p.delay(3, random), seconds(5));
  EXPECT_EQ(p.delay(4000000000u, random), seconds(5));
}

TEST(RetryPolicy, LinearGrowsByOneStepPerFailure) {
  RetryPolicy p;
  p.backoff = Linear{seconds(3)};
  Random random(1);
  for (std::uint32_t failed = 1; failed < 50; ++failed) EXPECT_EQ(p.delay(failed, random), seconds(3 * failed));
  EXPECT_GT(p.delay(4000000000u, random), Duration(0)) << "no overflow";
}

TEST(RetryPolicy, ExponentialStopsAtItsMaximum) {
  RetryPolicy p;
  p.backoff = Exponential{.initial = seconds(1), .factor = 3, .max = seconds(20)};
  Random random(1);
  const std::vector<Duration> expected = {seconds(1), seconds(3), seconds(9), seconds(20), seconds(20)};
  for (std::uint32_t failed = 1; failed <= 5; ++failed) EXPECT_EQ(p.delay(failed, random), expected[failed - 1]);
  EXPECT_EQ(p.delay(4000000000u, random), seconds(20));
}

TEST(RetryPolicy, ExponentialWithAFactorOfOneStays) {
  RetryPolicy p;
  p.backoff = Exponential{.initial = seconds(2), .factor = 1, .max = seconds(20)};
  Random random(1);
  EXPECT_EQ(p.delay(1000, random), seconds(2));
}

TEST(RetryPolicy, JitterStaysWithinItsBoundsAndReachesThem) {
  RetryPolicy p;
  p.backoff = Schedule{{Duration(1000)}};
  p.jitter_percent = 20;
  Random random(42);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 20000; ++i) {
    const Duration wait = p.delay(1, random);
    ASSERT_GE(wait, Duration(800));
    ASSERT_LE(wait, Duration(1200));
    seen.insert(wait.count());
  }
  EXPECT_EQ(seen.size(), 401u) << "every millisecond between the bounds";
}

TEST(RetryPolicy, JitterOfMoreThanEverythingNeverGoesBackInTime) {
  RetryPolicy p;
  p.backoff = Schedule{{Duration(10)}};
  p.jitter_percent = 500;
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const Duration wait = p.delay(1, random);
    EXPECT_GE(wait, Duration(0));
    EXPECT_LE(wait, Duration(20));
  }
}

TEST(RetryPolicy, TheSameSeedGivesTheSameJitter) {
  RetryPolicy p;
  p.jitter_percent = 50;
  Random one(9);
  Random two(9);
  for (std::uint32_t i = 1; i < 100; ++i) EXPECT_EQ(p.delay(i, one), p.delay(i, two));
}

TEST(RetryPolicy, AKindMayHaveAttemptsOfItsOwn) {
  RetryPolicy p;
  p.max_attempts = 6;
  p.max_attempts_by_kind[static_cast<std::size_t>(Kind::kTimeout)] = 2;
  p.max_attempts_by_kind[static_cast<std::size_t>(Kind::kConfig)] = 0;
  EXPECT_EQ(p.attempts_for(Kind::kTransient), 6u);
  EXPECT_EQ(p.attempts_for(Kind::kTimeout), 2u);
  EXPECT_EQ(p.attempts_for(Kind::kConfig), 1u) << "what ran has had one attempt";
}

TEST(RetryPolicy, FinalKindsHaveOneAttemptWhateverIsConfigured) {
  RetryPolicy p;
  for (const Kind kind : {Kind::kPermanent, Kind::kMalformed, Kind::kSecurity}) {
    p.max_attempts_by_kind[static_cast<std::size_t>(kind)] = 9;
    EXPECT_EQ(p.attempts_for(kind), 1u) << name(kind);
  }
}

}  // namespace
}  // namespace bartleby
