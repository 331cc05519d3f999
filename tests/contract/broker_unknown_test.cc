// Lost replies, late requests, dead and fenced writers: what is known afterwards, and what can no longer be.
#include "tests/contract/broker_contract.h"

namespace bartleby::contract {
namespace {

const auto kAnyEvent = [](const auto&) { return true; };

TEST_P(BrokerContract, ALostReplyOfACommittedWriteIsUnknownAndResolvesToItsOffsets) {
  BARTLEBY_NEEDS(fates);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  write_until_done(a, {}, {{ref, Offset(1), "before"}});
  const WriteAnswered lost = lose(a, Fate::kReplyLostDone, {out(dlq, "k", "letter")}, {{ref, Offset(2), "after"}});
  ASSERT_EQ(lost.result, WriteResult::kUnknown);
  const WriteResolved truth = resolve(a, lost.serial);
  ASSERT_EQ(truth.offsets.size(), 1u);
  EXPECT_EQ(truth.offsets[0].tp, tp);
  EXPECT_EQ(truth.offsets[0].offset, Offset(2));
  EXPECT_EQ(truth.offsets[0].metadata, "after");
  EXPECT_EQ(values(range(a, dlq, Offset(0), Offset(1)).records), std::vector<std::string>{"letter"});
}

TEST_P(BrokerContract, ALostRequestIsUnknownAndResolvesToWhatWasThereBefore) {
  BARTLEBY_NEEDS(fates);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  write_until_done(a, {}, {{ref, Offset(1), "before"}});
  const WriteAnswered lost = lose(a, Fate::kReplyLostNotDone, {out(dlq, "k", "letter")}, {{ref, Offset(2), "after"}});
  ASSERT_EQ(lost.result, WriteResult::kUnknown);
  const WriteResolved truth = resolve(a, lost.serial);
  ASSERT_EQ(truth.offsets.size(), 1u);
  EXPECT_EQ(truth.offsets[0].offset, Offset(1));
  EXPECT_EQ(truth.offsets[0].metadata, "before");
  EXPECT_TRUE(range(a, dlq, Offset(0), Offset(100)).records.empty());
}

TEST_P(BrokerContract, ALateRequestNeverTakesEffectAfterResolve) {
  BARTLEBY_NEEDS(fates);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  std::vector<std::string> written;
  for (std::int64_t i = 1; i <= 8; ++i) {  // some of them come before the answer to resolve, some after it
    const std::string text = std::to_string(i);
    const WriteAnswered lost = lose(a, Fate::kLateRequest, {out(dlq, "k", text)}, {{ref, Offset(i), text}});
    ASSERT_EQ(lost.result, WriteResult::kUnknown);
    const WriteResolved truth = resolve(a, lost.serial);
    ASSERT_EQ(truth.offsets.size(), 1u);
    if (truth.offsets[0].metadata == text) written.push_back(text);
    look_on(rig().late());
    EXPECT_EQ(stable(a, tp).offset, truth.offsets[0].offset) << "what resolve said stays so";
    EXPECT_EQ(stable(a, tp).metadata, truth.offsets[0].metadata);
  }
  EXPECT_EQ(values(range(a, dlq, Offset(0), Offset(1000)).records), written);
}

TEST_P(BrokerContract, NothingIsWrittenUntilAnUnknownWriteIsResolved) {
  BARTLEBY_NEEDS(fates);
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  const WriteAnswered lost = lose(a, Fate::kReplyLostNotDone, {}, {{ref, Offset(1), "lost"}});
  ASSERT_EQ(lost.result, WriteResult::kUnknown);
  EXPECT_EQ(write(a, {}, {{ref, Offset(2), "too soon"}}).result, WriteResult::kNotDone);
  EXPECT_EQ(resolve(a, lost.serial).offsets.at(0).offset, std::nullopt);
  write_until_done(a, {}, {{ref, Offset(3), "resolved"}});
  EXPECT_EQ(stable(a, tp).offset, Offset(3));
}

TEST_P(BrokerContract, ResolvingNamesEveryPartitionOfTheWrite) {
  BARTLEBY_NEEDS(fates);
  const std::string t = topic(2);
  Probe& a = join(rig().fresh("group"), {t});
  const PartitionRef p0 = assigned(a, {t, Partition(0)}), p1 = assigned(a, {t, Partition(1)});
  const WriteAnswered lost = lose(a, Fate::kReplyLostDone, {}, {{p0, Offset(4), "x"}, {p1, Offset(5), "y"}});
  ASSERT_EQ(lost.result, WriteResult::kUnknown);
  const WriteResolved truth = resolve(a, lost.serial);
  ASSERT_EQ(truth.offsets.size(), 2u);
  EXPECT_EQ(truth.offsets[0].offset, Offset(4));
  EXPECT_EQ(truth.offsets[1].offset, Offset(5));
}

TEST_P(BrokerContract, PendingOffsetsOfADeadMemberAreReadUnstableOnlyUntilItIsFenced) {
  BARTLEBY_NEEDS(fates);
  BARTLEBY_NEEDS(kill);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic}, Duration(6000));
  const std::string dead = a->transactional_id();
  const PartitionRef old = assigned(a, tp);
  write_until_done(a, {}, {{old, Offset(1), dead}});
  Probe& b = join(group, {tp.topic});
  EXPECT_EQ(stable(b, tp).offset, Offset(1));
  leave_open(a, b, tp, Fate::kReplyLostNotDone, {out(dlq, "k", "never")}, {old, Offset(2), dead});
  kill(a);
  const OffsetsRead unstable = offsets(b, tp, Stability::kUnstable);
  ASSERT_TRUE(unstable.answered);
  EXPECT_EQ(unstable.offsets.at(0).offset, Offset(1));
  EXPECT_EQ(unstable.offsets.at(0).metadata, dead);
  EXPECT_FALSE(offsets(b, tp, Stability::kStable).answered);

