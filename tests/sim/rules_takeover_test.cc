// What the next owner may believe: failed checks, old journals, moved offsets, changed settings.
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

// The same with a done entry and committed offsets that survived: the new message would be lost.
std::string recreated_topic_done() {
  Rig rig;
  rig.engine.metadata_limit = Rig::room_for_heads(0);
  rig.produce_all({"blocker", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1}); }));
  first.reject(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_done(1); }));
  rig.crash(first);
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

// Leaves message 1 parked, 2 dead with a done entry, and the rest in hand.
void some_history(Rig& rig) {
  rig.engine.metadata_limit = Rig::room_for_heads(0);
  rig.produce_all({"blocker", "a", "b", "c", "d"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return first.at_all({0, 1, 2, 3, 4}); }));
  first.fails(1);
  first.reject(2);
  first.done(3);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(1) && rig.has_done(2); }));
  rig.crash(first);
  rig.wind(Duration(3000));
  rig.history.clear();
}

TEST(Rules, WithoutAResetADoneEntryIsBelieved) {
  Rig rig;
  some_history(rig);
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.wind_until([&] { return second.at_all({0, 1, 3, 4}); }));
  EXPECT_EQ(second.at(1)->attempt, 2u);
  rig.wind(Duration(5000));
  EXPECT_EQ(rig.runs_of(2), 0u);
}

TEST(Rules, AnOffsetThatPeopleMovedBackRunsEverythingAgain) {
  Rig rig;
  some_history(rig);
  rig.cluster.set_offset("g", kPartition, Offset(0));
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.wind_until([&] { return second.at_all({0, 1, 2, 3, 4}); })) << "the done entry was believed";
  EXPECT_EQ(second.at(1)->attempt, 2u) << "attempts are still known";
  for (const std::int64_t o : {0, 1, 2, 3, 4}) second.done(o);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(5); }));
  rig.wind(Duration(2000));
  EXPECT_TRUE(rig.journal().empty());
}

TEST(Rules, AnOffsetThatPeopleMovedForwardSkipsWhatWasParked) {
  Rig rig;
  some_history(rig);
  rig.cluster.set_offset("g", kPartition, Offset(3));
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.wind_until([&] { return second.at_all({3, 4}); }));
  rig.wind(Duration(20000));
  EXPECT_EQ(rig.runs_of(0) + rig.runs_of(1) + rig.runs_of(2), 0u);
  second.done(3);
  second.done(4);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(5); }));
  rig.wind(Duration(2000));
  EXPECT_TRUE(rig.journal().empty()) << "entries below the commit are erased";
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

// ---- two of one name -----------------------------------------------------------------------------------

TEST(Rules, TwoProcessesWithOneHostNameWorkSideBySide) {
  Rig rig({.partitions = 2});
  rig.produce("k", "v", 0);
  rig.produce("k", "v", 1);
  Worker& one = rig.start("same");
  Worker& two = rig.start("same");
  EXPECT_NE(one.id(), two.id());
  ASSERT_TRUE(rig.wind_until([&] { return one.running().size() == 1 && two.running().size() == 1; }));
  one.reject(0);
  two.reject(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low(0) == Offset(1) && rig.low(1) == Offset(1); }));
  rig.wind(Duration(5000));
  EXPECT_EQ(rig.letters.size(), 2u);
  EXPECT_TRUE(one.up() && two.up()) << "one has shut the other out";
}

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

// ---- another policy ------------------------------------------------------------------------------------

// Parked under hold; the next owner was told to bypass.
std::string hold_to_bypass(bool clean) {
  Rig rig;
  rig.engine.cases[0].max_attempts = 5;
  rig.produce_all({"k", "k", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  first.fails(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0); }));
  BARTLEBY_MUST(!rig.entry(0)->self);
  rig.wind(Duration(1000));
  if (clean)
    rig.stop(first);
  else
    rig.crash(first);

  rig.engine.key_policy = KeyPolicy::kBypass;
  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 0));
  BARTLEBY_MUST(second.at(0)->attempt == 2);
  BARTLEBY_MUST(second.running().size() == 1);  // its entry says that it holds its lane
  second.fails(0);
  BARTLEBY_MUST(rig.until_at(second, 1));  // it has left the lane, and the lane goes on
  BARTLEBY_MUST(rig.entry(0) != nullptr && rig.entry(0)->self && rig.entry(0)->attempts == 2);
  second.done(1);
  BARTLEBY_MUST(rig.until_at(second, 2));
  second.done(2);
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.low() == Offset(0) && rig.metadata().metadata.high == Offset(3));
  rig.crash(second);

  Worker& third = rig.start("c");
  BARTLEBY_MUST(rig.until_at(third, 0));
  BARTLEBY_MUST(third.at(0)->attempt == 3);
  third.done(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.order() == (std::vector<std::int64_t>{0, 0, 1, 2, 0}));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, APolicyChangedFromHoldToBypassKeepsTheOrderOfWhatIsParkedAndLosesNothing) {
  EXPECT_EQ(hold_to_bypass(true), "");
  EXPECT_EQ(hold_to_bypass(false), "");
}

TEST(Rules, APolicyChangedFromBypassToHoldLeavesWhatHasLeftItsLaneAlone) {
  Rig rig;
  rig.engine.key_policy = KeyPolicy::kBypass;
  rig.produce_all({"k", "k"});
  Worker& first = rig.start();
  ASSERT_TRUE(rig.until_at(first, 0));
  first.fails(0);
  ASSERT_TRUE(rig.until_at(first, 1));
  rig.crash(first);

  rig.engine.key_policy = KeyPolicy::kHold;
  Worker& second = rig.start("b");
  ASSERT_TRUE(rig.until_at(second, 1)) << "held by a message that is not in its lane";
  EXPECT_EQ(second.at(0), nullptr);
  second.done(1);
  ASSERT_TRUE(rig.until_at(second, 0));
  EXPECT_EQ(second.at(0)->attempt, 2u);
  second.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
}

}  // namespace
}  // namespace bartleby::sim
