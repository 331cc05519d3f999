// Apache Kafka under the contract: a broker that scripts/kafka starts once for the whole program and ends with it.
//
// Where it cannot be had every one of these tests is skipped, and says why; where it does not start they fail. Faults
// are of two kinds: the broker's own (deleted records, rules that forbid to write) and the client's (replies that
// nobody reads, requests sent late or never, a member that vanishes). What neither can be made to show is off in `can`.
#include <gtest/gtest.h>

#ifdef BARTLEBY_HAS_KAFKA

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "adapters/broker/kafka/kafka_broker.h"
#include "tests/contract/broker_contract.h"
#include "tests/contract/kafka_newcomer.h"
#include "tests/support/script_server.h"

namespace bartleby::contract {
namespace {

// One for the program. BARTLEBY_TEST_KAFKA: one that is running already.
const support::ScriptServer& kafka_server() {
  static const support::ScriptServer one(BARTLEBY_SOURCE "/scripts/kafka", "BARTLEBY_TEST_KAFKA");
  return one;
}
const std::string& kafka_bootstrap() { return kafka_server().address(); }

// The broker stops answering, with all its connections open, until this ends.
class Frozen {
 public:
  Frozen() {
    std::ifstream(kafka_server().folder() + "/node1.pid") >> pid_;
    if (pid_ > 0) ::kill(pid_, SIGSTOP);
  }
  ~Frozen() {
    if (pid_ > 0) ::kill(pid_, SIGCONT);
  }
  bool is() const { return pid_ > 0; }

 private:
  pid_t pid_ = 0;
};

class KafkaRig : public BrokerRig {
 public:
  explicit KafkaRig(kafka::Options options) {
#ifdef __SANITIZE_THREAD__
    why_ = "librdkafka makes its threads where this thread sanitizer does not see them, and it crashes on them";
    return;
#endif
    options.bootstrap = kafka_bootstrap();
    options.request_limit = Duration(30000);              // of a busy machine
    options.log = [](int level, std::string_view text) {  // shown where a test fails
      if (level <= 5) std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    };
    options.client_log = options.log;
    if (options.bootstrap.empty()) {
      why_ = "there is no Apache Kafka here; what scripts/kafka said is above";
      EXPECT_FALSE(kafka_server().not_started()) << "scripts/kafka could not start it";
      return;
    }
    auto opened = kafka::KafkaBroker::open(std::move(options));
    if (!opened) {
      why_ = opened.error().message;
      ADD_FAILURE() << why_;
      return;
    }
    broker_ = std::move(*opened);
  }

