// Memory where something refuses for long: what waits for a topic or for people must not keep others from it, and what
// was let go of must come back whole.
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

const TopicPartition kSource{"src", Partition(0)};
constexpr std::size_t kMoreThanAFetch = 3000;

void answer_all(Worker& worker, const std::function<void(std::int64_t)>& answer) {
  for (const Started& s : std::vector(worker.running())) answer(s.offset);
}

// ---- letters that their dlq refuses --------------------------------------------------------------------

std::string value_of(int i) { return std::string(1000, static_cast<char>('a' + i % 26)) + std::to_string(i); }

std::string letters_in_little_memory(bool another_owner) {
  Rig rig;
  rig.engine.max_bytes = 16384;
  rig.engine.max_message = 2048;
  rig.cluster.deny("src.dlq", true);
  for (int i = 0; i < 40; ++i) rig.produce("k" + std::to_string(i), value_of(i));
  rig.produce("k39", "behind a letter");
  Worker* worker = &rig.start();
  const auto reject = [&](std::int64_t offset) { worker->reject(offset); };
  BARTLEBY_MUST(rig.wind_until([&] { return answer_all(*worker, reject), rig.history.size() == 40; }));
  if (another_owner) {
    BARTLEBY_MUST(rig.wind_until([&] { return rig.journal().size() == 40; }));
    rig.crash(*worker);
    worker = &rig.start("b");
  }
  for (int i = 0; i < 20; ++i) rig.produce("later" + std::to_string(i), value_of(i));
  const auto done = [&](std::int64_t offset) { worker->done(offset); };
  BARTLEBY_MUST(rig.wind_until([&] { return answer_all(*worker, done), rig.history.size() == 60; }));
  rig.wind(Duration(70000));  // the dlq is tried meanwhile
  BARTLEBY_MUST(rig.letters.empty());
  rig.cluster.deny("src.dlq", false);
  BARTLEBY_MUST(rig.wind_until([&] { return answer_all(*worker, done), rig.low() == Offset(61); }, Duration(300000)));
  BARTLEBY_MUST(rig.letters.size() == 40);
  for (const Letter& letter : rig.letters)
    BARTLEBY_MUST(letter.record.value == value_of(static_cast<int>(letter.facts.offset.v)));
  BARTLEBY_MUST(rig.history.size() == 61);  // none of the dead ran again
  return "";
}

TEST(Rules, LettersThatTheirDlqRefusesKeepNobodyElseFromMemory) {
  expect_rule([] { return letters_in_little_memory(false); }, {Mutant::kLetterNotReadAgain});
}

TEST(Rules, LettersThatTheirDlqRefusesKeepNobodyElseFromMemoryAtTheNextOwnerEither) {
  expect_rule([] { return letters_in_little_memory(true); }, {Mutant::kLetterNotReadAgain});
}

// As many as may be parked: what waits for a topic takes room too, though not its bytes.
TEST(Rules, IntakeStopsAtTheLimitForLettersThatWaitAndGoesOnByItself) {
  Rig rig;
  rig.engine.max_parked = 30;
  rig.engine.concurrency = 4;
  rig.engine.max_queued = 4;
  rig.cluster.deny("src.dlq", true);
  for (std::size_t i = 0; i < kMoreThanAFetch; ++i) rig.produce("k" + std::to_string(i));
  Worker& worker = rig.start();
  const auto reject = [&](std::int64_t offset) { worker.reject(offset); };
  for (int i = 0; i < 1000; ++i) {
    rig.wind(Duration(20));
    answer_all(worker, reject);
  }
  EXPECT_TRUE(rig.alarmed(AlarmType::kLimitParked));
  const auto why = explain(worker.engine(), worker.partition()->ref(), rig.scheduler.now());
  EXPECT_NE(why->answer.find("wait for a topic that takes nothing, the limit"), std::string::npos) << why->answer;
  EXPECT_LT(rig.history.size(), kMoreThanAFetch / 2);
  rig.cluster.deny("src.dlq", false);
  const auto all = [&] { return answer_all(worker, reject), rig.letters.size() == kMoreThanAFetch; };
  EXPECT_TRUE(rig.wind_until(all, Duration(600000)));
}

// ---- what successes emit -------------------------------------------------------------------------------

TEST(Rules, WhatWasEmittedAndCannotBeWrittenIsCountedAsMemory) {
  Rig rig;
  rig.engine.max_bytes = 16384;
  rig.engine.max_queued = 4;
  for (std::size_t i = 0; i < kMoreThanAFetch; ++i) rig.produce("k" + std::to_string(i));
  Worker& worker = rig.start();
  rig.cluster.stall("out", true);
  Decision with_record;
  with_record.emit.push_back({"out", Partition(0), std::nullopt, std::string(1000, 'x'), {}});
  const auto emit = [&](std::int64_t offset) { worker.answer(offset, with_record); };
  for (int i = 0; i < 60; ++i) {
    rig.wind(Duration(1000));
    answer_all(worker, emit);
  }
  EXPECT_LT(rig.history.size(), kMoreThanAFetch / 2) << "nothing bounds what is kept of them";
  rig.cluster.stall("out", false);
  const auto all = [&] { return answer_all(worker, emit), rig.low() == Offset(kMoreThanAFetch); };
  EXPECT_TRUE(rig.wind_until(all, Duration(600000)));
  rig.wind(Duration(2000));
  EXPECT_EQ(worker.engine().bytes(), 0U);
}

