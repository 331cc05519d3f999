// What the next owner may believe: failed checks, old journals, moved offsets, changed settings.
#include "codec/lane.h"
#include "engine/explain.h"
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

const TopicPartition kPartition{"src", Partition(0)};

// The journal is lost while a message is parked in it; the owner that notices dies right after its claim.
std::string claim_after_a_failed_check() {
  Rig rig;
  rig.produce_all({"k", "other"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1}); }));
  first.fails(0);
  first.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0) && rig.metadata().metadata.high == Offset(2); }));
  rig.crash(first);
  rig.cluster.recreate("src.parked.g");

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return rig.metadata().metadata.writer == second.id(); }));
  BARTLEBY_MUST(rig.alarmed(AlarmType::kJournalDiffers));
  BARTLEBY_MUST(rig.metadata().metadata.check->count == 1);  // as found: the next one must notice too
  rig.crash(second);

  Worker& third = rig.start("c");
  BARTLEBY_MUST(rig.until_at(third, 0));  // a lost journal costs its attempts, never the message
  BARTLEBY_MUST(third.at(0)->attempt == 1);
  third.done(0);
  BARTLEBY_MUST(rig.until_at(third, 1));
  third.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(2); }));
  return "";
}

TEST(Rules, AClaimAfterAFailedJournalCheckLeavesTheCheckAsItWas) {
  expect_rule(claim_after_a_failed_check, {Mutant::kClaimMendsCheck, Mutant::kJournalCheckIgnored});
}

// A message has left its lane, or never had one, and its entry lies at or above H: the log brings it, once.
std::string entry_above_high(const Bytes& key) {
  Rig rig;
  rig.engine.metadata_limit = Rig::room_for_heads(0);
  rig.engine.key_policy = KeyPolicy::kBypass;
  rig.produce("blocker");
  rig.produce(key);
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1}); }));
  first.fails(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(1); }));
  BARTLEBY_MUST(rig.metadata().metadata.high == Offset(0));
  rig.crash(first);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({0, 1}); }));
  BARTLEBY_MUST(second.at(1)->attempt == 2);
  second.done(0);
  second.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(2); }));
  rig.wind(Duration(15000));
  BARTLEBY_MUST(rig.runs_of(1) == 2);
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, AnEntryAboveHighIsANoteForItsRecordAndRunsNothingByItself) {
  expect_rule([] { return entry_above_high("k"); }, {Mutant::kEntriesAboveHighAreHeads});
  expect_rule([] { return entry_above_high(std::nullopt); }, {Mutant::kEntriesAboveHighAreHeads});
}

// A letter's write has ended, and the group's log does not say so yet: what is there is older than what will be.
std::string commit_that_is_pending() {
  Rig rig;
  rig.produce("k");
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  rig.wind(Duration(2000));  // nothing is in flight
  rig.cluster.faults().marker_delay_max = Duration(600000);
  first.reject(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.letters.size() == 1; }));
  rig.crash(first);
  rig.cluster.faults().marker_delay_max = Duration(0);

  Worker& second = rig.start("b");
  rig.wind(Duration(5000));  // it has asked
  BARTLEBY_MUST(rig.cluster.offsets_pending("g", kPartition));
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(1); }, Duration(600000)));
  BARTLEBY_MUST(rig.wind_until([&] { return rig.metadata().metadata.writer == second.id(); }));
  rig.wind(Duration(5000));
  BARTLEBY_MUST(rig.runs_of(0) == 1);
  BARTLEBY_MUST(rig.letters.size() == 1);
  return "";
}

TEST(Rules, OffsetsThatAPendingWriteWillMoveAreNotBelieved) {
  expect_rule(commit_that_is_pending, {Mutant::kOffsetsReadUnstable});
}

