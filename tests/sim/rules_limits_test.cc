// What is far away, for ever, too large or refused: limits that a healthy cluster seldom shows.
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

const TopicPartition kSource{"src", Partition(0)};

// ---- offsets that are far apart ------------------------------------------------------------------------

// Retention or compaction has taken a thousand million offsets: they cost neither memory nor time.
TEST(Rules, AThousandMillionMissingOffsetsCostNothing) {
  Rig rig;
  rig.produce_all({"a", "b"});
  rig.cluster.jump(kSource, 1000000000);
  rig.produce_all({"a", "b", "c"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return worker.at_all({0, 1}); }));
  worker.done(1);
  ASSERT_TRUE(rig.until_at(worker, 1000000003));  // of another key
  const PartitionEngine* p = worker.partition();
  EXPECT_LT(p->memory_bytes(), 1U << 20);
  worker.done(0);
  ASSERT_TRUE(rig.wind_until([&] {
    for (const Started& s : std::vector(worker.running())) worker.done(s.offset);
    return rig.low() == Offset(1000000005);
  }));
  EXPECT_EQ(rig.history.size(), 5U);
}

// A group that was away for longer than retention.
TEST(Rules, AGroupThatWasAwayForAThousandMillionOffsetsGoesOnAtTheStartOfTheLog) {
  Rig rig;
  rig.produce("a");
  Worker& first = rig.start();
  ASSERT_TRUE(rig.until_at(first, 0));
  first.done(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1); }));
  rig.stop(first);
  rig.produce("lost");
  rig.cluster.jump(kSource, 1000000000);
  rig.produce("a");
  rig.cluster.delete_before(kSource, Offset(1000000002));
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.until_at(second, 1000000002));
  EXPECT_LT(second.partition()->memory_bytes(), 1U << 20);
  EXPECT_TRUE(rig.alarmed(AlarmType::kOffsetReset));
  second.done(1000000002);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1000000003); }));
}

// ---- retention -----------------------------------------------------------------------------------------

// As people write "for ever": nothing may overflow, and nothing is about to be deleted.
TEST(Rules, ATopicThatIsKeptForEverIsNotAboutToLoseAnything) {
  Rig rig({.retention = Duration(INT64_MAX)});
  rig.produce("k");
  Worker& worker = rig.start();
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_TRUE(rig.until_at(worker, 0));
    EXPECT_EQ(worker.at(0)->attempt, attempt);
    worker.fails(0);
    rig.wind(Duration(1000));
  }
  ASSERT_TRUE(rig.wind_until([&] { return rig.letters.size() == 1; }));
  EXPECT_EQ(rig.letters[0].facts.reason, Reason::kExhausted);
}

// Retention of four hours, and the group was down for two and a half: one message waits, and the others go on.
TEST(Rules, WhoReadsOldMessagesIsNotStoppedByOneThatWaits) {
  Rig rig({.retention = std::chrono::hours(4)});
  rig.engine.cases[0].backoff = Schedule{{Duration(1800000)}};
  for (int i = 0; i < 50; ++i) rig.produce("k" + std::to_string(i));
  rig.wind(std::chrono::hours(2) + std::chrono::minutes(30));
  Worker& worker = rig.start();
  rig.engine.max_queued = 10;
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(20000));  // several looks at the log
  for (int i = 0; i < 20; ++i) rig.produce("later" + std::to_string(i));
  const bool all = rig.wind_until([&] {
    for (const Started& s : std::vector(worker.running())) worker.done(s.offset);
    return rig.runs_of(69) == 1;
  });
  EXPECT_TRUE(all);
  EXPECT_FALSE(rig.alarmed(AlarmType::kLimitWindow));
}

// The last write of a clean stop lists messages without a key in the journal. The next owner must not take these for
// messages that have waited too long: nobody has tried them yet.
TEST(Rules, AMessageWithoutAKeyThatNobodyTriedIsNotGivenUpBecauseItIsOld) {
  Rig rig({.retention = Duration(100000)});
  rig.engine.metadata_limit = Rig::room_for_heads(0);
  rig.engine.concurrency = 1;
  rig.engine.drain = Duration(0);
  for (int i = 0; i < 12; ++i) rig.produce(std::nullopt);
  rig.wind(Duration(85000));
  Worker& first = rig.start();
  ASSERT_TRUE(rig.until_at(first, 0));
  rig.stop(first);
  ASSERT_GT(rig.journal().size(), 0U) << "otherwise this shows nothing";
  Worker& second = rig.start("b");
  const bool all = rig.wind_until([&] {
    for (const Started& s : std::vector(second.running())) second.done(s.offset);
    return rig.low() == Offset(12);
  });
  EXPECT_TRUE(all);
  EXPECT_TRUE(rig.letters.empty());
  EXPECT_FALSE(rig.alarmed(AlarmType::kExpiring));
}