  std::string missing() const override { return why_; }
  Broker& broker() override { return *broker_; }
  Capabilities can() const override {
    return {.fates = true,
            .freeze = false,  // threads of one process cannot be stopped one by one; kafka.py freezes whole ones
            .kill = true,
            .moves_generation = true,
            .deletes = true,
            .compacts = true,
            .denies = true,
            .stalls = false};  // one broker is never short of replicas; kafka_replicas.py has three
  }
  Instant now() const override {
    return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
  Duration late() const override { return Duration(500); }      // it is sent while the write is resolved
  Duration limit() const override { return Duration(180000); }  // of a busy machine
  std::string fresh(const std::string& what) override {
    static std::uint64_t names = 0;
    return what + "-" + std::to_string(::getpid()) + "-" + std::to_string(++names);
  }

  void fate_of_next_write(Member& member, Fate fate) override { broker_->fate_of_next_write(member, fate_of(fate)); }
  void kill(std::unique_ptr<Member> member) override { broker_->kill(std::move(member)); }
  void send_late() override { EXPECT_GT(broker_->send_late(), 0u); }
  // Somebody comes for another topic, and goes.
  void move_generation(const std::string& group) override {
    TopicSpec spec;
    spec.name = fresh("visited");
    BARTLEBY_ASSERT(broker_->ensure_topics({spec}).has_value());
    auto visitor = broker_->join({group, {spec.name}, "visitor", Duration(10000)});
    BARTLEBY_ASSERT(visitor.has_value());
    std::vector<BrokerEvent> events;
    const Instant limit = now() + this->limit();
    while (events.empty() && now() < limit) (*visitor)->poll(events, Duration(100));
    BARTLEBY_ASSERT(!events.empty());
    (*visitor)->leave();
  }
  void delete_before(const TopicPartition& tp, Offset offset) override {
    BARTLEBY_ASSERT(broker_->admin().delete_before(tp, offset).has_value());
  }
  // Kafka never compacts the segment that is being written: another record, and that is another one.
  void compact(const TopicPartition& tp) override {
    set(tp.topic, "min.cleanable.dirty.ratio", "0.001");
    set(tp.topic, "segment.ms", "1");
    const auto before = broker_->log_range(tp);
    BARTLEBY_ASSERT(before.has_value());
    BARTLEBY_ASSERT(broker_->produce({out(tp, "not one of the test", "")}).has_value());
    const Instant limit = now() + this->limit();
    for (bool dense = true; dense;) {
      BARTLEBY_ASSERT(now() < limit);
      const auto there = broker_->read(tp, Offset(0), 1000, std::size_t{1} << 20);
      BARTLEBY_ASSERT(there.has_value());
      std::set<std::string> keys;
      dense = std::ranges::any_of(*there, [&](const LogRecord& r) { return !keys.insert(r.key.value_or("")).second; });
    }
  }
  void deny(const std::string& topic, bool denied) override {
    BARTLEBY_ASSERT(broker_->admin().deny(topic, denied).has_value());
  }

 private:
  void set(const std::string& topic, const std::string& setting, const std::string& value) {
    BARTLEBY_ASSERT(broker_->admin().set(topic, setting, value).has_value());
  }
  static kafka::WriteFate fate_of(Fate fate) {
    switch (fate) {
      case Fate::kNotDone:
        return kafka::WriteFate::kNotDone;
      case Fate::kReplyLostDone:
        return kafka::WriteFate::kReplyLostDone;
      case Fate::kReplyLostNotDone:
        return kafka::WriteFate::kReplyLostNotDone;
      case Fate::kLateRequest:
        return kafka::WriteFate::kLateRequest;
    }
    BARTLEBY_UNREACHABLE();
  }

  std::string why_;
  std::unique_ptr<kafka::KafkaBroker> broker_;
};

// BARTLEBY_TEST_GROUP_PROTOCOL=consumer: by the protocol of KIP-848.
RigFactory by_protocol() {
  const char* chosen = std::getenv("BARTLEBY_TEST_GROUP_PROTOCOL");
  const bool consumer = chosen != nullptr && std::string_view(chosen) == "consumer";
  return {consumer ? "Consumer" : "Classic", [consumer] {
            kafka::Options options;
            options.consumer_protocol = consumer;
            return std::make_unique<KafkaRig>(std::move(options));
          }};
}

// What no other broker can be made to do.
class KafkaAlone : public BrokerContract {};

TEST_P(KafkaAlone, AReaderThatWasNotWhereItWasToldToBeginEndsItsMember) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  dynamic_cast<kafka::KafkaBroker&>(broker()).skip_at_next_start(*a, 2);
  const PartitionRef ref = reading(a, tp, Offset(1));
  ASSERT_TRUE(await([&] { return a.count<MemberFailed>() == 1; }));
  const auto* failed = a.find<MemberFailed>([](const MemberFailed&) { return true; });
  EXPECT_NE(failed->message.find("from offset 1 to 3, but there is a message at 1"), std::string::npos)
      << failed->message;
  EXPECT_TRUE(a.records(ref).empty());
  EXPECT_EQ(a.end(ref), std::nullopt);
}

TEST_P(KafkaAlone, AReaderThatBeganAtTheEndOfTheLogInsteadEndsItsMember) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  Probe& a = join(rig().fresh("group"), {tp.topic});
  dynamic_cast<kafka::KafkaBroker&>(broker()).skip_at_next_start(*a, 4);
  const PartitionRef ref = reading(a, tp, Offset(0));
  ASSERT_TRUE(await([&] { return a.count<MemberFailed>() == 1; }));
  EXPECT_EQ(a.end(ref), std::nullopt);
}

TEST_P(KafkaAlone, WhatATransactionLeavesOutIsNoLoss) {
  const TopicPartition tp{topic(), Partition(0)}, to{topic(1, false, 1000), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  write_until_done(a, {out(to, "k", "0")}, {{ref, Offset(0), ""}});
  write_until_done(a, {out(to, "k", "1")}, {{ref, Offset(0), ""}});
  Probe& b = join(rig().fresh("group"), {to.topic});
  const PartitionRef reader = reading(b, to, Offset(1));  // the first one's end
  ASSERT_TRUE(await([&] { return b.end(reader).has_value() && *b.end(reader) >= Offset(4); }));
  EXPECT_EQ(values(b.records(reader)), (std::vector<std::string>{"1"}));
  b->start(reader, Offset(0));  // again, while it is read
  ASSERT_TRUE(await([&] { return b.records(reader).size() == 3; }));
  EXPECT_EQ(values(b.records(reader)), (std::vector<std::string>{"1", "0", "1"}));
  EXPECT_EQ(b.count<MemberFailed>(), 0u);
}

// librdkafka would go on at the old position: the new log has grown past it.
TEST_P(KafkaAlone, ATopicThatWasMadeAnewIsReadFromItsBeginning) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic});
  const PartitionRef ref = reading(a, tp);
  ASSERT_TRUE(await([&] { return a.records(ref).size() == 4; }));
  write_until_done(a, {}, {{ref, Offset(3), "b1"}});
  ASSERT_TRUE(dynamic_cast<kafka::KafkaBroker&>(broker()).admin().remove(tp.topic).has_value());
  TopicSpec again;
  again.name = tp.topic;
  ASSERT_TRUE(await([&] { return broker().ensure_topics({again}).has_value(); })) << "the old one goes slowly";
  produce(tp, {"a", "b", "c", "d", "e", "f"});
  send(a, {}, {{ref, Offset(4), "b1"}});  // of the old topic, and too late
  ASSERT_TRUE(await([&] { return a.count<MemberFailed>() == 1; }));
  const auto* failed = a.find<MemberFailed>([](const MemberFailed&) { return true; });
  EXPECT_NE(failed->message.find("was deleted and made anew"), std::string::npos) << failed->message;
  const auto offsets = broker().group_offsets(group, {tp.topic});
  ASSERT_TRUE(offsets.has_value());
  EXPECT_EQ(offsets->front().offset.value_or(Offset(0)), Offset(0)) << "what is new would be skipped";
}

