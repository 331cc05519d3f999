// Answers that say too little, come too late or never: probes that nobody ran, logs that are said to end early, writes
// of which nobody knows what became.
#include <gmock/gmock.h>

#include "engine/explain.h"
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

std::string probe_that_nobody_ran() {
  Rig rig;
  rig.engine.guard = GuardConfig{.of = 2, .probe = Duration(1000)};
  rig.engine.concurrency = 2;
  rig.produce_all({"a", "b", "c"});
  Worker& worker = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return worker.running().size() == 2; }));
  worker.fails(0);
  worker.fails(1);
  BARTLEBY_MUST(rig.wind_until([&] { return worker.engine().guard().open() && worker.running().size() == 1; }));
  worker.give_back(worker.running().front().offset);
  BARTLEBY_MUST(rig.wind_until([&] { return worker.running().size() == 1; }, Duration(10000)));
  return "";
}

TEST(Rules, AProbeThatNobodyRanIsFollowedByAnother) {
  expect_rule(probe_that_nobody_ran, {Mutant::kUnrunProbeAwaited});
}

// ---- a log that is said to end early -------------------------------------------------------------------

std::string sweep_that_ends_early() {
  Rig rig;
  rig.engine.lane_messages = 0;
  rig.produce_all({"k", "k", "k"});
  Worker& worker = rig.start();
  BARTLEBY_MUST(rig.until_at(worker, 0));
  worker.fails(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0) && rig.metadata().metadata.high == Offset(3); }));
  BARTLEBY_MUST(rig.until_at(worker, 0));
  rig.cluster.faults().p_stale_end = 1000;
  worker.done(0);
  rig.wind(Duration(2000));
  rig.cluster.faults().p_stale_end = 0;
  BARTLEBY_MUST(rig.until_at(worker, 1));
  worker.done(1);
  BARTLEBY_MUST(rig.until_at(worker, 2));
  worker.done(2);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  return "";
}

TEST(Rules, APassThatEndsBeforeWhatWasReadAlreadyIsMadeAgain) {
  expect_rule(sweep_that_ends_early, {Mutant::kShortSweepTaken});
}

TEST(Rules, AMessageBeyondTheEndOfOneAnswerIsNotCalledLost) {
  constexpr std::int64_t kMany = 40;  // that ask at once
  Rig rig;
  for (std::int64_t i = 0; i < kMany; ++i) rig.produce("k" + std::to_string(i));
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.running().size() == kMany; }));
  for (std::int64_t i = 1; i < kMany; ++i) first.fails(i);
  ASSERT_TRUE(rig.wind_until([&] { return rig.journal().size() == kMany - 1; }));
  ASSERT_TRUE(rig.wind_until([&] { return rig.metadata().metadata.high == Offset(kMany); }));
  rig.crash(first);
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.wind_until([&] { return rig.metadata().metadata.writer == second.id(); }));
  ASSERT_TRUE(rig.wind_until([&] { return second.partition()->parked() == kMany - 1; }));
  rig.cluster.faults().p_stale_end = 1000;
  ASSERT_TRUE(rig.wind_until([&] { return second.partition()->parked() == 0; }));  // they are due
  rig.wind(Duration(3000));
  EXPECT_EQ(second.at(kMany - 1), nullptr);
  EXPECT_FALSE(rig.alarmed(AlarmType::kOffsetReset));
  const auto why = explain(second.engine(), second.partition()->ref(), Offset(kMany - 1), rig.scheduler.now());
  ASSERT_EQ(why->pinned_by.size(), 1U);
  EXPECT_THAT(why->pinned_by[0].state, testing::AnyOf("to be read again; its log does not answer, or ends before it",
                                                      "being read again from the log"));
  rig.cluster.faults().p_stale_end = 0;
  ASSERT_TRUE(rig.until_at(second, kMany - 1));
  EXPECT_EQ(second.at(kMany - 1)->attempt, 2U);
  EXPECT_TRUE(rig.letters.empty());
  EXPECT_FALSE(rig.alarmed(AlarmType::kLostByRetention));
}

TEST(Rules, ATakeoverDoesNotBelieveOneAnswerThatTheLogIsShorter) {
  Rig rig;
  rig.produce_all({"a", "b", "c"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  for (const std::int64_t o : {0, 1, 2}) first.done(o);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(3); }));
  rig.crash(first);
  rig.cluster.faults().p_stale_end = 1000;
  Worker& second = rig.start("b");
  rig.wind(Duration(4000));
  rig.cluster.faults().p_stale_end = 0;
  ASSERT_TRUE(rig.wind_until([&] { return rig.metadata().metadata.writer == second.id(); }));
  rig.wind(Duration(5000));
  EXPECT_FALSE(rig.alarmed(AlarmType::kOffsetReset));
  EXPECT_EQ(rig.history.size(), 3U);
}