// ---- what is refused -----------------------------------------------------------------------------------

// A message whose entry must be erased ends while its journal takes nothing: it waits, and what others of the same
// partition leave behind is written.
TEST(Rules, AJournalThatRefusesDelaysNobodyOfItsOwnPartitionWhoDoesNotNeedIt) {
  Rig rig;
  rig.produce("k");
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.cluster.stall("src.parked.g", true);
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.done(0);
  Decision with_record;
  with_record.emit.push_back({"out", Partition(0), std::nullopt, "0", {}});
  const auto emitted = [&] {
    std::size_t n = 0;
    for (const Write& w : rig.writes)
      n += static_cast<std::size_t>(std::ranges::count(w.records, "out", &Record::topic));
    return n;
  };
  for (int i = 0; i < 20; ++i) {
    rig.produce("other" + std::to_string(i));
    rig.wind(Duration(2000));
    for (const Started& s : std::vector(worker.running())) worker.answer(s.offset, with_record);
  }
  rig.wind(Duration(5000));
  EXPECT_EQ(emitted(), 20U) << "they waited for the journal";
  EXPECT_EQ(rig.low(), Offset(0));
  rig.cluster.stall("src.parked.g", false);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(21) && rig.journal().empty(); }));
  EXPECT_EQ(emitted(), 20U);
  EXPECT_EQ(rig.runs_of(0), 2U);
}

// The journal takes nothing for a minute. It is asked less and less often, each time with an entry, and the commits of
// the other partition go on meanwhile.
TEST(Rules, AJournalThatRefusesIsAskedLessAndLessOftenAndDelaysNobodyElse) {
  Rig rig({.partitions = 2});
  rig.produce("k", "v", 0);
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  rig.cluster.stall("src.parked.g", true);
  worker.fails(0);
  std::vector<Instant> asked;
  std::size_t alarms = 0;
  for (int i = 0; i < 60; ++i) {
    rig.produce("other" + std::to_string(i), "v", 1);
    rig.wind(Duration(1000));
    for (const Started& s : std::vector(worker.running()))
      if (s.tp.partition == Partition(1)) worker.done(s.offset);
    std::size_t now = 0;
    for (const Alarm& a : rig.alarms) now += a.type == AlarmType::kJournalRefused ? 1U : 0U;
    if (now > alarms) asked.push_back(rig.scheduler.now());
    alarms = now;
  }
  EXPECT_EQ(alarms, 1U) << "it is told once, not every time it is tried again";
  EXPECT_FALSE(rig.has_parked(0));
  EXPECT_GT(rig.low(1), Offset(40)) << "commits of the other partition waited";
  rig.cluster.stall("src.parked.g", false);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  ASSERT_TRUE(rig.until_at(worker, 0));
  EXPECT_EQ(worker.at(0)->attempt, 2U);
}

// Twelve letters of one write are refused: that is one refusal, and a second later it is tried again.
TEST(Rules, ADestinationRestsByWritesThatItRefusesAndNotByRecords) {
  constexpr std::int64_t kLetters = 12;
  Rig rig;
  for (std::int64_t i = 0; i < kLetters; ++i) rig.produce("k" + std::to_string(i), "v", 0);
  rig.cluster.deny("src.dlq", true);
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return worker.running().size() == kLetters; }));
  for (std::int64_t i = 0; i < kLetters; ++i) worker.reject(i);
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kDestinationRefused); }));
  std::size_t refused = 0;
  for (const Alarm& a : rig.alarms) refused += a.type == AlarmType::kDestinationRefused ? 1U : 0U;
  ASSERT_GT(refused, 6U) << "not of one write";
  rig.cluster.deny("src.dlq", false);
  rig.wind(Duration(3000));
  EXPECT_EQ(rig.low(), Offset(kLetters));
}

