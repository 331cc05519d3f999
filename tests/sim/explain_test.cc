// Explain tells in words what holds a partition and what happens to a message.
#include "engine/explain.h"

#include <gtest/gtest.h>

#include "codec/lane.h"
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

Explanation of_key(const Rig& rig, const Worker& w, std::string_view key) {
  return *explain(w.engine(), w.partition()->ref(), lane_of(key), rig.scheduler.now());
}

TEST(Explain, OfAKeySaysWhatRunsWhatWaitsAndWhenNothingIsThere) {
  Rig rig;
  rig.produce_all({"a", "b", "a", "a"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.until_at(w, 0));
  ASSERT_TRUE(rig.until_at(w, 1));
  EXPECT_EQ(of_key(rig, w, "b").answer, "offset 1 is running");
  EXPECT_EQ(of_key(rig, w, "c").answer, "");
  w.fails(0);
  w.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(1000));
  const Explanation a = of_key(rig, w, "a");
  EXPECT_EQ(a.answer, "offset 0 waits for attempt 2 of 3 in 9 s; 2 messages of its key after it");
  ASSERT_EQ(a.pinned_by.size(), 3U);
  EXPECT_EQ(a.pinned_by[0].state, "parked");
  EXPECT_EQ(a.pinned_by[1].state, "held");
  EXPECT_EQ(a.pinned_by[2].offset, Offset(3));
  EXPECT_EQ(of_key(rig, w, "b").answer, "");
  const WaitingFigures figures = waiting_figures(w.engine(), w.partition()->ref());
  EXPECT_EQ(figures.held_keys, 1U);
  EXPECT_EQ(figures.dying, 0U);
}

TEST(Explain, OfAKeyFindsMessagesThatHaveLeftTheirLane) {
  Rig rig;
  rig.engine.key_policy = KeyPolicy::kBypass;
  rig.produce_all({"a", "a"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.until_at(w, 0));
  w.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  ASSERT_TRUE(rig.until_at(w, 1));
  const Explanation a = of_key(rig, w, "a");
  ASSERT_EQ(a.pinned_by.size(), 2U);
  EXPECT_EQ(a.pinned_by[0].state, "parked");
  EXPECT_EQ(a.pinned_by[1].state, "running");
  EXPECT_EQ(waiting_figures(w.engine(), w.partition()->ref()).held_keys, 0U);
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

TEST(Explain, SaysThatAllHandlersAreBusy) {
  Rig rig;
  rig.engine.concurrency = 2;
  rig.produce_all({"a", "b", "c"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return w.at_all({0, 1}); }));
  rig.wind(Duration(1000));
  EXPECT_EQ(of(rig, w, 2), "offset 2 is ready; all handlers are busy: the worker runs 2 at once");
  w.done(0);
  ASSERT_TRUE(rig.until_at(w, 2));
  EXPECT_EQ(of(rig, w, 2), "offset 2 is running");
}

TEST(Explain, SaysWhoRunsAloneAndWhoIsToRunAlone) {
  Rig rig;
  rig.produce_all({"a", "b"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return w.at_all({0, 1}); }));
  const Timestamp timestamp = w.at(0)->record->timestamp;
  w.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.write_journal(Obituary{Offset(0), 7, timestamp, true, false});
  rig.wind(Duration(12000));  // it is due, but another handler is at work
  EXPECT_EQ(of(rig, w, 0), "offset 0 is waiting to run alone: it may have ended a process");
  ASSERT_TRUE(rig.wind_until([&] { return w.engine().makes_way(); }));
  rig.produce("c");
  rig.wind(Duration(100));
  EXPECT_EQ(of(rig, w, 2), "offset 2 is ready; one that may have ended a process is to run alone first");
  w.done(1);
  ASSERT_TRUE(rig.until_at(w, 0));
  ASSERT_TRUE(w.at(0)->alone);
  EXPECT_EQ(of(rig, w, 2), "offset 2 is ready; one that may have ended a process runs alone");
}

TEST(Explain, SaysThatAJournalRefusesWhatEndsAMessage) {
  Rig rig;
  rig.produce_all({"a", "b"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return w.at_all({0, 1}); }));
  w.fails(0);
  w.fails(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0) && rig.has_parked(1); }));
  rig.cluster.deny("src.parked.g", true);
  ASSERT_TRUE(rig.wind_until([&] { return w.at_all({0, 1}); }));
  w.reject(0);
  w.done(1);
  rig.wind(Duration(5000));
  EXPECT_EQ(of(rig, w, 0), "offset 0 is dying; its journal does not take that down");
  EXPECT_EQ(of(rig, w, 1), "offset 1 has succeeded; its journal does not take that down");
  rig.cluster.deny("src.parked.g", false);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
}

TEST(Explain, SaysWhatAHandOverWaitsFor) {
  Rig rig({.partitions = 2});
  rig.produce("a", "v", 0);
  rig.produce("b", "v", 1);
  Worker& w = rig.start("a");
  ASSERT_TRUE(rig.wind_until([&] { return w.running().size() == 2; }));
  rig.start("b");
  const PartitionEngine* leaving = nullptr;
  ASSERT_TRUE(rig.wind_until([&] {
    for (const std::int32_t p : {0, 1})
      if (const PartitionEngine* one = w.partition(p); one != nullptr && one->handing_over()) leaving = one;
    return leaving != nullptr;
  }));
  const auto why = [&] { return explain(w.engine(), leaving->ref(), rig.scheduler.now())->answer; };
  EXPECT_EQ(why(), "the partition is being handed over: waits for running handlers");
  rig.wind(rig.engine.drain);
  EXPECT_EQ(why(), "the partition is being handed over: waits for the answer to a write");
}

TEST(Explain, KnowsNothingOfAPartitionOfAnotherLife) {
  Rig rig;
  Worker& w = rig.start();
  rig.wind(Duration(2000));
  EXPECT_FALSE(explain(w.engine(), {7, Epoch(1)}, rig.scheduler.now()).has_value());
}

}  // namespace
}  // namespace bartleby::sim
