// Range reads and what lies in a log besides records: markers, aborted records, gaps.
#include <thread>

#include "tests/contract/broker_contract.h"

namespace bartleby::contract {
namespace {

constexpr Offset kFarBeyond{1000000};

TEST_P(BrokerContract, ARangeIsReadInOrderToItsEndFromAnyTopic) {
  const std::string own = topic();
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3", "4", "5", "6", "7"});
  Probe& a = join(rig().fresh("group"), {own});
  const Range read = range(a, tp, Offset(2), Offset(6));
  EXPECT_TRUE(read.answered);
  EXPECT_EQ(values(read.records), (std::vector<std::string>{"2", "3", "4", "5"}));
  EXPECT_EQ(read.next, Offset(6));
}

TEST_P(BrokerContract, AnEmptyRangeEndsAtOnce) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const Range read = range(a, tp, Offset(1), Offset(1));
  EXPECT_TRUE(read.answered);
  EXPECT_TRUE(read.records.empty());
  EXPECT_EQ(read.next, Offset(1));
}

TEST_P(BrokerContract, AFilteredRangeHandsOutWhatPassesAndGoesOverTheRest) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"a0", "b1", "a2", "b3", "b4", "b5", "b6"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const Range read = range(a, tp, Offset(0), Offset(7), [](const LogRecord& r) { return r.value->starts_with('a'); });
  EXPECT_EQ(values(read.records), (std::vector<std::string>{"a0", "a2"}));
  EXPECT_EQ(read.next, Offset(7));
}

TEST_P(BrokerContract, ARangeBeyondTheEndStopsAtTheEnd) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const Range read = range(a, tp, Offset(1), kFarBeyond);
  EXPECT_TRUE(read.answered);
  EXPECT_EQ(values(read.records), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(read.next, Offset(3));
  const Range nothing = range(a, tp, Offset(10), kFarBeyond);
  EXPECT_TRUE(nothing.answered);
  EXPECT_TRUE(nothing.records.empty());
}

TEST_P(BrokerContract, ARangeBelowTheLogStartBeginsWithWhatIsLeft) {
  BARTLEBY_NEEDS(deletes);
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  rig().delete_before(tp, Offset(2));
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const Range read = range(a, tp, Offset(0), Offset(4));
  EXPECT_TRUE(read.answered);
  EXPECT_EQ(values(read.records), (std::vector<std::string>{"2", "3"}));
  const Range deleted = range(a, tp, Offset(0), Offset(1));
  EXPECT_TRUE(deleted.answered);
  EXPECT_TRUE(deleted.records.empty());
  EXPECT_GE(deleted.next, Offset(1));
}

TEST_P(BrokerContract, ALogIsTheSameForEveryMember) {
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  assigned(a, tp);
  const auto told = [&](Probe& probe) {  // a member may have to learn first which topic it is
    LogRangeRead log;
    EXPECT_TRUE(await([&] { return (log = log_range(probe, tp)).answered; }));
    return log.log;
  };
  const std::uint64_t log = told(a);
  produce(tp, {"0"});
  EXPECT_EQ(told(a), log);
  EXPECT_EQ(told(join(rig().fresh("group"), {tp.topic})), log);
}