// The first of its key succeeded, the second waits to run alone. Then what the first emitted is refused, so that it is
// the first one's turn again, memory is short, and the second goes back to the log.
TEST(Rules, AMessageThatWaitsToRunAloneMayLeaveMemoryWhenTheOneBeforeItFailsAfterAll) {
  Rig rig;
  rig.engine.max_bytes = 16384;
  rig.engine.max_message = 1024;
  rig.produce_all({"k", "k", "slow"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return worker.at_all({0, 2}); }));
  rig.write_journal(Obituary{Offset(1), 7, rig.cluster.log(kSource).entries()[1].record.timestamp, false, false});
  rig.wind(Duration(3000));
  rig.cluster.deny("out", true);
  Decision with_record;
  with_record.emit.push_back({"out", Partition(0), std::nullopt, "x", {}});
  worker.answer(0, with_record);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  const std::uint64_t evicted = worker.engine().counters().evictions;
  for (int i = 0; i < 40; ++i) rig.produce("other" + std::to_string(i), std::string(1000, 'x'));
  ASSERT_TRUE(rig.wind_until([&] { return worker.engine().counters().evictions > evicted; }));
  ASSERT_TRUE(rig.until_at(worker, 0));
  rig.cluster.faults().p_read_fail = 1000;
  const auto done = [&](std::int64_t offset) { worker.done(offset); };
  for (int i = 0; i < 10; ++i) {
    answer_all(worker, done);
    rig.wind(Duration(1000));
  }
  EXPECT_EQ(rig.runs_of(1), 0U);
  rig.cluster.faults().p_read_fail = 0;
  EXPECT_TRUE(rig.wind_until([&] { return answer_all(worker, done), rig.low() == Offset(43); }));
  EXPECT_EQ(rig.runs_of(1), 1U);
}

// ---- what retention takes ------------------------------------------------------------------------------

TEST(Rules, RetentionThatTakesMoreOfALaneIsSaidAgain) {
  Rig rig({.retention = std::chrono::hours(1000)});
  rig.engine.lane_messages = 2;
  rig.cluster.deny("src.dlq", true);
  for (int i = 0; i < 30; ++i) rig.produce("k");
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.reject(0);
  rig.wind(Duration(10000));
  std::vector<std::pair<std::int64_t, std::uint64_t>> told;
  for (const std::int64_t start : {10, 20, 20}) {
    rig.cluster.delete_before(kSource, Offset(start));
    rig.wind(Duration(12000));
  }
  for (const Alarm& a : rig.alarms)
    if (a.type == AlarmType::kLostByRetention) told.push_back({a.offset.v, a.number});
  EXPECT_EQ(told, (std::vector<std::pair<std::int64_t, std::uint64_t>>{{0, 10}, {10, 20}}));
}

// Refused at admission, so that no handler has a story of it; dead letters are off, so it is kept, and retention by
// size makes the journal take its bytes. An order must not write its entry anew without them.
TEST(Rules, AMessageWithoutAStoryThatTheJournalKeepsIsNotLostByAnOrder) {
  Rig rig({.retention_bytes = 4000});
  rig.engine.dead_letters = false;
  rig.produce("k", "malformed");
  Worker* worker = &rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kExhaustedKept); }));
  for (int i = 0; i < 45; ++i) rig.produce("other" + std::to_string(i));
  const auto done = [&](std::int64_t offset) { worker->done(offset); };
  const auto kept = [&] {
    const auto journal = rig.journal();
    const auto at = journal.find("m/0");
    return at != journal.end() && at->second.story.record && at->second.story.record->value == "malformed";
  };
  ASSERT_TRUE(rig.wind_until([&] { return answer_all(*worker, done), kept(); }));
  ASSERT_TRUE(rig.wind_until([&] { return answer_all(*worker, done), rig.metadata().metadata.high == Offset(46); }));
  rig.cluster.delete_before(kSource, Offset(46));
  for (const auto what : {ParkedOrder::What::kRunNow, ParkedOrder::What::kGiveUp}) {
    worker->order(what);
    rig.wind(Duration(5000));
    EXPECT_TRUE(kept());
  }
  rig.produce("slow");
  ASSERT_TRUE(rig.until_at(*worker, 46));
  worker->begin_stop();
  worker->order(ParkedOrder::What::kGiveUp);
  rig.wind(Duration(5000));
  EXPECT_TRUE(kept()) << "nor while it is handed over";
  rig.crash(*worker);
  worker = &rig.start("b");
  rig.wind(Duration(20000));
  EXPECT_TRUE(kept());
}