// The topic is deleted and made again; its journal is not.
std::string recreated_topic_parked() {
  Rig rig;
  rig.produce_all({"k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  first.fails(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.crash(first);
  rig.cluster.recreate("src");
  rig.cluster.drop_offset("g", kPartition);
  rig.wind(Duration(5000));
  rig.produce_all({"k"});

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 0));
  BARTLEBY_MUST(second.at(0)->attempt == 1);
  BARTLEBY_MUST(rig.alarmed(AlarmType::kStaleEntry));
  second.done(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(1); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, AnEntryOfADeletedTopicDoesNotCountForTheRecordThatHasItsOffsetNow) {
  expect_rule(recreated_topic_parked, {Mutant::kEntryTimestampIgnored});
}

// The journal calls offset 1 done, and its owner is dead.
bool died_with_a_done_entry(Rig& rig) {
  rig.engine.metadata_limit = Rig::room_for_heads(0);
  rig.produce_all({"blocker", "k"});
  Worker& first = rig.start();
  if (!rig.wind_until([&] { return first.at_all({0, 1}); })) return false;
  first.reject(1);
  if (!rig.wind_until([&] { return rig.has_done(1); })) return false;
  rig.crash(first);
  return true;
}

// The same with a done entry and committed offsets that survived, and nobody says which log it is: the new message
// would be lost.
std::string recreated_topic_done() {
  Rig rig;
  BARTLEBY_MUST(died_with_a_done_entry(rig));
  rig.cluster.faults().tells_log = false;
  rig.cluster.recreate("src");
  rig.wind(Duration(5000));
  rig.produce_all({"blocker", "k"});

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({0, 1}); }));
  second.done(0);
  second.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(2); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, ADoneEntryOfADeletedTopicDoesNotFinishTheRecordThatHasItsOffsetNow) {
  expect_rule(recreated_topic_done, {Mutant::kEntryTimestampIgnored});
}

// An entry of a deleted topic is found to be stale while the journal takes nothing. If a commit passed it, the next
// owner would take it for the beginning of its lane and repeat what that has behind it, a letter among them.
TEST(Rules, NoCommitPassesAStaleEntryThatTheJournalDoesNotLetGo) {
  Rig rig;
  rig.engine.metadata_limit = Rig::room_for_heads(0);
  rig.produce_all({"blocker", "k"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1}); }));
  first.fails(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(1); }));
  rig.crash(first);
  rig.cluster.recreate("src");
  rig.wind(Duration(5000));
  rig.produce_all({"blocker", "k", "k"});
  rig.cluster.deny("src.parked.g", true);

  rig.engine.metadata_limit = Rig::room_for_heads(4);
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.wind_until([&] { return second.at_all({0, 1}); }));
  second.done(1);
  ASSERT_TRUE(rig.until_at(second, 2));
  second.reject(2);
  rig.wind(Duration(20000));
  ASSERT_TRUE(rig.has_parked(1)) << "it is still there";
  EXPECT_TRUE(rig.letters.empty());
  EXPECT_EQ(rig.metadata().metadata.high, Offset(0));
  rig.cluster.deny("src.parked.g", false);
  ASSERT_TRUE(rig.wind_until([&] { return rig.letters.size() == 1; }));
  EXPECT_FALSE(rig.has_parked(1));
  rig.crash(second);

  Worker& third = rig.start("c");
  ASSERT_TRUE(rig.until_at(third, 0));
  third.done(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(3); }));
  EXPECT_EQ(rig.runs_of(2), 1U);
  EXPECT_EQ(rig.letters.size(), 1U);
}

