// Membership and reading: who gets which partition, when, and what is read from it.
#include "tests/contract/broker_contract.h"

namespace bartleby::contract {
namespace {

const auto kAnyEvent = [](const auto&) { return true; };

TEST_P(BrokerContract, AMemberAloneTakesEveryPartition) {
  const std::string t = topic(3);
  Probe& a = join(rig().fresh("group"), {t});
  ASSERT_TRUE(await([&] { return a.owned() == 3; }));
  for (std::int32_t p = 0; p < 3; ++p) EXPECT_TRUE(a.ref({t, Partition(p)}).has_value());
}

TEST_P(BrokerContract, AMemberOfTwoTopicsTakesThePartitionsOfBoth) {
  const std::string t = topic(2), u = topic(1);
  Probe& a = join(rig().fresh("group"), {t, u});
  ASSERT_TRUE(await([&] { return a.owned() == 3; }));
  EXPECT_TRUE(a.ref({u, Partition(0)}).has_value());
}

TEST_P(BrokerContract, NothingIsReadBeforeStart) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"one"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  assigned(a, tp);
  look_on(rig().quiet());
  EXPECT_EQ(a.count<RecordsFetched>(), 0u);
  EXPECT_EQ(a.count<EndReached>(), 0u);
}

TEST_P(BrokerContract, RecordsComeInOrderAndThenTheEnd) {
  const TopicPartition tp{topic(), Partition(0)};
  const auto at = produce(tp, {"one", "two", "three", "four", "five", "six", "seven"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  ASSERT_TRUE(await([&] { return a.end(ref) == next(at.back()); }));
  EXPECT_EQ(values(a.records(ref)), (std::vector<std::string>{"one", "two", "three", "four", "five", "six", "seven"}));
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_EQ(a.records(ref)[i].offset, at[i]);
  EXPECT_TRUE(std::holds_alternative<EndReached>(a.events().back())) << "the end comes after the last record";
}

TEST_P(BrokerContract, TheEndOfAnEmptyPartitionIsTold) {
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  EXPECT_TRUE(await([&] { return a.end(ref) == Offset(0); }));
}

TEST_P(BrokerContract, ReadingGoesOnWhenRecordsComeAfterTheEnd) {
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  ASSERT_TRUE(await([&] { return a.end(ref).has_value(); }));
  produce(tp, {"late"});
  ASSERT_TRUE(await([&] { return a.end(ref) == Offset(1); }));
  EXPECT_EQ(values(a.records(ref)), std::vector<std::string>{"late"});
}

TEST_P(BrokerContract, ReadingStartsWhereItWasTold) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp, Offset(2));
  ASSERT_TRUE(await([&] { return a.end(ref).has_value(); }));
  EXPECT_EQ(values(a.records(ref)), (std::vector<std::string>{"2", "3"}));
}

TEST_P(BrokerContract, StartAgainMovesTheReader) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  ASSERT_TRUE(await([&] { return a.end(ref).has_value(); }));
  a->start(ref, Offset(3));
  ASSERT_TRUE(await([&] { return a.count<EndReached>() == 2; }));
  EXPECT_EQ(values(a.records(ref)), (std::vector<std::string>{"0", "1", "2", "3", "3"}));
}

TEST_P(BrokerContract, StartAgainAtOnceNeverMixesTheTwoReadings) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3", "4", "5"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  a->start(ref, Offset(4));
  ASSERT_TRUE(await([&] { return a.end(ref) == Offset(6); }));
  EXPECT_EQ(values(a.records(ref)), (std::vector<std::string>{"4", "5"}));
}

TEST_P(BrokerContract, TwoMembersShareThePartitions) {
  const std::string t = topic(4), group = rig().fresh("group");
  Probe& a = join(group, {t});
  Probe& b = join(group, {t});
  auto hand_over = [&] {
    for (Probe* p : {&a, &b})
      for (std::int32_t n = 0; n < 4; ++n) {
        const auto ref = p->ref({t, Partition(n)});
        if (!ref || !p->find<PartitionRevoked>([&](const auto& r) { return r.ref == *ref; })) continue;
        p->release({t, Partition(n)});
      }
    return a.owned() == 2 && b.owned() == 2;
  };
  ASSERT_TRUE(await(hand_over));
  for (std::int32_t n = 0; n < 4; ++n)
    EXPECT_NE(a.ref({t, Partition(n)}).has_value(), b.ref({t, Partition(n)}).has_value()) << "partition " << n;
}