// Who takes a partition over knows by it that what was committed is of another topic.
TEST_P(KafkaAlone, ATopicThatWasMadeAnewIsAnotherLog) {
  const TopicPartition tp{topic(), Partition(0)};
  const auto log_of = [&] {
    Probe& probe = join(rig().fresh("group"), {tp.topic});
    LogRangeRead log;
    EXPECT_TRUE(await([&] { return (log = log_range(probe, tp)).answered; }));
    EXPECT_NE(log.log, 0U);
    return log.log;
  };
  const std::uint64_t before = log_of();
  ASSERT_TRUE(dynamic_cast<kafka::KafkaBroker&>(broker()).admin().remove(tp.topic).has_value());
  TopicSpec again;
  again.name = tp.topic;
  ASSERT_TRUE(await([&] { return broker().ensure_topics({again}).has_value(); })) << "the old one goes slowly";
  EXPECT_NE(log_of(), before);
}

// The broker asks for the generation of who writes only, and that member has a valid one.
TEST_P(KafkaAlone, APartitionOfATopicThatWasMadeAnewIsNotHandedOverBeforeItsOffsetIsSetBack) {
  const std::string name = topic(2);
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {name});
  for (const int p : {0, 1}) {
    const PartitionRef ref = reading(a, {name, Partition(p)});
    write_until_done(a, {}, {{ref, Offset(0), "a"}});
  }
  kafka::Admin& admin = dynamic_cast<kafka::KafkaBroker&>(broker()).admin();
  Newcomer b(admin.options(), group, name);
  ASSERT_TRUE(await([&] { return a.count<PartitionRevoked>() == 1 || b.owns({name, Partition(0)}); }));
  ASSERT_EQ(a.count<PartitionRevoked>(), 1u);
  const std::size_t answered = a.count<WriteAnswered>();
  rig().fate_of_next_write(*a, Fate::kReplyLostNotDone);  // the first try fails, after a while
  ASSERT_TRUE(admin.remove(name).has_value());
  TopicSpec again;
  again.name = name;
  again.partitions = 2;
  ASSERT_TRUE(await([&] { return broker().ensure_topics({again}).has_value(); })) << "the old one goes slowly";
  for (const int p : {0, 1}) produce({name, Partition(p)}, {"0", "1", "2", "3", "4", "5"});
  std::set<TopicPartition> taken;
  ASSERT_TRUE(await([&] {
    for (const int p : {0, 1})
      if (const TopicPartition tp{name, Partition(p)}; !taken.contains(tp) && b.owns(tp) && b.commit(tp, Offset(5)))
        taken.insert(tp);
    return !taken.empty() && a.count<MemberFailed>() == 1;
  }));
  EXPECT_EQ(a.count<WriteAnswered>(), answered) << "the fate was that of another write";
  const auto offsets = broker().group_offsets(group, {name});
  ASSERT_TRUE(offsets.has_value());
  for (const CommittedOffset& o : *offsets)
    EXPECT_EQ(o.offset, Offset(taken.contains(o.tp) ? 5 : 0)) << "partition " << o.tp.partition.v;
}