TEST_P(BrokerContract, ARangeGoesOverMarkersAndOverRecordsThatWereTakenBack) {
  const TopicPartition tp{topic(), Partition(0)}, to{topic(1, false, 1000), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  for (int i = 0; i < 5; ++i) {
    write_until_done(a, {out(to, "k", std::to_string(i))}, {{ref, Offset(i), ""}});
    const WriteAnswered refused =
        write(a, {out(to, "k", "aborted"), out(to, "k", std::string(2000, 'x'))}, {{ref, Offset(i), ""}});
    EXPECT_EQ(refused.result, WriteResult::kRefused);
    // A broker may refuse that before anything is sent; this one is taken back when its records are in the log.
    if (rig().can().fates) {
      rig().fate_of_next_write(*a, Fate::kNotDone);
      EXPECT_EQ(write(a, {out(to, "k", "aborted")}, {{ref, Offset(i), ""}}).result, WriteResult::kNotDone);
    }
  }
  ASSERT_TRUE(await([&] {
    const LogRangeRead log = log_range(a, to);
    return log.end == log.high_watermark;
  }));
  const Offset end = log_range(a, to).end;
  const Range read = range(a, to, Offset(0), end);
  EXPECT_EQ(values(read.records), (std::vector<std::string>{"0", "1", "2", "3", "4"}));
  EXPECT_EQ(read.next, end);

  Probe& b = join(rig().fresh("group"), {to.topic});
  const PartitionRef reader = reading(b, to);
  ASSERT_TRUE(await([&] { return b.end(reader) == end; })) << "the end is told behind the last marker";
  EXPECT_EQ(values(b.records(reader)), (std::vector<std::string>{"0", "1", "2", "3", "4"}));
}

TEST_P(BrokerContract, AnEndThatMovesByMarkersAloneIsTold) {
  const TopicPartition tp{topic(), Partition(0)}, to{topic(1, false, 1000), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  Probe& b = join(rig().fresh("group"), {to.topic});
  const PartitionRef reader = reading(b, to);
  ASSERT_TRUE(await([&] { return b.end(reader) == Offset(0); }));
  EXPECT_EQ(write(a, {out(to, "k", "v"), out(to, "k", std::string(2000, 'x'))}, {{ref, Offset(1), ""}}).result,
            WriteResult::kRefused);
  if (rig().can().fates) {
    rig().fate_of_next_write(*a, Fate::kNotDone);
    EXPECT_EQ(write(a, {out(to, "k", "v")}, {{ref, Offset(1), ""}}).result, WriteResult::kNotDone);
  }
  ASSERT_TRUE(await([&] {
    const LogRangeRead log = log_range(a, to);
    return log.end == log.high_watermark && b.end(reader) == log.end;
  }));
  EXPECT_TRUE(b.records(reader).empty());
}

TEST_P(BrokerContract, ARangeUpToTheHighWatermarkWaitsForWhatIsPending) {
  BARTLEBY_NEEDS(fates);
  const TopicPartition tp{topic(), Partition(0)}, to{topic(), Partition(0)};
  produce(to, {"first"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  rig().fate_of_next_write(*a, Fate::kReplyLostDone);
  const WriteSerial serial = send(a, {out(to, "k", "second")}, {{ref, Offset(1), ""}});
  ASSERT_TRUE(await([&] { return log_range(a, to).high_watermark > Offset(1); }));
  const Range read = range(a, to, Offset(0), Offset(2));
  EXPECT_EQ(values(read.records), (std::vector<std::string>{"first", "second"}));
  resolve(a, answer(a, serial).serial);
}

TEST_P(BrokerContract, ARangeIsHeldBackAsLongAsATransactionIsOpen) {
  BARTLEBY_NEEDS(fates);
  const TopicPartition tp{topic(), Partition(0)}, to{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  rig().fate_of_next_write(*a, Fate::kReplyLostNotDone);
  const WriteSerial serial = send(a, {out(to, "k", "pending")}, {{ref, Offset(1), ""}});
  ASSERT_TRUE(await([&] { return log_range(a, to).high_watermark == Offset(1); }));
  produce(to, {"behind"});
  a->read_range(777, to, Offset(0), Offset(2), {});
  look_on(rig().quiet());
  auto mine = [](const RangeRead& r) { return r.request == 777; };
  EXPECT_EQ(a.find<RangeRead>(mine), nullptr);
  ASSERT_EQ(answer(a, serial).result, WriteResult::kUnknown);
  resolve(a, serial);
  ASSERT_TRUE(await([&] { return a.find<RangeRead>([&](const RangeRead& r) { return mine(r) && r.end; }); }));
  std::vector<std::string> read;
  for (const BrokerEvent& event : a.events())
    if (const auto* slice = std::get_if<RangeRead>(&event); slice != nullptr && mine(*slice))
      for (const LogRecord& record : slice->records) read.push_back(*record.value);
  EXPECT_EQ(read, std::vector<std::string>{"behind"});
}

TEST_P(BrokerContract, ACancelledRangeIsSilent) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  assigned(a, tp);
  a->read_range(5, tp, Offset(0), Offset(4), {});
  a->cancel_range(5);
  a->cancel_range(6);  // never asked for: nothing happens
  look_on(rig().quiet());
  EXPECT_EQ(a.count<RangeRead>(), 0u);
  EXPECT_EQ(range(a, tp, Offset(0), Offset(4)).records.size(), 4u);
}

TEST_P(BrokerContract, AMemberThatWasWokenLosesNothing) {
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  ASSERT_TRUE(await([&] { return a.end(ref) == Offset(0); }));
  std::thread([&] { a->wake(); }).join();
  a.poll(rig().limit());  // ends, though nothing has come
  produce(tp, {"late"});
  ASSERT_TRUE(await([&] { return a.end(ref) == Offset(1); }));
  EXPECT_EQ(values(a.records(ref)), std::vector<std::string>{"late"});
}

TEST_P(BrokerContract, SeveralRangesAreReadAtOnce) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3", "4", "5"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  a->read_range(1001, tp, Offset(0), Offset(6), {});
  a->read_range(1002, tp, Offset(3), Offset(5), {});
  auto ended = [&](std::uint64_t request) {
    return a.find<RangeRead>([&](const RangeRead& r) { return r.request == request && r.end; }) != nullptr;
  };
  EXPECT_TRUE(await([&] { return ended(1001) && ended(1002); }));
}

TEST_P(BrokerContract, ReadingWhatIsNotThereIsNotAnswered) {
  const std::string t = topic();
  const TopicPartition nowhere{rig().fresh("nowhere"), Partition(0)};
  Probe& a = join(rig().fresh("group"), {t});
  EXPECT_FALSE(range(a, nowhere, Offset(0), Offset(1)).answered);
  EXPECT_FALSE(log_range(a, nowhere).answered);
}

TEST_P(BrokerContract, TheLogRangeTellsStartEndAndHighWatermark) {
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  LogRangeRead log;
  ASSERT_TRUE(await([&] { return (log = log_range(a, tp)).answered; }));
  EXPECT_EQ(log.start, Offset(0));
  EXPECT_EQ(log.end, Offset(0));
  produce(tp, {"0", "1", "2"});
  log = log_range(a, tp);
  EXPECT_EQ(log.end, Offset(3));
  EXPECT_EQ(log.high_watermark, Offset(3));
  if (!rig().can().deletes) return;
  rig().delete_before(tp, Offset(2));
  EXPECT_EQ(log_range(a, tp).start, Offset(2));
}

TEST_P(BrokerContract, CompactionKeepsTheLatestOfEveryKeyAndTheTombstones) {
  BARTLEBY_NEEDS(compacts);
  const TopicPartition tp{topic(), Partition(0)}, journal{topic(1, true), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  for (const char* value : {"1", "2", "3"})
    write_until_done(a, {out(journal, "a", value), out(journal, "b", value)}, {{ref, Offset(0), ""}});
  Record tombstone = out(journal, "a", "");
  tombstone.value = std::nullopt;
  write_until_done(a, {tombstone}, {{ref, Offset(0), ""}});
  ASSERT_TRUE(await([&] {
    const LogRangeRead log = log_range(a, journal);
    return log.end == log.high_watermark;
  }));
  const Offset end = log_range(a, journal).end;
  rig().compact(journal);
  EXPECT_GE(log_range(a, journal).end, end) << "offsets do not move";
  const Range read = range(a, journal, Offset(0), end);
  EXPECT_EQ(read.next, end) << "over the gaps";
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.records[0].key, "b");
  EXPECT_EQ(read.records[0].value, "3");
  EXPECT_EQ(read.records[1].key, "a");
  EXPECT_EQ(read.records[1].value, std::nullopt);
}

TEST_P(BrokerContract, ReadingGoesOverTheGapsOfACompaction) {
  BARTLEBY_NEEDS(compacts);
  const TopicPartition tp{topic(1, true), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});  // one key
  rig().compact(tp);
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  ASSERT_TRUE(await([&] { return a.end(ref) >= Offset(4); }));
  ASSERT_GE(a.records(ref).size(), 1u);
  EXPECT_EQ(a.records(ref)[0].offset, Offset(3)) << "the first that is left";
}

}  // namespace
}  // namespace bartleby::contract