// ---- others --------------------------------------------------------------------------------------------

// `match` was changed while a message waited: it has a story, so it goes on, wherever it is read again.
TEST(Rules, AParkedMessageThatDoesNotMatchAnyMoreIsNotForgotten) {
  Rig rig;
  rig.produce("k", "order");
  Worker& first = rig.start();
  ASSERT_TRUE(rig.until_at(first, 0));
  first.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.stop(first);
  rig.skipped = "order";
  rig.produce("other", "order");
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.until_at(second, 0));
  EXPECT_EQ(second.at(0)->attempt, 2U);
  second.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
  EXPECT_EQ(rig.runs_of(1), 0U) << "what is new does not match";
}

// A topic that was made anew beside a journal that is full of entries of the old one: they are erased piece by piece,
// and an entry that was written anew must not be erased with them.
TEST(Rules, AnEntryThatIsWrittenAnewIsNotErasedAsOneOfADeletedTopic) {
  constexpr std::int64_t kMany = 700, kFailing = 650;
  Rig rig;
  rig.produce("first");
  Worker& before = rig.start();
  ASSERT_TRUE(rig.until_at(before, 0));
  before.done(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1); }));
  rig.stop(before);
  for (std::int64_t o = 1; o <= kMany; ++o) {
    MessageEntry old;
    old.offset = Offset(o);
    old.timestamp = Timestamp(Duration(5));
    old.lane = Lane(static_cast<std::uint32_t>(o));
    old.attempts = 2;
    rig.write_journal(old);
    rig.produce("k" + std::to_string(o));
  }
  Worker& worker = rig.start("b");
  const bool reached = rig.wind_until([&] {
    for (const Started& s : std::vector(worker.running()))
      if (s.offset != kFailing) worker.done(s.offset);
    return worker.at(kFailing) != nullptr;
  });
  ASSERT_TRUE(reached);
  EXPECT_EQ(worker.at(kFailing)->attempt, 1U);
  worker.fails(kFailing);
  rig.wind(Duration(5000));
  answer_all(worker, [&](std::int64_t offset) { worker.done(offset); });
  rig.wind(Duration(2000));
  EXPECT_TRUE(rig.has_parked(kFailing));
  ASSERT_TRUE(rig.metadata().metadata.check);
  EXPECT_EQ(rig.metadata().metadata.check->count, rig.journal().size());
}

// Enough deaths become known while a suspect waits for its turn to run alone: it does not get it any more.
TEST(Rules, ASuspectThatHasKilledOftenEnoughByItsTurnDoesNotRun) {
  Rig rig;
  rig.produce_all({"k", "other"});
  Worker& owner = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return owner.at_all({0, 1}); }));
  const Timestamp timestamp = owner.at(0)->record->timestamp;
  owner.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.write_journal(Obituary{Offset(0), 100, timestamp, true, false});
  rig.wind(Duration(30000));  // due, and a suspect; the other one runs all the time
  ASSERT_EQ(rig.runs_of(0), 1U);
  for (std::uint64_t i = 1; i < 3; ++i) rig.write_journal(Obituary{Offset(0), 100 + i, timestamp, true, false});
  rig.wind(Duration(30000));
  owner.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.letters.size() == 1; }));
  EXPECT_EQ(rig.letters[0].facts.reason, Reason::kProcessCrash);
  EXPECT_EQ(rig.runs_of(0), 1U);
}

// Retention by size alone: what an open guard holds back is not left for the log to roll over.
TEST(Rules, AGuardGivesUpBeforeALogThatIsBoundedBySizeTakesWhatItHoldsBack) {
  Rig rig({.retention_bytes = 20000});
  rig.engine.guard = GuardConfig{.of = 5, .within = Duration(60000), .probe = Duration(5000)};
  for (int i = 0; i < 20; ++i) rig.produce("k" + std::to_string(i));
  Worker& worker = rig.start();
  const auto fail = [&](std::int64_t offset) { worker.fails(offset); };
  ASSERT_TRUE(rig.wind_until([&] { return answer_all(worker, fail), rig.alarmed(AlarmType::kGuardOpened); }));
  rig.wind(Duration(20000));
  EXPECT_FALSE(rig.alarmed(AlarmType::kGuardClosed));
  for (int i = 0; i < 200; ++i) rig.produce("more" + std::to_string(i));  // about 78 bytes each
  EXPECT_TRUE(rig.wind_until([&] { return answer_all(worker, fail), rig.alarmed(AlarmType::kGuardClosed); }));
}

}  // namespace
}  // namespace bartleby::sim