// The new topic has grown as long as the old one was, and a late write has brought the old one's offset back.
std::string made_anew_and_grown() {
  Rig rig;
  rig.produce_all({"k", "l", "m"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  for (const std::int64_t o : {0, 1, 2}) first.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  rig.crash(first);
  rig.cluster.recreate("src");
  rig.wind(Duration(5000));
  rig.produce_all({"a", "b", "c", "d", "e"});

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({0, 1, 2, 3, 4}); }));
  BARTLEBY_MUST(rig.alarmed(AlarmType::kTopicMadeAnew));
  rig.crash(second);  // with its claim written, or more than that: it is the same log

  rig.alarms.clear();
  Worker& third = rig.start("c");
  BARTLEBY_MUST(rig.wind_until([&] { return third.at_all({0, 1, 2, 3, 4}); }));
  BARTLEBY_MUST(!rig.alarmed(AlarmType::kTopicMadeAnew));
  for (const std::int64_t o : {0, 1, 2, 3, 4}) third.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(5); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, ATopicThatWasMadeAnewAndHasGrownIsReadFromItsBeginning) {
  expect_rule(made_anew_and_grown, {Mutant::kLogNotCompared});
}

// The new topic was filled from where the old one came from, with the times of then: another message has the number and
// the time of one that was done.
std::string made_anew_with_the_times_of_then() {
  Rig rig;
  BARTLEBY_MUST(died_with_a_done_entry(rig));
  const Timestamp then = rig.entry(1)->timestamp;
  rig.cluster.recreate("src");
  rig.wind(Duration(5000));
  rig.produce_all({"k", "l"});
  rig.cluster.date(kPartition, Offset(1), then);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return rig.alarmed(AlarmType::kTopicMadeAnew); }));
  rig.crash(second);  // before it has erased anything, or after it
  Worker& third = rig.start("c");
  BARTLEBY_MUST(rig.wind_until([&] { return third.at_all({0, 1}); }));
  third.done(0);
  third.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(2); }));
  BARTLEBY_MUST(rig.wind_until([&] { return rig.journal().empty(); }));
  return "";
}

TEST(Rules, ADoneEntryOfADeletedTopicDoesNotFinishARecordWithItsOffsetAndItsTime) {
  expect_rule(made_anew_with_the_times_of_then, {Mutant::kDoneOfAnotherLog});
}

// The topic is the same, and brokers have lost its newest records: what has their numbers now lies below H, and not
// below the message that waits.
std::string log_cut_below_high() {
  Rig rig;
  rig.produce_all({"k", "l", "m", "n", "o"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1, 2, 3, 4}); }));
  first.fails(0);
  for (const std::int64_t o : {1, 2, 3, 4}) first.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0) && rig.metadata().metadata.high == Offset(5); }));
  rig.crash(first);
  rig.cluster.cut_back(kPartition, Offset(2));
  rig.produce_all({"x", "y"});

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({1, 2, 3}); }));
  BARTLEBY_MUST(rig.alarmed(AlarmType::kOffsetReset));
  for (const std::int64_t o : {1, 2, 3}) second.done(o);
  BARTLEBY_MUST(rig.until_at(second, 0));
  BARTLEBY_MUST(second.at(0)->attempt == 2);
  second.done(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(4); }));
  BARTLEBY_MUST(rig.wind_until([&] { return rig.journal().empty(); }));
  return "";
}

TEST(Rules, OfALogThatWasCutBelowHighNothingIsPassed) { expect_rule(log_cut_below_high, {Mutant::kCutLogBelieved}); }

// Nobody says which log it is, and the read that shows it comes at any time before or while the partition is handed
// over.
TEST(Rules, WhoHandsOverLeavesItToTheNextOwnerToSeeThatTheLogIsAnotherOne) {
  bool told = false;
  int left = 0;
  for (Duration after{-100}; !told && after < Duration(2000); after += Duration(10)) {
    Rig rig;
    rig.cluster.faults().tells_log = false;
    rig.cluster.faults().latency_min = rig.cluster.faults().latency_max = Duration(50);
    rig.produce_all({"k"});
    Worker& first = rig.start();
    ASSERT_TRUE(rig.until_at(first, 0));
    first.fails(0);
    const Instant due = rig.scheduler.now() + Duration(10000);
    ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
    rig.crash(first);
    rig.cluster.recreate("src");
    rig.wind(Duration(2000));
    rig.produce_all({"k"});
    Worker& second = rig.start("b");
    rig.wind(due + after - rig.scheduler.now());
    told = rig.alarmed(AlarmType::kTopicMadeAnew);
    if (told) break;
    ++left;
    rig.stop(second);
    EXPECT_FALSE(rig.alarmed(AlarmType::kTopicMadeAnew)) << after.count() << " ms after it was due";
    Worker& third = rig.start("c");
    ASSERT_TRUE(rig.until_at(third, 0));
    EXPECT_EQ(third.at(0)->attempt, 1U);
    EXPECT_TRUE(rig.alarmed(AlarmType::kTopicMadeAnew));
  }
  EXPECT_TRUE(told) << "it never began anew by itself";
  EXPECT_GT(left, 10);
}