TEST_P(BrokerContract, ARevokedPartitionGoesToTheOtherOnlyWhenItWasReleased) {
  const std::string t = topic(2), group = rig().fresh("group");
  Probe& a = join(group, {t});
  ASSERT_TRUE(await([&] { return a.owned() == 2; }));
  Probe& b = join(group, {t});
  ASSERT_TRUE(await([&] { return a.count<PartitionRevoked>() == 1; }));
  look_on(rig().quiet());
  EXPECT_EQ(b.owned(), 0u);
  const PartitionRef revoked = a.find<PartitionRevoked>(kAnyEvent)->ref;
  const TopicPartition moving{t, a.ref({t, Partition(0)}) == revoked ? Partition(0) : Partition(1)};
  ASSERT_EQ(a.ref(moving), revoked);
  a.release(moving);
  assigned(b, moving);
  EXPECT_EQ(a.count<PartitionLost>(), 0u);
}

TEST_P(BrokerContract, AWriteBetweenRevokeAndReleaseIsAccepted) {
  const std::string t = topic(2), group = rig().fresh("group");
  Probe& a = join(group, {t});
  ASSERT_TRUE(await([&] { return a.owned() == 2; }));
  Probe& b = join(group, {t});
  ASSERT_TRUE(await([&] { return a.count<PartitionRevoked>() == 1; }));
  const PartitionRef revoked = a.find<PartitionRevoked>(kAnyEvent)->ref;
  const TopicPartition moving{t, a.ref({t, Partition(0)}) == revoked ? Partition(0) : Partition(1)};
  write_until_done(a, {}, {{revoked, Offset(7), "last words"}});
  a.release(moving);
  assigned(b, moving);
  const CommittedOffset found = stable(b, moving);
  EXPECT_EQ(found.offset, Offset(7));
  EXPECT_EQ(found.metadata, "last words");
}

TEST_P(BrokerContract, LeavingHandsOverEverythingAtOnce) {
  const std::string t = topic(2), group = rig().fresh("group");
  // Its session is longer than we wait: the other one gets them because the group was told, or never.
  Probe& a = join(group, {t}, rig().limit() + Duration(60000));
  ASSERT_TRUE(await([&] { return a.owned() == 2; }));
  write_until_done(a, {}, {{assigned(a, {t, Partition(0)}), Offset(3), "left"}});
  a->leave();
  Probe& b = join(group, {t});
  ASSERT_TRUE(await([&] { return b.owned() == 2; }));
  EXPECT_EQ(a.count<PartitionLost>(), 0u);
  EXPECT_EQ(stable(b, {t, Partition(0)}).offset, Offset(3));
}

TEST_P(BrokerContract, ACrashedMemberLosesItsPartitionsToTheOthers) {
  BARTLEBY_NEEDS(kill);
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  assigned(a, tp);
  kill(a);
  Probe& b = join(group, {tp.topic});
  assigned(b, tp);
}

TEST_P(BrokerContract, AnEpochIsNeverUsedTwiceByAMember) {
  BARTLEBY_NEEDS(freeze);
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef first = assigned(a, tp);
  rig().freeze(*a);
  look_on(Duration(15000));
  rig().thaw(*a);
  ASSERT_TRUE(await([&] { return a.count<PartitionLost>() == 1 && a.ref(tp).has_value(); }));
  EXPECT_GT(a.ref(tp)->epoch, first.epoch);
}

TEST_P(BrokerContract, AThawedMemberHearsThatItIsOutAndOfItsOldAssignmentNoMore) {
  BARTLEBY_NEEDS(freeze);
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  produce(tp, {"0", "1", "2"});
  Probe& a = join(group, {tp.topic});
  const PartitionRef ref = reading(a, tp);
  rig().freeze(*a);
  Probe& b = join(group, {tp.topic});
  assigned(b, tp);
  EXPECT_EQ(a.count<PartitionLost>(), 0u) << "it cannot know";
  rig().thaw(*a);
  ASSERT_TRUE(await([&] { return a.count<PartitionLost>() == 1; }));
  EXPECT_EQ(a.find<PartitionLost>(kAnyEvent)->ref, ref);
  EXPECT_TRUE(b.ref(tp).has_value());
  const std::size_t buffered = a.records(ref).size();  // what it had may still have come, but before
  produce(tp, {"3"});
  look_on(rig().quiet());
  EXPECT_EQ(a.records(ref).size(), buffered);
}