// It is at offset 0; offset 1 failed under its predecessor and is due, and the log is said to end before it.
Worker* owner_that_cannot_read(Rig& rig) {
  rig.produce_all({"a", "b"});
  Worker& first = rig.start();
  if (!rig.wind_until([&] { return first.at_all({0, 1}); })) return nullptr;
  first.fails(1);
  if (!rig.wind_until([&] { return rig.has_parked(1) && rig.metadata().metadata.high == Offset(2); })) return nullptr;
  rig.crash(first);
  Worker& second = rig.start("b");
  if (!rig.until_at(second, 0)) return nullptr;
  rig.cluster.faults().p_stale_end = 1000;
  return rig.wind_until([&] { return second.partition()->parked() == 0; }) ? &second : nullptr;
}

TEST(Rules, AnEndThatStaysShortIsAnIncident) {
  Rig rig;
  Worker* owner = owner_that_cannot_read(rig);
  ASSERT_NE(owner, nullptr);
  Worker& second = *owner;
  rig.wind(Duration(6000));
  EXPECT_FALSE(rig.alarmed(AlarmType::kOffsetReset));
  EXPECT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kOffsetReset); }, Duration(3000)));
  rig.cluster.faults().p_stale_end = 0;
  ASSERT_TRUE(rig.until_at(second, 1));
  EXPECT_EQ(second.at(1)->attempt, 2U) << "what is known of it is known again";
}

// ---- writes --------------------------------------------------------------------------------------------

// Nobody can say what became of its last write, for as long as one looks.
TEST(Rules, AStopEndsThoughNobodyKnowsWhatBecameOfAWrite) {
  Rig rig;
  rig.produce_all({"a", "b"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1}); }));
  BrokerFaults& faults = rig.cluster.faults();
  faults.p_reply_lost_not_done = faults.p_fence_fail = faults.p_read_fail = 1000;
  first.done(0);
  ASSERT_TRUE(rig.wind_until([&] { return first.engine().in_doubt(); }));
  first.done(1);
  rig.stop(first);
  EXPECT_FALSE(first.up());
  faults.p_reply_lost_not_done = faults.p_fence_fail = faults.p_read_fail = 0;
  Worker& second = rig.start("b");
  const auto over = [&] {
    for (const Started& s : std::vector(second.running())) second.done(s.offset);
    return rig.low() == Offset(2);
  };
  EXPECT_TRUE(rig.wind_until(over));
}

TEST(Rules, AStopEndsThoughNobodyKnowsWhatBecameOfAClaim) {
  Rig rig;
  rig.produce_all({"a"});
  BrokerFaults& faults = rig.cluster.faults();
  faults.p_reply_lost_not_done = 1000;
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.engine().in_doubt(); }));
  faults.p_fence_fail = faults.p_read_fail = 1000;
  rig.stop(first);
  EXPECT_FALSE(first.up());
}

// It owns nothing any more, and what became of its last write is not said for a long time.
TEST(Rules, AWorkerThatWaitsForTheAnswerToItsLastWriteSleeps) {
  Rig rig;
  rig.produce_all({"a"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  rig.cluster.faults().stall_timeout = rig.cluster.faults().client_timeout = Duration(150000);
  rig.cluster.stall("src.dlq", true);
  worker.reject(0);
  ASSERT_TRUE(rig.wind_until([&] { return worker.engine().writing(); }));
  rig.cluster.freeze(worker.member());
  rig.wind(Duration(60000));
  rig.cluster.thaw(worker.member());
  worker.begin_stop();
  ASSERT_TRUE(rig.wind_until([&] { return worker.engine().partitions().empty(); }));
  ASSERT_TRUE(worker.engine().writing());
  const std::uint64_t steps = rig.scheduler.steps();
  ASSERT_TRUE(rig.wind_until([&] { return !worker.up(); }));
  EXPECT_LT(rig.scheduler.steps() - steps, 1000U);
}

// One partition cannot be handed over, for that needs the journal; the other one would only like to erase something.
TEST(Rules, NobodyCommitsOverAndOverForAJournalThatRefuses) {
  Rig rig({.partitions = 2});
  rig.produce("a", "v", 0);
  rig.produce("a", rig.skipped, 1);
  rig.produce("a", "v", 1);
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.running().size() == 2; }));
  const Timestamp timestamp = first.at(0)->record->timestamp;
  first.done(0);
  first.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low(0) == Offset(1) && rig.low(1) == Offset(2); }));
  rig.cluster.deny("src.parked.g", true);
  for (std::int32_t p = 0; p < 2; ++p) rig.write_journal(Obituary{Offset(0), 7, timestamp, false, false}, {}, p);
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kJournalRefused); }));
  const std::size_t writes = rig.writes.size();
  rig.start("b");
  rig.wind_until([] { return false; }, Duration(10000));
  EXPECT_LT(rig.writes.size() - writes, 20U);
  rig.cluster.deny("src.parked.g", false);
  EXPECT_TRUE(rig.wind_until([&] { return rig.journal(0).empty() && rig.journal(1).empty(); }));
}