// A tool that moves the offset but copies the text beside it would move H too.
TEST(Rules, MetadataBesideAnotherOffsetIsNotBelieved) {
  Rig rig;
  rig.produce_all({"a", "b", "c"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  first.done(1);
  first.done(2);
  ASSERT_TRUE(rig.wind_until([&] { return rig.metadata().metadata.heads.size() == 1; }));
  rig.crash(first);
  rig.wind(Duration(3000));
  rig.cluster.set_offset("g", kPartition, Offset(1), rig.cluster.committed("g", kPartition)->metadata);
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.wind_until([&] { return second.at_all({1, 2}); }));
  EXPECT_TRUE(rig.alarmed(AlarmType::kDamagedMetadata));
}

// The topic was deleted and made again, and the commit of the old one lies beyond the new one's end.
TEST(Rules, ACommitBeyondTheEndOfTheLogIsAnIncidentAndReadingBeginsAtItsStart) {
  Rig rig;
  rig.produce_all({"a", "b", "c"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  for (const std::int64_t o : {0, 1, 2}) first.done(o);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(3); }));
  rig.crash(first);
  rig.cluster.recreate("src");
  rig.wind(Duration(5000));
  rig.produce_all({"a"});
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.until_at(second, 0));
  EXPECT_TRUE(rig.alarmed(AlarmType::kTopicMadeAnew));
  second.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1); }));
}

TEST(Rules, ATopicMadeAnewUnderARunningWorkerIsTakenOverAgain) {
  Rig rig;
  rig.produce_all({"a", "b", "c"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return worker.at_all({0, 1, 2}); }));
  worker.done(0);
  worker.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
  rig.cluster.recreate("src");
  rig.wind(Duration(2000));
  EXPECT_TRUE(rig.alarmed(AlarmType::kOffsetReset));
  worker.done(2);  // an answer of the life before
  rig.produce_all({"d"});
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1); }));
  rig.stop(worker);
}

// It is given away before it has begun anew: a handler of its earlier life is still at work.
TEST(Rules, APartitionThatIsAboutToBeginAnewWaitsForItsHandlersBeforeItIsHandedOver) {
  Rig rig;
  rig.produce_all({"a", "b", "c"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  first.done(0);
  first.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
  rig.cluster.recreate("src");
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kOffsetReset); }));
  ASSERT_NE(first.partition(), nullptr);
  ASSERT_NE(first.partition()->phase(), Phase::kRunning);
  first.begin_stop();
  rig.wind(Duration(5000));
  EXPECT_NE(first.partition(), nullptr) << "its handler is at work";
  first.done(2);
  EXPECT_TRUE(rig.wind_until([&] { return !first.up() || first.partition() == nullptr; }, Duration(1000)));
}

// Somebody else's metadata is there when it begins anew, so it is left alone; the handler of its earlier life hangs.
TEST(Rules, APartitionThatIsLeftAloneWaitsForItsHandlersNoLongerThanAnyOther) {
  Rig rig;
  rig.produce_all({"a", "b", "c"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  first.done(0);
  first.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
  rig.cluster.recreate("src");
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kOffsetReset); }));
  rig.cluster.set_offset("g", kPartition, Offset(0), "of another tool");
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kForeignMetadata); }));
  first.begin_stop();
  rig.wind(Duration(5000));
  ASSERT_NE(first.partition(), nullptr) << "its handler is at work";
  EXPECT_EQ(explain(first.engine(), first.partition()->ref(), rig.scheduler.now())->answer,
            "the partition is being handed over: waits for running handlers");
  EXPECT_TRUE(rig.wind_until([&] { return !first.up() || first.partition() == nullptr; }, rig.engine.drain));
}

