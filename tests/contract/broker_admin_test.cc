// Topics, first offsets and records from outside a group.
#include <algorithm>

#include "tests/contract/broker_contract.h"

namespace bartleby::contract {
namespace {

TEST_P(BrokerContract, EnsureTopicsCreatesWhatIsMissingAndDescribeTellsIt) {
  TopicSpec spec;
  spec.name = rig().fresh("topic");
  spec.partitions = 3;
  spec.compacted = true;
  spec.max_message = 5000;
  EXPECT_EQ(broker().describe(spec.name).error().code, ErrorCode::kNotFound);
  const auto made = broker().ensure_topics({spec});
  ASSERT_TRUE(made.has_value());
  ASSERT_EQ(made->size(), 1u);
  EXPECT_EQ(made->front().partitions, 3);
  const auto described = broker().describe(spec.name);
  ASSERT_TRUE(described.has_value());
  EXPECT_EQ(described->name, spec.name);
  EXPECT_EQ(described->partitions, 3);
  EXPECT_TRUE(described->compacted);
  EXPECT_EQ(described->max_message, 5000u);
}

TEST_P(BrokerContract, EnsureTopicsAddsPartitionsAndNeverTakesAny) {
  const TopicPartition tp{topic(2), Partition(1)};
  produce(tp, {"kept"});
  TopicSpec more;
  more.name = tp.topic;
  more.partitions = 4;
  ASSERT_EQ(broker().ensure_topics({more})->front().partitions, 4);
  more.partitions = 1;
  ASSERT_EQ(broker().ensure_topics({more})->front().partitions, 4) << "what is there now, not what was wanted";
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(0), Offset(1))));
  EXPECT_TRUE(broker().log_range({tp.topic, Partition(3)}).has_value());
}

TEST_P(BrokerContract, ANewGroupHasNoOffsetOnAnyPartition) {
  const std::string t = topic(2), u = topic(1);
  const auto found = broker().group_offsets(rig().fresh("group"), {t, u});
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 3u);
  for (const CommittedOffset& offset : *found) EXPECT_EQ(offset.offset, std::nullopt);
}

TEST_P(BrokerContract, TheFirstCommitOfAGroupIsReadBackAndSeenByItsMembers) {
  const std::string t = topic(2), group = rig().fresh("group");
  const TopicPartition p0{t, Partition(0)}, p1{t, Partition(1)};
  ASSERT_TRUE(broker().commit_first(group, {{p0, Offset(3), "first"}, {p1, Offset(0), ""}}).has_value());
  const auto found = broker().group_offsets(group, {t});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->at(0).offset, Offset(3));
  EXPECT_EQ(found->at(0).metadata, "first");
  EXPECT_EQ(found->at(1).offset, Offset(0));
  Probe& a = join(group, {t});
  assigned(a, p0);
  EXPECT_EQ(stable(a, p0).offset, Offset(3));
}

TEST_P(BrokerContract, TheFirstCommitIsRefusedWhileTheGroupHasMembers) {
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  assigned(a, tp);
  const auto refused = broker().commit_first(group, {{tp, Offset(3), ""}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kFenced);
  EXPECT_EQ(stable(a, tp).offset, std::nullopt);
  a->leave();
  EXPECT_TRUE(await([&] {
    look_on(Duration(100));
    return broker().commit_first(group, {{tp, Offset(3), ""}}).has_value();
  })) << "when the last member has left";
}

TEST_P(BrokerContract, OffsetsOfAGroupAreThoseItsMembersWrote) {
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  write_until_done(a, {}, {{assigned(a, tp), Offset(8), "m"}});
  ASSERT_TRUE(await([&] {
    look_on(Duration(20));
    return broker().group_offsets(group, {tp.topic}).has_value();
  })) << "stable, so not while they are pending";
  const auto found = broker().group_offsets(group, {tp.topic});
  EXPECT_EQ(found->at(0).offset, Offset(8));
  EXPECT_EQ(found->at(0).metadata, "m");
}

TEST_P(BrokerContract, ProducedRecordsAreThereWithTheirTimeWhenItReturns) {
  const TopicPartition tp{topic(), Partition(0)};
  EXPECT_EQ(produce(tp, {"0", "1"}), (std::vector<Offset>{Offset(0), Offset(1)}));
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(0), Offset(2))));
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const Range read = range(a, tp, Offset(0), Offset(2));
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_GT(ms(read.records[0].timestamp), 0);
  EXPECT_LE(read.records[0].timestamp, read.records[1].timestamp);
}