// A letter that fits into no record of its dlq waits alone: the other letters of that dlq are not held up.
TEST(Rules, ALetterThatFitsInNoFormWaitsAloneAndIsTriedAgain) {
  Rig rig({.dlq_message = 1500, .letter_part = 4000});  // parts that are larger than what the dlq takes
  Random random(7);
  std::string payload(6000, '\0');
  for (char& c : payload) c = static_cast<char>(random.below(256));
  rig.produce("big", payload);
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.reject(0);
  rig.wind(Duration(5000));
  EXPECT_TRUE(rig.letters.empty());
  for (int i = 1; i <= 20; ++i) {
    rig.produce("small" + std::to_string(i));
    ASSERT_TRUE(rig.until_at(worker, i));
    worker.reject(i);
    ASSERT_TRUE(rig.wind_until([&] { return rig.letters.size() == static_cast<std::size_t>(i); }, Duration(500)));
  }
  EXPECT_EQ(rig.low(), Offset(0));
  ASSERT_TRUE(rig.has_parked(0)) << "what was decided is written down";
  EXPECT_TRUE(rig.entry(0)->dead);
  rig.stop(worker);
  Worker& second = rig.start("b");
  rig.wind(Duration(5000));
  EXPECT_EQ(rig.runs_of(0), 1U) << "nobody runs it again";
  rig.cluster.set_max_message("src.dlq", 1 << 20);
  ASSERT_TRUE(rig.wind_until([&] { return rig.letters.size() == 21; }));
  EXPECT_EQ(rig.letters.back().record.value, payload);
  rig.stop(second);
}

// A broker that takes shorter metadata than usual: what does not fit goes into the journal.
TEST(Rules, ABrokerThatTakesOnlyShortMetadataGetsShortMetadata) {
  Rig rig;
  rig.cluster.faults().metadata_limit = 200;
  rig.engine.concurrency = 100;
  rig.engine.max_ahead = 4;
  for (int i = 0; i < 60; ++i) rig.produce("k" + std::to_string(i));
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 59));
  for (std::int64_t o = 1; o < 60; o += 2) worker.done(o);
  ASSERT_TRUE(rig.wind_until([&] { return rig.metadata().metadata.high >= Offset(56); }));
  EXPECT_TRUE(rig.alarmed(AlarmType::kMetadataRefused));
  EXPECT_GT(rig.journal().size(), 10U);
  for (std::int64_t o = 0; o < 60; o += 2) worker.done(o);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(60); }));
}

// ---- dead letters switched off, cases ------------------------------------------------------------------

// Its letter could not be written, so the decision was journalled; then people switched dead letters off.
TEST(Rules, ADecisionWithoutDeadLettersLeavesItsLaneToTheOthers) {
  Rig rig;
  rig.produce_all({"k", "k", "k"});
  rig.cluster.deny("src.dlq", true);
  Worker& first = rig.start();
  ASSERT_TRUE(rig.until_at(first, 0));
  first.reject(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0) && rig.entry(0)->dead; }));
  rig.crash(first);
  rig.engine.dead_letters = false;
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.until_at(second, 1)) << "the key waits for what only people can end";
  EXPECT_TRUE(rig.alarmed(AlarmType::kExhaustedKept));
  EXPECT_TRUE(rig.entry(0)->self);
  second.done(1);
  ASSERT_TRUE(rig.until_at(second, 2));
  second.done(2);
  second.order(ParkedOrder::What::kRunNow);
  ASSERT_TRUE(rig.until_at(second, 0));
  second.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(3); }));
  EXPECT_TRUE(rig.letters.empty());
}

// How many deaths are too many depends on the case, and that is known when the bytes are read.
TEST(Rules, DeathsOfAParkedMessageAreJudgedByItsOwnCase) {
  Rig rig({.cases = 2});
  rig.engine.cases.resize(2, rig.engine.cases[0]);
  rig.engine.cases[0].max_crashes = 1;
  rig.engine.cases[1].max_crashes = 3;
  rig.produce("k", "case1");
  Worker& first = rig.start();
  ASSERT_TRUE(rig.until_at(first, 0));
  first.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  const Timestamp timestamp = rig.entry(0)->timestamp;
  rig.write_journal(Obituary{Offset(0), 7, timestamp, true, false});
  rig.crash(first);
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.until_at(second, 0));
  EXPECT_TRUE(second.at(0)->alone);
  EXPECT_EQ(second.at(0)->attempt, 2U);
  second.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1); }));
  EXPECT_TRUE(rig.letters.empty());
}

}  // namespace
}  // namespace bartleby::sim
