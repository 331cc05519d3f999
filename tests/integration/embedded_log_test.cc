// The embedded broker and its file: what is kept, what is deleted, and what an unfit file or a full disk leads to.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>
#include <thread>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/broker/embedded/log_reader.h"
#include "adapters/sqlite/sqlite.h"
#include "tests/support/played_clock.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::embedded {
namespace {

class EmbeddedLog : public testing::Test {
 protected:
  EmbeddedLog() {
    options_.folder = folder_.path();
    options_.clock = clock_;
  }

  std::string file() const { return folder_.path() + "/log.db"; }
  EmbeddedBroker& broker() {
    if (!broker_) {
      auto opened = EmbeddedBroker::open(options_);
      if (!opened) throw std::runtime_error(opened.error().message);
      broker_ = std::move(*opened);
    }
    return *broker_;
  }
  void close() { broker_.reset(); }

  TopicPartition topic(const TopicSpec& spec) {
    EXPECT_TRUE(broker().ensure_topics({spec}).has_value());
    return {spec.name, Partition(0)};
  }
  static Record record(const TopicPartition& tp, const std::string& key, Bytes value) {
    return {tp.topic, tp.partition, key, std::move(value), {}};
  }
  void produce(const TopicPartition& tp, int count, const std::string& value = "v") {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(broker().produce({record(tp, std::to_string(i), value)}).has_value());
  }
  // What is in the file, through a connection of its own; not through what the broker believes.
  std::vector<std::string> keys_in_file() {
    std::vector<std::string> keys;
    auto db = sqlite::Database::open(file(), sqlite::Open::kReadOnly);
    auto asked = db->prepare("SELECT key FROM records ORDER BY position");
    while (asked->step().value() == sqlite::Step::kRow) keys.emplace_back(asked->bytes(0));
    return keys;
  }

  support::ScratchFolder folder_;
  std::shared_ptr<support::PlayedClock> clock_ = std::make_shared<support::PlayedClock>();
  Options options_;
  std::unique_ptr<EmbeddedBroker> broker_;
};

TopicSpec spec(const std::string& name) {
  TopicSpec s;
  s.name = name;
  return s;
}

// ---- Opening -----------------------------------------------------------------------------------------

TEST_F(EmbeddedLog, ReopeningKeepsTopicsRecordsOffsetsAndEnds) {
  TopicSpec wanted = spec("orders");
  wanted.partitions = 3;
  wanted.compacted = true;
  wanted.retention = Duration(5000000);
  wanted.retention_bytes = 1000000;
  wanted.max_message = 777;
  const TopicPartition tp = topic(wanted);
  const Headers headers = {{"a", "1"}, {"a", std::nullopt}, {"", ""}};
  ASSERT_TRUE(broker().produce({{tp.topic, tp.partition, "k", std::nullopt, headers}}).has_value());
  produce(tp, 4);
  ASSERT_TRUE(broker().commit_first("g", {{tp, Offset(3), std::string("m\0n", 3)}}).has_value());
  ASSERT_TRUE(broker().delete_before(tp, Offset(5)).has_value());
  ASSERT_TRUE(broker().log_range(tp) == (std::pair(Offset(5), Offset(5))));
  close();

  const auto there = broker().describe("orders");
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(there->partitions, 3);
  EXPECT_TRUE(there->compacted);
  EXPECT_EQ(there->retention, wanted.retention);
  EXPECT_EQ(there->retention_bytes, wanted.retention_bytes);
  EXPECT_EQ(there->max_message, 777u);
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(5), Offset(5)))) << "an empty log keeps its end";
  const auto offsets = broker().group_offsets("g", {"orders"});
  ASSERT_TRUE(offsets.has_value());
  EXPECT_EQ(offsets->at(0).offset, Offset(3));
  EXPECT_EQ(offsets->at(0).metadata, std::string("m\0n", 3));
  EXPECT_EQ(offsets->at(1).offset, std::nullopt);
  produce(tp, 1);
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(5), Offset(6))));
}

