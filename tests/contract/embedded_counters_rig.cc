// The cache in this process under the contract, on a clock that is wound by hand; and the limits that it alone has.
#include "adapters/counters/embedded/embedded_counters.h"
#include "tests/contract/counters_contract.h"

namespace bartleby::contract {
namespace {

class EmbeddedCountersRig : public CountersRig {
 public:
  explicit EmbeddedCountersRig(EmbeddedCountersOptions options = {}) : counters_(with_clock(std::move(options))) {}

  Counters& counters() override { return counters_; }
  void pass(Duration time) override { now_.steady += time; }
  std::string fresh(const std::string& what) override { return what + "-" + std::to_string(++names_); }

 private:
  EmbeddedCountersOptions with_clock(EmbeddedCountersOptions options) {
    options.clock = [this] { return now_; };
    return options;
  }

  Now now_{Instant(Duration(1000)), timestamp_ms(1736937000000)};
  int names_ = 0;
  EmbeddedCounters counters_;
};

INSTANTIATE_TEST_SUITE_P(Embedded, CountersContract,
                         testing::Values(CountersRigFactory{"Embedded",
                                                            [] { return std::make_unique<EmbeddedCountersRig>(); }}),
                         [](const auto& instance) { return instance.param.name; });

TEST(EmbeddedCounters, AtTheLimitNewKeysAreRefusedUntilOldOnesExpire) {
  EmbeddedCountersRig rig({.max_counters = 3, .max_heartbeats = 2});
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(rig.counters().increment(key, Duration(1000)));
  EXPECT_EQ(rig.counters().increment("d", Duration(1000)).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(rig.counters().increment("a", Duration(1000)).value(), 2);
  for (const char* instance : {"1", "2"})
    ASSERT_TRUE(rig.counters().put_heartbeat({"t", instance, "x"}, Duration(1000)));
  EXPECT_EQ(rig.counters().put_heartbeat({"t", "3", "x"}, Duration(1000)).error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(rig.counters().put_heartbeat({"t", "2", "y"}, Duration(1000)));
  rig.pass(Duration(1000));
  // Nobody has looked at the dead ones: the write itself makes room.
  EXPECT_EQ(rig.counters().increment("d", Duration(1000)).value(), 1);
  EXPECT_TRUE(rig.counters().put_heartbeat({"t", "3", "x"}, Duration(1000)));
}

}  // namespace
}  // namespace bartleby::contract