// A dead owner of many partitions is fenced for each of them.
TEST_P(KafkaAlone, AWriterIsFencedOnceForAllWhoAskAtTheSameTime) {
  const TopicPartition tp{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  assigned(a, tp);
  const std::string dead = "bartleby." + rig().fresh("nobody") + ".x.1";
  for (std::uint64_t request = 1; request <= 50; ++request) a->fence_writer(request, dead);
  ASSERT_TRUE(await([&] { return a.count<WriterFenced>() == 50; }));
  for (std::uint64_t request = 1; request <= 50; ++request)
    EXPECT_TRUE(a.find<WriterFenced>([&](const WriterFenced& f) { return f.request == request && f.answered; }));
}

// Whose fault a record is that was not taken is asked for when its transaction is over: otherwise it grows too old
// meanwhile, and its abort would look as if another writer had the id.
TEST_P(KafkaAlone, AClusterThatIsSlowToTellWhatWentWrongShutsNobodyOut) {
  if (GetParam().name != "Classic") GTEST_SKIP() << "a session of the other protocol is the broker's, and too short";
  const TopicPartition tp{topic(), Partition(0)}, to{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic}, Duration(60000));
  const PartitionRef ref = assigned(a, tp);
  write_until_done(a, {}, {{ref, Offset(0), ""}});
  kafka::Admin& admin = dynamic_cast<kafka::KafkaBroker&>(broker()).admin();
  const std::vector<Record> many(100, out(to, "k", std::string(900000, 'x')));
  const WriteSerial serial = send(a, many, {{ref, Offset(0), ""}});
  ASSERT_TRUE(await([&] {
    const auto end = admin.end_of(to, kafka::End::kHighWatermark);
    return end && *end > Offset(0);
  }));
  {
    const Frozen frozen;  // for longer than a transaction may be open
    if (!frozen.is()) GTEST_SKIP() << "a broker that runs already is not frozen";
    look_on(admin.options().transaction_limit + Duration(3000));
  }
  EXPECT_NE(answer(a, serial).result, WriteResult::kDone) << "it was over before the broker was frozen";
  // A broker that has just woken up may let a record's time run out once more: that is a refusal, and no end.
  const auto written = [&] { return write(a, {out(to, "k", "after")}, {{ref, Offset(0), ""}}).result; };
  EXPECT_TRUE(await([&] { return written() == WriteResult::kDone; }));
  EXPECT_EQ(a.count<MemberFailed>(), 0u) << "its own transaction was too old";
}