TEST_F(EmbeddedLog, TimestampsNeverGoBackAlsoAcrossARestart) {
  const TopicPartition tp = topic(spec("t"));
  clock_->advance(Duration(100000));
  produce(tp, 1);
  ASSERT_TRUE(broker().delete_before(tp, Offset(1)).has_value());
  close();
  const Now later = clock_->now();
  clock_ = std::make_shared<support::PlayedClock>();  // set back
  options_.clock = clock_;
  produce(tp, 1);
  auto reader = LogReader::open(file());
  const auto read = reader->read(1, Offset(1), Offset(2), 10, 1000, {});
  ASSERT_EQ(read->records.size(), 1u);
  EXPECT_GE(read->records[0].timestamp + Duration(100), later.wall);
}

TEST_F(EmbeddedLog, AFileThatIsNoDatabaseIsRefusedAndNotTouched) {
  const std::string garbage(5000, 'x');
  std::ofstream(file()) << garbage;
  const auto opened = EmbeddedBroker::open(options_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kMalformed);
  EXPECT_NE(opened.error().message.find("log.db"), std::string::npos) << opened.error().message;
  std::ifstream in(file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), garbage);
}

TEST_F(EmbeddedLog, AFileOfANewerVersionOrOfAnotherProgramIsRefused) {
  topic(spec("t"));
  close();
  ASSERT_TRUE(sqlite::Database::open(file(), sqlite::Open::kReadWrite)->exec("PRAGMA user_version=2").has_value());
  auto opened = EmbeddedBroker::open(options_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(opened.error().message.find("newer version"), std::string::npos) << opened.error().message;

  ASSERT_TRUE(sqlite::Database::open(file(), sqlite::Open::kReadWrite)
                  ->exec("PRAGMA user_version=1; PRAGMA application_id=7")
                  .has_value());
  opened = EmbeddedBroker::open(options_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
}

TEST_F(EmbeddedLog, ASecondOpenerIsToldThePidOfTheFirst) {
  topic(spec("t"));
  const auto second = EmbeddedBroker::open(options_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kFenced);
  EXPECT_NE(second.error().message.find("pid " + std::to_string(::getpid())), std::string::npos)
      << second.error().message;
  close();
  EXPECT_TRUE(EmbeddedBroker::open(options_).has_value());
}

TEST_F(EmbeddedLog, PeopleCanReadTheLogWithSql) {
  const TopicPartition tp = topic(spec("orders"));
  ASSERT_TRUE(broker().produce({record(tp, "k", Bytes("hello"))}).has_value());
  auto db = sqlite::Database::open(file(), sqlite::Open::kReadOnly);
  EXPECT_EQ(db->text("SELECT topic || '/' || partition || '@' || \"offset\" || ' ' || key || '=' || value FROM log"),
            "orders/0@0 k=hello");
}

// ---- Group commit ------------------------------------------------------------------------------------

TEST_F(EmbeddedLog, ManyProducersShareTransactionsAndEachGetsItsOwnOffset) {
  const TopicPartition tp = topic(spec("t"));
  const std::uint64_t before = broker().transactions();
  constexpr int kProducers = 32, kEach = 20;
  std::vector<std::atomic<int>> taken(kProducers * kEach);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p)
    producers.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const auto offsets = broker().produce({record(tp, "k", Bytes("v"))});
        if (offsets) ++taken[static_cast<std::size_t>(offsets->at(0).offset.v)];
      }
    });
  for (std::thread& producer : producers) producer.join();
  for (const auto& times : taken) EXPECT_EQ(times.load(), 1);
  EXPECT_LT(broker().transactions() - before, kProducers * kEach) << "some of them went together";
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(0), Offset(kProducers * kEach))));
}

TEST_F(EmbeddedLog, AProducerWaitsForRoomInTheQueueAndThenGoesOn) {
  options_.queue_jobs = 1;
  options_.queue_bytes = 1;
  const TopicPartition tp = topic(spec("t"));
  std::vector<std::thread> producers;
  std::atomic<int> done{0};
  for (int p = 0; p < 8; ++p)
    producers.emplace_back([&] {
      for (int i = 0; i < 5; ++i)
        if (broker().produce({record(tp, "k", Bytes(std::string(100, 'x')))})) ++done;
    });
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(done.load(), 40);
}