  ASSERT_TRUE(fence(b, dead));
  const OffsetsRead after = offsets(b, tp, Stability::kStable);
  ASSERT_TRUE(after.answered) << "when the fence is answered nothing is pending";
  EXPECT_EQ(after.offsets.at(0).offset, Offset(1));
  EXPECT_TRUE(range(b, dlq, Offset(0), Offset(100)).records.empty());
}

TEST_P(BrokerContract, TheLateEndOfADeadWriterHasNoEffectOnceItIsFenced) {
  BARTLEBY_NEEDS(fates);
  BARTLEBY_NEEDS(kill);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic}, Duration(6000));
  const std::string dead = a->transactional_id();
  const PartitionRef old = assigned(a, tp);
  Probe& b = join(group, {tp.topic});
  leave_open(a, b, tp, Fate::kLateRequest, {out(dlq, "k", "never")}, {old, Offset(2), dead});
  kill(a);
  ASSERT_TRUE(fence(b, dead));
  EXPECT_EQ(stable(b, tp).offset, std::nullopt);
  rig().send_late();
  look_on(rig().late());
  EXPECT_EQ(stable(b, tp).offset, std::nullopt);
  EXPECT_TRUE(range(b, dlq, Offset(0), Offset(100)).records.empty());
}

TEST_P(BrokerContract, PendingOffsetsOfADeadMemberEndByThemselvesInTheEnd) {
  BARTLEBY_NEEDS(fates);
  BARTLEBY_NEEDS(kill);
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic}, Duration(6000));
  const PartitionRef old = assigned(a, tp);
  Probe& b = join(group, {tp.topic});
  leave_open(a, b, tp, Fate::kReplyLostNotDone, {}, {old, Offset(2), "x"});
  kill(a);
  EXPECT_EQ(stable(b, tp).offset, std::nullopt) << "asked again until the broker gave the transaction up";
}

TEST_P(BrokerContract, PendingRecordsHoldBackTheEndAndAreNeverHandedOutIfTheyAreTakenBack) {
  BARTLEBY_NEEDS(fates);
  const TopicPartition tp{topic(), Partition(0)}, to{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  Probe& b = join(rig().fresh("group"), {to.topic});
  const PartitionRef read = reading(b, to);
  ASSERT_TRUE(await([&] { return b.end(read) == Offset(0); }));
  rig().fate_of_next_write(*a, Fate::kReplyLostNotDone);
  const WriteSerial serial = send(a, {out(to, "k", "pending")}, {{ref, Offset(1), ""}});
  ASSERT_TRUE(await([&] { return log_range(b, to).high_watermark > Offset(0); }));
  produce(to, {"behind it"});
  look_on(rig().quiet());
  EXPECT_EQ(b.end(read), Offset(0));
  EXPECT_EQ(log_range(b, to).end, Offset(0));
  ASSERT_EQ(answer(a, serial).result, WriteResult::kUnknown);
  resolve(a, serial);
  ASSERT_TRUE(await([&] { return !b.records(read).empty(); }));
  look_on(rig().quiet());
  EXPECT_EQ(values(b.records(read)), std::vector<std::string>{"behind it"});
  EXPECT_EQ(b.end(read), log_range(b, to).high_watermark);
}

TEST_P(BrokerContract, AFencedWriterIsToldThatItIsShutOutAndHasWrittenNothing) {
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  write_until_done(a, {}, {{ref, Offset(1), "a"}});
  Probe& b = join(rig().fresh("group"), {dlq.topic});
  ASSERT_TRUE(fence(b, a->transactional_id()));
  EXPECT_EQ(write(a, {out(dlq, "k", "v")}, {{ref, Offset(2), "a"}}).result, WriteResult::kNotDone);
  ASSERT_TRUE(await([&] { return a.count<MemberFailed>() == 1; }));
  EXPECT_TRUE(a.find<MemberFailed>(kAnyEvent)->shut_out);
  EXPECT_TRUE(range(b, dlq, Offset(0), Offset(100)).records.empty());

  Probe& again = join(group, {tp.topic});
  const PartitionRef fresh = assigned(again, tp);
  EXPECT_EQ(stable(again, tp).offset, Offset(1));
  write_until_done(again, {}, {{fresh, Offset(2), "again"}});
}

TEST_P(BrokerContract, FencingAWriterThatNeverWasOrHasNothingPendingIsAnswered) {
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  assigned(a, tp);
  EXPECT_TRUE(fence(a, "bartleby." + rig().fresh("nobody") + ".x.1"));
}

TEST_P(BrokerContract, AnUnfinishedWriteOfAFrozenMemberIsNotDoneWhenItWakesUp) {
  BARTLEBY_NEEDS(freeze);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  const PartitionRef old = assigned(a, tp);
  write_until_done(a, {}, {{old, Offset(1), "a"}});
  const WriteSerial serial = send(a, {out(dlq, "k", "v")}, {{old, Offset(2), "a"}});
  rig().freeze(*a);  // with its first request on the way
  Probe& b = join(group, {tp.topic});
  assigned(b, tp);
  look_on(Duration(12000));
  const CommittedOffset before = stable(b, tp);
  rig().thaw(*a);
  const WriteResult result = answer(a, serial).result;
  const CommittedOffset after = stable(b, tp);
  EXPECT_EQ(before.offset, after.offset) << "what the new owner has read stable stays so";
  EXPECT_EQ(result == WriteResult::kDone, after.offset == Offset(2)) << "a freeze may come too late to matter";
}

}  // namespace
}  // namespace bartleby::contract
