// The atomic write: all of it or nothing, and only by an owner.
#include "tests/contract/broker_contract.h"

namespace bartleby::contract {
namespace {

TEST_P(BrokerContract, RecordsAndOffsetsBecomeVisibleTogether) {
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  const WriteAnswered done = write_until_done(a, {out(dlq, "k", "letter")}, {{ref, Offset(3), "m"}});
  ASSERT_EQ(done.offsets.size(), 1u);
  const Range letters = range(a, dlq, Offset(0), next(done.offsets[0]));
  EXPECT_EQ(values(letters.records), std::vector<std::string>{"letter"});
  EXPECT_EQ(stable(a, tp).offset, Offset(3));
  EXPECT_EQ(stable(a, tp).metadata, "m");
}

TEST_P(BrokerContract, AWriteNamesTheOffsetsOfItsRecordsInTheirOrder) {
  const std::string t = topic(), u = topic(2);
  const TopicPartition tp{t, Partition(0)}, u0{u, Partition(0)}, u1{u, Partition(1)};
  Probe& a = join(rig().fresh("group"), {t});
  const PartitionRef ref = assigned(a, tp);
  const WriteAnswered done =
      write_until_done(a, {out(u1, "k", "a"), out(u0, "k", "b"), out(u1, "k", "c")}, {{ref, Offset(0), ""}});
  ASSERT_EQ(done.offsets.size(), 3u);
  EXPECT_LT(done.offsets[0], done.offsets[2]);
  EXPECT_EQ(range(a, u1, done.offsets[2], next(done.offsets[2])).records.at(0).value, "c");
  EXPECT_EQ(range(a, u0, done.offsets[1], next(done.offsets[1])).records.at(0).value, "b");
}

TEST_P(BrokerContract, OffsetsAloneAndRecordsAloneCanBeWritten) {
  const TopicPartition tp{topic(), Partition(0)}, other{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  write_until_done(a, {}, {{ref, Offset(1), "x"}});
  EXPECT_EQ(stable(a, tp).offset, Offset(1));
  const WriteAnswered done = write_until_done(a, {out(other, "k", "v")}, {});
  EXPECT_EQ(values(range(a, other, Offset(0), next(done.offsets.at(0))).records), std::vector<std::string>{"v"});
  EXPECT_EQ(stable(a, tp).offset, Offset(1));
}

TEST_P(BrokerContract, OffsetsOfSeveralPartitionsAreWrittenTogether) {
  const std::string t = topic(3);
  Probe& a = join(rig().fresh("group"), {t});
  ASSERT_TRUE(await([&] { return a.owned() == 3; }));
  std::vector<OffsetToCommit> all;
  for (std::int32_t p = 0; p < 3; ++p) all.push_back({*a.ref({t, Partition(p)}), Offset(10 + p), std::to_string(p)});
  write_until_done(a, {}, all);
  for (std::int32_t p = 0; p < 3; ++p) {
    const CommittedOffset found = stable(a, {t, Partition(p)});
    EXPECT_EQ(found.offset, Offset(10 + p));
    EXPECT_EQ(found.metadata, std::to_string(p));
  }
}

TEST_P(BrokerContract, TheSameOffsetWithNewMetadataIsStoredAndSoIsALowerOne) {
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  write_until_done(a, {}, {{ref, Offset(5), "first"}});
  write_until_done(a, {}, {{ref, Offset(5), "second"}});
  EXPECT_EQ(stable(a, tp).metadata, "second");
  write_until_done(a, {}, {{ref, Offset(2), "third"}});
  EXPECT_EQ(stable(a, tp).offset, Offset(2)) << "only the engine guards monotony";
  EXPECT_EQ(stable(a, tp).metadata, "third");
}

TEST_P(BrokerContract, MetadataOf4096CharactersComesBackExactlyAndOneMoreIsRefused) {
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  std::string longest = "\xc3\xa4\xe2\x82\xac";  // two characters in five bytes: it is characters that count
  longest += std::string(4094, 'x');
  write_until_done(a, {}, {{ref, Offset(1), longest}});
  EXPECT_EQ(stable(a, tp).metadata, longest);
  const WriteAnswered refused = write(a, {out(dlq, "k", "v")}, {{ref, Offset(2), longest + "x"}});
  EXPECT_EQ(refused.result, WriteResult::kRefused);
  EXPECT_TRUE(refused.refused.empty()) << "no record is to blame";
  EXPECT_EQ(stable(a, tp).offset, Offset(1));
  EXPECT_TRUE(range(a, dlq, Offset(0), Offset(100)).records.empty());
  write_until_done(a, {}, {{ref, Offset(2), "short"}});
}

TEST_P(BrokerContract, AClaimAndAReleaseComeBackAsWritten) {
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  EXPECT_EQ(stable(a, tp).offset, std::nullopt);
  const std::string claim = "1 " + a->transactional_id() + " 42 {}";
  write_until_done(a, {}, {{ref, Offset(0), claim}});
  EXPECT_EQ(stable(a, tp).metadata, claim);
  EXPECT_EQ(offsets(a, tp, Stability::kUnstable).offsets.at(0).tp, tp);
  write_until_done(a, {}, {{ref, Offset(0), ""}});
  const CommittedOffset released = stable(a, tp);
  EXPECT_EQ(released.offset, Offset(0));
  EXPECT_EQ(released.metadata, "");
}

TEST_P(BrokerContract, ARecordThatIsTooLargeIsNamedAndNothingOfTheWriteIsVisible) {
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(1, false, 1000), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  const std::vector<Record> records = {out(dlq, "k", "small"), out(dlq, "k", std::string(5000, 'x')),
                                       out(dlq, "k", "also small")};
  const WriteAnswered refused = write(a, records, {{ref, Offset(9), "m"}});
  ASSERT_EQ(refused.result, WriteResult::kRefused);
  ASSERT_EQ(refused.refused.size(), 1u);
  EXPECT_EQ(refused.refused[0].index, 1u);
  EXPECT_EQ(refused.refused[0].why, Refusal::kTooLarge);
  EXPECT_EQ(stable(a, tp).offset, std::nullopt);
  EXPECT_TRUE(range(a, dlq, Offset(0), Offset(100)).records.empty());

  write_until_done(a, {records[0], records[2]}, {{ref, Offset(9), "m"}});
  const LogRangeRead log = log_range(a, dlq);
  EXPECT_EQ(values(range(a, dlq, Offset(0), log.high_watermark).records),
            (std::vector<std::string>{"small", "also small"}));
  EXPECT_EQ(stable(a, tp).offset, Offset(9));
}

TEST_P(BrokerContract, ARecordForATopicThatIsNotThereIsRefused) {
  const TopicPartition tp{topic(), Partition(0)}, nowhere{rig().fresh("nowhere"), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  const WriteAnswered refused = write(a, {out(nowhere, "k", "v")}, {{ref, Offset(1), ""}});
  ASSERT_EQ(refused.result, WriteResult::kRefused);
  ASSERT_EQ(refused.refused.size(), 1u);
  EXPECT_EQ(refused.refused[0].why, Refusal::kUnknownTopic);
  EXPECT_EQ(stable(a, tp).offset, std::nullopt);
}

TEST_P(BrokerContract, ARecordThatMayNotBeWrittenIsRefusedUntilItMay) {
  BARTLEBY_NEEDS(denies);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  rig().deny(dlq.topic, true);
  const WriteAnswered refused = write(a, {out(dlq, "k", "v")}, {{ref, Offset(1), ""}});
  ASSERT_EQ(refused.result, WriteResult::kRefused);
  ASSERT_EQ(refused.refused.size(), 1u);
  EXPECT_EQ(refused.refused[0].why, Refusal::kDenied);
  EXPECT_EQ(stable(a, tp).offset, std::nullopt);
  rig().deny(dlq.topic, false);
  write_until_done(a, {out(dlq, "k", "v")}, {{ref, Offset(1), ""}});
}

TEST_P(BrokerContract, ARecordForAStalledTopicTimesOutAndLeavesNothing) {
  BARTLEBY_NEEDS(stalls);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)}, good{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  rig().stall(dlq.topic, true);
  const WriteAnswered refused = write(a, {out(good, "k", "v"), out(dlq, "k", "v")}, {{ref, Offset(1), ""}});
  ASSERT_EQ(refused.result, WriteResult::kRefused);
  ASSERT_EQ(refused.refused.size(), 1u);
  EXPECT_EQ(refused.refused[0].index, 1u);
  EXPECT_EQ(refused.refused[0].why, Refusal::kTimeout);
  EXPECT_TRUE(range(a, good, Offset(0), Offset(100)).records.empty());
  EXPECT_EQ(stable(a, tp).offset, std::nullopt);
}

TEST_P(BrokerContract, AWriteThatIsNotDoneLeavesNothingAndCanBeTriedAgain) {
  BARTLEBY_NEEDS(fates);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  for (int i = 0; i < 12; ++i) {
    rig().fate_of_next_write(*a, Fate::kNotDone);
    ASSERT_EQ(write(a, {out(dlq, "k", "v")}, {{ref, Offset(1), ""}}).result, WriteResult::kNotDone);
  }
  EXPECT_EQ(stable(a, tp).offset, std::nullopt);
  const WriteAnswered done = write_until_done(a, {out(dlq, "k", "v")}, {{ref, Offset(1), ""}});
  EXPECT_EQ(values(range(a, dlq, Offset(0), next(done.offsets.at(0))).records), std::vector<std::string>{"v"});
}

TEST_P(BrokerContract, AWriteForAnAssignmentThatIsOverChangesNothing) {
  const std::string t = topic(2), u = topic();
  const TopicPartition p0{t, Partition(0)}, p1{t, Partition(1)}, dlq{u, Partition(0)};
  Probe& a = join(rig().fresh("group"), {t});
  const PartitionRef gone = assigned(a, p0), kept = assigned(a, p1);
  a.release(p0);
  EXPECT_EQ(write(a, {out(dlq, "k", "v")}, {{gone, Offset(4), ""}}).result, WriteResult::kNotDone);
  EXPECT_EQ(write(a, {out(dlq, "k", "v")}, {{kept, Offset(4), ""}, {gone, Offset(4), ""}}).result,
            WriteResult::kNotDone)
      << "one stale partition fails the whole write";
  EXPECT_EQ(stable(a, p0).offset, std::nullopt);
  EXPECT_EQ(stable(a, p1).offset, std::nullopt);
  EXPECT_TRUE(range(a, dlq, Offset(0), Offset(100)).records.empty());
  write_until_done(a, {}, {{kept, Offset(4), ""}});
}

TEST_P(BrokerContract, AWriteOfAThawedMemberThatIsOutChangesNothing) {
  BARTLEBY_NEEDS(freeze);
  const TopicPartition tp{topic(), Partition(0)}, dlq{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  const PartitionRef old = assigned(a, tp);
  write_until_done(a, {}, {{old, Offset(1), "a"}});
  rig().freeze(*a);
  Probe& b = join(group, {tp.topic});
  const PartitionRef ref = assigned(b, tp);
  write_until_done(b, {}, {{ref, Offset(2), "b"}});
  rig().thaw(*a);
  // Before it polls: it still believes that the partition is its own.
  EXPECT_EQ(write(a, {out(dlq, "k", "zombie")}, {{old, Offset(9), "a"}}).result, WriteResult::kNotDone);
  EXPECT_EQ(stable(b, tp).offset, Offset(2));
  EXPECT_EQ(stable(b, tp).metadata, "b");
  EXPECT_TRUE(range(b, dlq, Offset(0), Offset(100)).records.empty());
}

TEST_P(BrokerContract, AGenerationThatMovesWithoutAnEventCostsAtMostAnotherTry) {
  BARTLEBY_NEEDS(moves_generation);
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  for (std::int64_t i = 1; i <= 5; ++i) {
    const std::size_t events = a.count<PartitionAssigned>() + a.count<PartitionRevoked>() + a.count<PartitionLost>();
    rig().move_generation(group);
    write_until_done(a, {}, {{ref, Offset(i), ""}});
    EXPECT_EQ(stable(a, tp).offset, Offset(i));
    EXPECT_EQ(a.count<PartitionAssigned>() + a.count<PartitionRevoked>() + a.count<PartitionLost>(), events);
  }
}

TEST_P(BrokerContract, ASecondWriteBeforeTheAnswerToTheFirstIsNotDone) {
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  const WriteSerial first = send(a, {}, {{ref, Offset(1), "first"}});
  const WriteSerial second = send(a, {}, {{ref, Offset(2), "second"}});
  EXPECT_EQ(answer(a, second).result, WriteResult::kNotDone);
  EXPECT_EQ(answer(a, first).result, WriteResult::kDone);
  EXPECT_EQ(stable(a, tp).metadata, "first");
}

TEST_P(BrokerContract, KeysValuesAndHeadersSurviveByteForByte) {
  const TopicPartition tp{topic(), Partition(0)}, to{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  std::string binary;
  for (int i = 0; i < 256; ++i) binary.push_back(static_cast<char>(i));
  const Headers headers = {{"b", "2"}, {"a", "1"}, {"b", std::nullopt}, {"b", ""}, {"bin", binary}, {"b", "2"}};
  const std::vector<Record> records = {{to.topic, to.partition, std::nullopt, "no key", {}},
                                       {to.topic, to.partition, "", "empty key", {}},
                                       {to.topic, to.partition, "tombstone", std::nullopt, {}},
                                       {to.topic, to.partition, "k", "", {}},
                                       {to.topic, to.partition, binary, binary, headers}};
  const WriteAnswered done = write_until_done(a, records, {{ref, Offset(0), ""}});
  const Range read = range(a, to, Offset(0), next(done.offsets.back()));
  ASSERT_EQ(read.records.size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(read.records[i].key, records[i].key) << i;
    EXPECT_EQ(read.records[i].value, records[i].value) << i;
    EXPECT_EQ(read.records[i].headers, records[i].headers) << i;
  }
}

}  // namespace
}  // namespace bartleby::contract