TEST_P(BrokerContract, AClosedPartitionHandsOutNothingAndOthersFlow) {
  const std::string t = topic(2);
  const TopicPartition closed{t, Partition(0)}, open{t, Partition(1)};
  Probe& a = join(rig().fresh("group"), {t});
  const PartitionRef first = reading(a, closed), second = reading(a, open);
  ASSERT_TRUE(await([&] { return a.end(first) && a.end(second); }));
  a->set_intake(first, false);
  produce(closed, {"held"});
  produce(open, {"flows"});
  ASSERT_TRUE(await([&] { return a.end(second) == Offset(1); }));
  look_on(rig().quiet());
  EXPECT_TRUE(a.records(first).empty());
  EXPECT_EQ(a.end(first), Offset(0));
  a->set_intake(first, true);
  ASSERT_TRUE(await([&] { return a.end(first) == Offset(1); }));
  EXPECT_EQ(values(a.records(first)), std::vector<std::string>{"held"});
}

TEST_P(BrokerContract, ClosingAndOpeningLosesAndRepeatsNothing) {
  const TopicPartition tp{topic(), Partition(0)};
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) texts.push_back(std::to_string(i));
  produce(tp, texts);
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  bool open = true;
  ASSERT_TRUE(await([&] {
    open = !open;
    a->set_intake(ref, open);
    if (!open) {
      const std::size_t before = a.count<RecordsFetched>();
      a.poll(Duration(30));
      EXPECT_EQ(a.count<RecordsFetched>(), before);
      a->set_intake(ref, true);
      open = true;
      a.poll(Duration(30));
    }
    return a.end(ref) == Offset(60);
  }));
  EXPECT_EQ(values(a.records(ref)), texts);
}

TEST_P(BrokerContract, APositionThatWasDeletedIsOutOfRange) {
  BARTLEBY_NEEDS(deletes);
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  rig().delete_before(tp, Offset(2));
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp, Offset(1));
  ASSERT_TRUE(await([&] { return a.count<PositionOutOfRange>() == 1; }));
  const auto* told = a.find<PositionOutOfRange>(kAnyEvent);
  EXPECT_EQ(told->ref, ref);
  EXPECT_EQ(told->wanted, Offset(1));
  EXPECT_EQ(told->log_start, Offset(2));
  EXPECT_EQ(told->log_end, Offset(4));
  EXPECT_TRUE(a.records(ref).empty()) << "no silent reset";
  a->start(ref, Offset(2));
  ASSERT_TRUE(await([&] { return a.end(ref) == Offset(4); }));
  EXPECT_EQ(values(a.records(ref)), (std::vector<std::string>{"2", "3"}));
}

TEST_P(BrokerContract, APositionThatWasNeverWrittenIsOutOfRange) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  reading(a, tp, Offset(5));
  ASSERT_TRUE(await([&] { return a.count<PositionOutOfRange>() == 1; }));
  const auto* told = a.find<PositionOutOfRange>(kAnyEvent);
  EXPECT_EQ(told->wanted, Offset(5));
  EXPECT_EQ(told->log_end, Offset(1));
}

TEST_P(BrokerContract, AddedPartitionsAreAssignedToTheGroup) {
  const std::string t = topic(1);
  Probe& a = join(rig().fresh("group"), {t});
  assigned(a, {t, Partition(0)});
  TopicSpec more;
  more.name = t;
  more.partitions = 3;
  ASSERT_TRUE(broker().ensure_topics({more}).has_value());
  ASSERT_TRUE(await([&] { return a.owned() == 3; }));
  EXPECT_EQ(a.count<PartitionLost>(), 0u);
}

TEST_P(BrokerContract, TransactionalIdsNameGroupAndInstanceAndAreUnique) {
  const std::string t = topic(), group = rig().fresh("group");
  auto first = broker().join({group, {t}, "host", Duration(10000)});
  auto second = broker().join({group, {t}, "host", Duration(10000)});
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_TRUE((*first)->transactional_id().starts_with("bartleby." + group + ".host."));
  EXPECT_NE((*first)->transactional_id(), (*second)->transactional_id());
  (*first)->leave();
  (*second)->leave();
}

}  // namespace
}  // namespace bartleby::contract