// A letter is on its way to a dlq that is silent when the topic it came from is made anew.
TEST(Rules, AWriteThatIsRefusedAfterItsPartitionBeganAnewTouchesNobody) {
  Rig rig;
  rig.produce_all({"a", "b", "c"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return worker.at_all({0, 1, 2}); }));
  rig.cluster.stall("src.dlq", true);
  worker.reject(0);
  ASSERT_TRUE(rig.wind_until([&] { return worker.engine().writing(); }));
  rig.cluster.recreate("src");
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kOffsetReset); }));
  EXPECT_TRUE(worker.engine().writing());
  rig.wind(Duration(30000));
  rig.cluster.stall("src.dlq", false);
  rig.produce_all({"n"});
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1); }));
  EXPECT_TRUE(rig.letters.empty());
}

// A letter takes long to be written when whoever answers says for seconds that the log is shorter than it is.
TEST(Rules, APartitionBeginsAnewWhenItsLastWriteIsOver) {
  Rig rig;
  rig.engine.linger = Duration(0);
  Worker* owner = owner_that_cannot_read(rig);
  ASSERT_NE(owner, nullptr);
  Worker& second = *owner;
  BrokerFaults& faults = rig.cluster.faults();
  rig.wind(Duration(4000));
  faults.client_timeout = Duration(150000);
  faults.latency_min = faults.latency_max = Duration(20000);
  second.reject(0);
  second.step();
  ASSERT_TRUE(second.engine().writing());
  faults.latency_min = faults.latency_max = Duration(0);
  rig.history.clear();
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kOffsetReset); }));
  ASSERT_TRUE(second.engine().writing());
  faults.p_stale_end = 0;
  ASSERT_TRUE(rig.until_at(second, 1));
  rig.wind(Duration(40000));
  EXPECT_EQ(rig.letters.size(), 1U);
  EXPECT_EQ(rig.runs_of(0), 0U) << "it has its letter";
}

TEST(Rules, NothingNewBeginsWhileWhatWasEmittedFillsItsShareOfTheMemory) {
  Rig rig;
  rig.engine.max_bytes = 65536;
  rig.engine.concurrency = 4;
  for (int i = 0; i < 400; ++i) rig.produce("k" + std::to_string(i));
  Worker& worker = rig.start();
  rig.cluster.stall("out", true);
  Decision with_record;
  with_record.emit.push_back({"out", Partition(0), std::nullopt, std::string(1000, 'x'), {}});
  const auto answer_all = [&] {
    for (const Started& s : std::vector(worker.running())) worker.answer(s.offset, with_record);
  };
  for (int i = 0; i < 600; ++i) {
    rig.wind(Duration(100));
    answer_all();
  }
  EXPECT_LT(rig.history.size(), 50U);
  const auto why = explain(worker.engine(), worker.partition()->ref(), rig.scheduler.now());
  EXPECT_NE(why->answer.find("What handlers emitted is not written yet"), std::string::npos) << why->answer;
  rig.cluster.stall("out", false);
  EXPECT_TRUE(rig.wind_until([&] { return answer_all(), rig.low() == Offset(400); }, Duration(600000)));
}

// ---- orders --------------------------------------------------------------------------------------------

TEST(Rules, WhatIsGivenUpWhileItsPartitionIsHandedOverStaysGivenUp) {
  Rig rig({.partitions = 2});
  for (int i = 0; i < 2; ++i) rig.produce("other", rig.skipped, 1);  // so that no two have one offset
  for (const std::int32_t p : {0, 1}) {
    rig.produce("parked", "v", p);
    rig.produce("slow", "v", p);
  }
  Worker& first = rig.start("a");
  ASSERT_TRUE(rig.wind_until([&] { return first.running().size() == 4; }));
  first.fails(0);
  first.fails(2);
  ASSERT_TRUE(rig.wind_until([&] { return rig.journal(0).size() == 1 && rig.journal(1).size() == 1; }));
  Worker& second = rig.start("b");
  const auto hands_over = [&] {
    return (first.partition(0) != nullptr && first.partition(0)->handing_over()) ||
           (first.partition(1) != nullptr && first.partition(1)->handing_over());
  };
  ASSERT_TRUE(rig.wind_until(hands_over));
  first.order(ParkedOrder::What::kGiveUp);
  rig.wind(Duration(100));
  first.done(1);
  first.done(3);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low(0) == Offset(2) && rig.low(1) == Offset(4); }));
  EXPECT_EQ(rig.letters.size(), 2U);
  EXPECT_EQ(rig.runs_of(0) + rig.runs_of(2), 2U);
  EXPECT_TRUE(second.up());
}

}  // namespace
}  // namespace bartleby::sim
