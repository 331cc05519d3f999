// What every cache behind ports/counters.h must do.
#include <algorithm>
#include <array>
#include <thread>

#include "tests/contract/counters_contract.h"

namespace bartleby::contract {
namespace {

using Texts = std::vector<Heartbeat>;

TEST_P(CountersContract, ACounterThatNobodyTouchedIsZero) { EXPECT_EQ(counters().count(rig().fresh("k")).value(), 0); }

TEST_P(CountersContract, AnIncrementAddsOneAndSaysWhatItIsThen) {
  const std::string key = rig().fresh("ticket:retry_count:1");
  const std::string other = rig().fresh("ticket:retry_count:2");
  EXPECT_EQ(counters().increment(key, kLong).value(), 1);
  EXPECT_EQ(counters().increment(key, kLong).value(), 2);
  EXPECT_EQ(counters().increment(other, kLong).value(), 1);
  EXPECT_EQ(counters().count(key).value(), 2);
}

TEST_P(CountersContract, ACounterExpiresAndBeginsAnew) {
  const std::string key = rig().fresh("k");
  ASSERT_TRUE(counters().increment(key, kShort));
  ASSERT_TRUE(counters().increment(key, kShort));
  rig().pass(kShort + kHalf);
  EXPECT_EQ(counters().count(key).value(), 0);
  EXPECT_EQ(counters().increment(key, kLong).value(), 1);
}

TEST_P(CountersContract, EveryIncrementBeginsTheExpiryAgain) {
  const std::string key = rig().fresh("k");
  ASSERT_TRUE(counters().increment(key, kShort));
  rig().pass(kHalf);
  EXPECT_EQ(counters().increment(key, kShort).value(), 2);
  rig().pass(kHalf);
  EXPECT_EQ(counters().count(key).value(), 2);
}

TEST_P(CountersContract, AnErasedCounterIsZeroAndErasingTwiceIsNoError) {
  const std::string key = rig().fresh("k");
  ASSERT_TRUE(counters().increment(key, kLong));
  ASSERT_TRUE(counters().erase(key));
  EXPECT_TRUE(counters().erase(key));
  EXPECT_EQ(counters().count(key).value(), 0);
  EXPECT_EQ(counters().increment(key, kLong).value(), 1);
}

TEST_P(CountersContract, IncrementsOfManyThreadsAreAllCounted) {
  const std::string key = rig().fresh("k");
  {
    std::array<std::jthread, 4> threads;
    for (auto& thread : threads)
      thread = std::jthread([&] {
        for (int i = 0; i < 250; ++i) ASSERT_TRUE(counters().increment(key, kLong));
      });
  }
  EXPECT_EQ(counters().count(key).value(), 1000);
}

TEST_P(CountersContract, StepsInARowAreDoneInTheirOrder) {
  using What = CounterStep::What;
  const std::string one = rig().fresh("k");
  const std::string two = rig().fresh("k");
  const auto results = counters().steps({{What::kIncrement, one, kLong},
                                         {What::kIncrement, one, kLong},
                                         {What::kCount, two, {}},
                                         {What::kIncrement, std::string(kMaxCounterKey + 1, 'k'), kLong},
                                         {What::kCount, one, {}},
                                         {What::kErase, one, {}},
                                         {What::kCount, one, {}}});
  ASSERT_EQ(results.size(), 7U);
  EXPECT_EQ(results[1].value(), 2);
  EXPECT_EQ(results[2].value(), 0);
  EXPECT_EQ(results[3].error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(results[4].value(), 2);
  EXPECT_EQ(results[5].value(), 0);
  EXPECT_EQ(results[6].value(), 0);
  EXPECT_TRUE(counters().steps({}).empty());
  EXPECT_TRUE(counters().reachable());
}

TEST_P(CountersContract, AKeyThatIsTooLongIsRefused) {
  const auto refused = counters().increment(std::string(kMaxCounterKey + 1, 'k'), kLong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
}

TEST_P(CountersContract, AHeartbeatIsReadBackAsItWasWritten) {
  const std::string type = rig().fresh("payout");
  const std::string text = "{\"status\":\"RUNNING\",\"é\":\"\\u0000\"}";
  ASSERT_TRUE(counters().put_heartbeat({type, "payout-1", text}, kLong));
  EXPECT_EQ(counters().heartbeat(type, "payout-1").value(), text);
  EXPECT_EQ(counters().heartbeat(type, "payout-2").value(), std::nullopt);
  EXPECT_EQ(counters().heartbeat(rig().fresh("payout"), "payout-1").value(), std::nullopt);
}

TEST_P(CountersContract, TheNextHeartbeatReplacesTextAndExpiry) {
  const std::string type = rig().fresh("t");
  ASSERT_TRUE(counters().put_heartbeat({type, "a", "one"}, kShort));
  ASSERT_TRUE(counters().put_heartbeat({type, "a", "two"}, kLong));
  rig().pass(kShort + kHalf);
  EXPECT_EQ(counters().heartbeats(type).value(), (Texts{{type, "a", "two"}}));
}

TEST_P(CountersContract, AHeartbeatThatIsNotRefreshedIsGone) {
  const std::string type = rig().fresh("t");
  ASSERT_TRUE(counters().put_heartbeat({type, "a", "x"}, kShort));
  ASSERT_TRUE(counters().put_heartbeat({type, "b", "y"}, kLong));
  rig().pass(kHalf);
  EXPECT_EQ(counters().heartbeats(type)->size(), 2U);
  rig().pass(kHalf);
  EXPECT_EQ(counters().heartbeat(type, "a").value(), std::nullopt);
  EXPECT_EQ(counters().heartbeats(type).value(), (Texts{{type, "b", "y"}}));
}

TEST_P(CountersContract, HeartbeatsAreListedByTypeAndInstance) {
  const std::string one = rig().fresh("a-type");
  const std::string two = rig().fresh("b-type");
  ASSERT_TRUE(counters().put_heartbeat({two, "1", "x"}, kLong));
  ASSERT_TRUE(counters().put_heartbeat({one, "host:2", "y"}, kLong));  // colons belong to the instance
  ASSERT_TRUE(counters().put_heartbeat({one, "host:1", "z"}, kLong));
  EXPECT_EQ(counters().heartbeats(one).value(), (Texts{{one, "host:1", "z"}, {one, "host:2", "y"}}));
  const auto all = counters().heartbeats();
  ASSERT_TRUE(all);
  const auto first = std::ranges::find(*all, one, &Heartbeat::type);
  const auto second = std::ranges::find(*all, two, &Heartbeat::type);
  ASSERT_NE(second, all->end());
  EXPECT_LT(first, second);
}

TEST_P(CountersContract, AHeartbeatWithoutAPlaceOrTooLargeIsRefused) {
  EXPECT_FALSE(counters().put_heartbeat({"a:b", "1", "x"}, kLong));
  EXPECT_FALSE(counters().put_heartbeat({"", "1", "x"}, kLong));
  EXPECT_FALSE(counters().put_heartbeat({rig().fresh("t"), "", "x"}, kLong));
  EXPECT_FALSE(counters().put_heartbeat({rig().fresh("t"), "1", std::string(kMaxHeartbeat + 1, 'x')}, kLong));
  EXPECT_FALSE(counters().put_heartbeat({rig().fresh("t"), std::string(kMaxCounterKey, 'i'), "x"}, kLong));
}

}  // namespace
}  // namespace bartleby::contract