TEST_P(BrokerContract, PeopleSeeTheTopicsAndReadCommittedRecords) {
  const TopicPartition tp{topic(2), Partition(1)};
  produce(tp, {"0", "1", "2", "3"});
  const auto topics = broker().topics();
  ASSERT_TRUE(topics.has_value());
  EXPECT_EQ(std::ranges::count(*topics, tp.topic, &TopicSpec::name), 1);
  const auto some = broker().read(tp, Offset(1), 2, 1 << 20);
  ASSERT_TRUE(some.has_value());
  EXPECT_EQ(values(*some), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(some->front().key, "key");
  const auto beyond = broker().read(tp, Offset(4), 10, 1 << 20);
  ASSERT_TRUE(beyond.has_value());
  EXPECT_TRUE(beyond->empty());
  EXPECT_EQ(broker().read({rig().fresh("nowhere"), Partition(0)}, Offset(0), 1, 1).error().code, ErrorCode::kNotFound);
}

TEST_P(BrokerContract, ProducingWhatCannotBeWrittenFailsAndWritesNothing) {
  const TopicPartition tp{topic(1, false, 1000), Partition(0)};
  const auto large = broker().produce({out(tp, "k", std::string(5000, 'x'))});
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
  const auto nowhere = broker().produce({out({rig().fresh("nowhere"), Partition(0)}, "k", "v")});
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(0), Offset(0))));
}

TEST_P(BrokerContract, RecordsAndACursorAreWrittenTogetherAndOnce) {
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("cursor");
  const auto at = [&] { return broker().group_offsets(group, {tp.topic}).value().front().offset; };
  EXPECT_EQ(at(), std::nullopt);
  const auto first = broker().produce_with({out(tp, "k", "0"), out(tp, "k", "1")}, {group, tp, Offset(0), Offset(7)});
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(*first, (std::vector<Written>{{tp.partition, Offset(0)}, {tp.partition, Offset(1)}}));
  EXPECT_EQ(at(), Offset(7));
  const Offset end = broker().log_range(tp)->second;  // the end of the transaction may lie there too
  // The same again, as after a lost answer: nothing is written.
  const auto again = broker().produce_with({out(tp, "k", "0"), out(tp, "k", "1")}, {group, tp, Offset(0), Offset(7)});
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::kFenced);
  // What cannot be written does not move the cursor.
  const TopicPartition nowhere{rig().fresh("nowhere"), Partition(0)};
  EXPECT_EQ(broker().produce_with({out(nowhere, "k", "v")}, {group, tp, Offset(7), Offset(8)}).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(at(), Offset(7));
  EXPECT_EQ(broker().log_range(tp)->second, end);
  ASSERT_TRUE(broker().produce_with({out(tp, "k", "2")}, {group, tp, Offset(7), Offset(9)}));
  EXPECT_EQ(at(), Offset(9));
  EXPECT_EQ(values(broker().read(tp, Offset(0), 10, 1 << 20).value()), (std::vector<std::string>{"0", "1", "2"}));
}

TEST_P(BrokerContract, ACursorOfAGroupWithMembersIsRefused) {
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  assigned(a, tp);
  const auto written = broker().produce_with({out(tp, "k", "v")}, {group, tp, Offset(0), Offset(1)});
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kFenced);
  EXPECT_EQ(broker().log_range(tp)->second, Offset(0));
}

TEST_P(BrokerContract, AKeyDecidesThePartitionAsInEveryOtherKafkaClient) {
  const std::string t = topic(7);
  // Kafka's own test vectors of murmur2, sign bit cleared, modulo 7.
  const std::vector<std::pair<std::string, std::uint32_t>> keys = {
      {"21", static_cast<std::uint32_t>(-973932308)},
      {"foobar", static_cast<std::uint32_t>(-790332482)},
      {"a-little-bit-long-string", static_cast<std::uint32_t>(-985981536)},
      {"a-little-bit-longer-string", static_cast<std::uint32_t>(-1486304829)},
      {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", static_cast<std::uint32_t>(-58897971)},
      {"abc", 479470107U}};
  for (const auto& [key, hash] : keys) {
    const Partition expected(static_cast<std::int32_t>((hash & 0x7fffffffU) % 7));
    const auto before = broker().log_range({t, expected});
    const auto written = broker().produce({{t, std::nullopt, key, "v", {}}});
    ASSERT_TRUE(written.has_value());
    EXPECT_EQ(written->front(), (Written{expected, before->second})) << key;
    EXPECT_EQ(broker().log_range({t, expected})->second.v, before->second.v + 1) << key;
  }
}

TEST_P(BrokerContract, ARecordWithoutAKeyGoesToSomePartition) {
  const std::string t = topic(3);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(broker().produce({{t, std::nullopt, std::nullopt, "v", {}}}).has_value());
  std::int64_t total = 0;
  for (std::int32_t p = 0; p < 3; ++p) total += broker().log_range({t, Partition(p)})->second.v;
  EXPECT_EQ(total, 6);
}

TEST_P(BrokerContract, TheLogRangeOfWhatIsNotThereIsNotFound) {
  const std::string t = topic(1);
  EXPECT_EQ(broker().log_range({t, Partition(1)}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(broker().log_range({rig().fresh("nowhere"), Partition(0)}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace bartleby::contract
