// The counters beside the engine's: what they are told, and that nobody waits for their cache.
#include "runtime/retry_counters.h"

#include <gtest/gtest.h>

#include <latch>

#include "adapters/counters/embedded/embedded_counters.h"

namespace bartleby {
namespace {

using Outcome = RetryCounter::Result;

std::shared_ptr<const LogRecord> ticket(std::string_view id) {
  return std::make_shared<const LogRecord>(
      LogRecord{Offset(0), timestamp_ms(0), Bytes(), R"({"ticket_id":")" + std::string(id) + R"("})", {}});
}

Decision with(Fate fate, Kind kind = Kind::kTransient) {
  Decision d;
  d.fate = fate;
  d.kind = kind;
  return d;
}

class RetryCountersTest : public testing::Test {
 protected:
  std::shared_ptr<RetryCounter> counter() {
    return all_.of_worker(*KeyTemplate::parse("c:{/ticket_id}"), std::chrono::hours(1));
  }
  std::int64_t at(const std::string& key) {
    all_.wait_idle();
    return cache_.count(key).value();
  }

  EmbeddedCounters cache_;
  RetryCounters all_{cache_};
};

TEST_F(RetryCountersTest, FailuresAreCountedAndSuccessDeletesThem) {
  const auto c = counter();
  const auto message = ticket("1");
  c->begins(message, 1);
  c->ended(message, 1, with(Fate::kRetry));
  EXPECT_EQ(at("c:1"), 1);
  c->begins(message, 2);
  c->ended(message, 2, with(Fate::kRetry, Kind::kThrottled));  // costs no attempt
  EXPECT_EQ(at("c:1"), 1);
  c->ended(message, 2, with(Fate::kRetry, Kind::kTimeout));
  EXPECT_EQ(at("c:1"), 2);
  c->ended(message, 3, with(Fate::kDone));
  EXPECT_EQ(at("c:1"), 0);
  EXPECT_EQ(c->results(Outcome::kDone), 5U);
  EXPECT_EQ(c->differed(), 0U);
}

TEST_F(RetryCountersTest, ALetterDeletesItWhenItIsWrittenAndNotBefore) {
  const auto c = counter();
  const auto message = ticket("1");
  c->ended(message, 1, with(Fate::kRetry));
  c->ended(message, 2, with(Fate::kReject, Kind::kPermanent));
  c->letter_refused(Refusal::kTimeout);
  EXPECT_EQ(at("c:1"), 1);
  c->letter_written(message, {});
  EXPECT_EQ(at("c:1"), 0);
}

TEST_F(RetryCountersTest, ACacheThatHasLostThemIsNoticed) {
  const auto c = counter();
  const auto message = ticket("1");
  c->ended(message, 1, with(Fate::kRetry));
  EXPECT_EQ(at("c:1"), 1);
  ASSERT_TRUE(cache_.erase("c:1"));
  c->begins(message, 2);
  all_.wait_idle();
  EXPECT_EQ(c->differed(), 1U);
}

TEST_F(RetryCountersTest, AMessageWithoutItsFieldHasNone) {
  const auto c = counter();
  const auto message = std::make_shared<const LogRecord>();
  c->begins(message, 1);
  c->ended(message, 1, with(Fate::kRetry));
  all_.wait_idle();
  EXPECT_EQ(c->results(Outcome::kNoKey), 2U);
  EXPECT_EQ(c->results(Outcome::kDone), 0U);
}

// A cache that answers nobody until it is let go, and then says that it is away.
class StuckCounters : public EmbeddedCounters {
 public:
  std::vector<Result<std::int64_t>> steps(const std::vector<CounterStep>& steps) override {
    if (!entered.try_wait()) entered.count_down();
    go.wait();
    return std::vector<Result<std::int64_t>>(steps.size(), fail(ErrorCode::kUnavailable, "away"));
  }
  std::latch entered{1}, go{1};
};

TEST(RetryCounters, NobodyWaitsForACacheThatIsStuckAndWhatDoesNotFitIsDropped) {
  StuckCounters cache;
  RetryCounters all(cache, {.max_queued = 10, .max_bytes = 1 << 20});
  const auto c = all.of_worker(*KeyTemplate::parse("{/ticket_id}"), Duration(1000));
  c->begins(ticket("0"), 1);
  cache.entered.wait();
  for (int i = 0; i < 25; ++i) c->begins(ticket("1"), 1);
  EXPECT_EQ(c->results(Outcome::kDropped), 15U);
  cache.go.count_down();
  all.wait_idle();
  EXPECT_EQ(c->results(Outcome::kFailed), 11U);
  c->begins(ticket("2"), 1);  // and it goes on
  all.wait_idle();
  EXPECT_EQ(c->results(Outcome::kFailed), 12U);
}

TEST(RetryCounters, LargeMessagesAreNotKeptBeyondTheLimit) {
  StuckCounters cache;
  RetryCounters all(cache, {.max_queued = 1000, .max_bytes = 1000});
  const auto c = all.of_worker(*KeyTemplate::parse("{/ticket_id}"), Duration(1000));
  for (int i = 0; i < 10; ++i) c->begins(ticket(std::string(300, 'x')), 1);
  EXPECT_EQ(c->results(Outcome::kDropped), 7U);
  cache.go.count_down();
}

}  // namespace
}  // namespace bartleby
