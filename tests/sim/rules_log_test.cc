// Logs that are cut, made anew or held up by others while a worker is at them: rules that worlds meet seldom or never.
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

const TopicPartition kPartition{"src", Partition(0)};

// Brokers have lost the newest records of a log under a running worker, and it has as many as before by the time that
// anybody asks.
TEST(Rules, OfALogThatIsCutAndGrowsAgainUnderARunningWorkerNothingIsPassed) {
  Rig rig;
  rig.produce_all({"a", "b", "c", "d", "e"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return worker.at_all({0, 1, 2, 3, 4}); }));
  for (const std::int64_t o : {0, 1, 2, 3, 4}) worker.done(o);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(5); }));
  rig.cluster.cut_back(kPartition, Offset(2));
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kOffsetReset); }));
  rig.produce_all({"v", "w", "x", "y"});
  ASSERT_TRUE(rig.wind_until([&] { return worker.at_all({2, 3, 4, 5}); })) << "nobody has read these";
  for (const Started& s : std::vector(worker.running())) worker.done(s.offset);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(6); }));
}

// Somebody else's transaction is open, and people have moved the group to the end of the log, which lies beyond it.
TEST(Rules, AnOffsetBeyondAnOpenTransactionIsNoLogThatWasCut) {
  Rig rig;
  rig.produce_all({"a", "b"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1}); }));
  first.done(0);
  first.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
  rig.stop(first);
  rig.cluster.open_transaction(kPartition);
  rig.produce_all({"c", "d"});
  rig.cluster.set_offset("g", kPartition, Offset(5), "");
  rig.alarms.clear();
  Worker& second = rig.start("b");
  rig.wind(Duration(30000));
  EXPECT_FALSE(rig.alarmed(AlarmType::kOffsetReset));
  rig.cluster.end_transactions(kPartition);
  const std::int64_t next = rig.produce("e");
  ASSERT_TRUE(rig.until_at(second, next));
  second.done(next);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(next + 1); }));
  EXPECT_EQ(rig.history.size(), 3U) << "what people passed is not run";
}

// What retention takes is told of each log: a topic that was made anew has its own numbers.
TEST(Rules, WhatRetentionTakesIsToldOfATopicThatWasMadeAnewToo) {
  Rig rig({.retention = Duration(3600000)});
  rig.cluster.faults().tells_log = false;
  rig.engine.lane_messages = 0;  // what waits behind another lies in the log
  const auto lose_what_waits = [&](Worker& worker, std::int64_t to) {
    ASSERT_TRUE(rig.until_at(worker, 0));
    worker.fails(0);
    ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
    rig.wind(Duration(1000));
    rig.alarms.clear();
    rig.cluster.delete_before(kPartition, Offset(to));
    EXPECT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kLostByRetention); }, Duration(20000)));
  };
  for (int i = 0; i < 30; ++i) rig.produce("k");
  Worker& worker = rig.start();
  lose_what_waits(worker, 20);
  rig.cluster.recreate("src");
  rig.alarms.clear();
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kOffsetReset); }));
  for (int i = 0; i < 10; ++i) rig.produce("k");
  lose_what_waits(worker, 5);
}

}  // namespace
}  // namespace bartleby::sim