// A head that a failed check has made worthless lies in a journal that takes nothing: nothing can be committed. What is
// finished meanwhile would all come again, so it is bounded; letters keep nobody else from memory.
TEST(Rules, WhatIsFinishedWhileTheJournalHoldsUpEveryCommitIsBounded) {
  Rig rig;
  rig.engine.max_window = 20;
  rig.produce("a");
  Worker& first = rig.start();
  ASSERT_TRUE(rig.until_at(first, 0));
  first.done(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1); }));
  rig.crash(first);
  rig.write_journal(HeadEntry{lane_of("gone"), Offset(0)});
  rig.cluster.deny("src.parked.g", true);
  Worker& second = rig.start("b");
  const auto all_end = [&] {
    while (!second.running().empty()) {
      const std::int64_t offset = second.running().front().offset;
      if (offset % 7 == 0)
        second.reject(offset);
      else
        second.done(offset);
    }
  };
  const auto runs = [&] { return second.partition() != nullptr && second.partition()->phase() == Phase::kRunning; };
  ASSERT_TRUE(rig.wind_until(runs));
  for (int i = 0; i < 60; ++i) {
    rig.produce("k" + std::to_string(i));
    rig.wind(Duration(100));
    all_end();
  }
  EXPECT_TRUE(rig.alarmed(AlarmType::kJournalDiffers));
  EXPECT_TRUE(rig.alarmed(AlarmType::kLimitWindow));
  EXPECT_EQ(rig.low(), Offset(1));
  ASSERT_NE(second.partition(), nullptr);
  EXPECT_EQ(second.partition()->frontier(), Offset(1 + 20));
  const std::string answer = explain(second.engine(), second.partition()->ref(), rig.scheduler.now())->answer;
  EXPECT_NE(
      answer.find(". Nothing is committed: its journal must let go of entries first, and takes nothing. Intake is "),
      std::string::npos)
      << answer;
  EXPECT_TRUE(rig.letters.empty());

  rig.cluster.deny("src.parked.g", false);
  for (int i = 0; i < 300 && rig.low() < Offset(61); ++i) {
    rig.wind(Duration(1000));
    all_end();
  }
  EXPECT_EQ(rig.low(), Offset(61));
  EXPECT_EQ(rig.letters.size(), 8U);
  EXPECT_TRUE(rig.journal().empty());
}

// Names of different lengths and no room kept for the longer one: hints are left out rather than the claim.
TEST(Rules, AClaimThatDoesNotFitBesideALongerNameLeavesOutTheHeads) {
  Rig rig;
  rig.engine.metadata_limit = Rig::room_for_heads(6);
  rig.produce_all({"a", "b", "c", "d", "e", "f", "g"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1, 2, 3, 4, 5, 6}); }));
  first.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.metadata().metadata.heads.size() == 6; }));
  rig.crash(first);
  Worker& second = rig.start(std::string(25, 'x'));
  ASSERT_TRUE(rig.wind_until([&] { return rig.metadata().metadata.writer == second.id(); }));
  EXPECT_EQ(rig.metadata().metadata.high, Offset(0));
  EXPECT_TRUE(rig.metadata().metadata.heads.empty());
  rig.crash(second);
  Worker& third = rig.start("c");
  ASSERT_TRUE(rig.wind_until([&] { return third.at_all({0, 1, 2, 3, 4, 5, 6}); })) << "repetitions, no loss";
  for (std::int64_t o = 0; o <= 6; ++o) third.done(o);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(7); }));
}

}  // namespace
}  // namespace bartleby::sim
