// What people change around a group: offsets, names, topics, releases, limits of the broker.
#include "tests/sim/colliding_keys.h"
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

const TopicPartition kPartition{"src", Partition(0)};

// Leaves message 1 parked, 2 dead with a done entry, and the rest in hand.
bool some_history(Rig& rig) {
  rig.engine.metadata_limit = Rig::room_for_heads(0);
  rig.produce_all({"blocker", "a", "b", "c", "d"});
  Worker& first = rig.start();
  if (!rig.wind_until([&] { return first.at_all({0, 1, 2, 3, 4}); })) return false;
  first.fails(1);
  first.reject(2);
  first.done(3);
  if (!rig.wind_until([&] { return rig.has_parked(1) && rig.has_done(2); })) return false;
  rig.crash(first);
  rig.wind(Duration(3000));
  rig.history.clear();
  return true;
}

TEST(Rules, WithoutAResetADoneEntryIsBelieved) {
  Rig rig;
  ASSERT_TRUE(some_history(rig));
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.wind_until([&] { return second.at_all({0, 1, 3, 4}); }));
  EXPECT_FALSE(rig.alarmed(AlarmType::kParkedSkipped));
  EXPECT_EQ(second.at(1)->attempt, 2u);
  rig.wind(Duration(5000));
  EXPECT_EQ(rig.runs_of(2), 0u);
}

// `deaths`: of owners that came as far as their claim.
std::string moved_back(int deaths) {
  Rig rig;
  BARTLEBY_MUST(some_history(rig));
  rig.cluster.set_offset("g", kPartition, Offset(0));
  for (; deaths > 0; --deaths) {
    Worker& victim = rig.start("v" + std::to_string(deaths));
    BARTLEBY_MUST(rig.wind_until([&] { return rig.metadata().metadata.writer == victim.id(); }));
    rig.crash(victim);
    rig.history.clear();
  }
  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({0, 1, 2, 3, 4}); }));  // the done entry is not believed
  BARTLEBY_MUST(second.at(1)->attempt == 2);                                      // attempts are still known
  for (const std::int64_t o : {0, 1, 2, 3, 4}) second.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(5); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, AnOffsetThatPeopleMovedBackRunsEverythingAgain) {
  expect_rule([] { return moved_back(0); }, {Mutant::kResetKeepsDone});
}

TEST(Rules, AnOffsetThatPeopleMovedBackStaysMovedThoughItsFirstOwnerDiesAfterTheClaim) {
  expect_rule([] { return moved_back(1); }, {Mutant::kClaimEndsReset});
  expect_rule([] { return moved_back(3); }, {Mutant::kClaimEndsReset});
}

// More done entries than a write erases otherwise: none may be vouched for on the way.
TEST(Rules, AnOffsetThatPeopleMovedBackStaysMovedThoughVeryMuchMustBeErased) {
  constexpr std::int64_t kCount = 700;
  Rig rig;
  rig.engine.metadata_limit = Rig::room_for_heads(0);
  rig.produce("blocker");
  for (std::int64_t i = 1; i <= kCount; ++i) rig.produce("k" + std::to_string(i));
  Worker& first = rig.start();
  const auto all_but_blocker = [](Worker& worker, const auto& answer) {
    for (const Started& s : std::vector(worker.running()))
      if (s.offset != 0) answer(s.offset);
  };
  ASSERT_TRUE(rig.wind_until([&] {
    all_but_blocker(first, [&](std::int64_t offset) { first.reject(offset); });
    return rig.has_done(kCount) && rig.journal().size() >= kCount;
  }));
  rig.crash(first);
  rig.cluster.set_offset("g", kPartition, Offset(0));
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.wind_until(
      [&] { return rig.metadata().metadata.writer == second.id() && rig.metadata().metadata.check.has_value(); }));
  rig.crash(second);
  rig.history.clear();
  Worker& third = rig.start("c");
  ASSERT_TRUE(rig.wind_until([&] {
    for (const Started& s : std::vector(third.running())) third.done(s.offset);
    return rig.low() == Offset(kCount + 1);
  }));
  for (std::int64_t i = 0; i <= kCount; ++i) ASSERT_EQ(rig.runs_of(i), 1u) << i;
}

