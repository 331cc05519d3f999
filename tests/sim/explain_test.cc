// Explain tells in words what holds a partition and what happens to a message.
#include "engine/explain.h"

#include <gtest/gtest.h>

#include "tests/sim/rig.h"

namespace bartleby::sim {
namespace {

std::string of(const Rig& rig, const Worker& w) {
  return explain(w.engine(), w.partition()->ref(), rig.scheduler.now())->answer;
}

std::string of(const Rig& rig, const Worker& w, std::int64_t offset) {
  return explain(w.engine(), w.partition()->ref(), Offset(offset), rig.scheduler.now())->answer;
}

TEST(Explain, NamesTheParkedMessageThatHoldsTheCommit) {
  Rig rig;
  rig.produce_all({"a", "b", "a"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.until_at(w, 0));
  ASSERT_TRUE(rig.until_at(w, 1));
  w.fails(0);
  w.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(1000));
  EXPECT_EQ(of(rig, w).substr(0, 40), "offset 0 waits for attempt 2 of 3 in 9 s");
  EXPECT_NE(of(rig, w).find("it holds the commit at 0"), std::string::npos);
  EXPECT_EQ(of(rig, w, 2).substr(0, 32), "offset 2 is held, behind offset ");
  EXPECT_EQ(of(rig, w, 1).substr(0, 20), "offset 1 is finished");
  EXPECT_EQ(of(rig, w, 9).substr(0, 30), "offset 9 has not been read yet");
}

TEST(Explain, SaysLongTimesInMinutesAndHours) {
  Rig rig;
  rig.engine.cases[0].backoff = Schedule{{Duration(7500000)}};
  rig.produce("a");
  Worker& w = rig.start();
  ASSERT_TRUE(rig.until_at(w, 0));
  w.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(2000));
  EXPECT_NE(of(rig, w).find(" in 2 h 4 min"), std::string::npos) << of(rig, w);
  rig.wind(Duration(7200000));
  EXPECT_NE(of(rig, w).find(" in 4 min "), std::string::npos) << of(rig, w);
}

TEST(Explain, SaysWhenNothingIsWrong) {
  Rig rig;
  rig.produce("a");
  Worker& w = rig.start();
  ASSERT_TRUE(rig.until_at(w, 0));
  EXPECT_EQ(of(rig, w), "offset 0 is running; it holds the commit at 0");
  w.done(0);
  rig.wind(Duration(2000));
  EXPECT_EQ(of(rig, w), "nothing holds the commit: everything up to 1 is finished");
}

TEST(Explain, NamesTheLimitThatStopsIntake) {
  Rig rig;
  rig.engine.max_parked = 1;
  rig.produce_all({"a", "b"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.until_at(w, 0));
  w.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(100));
  EXPECT_NE(of(rig, w).find("Intake is stopped: 1 messages are parked, the limit"), std::string::npos);
}

TEST(Explain, KnowsNothingOfAPartitionOfAnotherLife) {
  Rig rig;
  Worker& w = rig.start();
  rig.wind(Duration(2000));
  EXPECT_FALSE(explain(w.engine(), {7, Epoch(1)}, rig.scheduler.now()).has_value());
}

}  // namespace
}  // namespace bartleby::sim