// ---- Retention and compaction ------------------------------------------------------------------------

TEST_F(EmbeddedLog, RetentionByTimeDeletesWhatIsTooOldInSlices) {
  options_.upkeep_records = 3;
  TopicSpec wanted = spec("t");
  wanted.retention = Duration(60000);
  const TopicPartition tp = topic(wanted);
  produce(tp, 10);
  clock_->advance(Duration(100000));
  produce(tp, 2);
  ASSERT_TRUE(broker().upkeep().has_value());
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(10), Offset(12))));
  EXPECT_EQ(keys_in_file().size(), 2u);
}

TEST_F(EmbeddedLog, RetentionByBytesKeepsTheNewestAlsoAfterARestart) {
  options_.upkeep_records = 4;
  TopicSpec wanted = spec("t");
  wanted.retention_bytes = 1000;
  const TopicPartition tp = topic(wanted);
  produce(tp, 10, std::string(499, 'x'));  // with its key 500
  close();
  ASSERT_TRUE(broker().upkeep().has_value());
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(8), Offset(10))));
  produce(tp, 1, std::string(499, 'x'));
  ASSERT_TRUE(broker().upkeep().has_value());
  EXPECT_EQ(broker().log_range(tp), (std::pair(Offset(9), Offset(11))));
}

TEST_F(EmbeddedLog, CompactionByItselfKeepsTheLastOfEveryKeyAndLaterDropsTombstones) {
  options_.upkeep_records = 5;
  options_.compact_after = 10;
  TopicSpec wanted = spec("journal");
  wanted.compacted = true;
  const TopicPartition tp = topic(wanted);
  for (int round = 0; round < 10; ++round)
    for (const char* key : {"a", "b", "c"})
      ASSERT_TRUE(broker().produce({record(tp, key, Bytes(std::to_string(round)))}).has_value());
  ASSERT_TRUE(broker().produce({record(tp, "b", Bytes())}).has_value());
  ASSERT_TRUE(broker().upkeep().has_value());
  EXPECT_EQ(keys_in_file(), (std::vector<std::string>{"a", "c", "b"}));
  ASSERT_TRUE(broker().compact(tp).has_value());
  EXPECT_EQ(keys_in_file().size(), 3u) << "a tombstone stays as long as a reader may not have passed it";
  clock_->advance(options_.tombstones_kept);
  ASSERT_TRUE(broker().compact(tp).has_value());
  EXPECT_EQ(keys_in_file(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(broker().log_range(tp)->second, Offset(31));
  close();
  EXPECT_EQ(broker().log_range(tp)->second, Offset(31)) << "though its last record is gone";
}

TEST_F(EmbeddedLog, ACompactionWithMoreKeysThanItMayKeepGetsThereInSeveralRuns) {
  options_.compact_keys = 4;
  options_.upkeep_records = 4;
  TopicSpec wanted = spec("journal");
  wanted.compacted = true;
  const TopicPartition tp = topic(wanted);
  for (int round = 0; round < 2; ++round) produce(tp, 12);
  for (int run = 0; run < 6; ++run) ASSERT_TRUE(broker().compact(tp).has_value());
  EXPECT_EQ(keys_in_file().size(), 12u);
}

// ---- Disk full ---------------------------------------------------------------------------------------

TEST_F(EmbeddedLog, AFullFileRefusesWritesLosesNothingAndGoesOnWhenThereIsRoom) {
  options_.max_pages = 40;
  const TopicPartition tp = topic(spec("t"));
  std::vector<Offset> acknowledged;
  std::optional<Error> full;
  for (int i = 0; i < 200 && !full; ++i) {
    const auto offsets = broker().produce({record(tp, std::to_string(i), Bytes(std::string(2000, 'x')))});
    if (offsets)
      acknowledged.push_back(offsets->at(0).offset);
    else
      full = offsets.error();
  }
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->code, ErrorCode::kUnavailable);
  EXPECT_TRUE(full->retryable);
  EXPECT_NE(full->message.find("full"), std::string::npos) << full->message;
  EXPECT_EQ(broker().log_range(tp)->second.v, static_cast<std::int64_t>(acknowledged.size()));
  EXPECT_EQ(keys_in_file().size(), acknowledged.size());

  // A member's write says so too, and can be tried again.
  auto member = broker().join({"g", {"t"}, "i", Duration(10000)});
  std::vector<BrokerEvent> events;
  auto answer = [&](WriteSerial serial) -> std::optional<WriteAnswered> {
    for (int i = 0; i < 1000; ++i) {
      (*member)->poll(events, Duration(100));
      for (const BrokerEvent& e : events)
        if (const auto* a = std::get_if<WriteAnswered>(&e); a != nullptr && a->serial == serial) return *a;
    }
    return std::nullopt;
  };
  const Record big = record(tp, "k", Bytes(std::string(2000, 'x')));
  (*member)->write({WriteSerial(1), {big, big, big, big}, {}});
  ASSERT_EQ(answer(WriteSerial(1))->result, WriteResult::kNotDone);

  ASSERT_TRUE(broker().delete_before(tp, Offset(20)).has_value());  // makes room
  (*member)->write({WriteSerial(2), {big}, {}});
  const auto done = answer(WriteSerial(2));
  ASSERT_EQ(done->result, WriteResult::kDone);
  EXPECT_EQ(done->offsets.at(0).v, static_cast<std::int64_t>(acknowledged.size())) << "no offset was lost";
}

TEST_F(EmbeddedLog, AFullFileIsToldOnceAndThatItHasRoomAgainIsFoundOutWithoutAWrite) {
  options_.max_pages = 40;
  std::mutex mutex;
  std::vector<std::string> told;
  options_.writable_told = [&](const Result<void>& writable) {
    const std::lock_guard lock(mutex);
    told.push_back(writable ? "works" : writable.error().message);
  };
  const TopicPartition tp = topic(spec("t"));
  const Record big = record(tp, "k", Bytes(std::string(2000, 'x')));
  EXPECT_TRUE(broker().writable());
  int taken = 0;
  while (taken < 200 && broker().produce({big})) ++taken;
  ASSERT_LT(taken, 200);
  EXPECT_FALSE(broker().produce({big}));
  static_cast<void>(broker().produce({record(tp, "k", Bytes("small"))}));  // there may be a corner left
  const auto full = broker().writable();
  ASSERT_FALSE(full) << "a small write that finds a corner is not the end of it";
  EXPECT_TRUE(full.error().message.starts_with("the disk is full: ")) << full.error().message;
  EXPECT_NE(full.error().message.find("Free space"), std::string::npos) << full.error().message;
  ASSERT_TRUE(broker().delete_before(tp, Offset(20)).has_value());
  for (int i = 0; i < 1000 && !broker().writable(); ++i) {
    clock_->advance(Duration(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(broker().writable());
  close();
  EXPECT_EQ(told, (std::vector<std::string>{full.error().message, "works"}));
}

TEST_F(EmbeddedLog, UpkeepThatFailsIsToldOnceAndSoIsItsMending) {
  std::mutex mutex;
  std::vector<std::string> told;
  options_.chore_told = [&](std::string_view chore, const Result<void>& result) {
    const std::lock_guard lock(mutex);
    told.push_back(std::string(chore) + (result ? " works" : " fails"));
  };
  TopicSpec short_lived = spec("t");
  short_lived.retention = Duration(1000);
  const TopicPartition tp = topic(short_lived);
  produce(tp, 3);
  clock_->advance(Duration(5000));
  {
    auto other = sqlite::Database::open(file(), sqlite::Open::kReadWrite);
    ASSERT_TRUE(other->exec("BEGIN IMMEDIATE"));
    EXPECT_FALSE(broker().upkeep());
    other->rollback();
  }
  EXPECT_TRUE(broker().upkeep());
  EXPECT_TRUE(broker().upkeep());
  close();
  EXPECT_EQ(told, (std::vector<std::string>{"upkeep fails", "upkeep works"}));
}

}  // namespace
}  // namespace bartleby::embedded