std::string moved_forward() {
  Rig rig;
  BARTLEBY_MUST(some_history(rig));
  rig.cluster.set_offset("g", kPartition, Offset(3));
  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({3, 4}); }));
  rig.wind(Duration(20000));
  BARTLEBY_MUST(rig.runs_of(0) + rig.runs_of(1) + rig.runs_of(2) == 0);
  BARTLEBY_MUST(rig.alarmed(AlarmType::kParkedSkipped));  // not in silence
  second.done(3);
  second.done(4);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(5); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.journal().empty());  // entries below the commit are erased
  return "";
}

TEST(Rules, AnOffsetThatPeopleMovedForwardSkipsWhatWasParked) {
  expect_rule(moved_forward, {Mutant::kEntriesBelowLowKept});
}

// ---- two of one name -----------------------------------------------------------------------------------

std::string two_of_one_name() {
  Rig rig({.partitions = 2});
  rig.produce("k", "v", 0);
  rig.produce("k", "v", 1);
  Worker& one = rig.start("same");
  Worker& two = rig.start("same");
  BARTLEBY_MUST(one.id() != two.id());
  BARTLEBY_MUST(rig.wind_until([&] { return one.running().size() == 1 && two.running().size() == 1; }));
  one.reject(0);
  two.reject(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low(0) == Offset(1) && rig.low(1) == Offset(1); }));
  rig.wind(Duration(5000));
  BARTLEBY_MUST(rig.letters.size() == 2);
  BARTLEBY_MUST(one.up() && two.up());  // or one has shut the other out
  return "";
}

TEST(Rules, TwoProcessesWithOneHostNameWorkSideBySide) { expect_rule(two_of_one_name, {Mutant::kIdWithoutRandomPart}); }

TEST(Rules, AProcessWhoseTransactionalIdAnotherTakesIsShutOut) {
  Rig rig;
  rig.produce("k");
  Worker& one = rig.start("same");
  ASSERT_TRUE(rig.until_at(one, 0));
  Worker& two = rig.start("same");
  two.member().fence_writer(1000, one.id());
  rig.wind(Duration(100));
  one.done(0);
  ASSERT_TRUE(rig.wind_until([&] { return !one.up(); }));
  EXPECT_TRUE(one.failed());
}

// ---- a topic that grows, keys that share a lane --------------------------------------------------------

std::string partition_added() {
  Rig rig;
  rig.produce_all({"k", "k"});
  Worker& worker = rig.start();
  BARTLEBY_MUST(rig.until_at(worker, 0));
  worker.done(0);
  BARTLEBY_MUST(rig.until_at(worker, 1));
  rig.cluster.add_partitions("src", 2);
  rig.produce("k", "v", 1);
  rig.wind(Duration(5000));
  BARTLEBY_MUST(worker.running().size() == 1);  // not begun without its journal
  rig.cluster.add_partitions("src.parked.g", 2);
  BARTLEBY_MUST(rig.until_at(worker, 0));  // what came before the group had noticed
  BARTLEBY_MUST(worker.at(0)->tp.partition == Partition(1));
  BARTLEBY_MUST(rig.alarms.empty());
  worker.done(0);
  worker.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low(0) == Offset(2) && rig.low(1) == Offset(1); }));
  return "";
}

TEST(Rules, AnAddedPartitionBeginsAtItsLogStartWhenItsJournalIsThere) {
  expect_rule(partition_added, {Mutant::kAddedPartitionAtEnd});
}

TEST(Rules, TwoKeysWithOneLaneWaitForEachOtherAndNothingElseChanges) {
  Rig rig;
  const std::string one(kCollidingKeys[0]);
  const std::string two(kCollidingKeys[1]);
  rig.produce_all({one, two, "other", one, two});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 2}); }));
  first.done(2);
  first.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(3000));
  EXPECT_TRUE(first.running().empty()) << "one of the lane waits, so all of it does";
  rig.crash(first);

  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.until_at(second, 0));
  EXPECT_EQ(second.at(0)->attempt, 2u);
  second.done(0);
  ASSERT_TRUE(rig.until_at(second, 1));
  EXPECT_EQ(second.at(1)->attempt, 1u) << "another key's story";
  second.reject(1);
  for (const std::int64_t o : {3, 4}) {
    ASSERT_TRUE(rig.until_at(second, o));
    second.done(o);
  }
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(5); }));
  EXPECT_EQ(rig.order(), (std::vector<std::int64_t>{0, 2, 0, 1, 3, 4}));
  ASSERT_EQ(rig.letters.size(), 1u);
  EXPECT_EQ(rig.letters[0].record.key, two);
}