TEST_P(KafkaAlone, RecordsThatWereTakenBackAreInTheLogAndAreNotHandedOut) {
  const TopicPartition tp{topic(), Partition(0)}, to{topic(), Partition(0)};
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = assigned(a, tp);
  for (int i = 0; i < 3; ++i) {
    write_until_done(a, {out(to, "k", std::to_string(i))}, {{ref, Offset(i), ""}});
    rig().fate_of_next_write(*a, Fate::kNotDone);
    EXPECT_EQ(write(a, {out(to, "k", "aborted")}, {{ref, Offset(i), ""}}).result, WriteResult::kNotDone);
  }
  // Six records, each with the mark of its transaction's end.
  ASSERT_TRUE(await([&] { return log_range(a, to).end == Offset(12); })) << log_range(a, to).end.v;
  const Range read = range(a, to, Offset(0), Offset(12));
  EXPECT_EQ(values(read.records), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(read.next, Offset(12));
}

// librdkafka cannot ask for it: retention by size is seen from what was read.
TEST_P(KafkaAlone, TheSizeOfALogIsGuessedFromWhatWasRead) {
  const TopicPartition tp{topic(), Partition(0)};
  for (int i = 0; i < 5; ++i) produce(tp, std::vector<std::string>(20, std::string(1000, 'x')));
  Probe& a = join(rig().fresh("group"), {tp.topic});
  assigned(a, tp);
  EXPECT_EQ(log_range(a, tp).bytes, 0u) << "nothing is known yet";
  const PartitionRef ref = reading(a, tp, Offset(50));
  ASSERT_TRUE(await([&] { return a.end(ref) == Offset(100); }));
  EXPECT_GE(log_range(a, tp).bytes, 100 * 1000u);
  EXPECT_LE(log_range(a, tp).bytes, 120 * 1000u);
}

// What is compressed is smaller than what is read of it.
TEST_P(KafkaAlone, ALogIsNotTakenForLargerThanItsRetentionAllows) {
  const TopicPartition tp{topic(), Partition(0)};
  kafka::Admin& admin = dynamic_cast<kafka::KafkaBroker&>(broker()).admin();
  ASSERT_TRUE(admin.set(tp.topic, "retention.bytes", "100000").has_value());
  ASSERT_TRUE(admin.set(tp.topic, "segment.bytes", "1048576").has_value());
  kafka::Options compressing = admin.options();
  compressing.properties["compression.type"] = "zstd";
  auto sender = kafka::KafkaBroker::open(std::move(compressing));
  ASSERT_TRUE(sender.has_value());
  ASSERT_TRUE((*sender)->produce(std::vector<Record>(40, out(tp, "k", std::string(100000, 'x')))).has_value());
  Probe& a = join(rig().fresh("group"), {tp.topic});
  const PartitionRef ref = reading(a, tp);
  ASSERT_TRUE(await([&] { return a.end(ref) == Offset(40); }));
  // The broker answers with the old settings for a moment.
  EXPECT_TRUE(await([&] { return admin.describe(tp.topic) && log_range(a, tp).bytes == 1048576u + 100000u; }))
      << log_range(a, tp).bytes;
}

// A process that begins does not wait for the end of a dead one's transaction.
TEST_P(KafkaAlone, WhatAGroupHasCommittedIsToldWhileATransactionIsOpen) {
  const TopicPartition tp{topic(), Partition(0)};
  const std::string group = rig().fresh("group");
  Probe& a = join(group, {tp.topic}, Duration(6000));
  const PartitionRef ref = assigned(a, tp);
  write_until_done(a, {}, {{ref, Offset(1), "a"}});
  Probe& b = join(group, {tp.topic});
  leave_open(a, b, tp, Fate::kReplyLostNotDone, {}, {ref, Offset(2), "a"});
  const auto by_now = dynamic_cast<GroupLook&>(broker()).offsets_by_now(group, {tp.topic});
  ASSERT_TRUE(by_now.has_value());
  EXPECT_EQ(by_now->at(0).offset, Offset(1));
}

// librdkafka answers with an offset of -1001 and no error.
TEST_P(KafkaAlone, ALeaderThatDoesNotAnswerHasNotSaidThatItsLogIsEmpty) {
  const TopicPartition tp{topic(), Partition(0)};
  produce(tp, {"0", "1", "2", "3"});
  kafka::Options hasty = dynamic_cast<kafka::KafkaBroker&>(broker()).admin().options();
  hasty.request_limit = Duration(1500);
  auto other = kafka::KafkaBroker::open(std::move(hasty));
  ASSERT_TRUE(other.has_value());
  auto member = (*other)->join({rig().fresh("group"), {tp.topic}, "x", Duration(60000)});
  ASSERT_TRUE(member.has_value());
  std::vector<BrokerEvent> events;
  const auto told = [&](std::uint64_t request) -> std::optional<bool> {
    (*member)->poll(events, Duration(10));
    for (const BrokerEvent& event : events) {
      if (const auto* range = std::get_if<LogRangeRead>(&event); range != nullptr && range->request == request)
        return range->answered;
      if (const auto* read = std::get_if<RangeRead>(&event); read != nullptr && read->request == request && read->end)
        return read->answered;
    }
    return std::nullopt;
  };
  // It is asked until the topic is known, and from here on its leader is too.
  std::uint64_t first = 100;
  (*member)->read_log_range(first, tp);
  ASSERT_TRUE(await([&] {
    if (told(first) == false) (*member)->read_log_range(++first, tp);
    return told(first) == true;
  }));
  {
    const Frozen frozen;
    if (!frozen.is()) GTEST_SKIP() << "a broker that runs already is not frozen";
    (*member)->read_log_range(2, tp);
    (*member)->read_range(3, tp, Offset(0), Offset(4), {});  // a sweep, and the journal
    (*member)->read_range(4, tp, Offset(2), Offset(3), {});  // one message
    EXPECT_TRUE(await([&] { return told(2) && told(3) && told(4); }));
    const auto end = dynamic_cast<LogLook&>(**other).ends({tp}, Duration(3000));
    EXPECT_FALSE(end.contains(tp));
  }
  EXPECT_EQ(told(2), false);
  EXPECT_EQ(told(3), false);
  EXPECT_EQ(told(4), false);
  (*member)->leave();
}

TEST_P(KafkaAlone, TheEndsOfManyLogsAreToldAtOnceAndThenFromMemory) {
  const std::string name = topic(3);
  produce({name, Partition(1)}, {"0", "1"});
  const std::vector<TopicPartition> all = {{name, Partition(0)}, {name, Partition(1)}, {name, Partition(2)}};
  auto& look = dynamic_cast<LogLook&>(broker());
  std::map<TopicPartition, Offset> ends;
  ASSERT_TRUE(await([&] { return (ends = look.ends(all, Duration(1000))).size() == 3; }));
  EXPECT_EQ(ends.at(all[0]), Offset(0));
  EXPECT_EQ(ends.at(all[1]), Offset(2));
  produce({name, Partition(2)}, {"0"});
  ASSERT_TRUE(await([&] { return look.ends(all, Duration(0)).at(all[2]) == Offset(1); }));
  EXPECT_TRUE(look.ends({{rig().fresh("nowhere"), Partition(0)}}, Duration(100)).empty());
}

TEST_P(KafkaAlone, TopicsAreNamedWithTheirPartitions) {
  const std::string name = topic(3);
  const auto names = dynamic_cast<LogLook&>(broker()).topic_names();
  ASSERT_TRUE(names.has_value());
  const auto found = std::ranges::find(*names, name, &TopicSpec::name);
  ASSERT_NE(found, names->end());
  EXPECT_EQ(found->partitions, 3);
}

TEST_P(KafkaAlone, GroupsThatHaveCommittedOnATopicAreNamed) {
  const TopicPartition tp{topic(), Partition(0)}, other{topic(), Partition(0)};
  const std::string a = rig().fresh("group"), b = rig().fresh("group"), c = rig().fresh("group");
  ASSERT_TRUE(broker().commit_first(a, {{tp, Offset(0), ""}}).has_value());
  ASSERT_TRUE(broker().commit_first(b, {{tp, Offset(0), ""}}).has_value());
  ASSERT_TRUE(broker().commit_first(c, {{other, Offset(0), ""}}).has_value());
  auto fresh = kafka::KafkaBroker::open(dynamic_cast<kafka::KafkaBroker&>(broker()).admin().options());
  ASSERT_TRUE(fresh.has_value());
  const auto groups = (*fresh)->groups_on(tp.topic);
  ASSERT_TRUE(groups.has_value()) << groups.error().message;
  EXPECT_EQ(*groups, (std::vector<std::string>{a, b}));
  const auto committed = (*fresh)->committed_within(a, {tp, other}, Duration(20000));
  EXPECT_EQ(committed, (std::map<TopicPartition, Offset>{{tp, Offset(0)}}));
}

INSTANTIATE_TEST_SUITE_P(Kafka, KafkaAlone, testing::Values(by_protocol()),
                         [](const auto& instance) { return instance.param.name; });

INSTANTIATE_TEST_SUITE_P(Kafka, BrokerContract, testing::Values(by_protocol()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace bartleby::contract

#else

TEST(Kafka, BrokerContract) { GTEST_SKIP() << "built without librdkafka: scripts/setup test"; }

#endif