// ---- versions ------------------------------------------------------------------------------------------

std::string newer_metadata() {
  Rig rig;
  rig.produce_all({"a", "b", "c"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  first.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.metadata().metadata.counters.handled == 1; }));
  rig.crash(first);
  rig.wind(Duration(3000));
  const std::string readable = rig.cluster.committed("g", kPartition)->metadata;
  std::string newer = readable;
  newer[1] = '2';
  rig.cluster.set_offset("g", kPartition, Offset(0), newer);
  rig.history.clear();

  Worker& old = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return rig.alarmed(AlarmType::kNewerMetadata); }));
  rig.wind(Duration(60000));
  BARTLEBY_MUST(old.running().empty());
  BARTLEBY_MUST(rig.cluster.committed("g", kPartition)->metadata == newer);  // nothing of ours over it
  rig.stop(old);
  BARTLEBY_MUST(rig.cluster.committed("g", kPartition)->metadata == newer);

  rig.cluster.set_offset("g", kPartition, Offset(0), readable);  // rolled back
  Worker& again = rig.start("c");
  BARTLEBY_MUST(rig.wind_until([&] { return again.at_all({0, 2}); }));
  BARTLEBY_MUST(again.at(1) == nullptr);
  again.done(0);
  again.done(2);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  return "";
}

TEST(Rules, NewerMetadataIsLeftAloneUntilItIsRolledBack) { expect_rule(newer_metadata, {Mutant::kNewerMetadataTaken}); }

TEST(Rules, ForeignMetadataIsLeftAloneUnlessTheWorkerMayAdoptIt) {
  Rig rig;
  rig.produce_all({"a", "b"});
  rig.cluster.set_offset("g", kPartition, Offset(1), "of another tool");
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kForeignMetadata); }));
  rig.wind(Duration(10000));
  EXPECT_TRUE(first.running().empty());
  rig.stop(first);
  rig.engine.adopt = true;
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.until_at(second, 1));
  EXPECT_EQ(second.at(0), nullptr);
}

// ---- retention by size ---------------------------------------------------------------------------------

TEST(Rules, AWaitingMessageIsHandedOverBeforeRetentionBySizeTakesIt) {
  Rig rig({.retention_bytes = 4000});
  rig.engine.cases[0].backoff = Schedule{{Duration(3600000)}};
  rig.produce("k");
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(20000));
  EXPECT_TRUE(rig.letters.empty());
  for (int i = 0; i < 45; ++i) rig.produce("other" + std::to_string(i));  // about 78 bytes each
  const bool handed_over = rig.wind_until([&] {
    for (const Started& s : std::vector(worker.running())) worker.done(s.offset);
    return rig.letters.size() == 1;
  });
  ASSERT_TRUE(handed_over);
  EXPECT_EQ(rig.letters[0].facts.reason, Reason::kExpiring);
  EXPECT_EQ(rig.letters[0].record.value, "v");
  EXPECT_TRUE(rig.alarmed(AlarmType::kExpiring));
}

// What is kept for people lies below it, and did hide it.
TEST(Rules, IntakeStopsWhenHalfOfRetentionIsOverForAnyWhoWaits) {
  Rig rig({.retention_bytes = 8000});
  rig.engine.dead_letters = false;
  rig.engine.cases[0].backoff = Schedule{{Duration(3600000)}};
  rig.produce("kept");
  rig.produce("waits");
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 1));
  worker.reject(0);
  worker.fails(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0) && rig.has_parked(1); }));
  const auto produce = [&](int count) {
    for (int i = 0; i < count; ++i) rig.produce("other" + std::to_string(i));  // about 78 bytes each
    rig.wind(Duration(20000));
    std::size_t ran = 0;
    for (; !worker.running().empty(); ++ran) worker.done(worker.running().front().offset);
    return ran;
  };
  EXPECT_GT(produce(40), 0U);  // 3,100 of 8,000 bytes
  EXPECT_FALSE(rig.alarmed(AlarmType::kLimitWindow));
  produce(20);
  EXPECT_TRUE(rig.alarmed(AlarmType::kLimitWindow));
  EXPECT_EQ(produce(10), 0U);
}

}  // namespace
}  // namespace bartleby::sim
