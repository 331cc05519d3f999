// Letters of a real embedded log, taken into a real office.db by the runner's thread.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "base/random.h"
#include "office/intake_runner.h"
#include "office/letters.h"
#include "office/sql.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

class OfficeIntake : public testing::Test {
 protected:
  void SetUp() override {
    embedded::Options options;
    options.folder = folder_.path();
    broker_ = embedded::EmbeddedBroker::open(options).value();
    store_ = sqlite_store::SqliteStore::open({.folder = folder_.path()}).value();
    for (const char* name : {"orders", "orders.dlq", "notes"}) {
      TopicSpec topic;
      topic.name = name;
      topic.partitions = 2;
      ASSERT_TRUE(broker_->ensure_topics({topic}));
    }
  }

  IntakeOptions options() {
    IntakeOptions wanted;
    wanted.cluster = "test";
    wanted.dlq_class = [](const std::string& topic) {
      return topic.ends_with(".dlq") ? std::optional(DlqClass::kFinancial) : std::nullopt;
    };
    wanted.discover = Duration(10);
    wanted.limits.poll = Duration(5);
    return wanted;
  }

  void die(std::int64_t n, const LogRecord& message, LetterForm form = LetterForm::kWhole) {
    LetterFacts facts;
    facts.cluster = "test";
    facts.topic = "orders";
    facts.partition = Partition(static_cast<std::int32_t>(n % 2));
    facts.offset = Offset(n);
    facts.timestamp = message.timestamp;
    facts.group = facts.worker = "billing";
    facts.reason = Reason::kExhausted;
    ASSERT_TRUE(broker_->produce(letter_records(facts, message, form, {"orders.dlq", 2, 400})));
    ids_.push_back(letter_id(facts));
  }

  std::int64_t stored() {
    std::int64_t n = 0;
    const auto done = store_->read([&](Connection& c) -> Result<void> {
      n = **sql::one(c, "SELECT count(*) FROM letters", [](Rows& r) { return r.integer(0); });
      return {};
    });
    EXPECT_TRUE(done);
    return n;
  }

  support::ScratchFolder folder_;
  std::unique_ptr<embedded::EmbeddedBroker> broker_;
  std::unique_ptr<Store> store_;
  SystemClock clock_;
  Log log_{LogFormat::kText, LogLevel::kError};
  std::vector<std::string> ids_;
};

LogRecord random_record(Random& random) {
  const auto bytes = [&](std::size_t most) {
    std::string text(random.below(most), '\0');
    for (char& c : text) c = static_cast<char>(random.below(256));
    return text;
  };
  LogRecord record;
  record.timestamp = timestamp_ms(random.between(0, 2'000'000'000'000));
  if (random.chance(80)) record.key = bytes(400);
  if (random.chance(90)) record.value = bytes(2000);
  for (std::uint64_t i = random.below(5); i > 0; --i)
    record.headers.emplace_back(bytes(10), random.chance(70) ? Bytes(bytes(20)) : Bytes());
  return record;
}

TEST_F(OfficeIntake, BytesAreTheSameFromDeathToStore) {
  Random random(7);
  std::vector<LogRecord> records;
  for (std::int64_t n = 0; n < 500; ++n) {
    records.push_back(random_record(random));
    die(n, records.back(), static_cast<LetterForm>(random.below(4)));
  }
  IntakeRunner runner(*broker_, *store_, log_, clock_, options());
  runner.run_until_idle();
  ASSERT_EQ(stored(), 500);
  const auto done = store_->read([&](Connection& c) -> Result<void> {
    for (std::size_t n = 0; n < records.size(); ++n) {
      const auto row = letter_row(c, std::string_view(ids_[n])).value();
      EXPECT_TRUE(row.has_value());
      if (!row) continue;
      const auto payload = letter_payload(c, row->letter.seq).value();
      EXPECT_TRUE(payload.has_value());
      if (!payload) continue;
      EXPECT_EQ(payload->key, records[n].key);
      EXPECT_EQ(payload->value, records[n].value);
      EXPECT_EQ(payload->headers, records[n].headers);
      EXPECT_EQ(row->letter.timestamp, records[n].timestamp);
    }
    return {};
  });
  EXPECT_TRUE(done);
}

TEST_F(OfficeIntake, TheThreadTakesInWhatArrivesAndNothingElse) {
  std::mutex mutex;
  std::condition_variable heard;
  std::size_t letters = 0;
  {
    IntakeRunner runner(*broker_, *store_, log_, clock_, options(), [&](const std::string& dlq, const IntakeReport& r) {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(dlq, "orders.dlq");
      letters += r.stored;
      heard.notify_all();
    });
    runner.start();
    ASSERT_TRUE(broker_->produce({{"notes", Partition(0), "k", "v", {}}, {"orders", Partition(0), "k", "v", {}}}));
    for (std::int64_t n = 0; n < 20; ++n) die(n, {Offset(n), timestamp_ms(n), "k", "v", {}});
    std::unique_lock lock(mutex);
    ASSERT_TRUE(heard.wait_for(lock, std::chrono::seconds(60), [&] { return letters == 20; }));
  }
  // The next process goes on where this one was.
  die(20, {Offset(20), timestamp_ms(20), "k", "v", {}});
  IntakeRunner next_process(*broker_, *store_, log_, clock_, options());
  next_process.run_until_idle();
  EXPECT_EQ(next_process.counts().stored, 1U);
  EXPECT_EQ(next_process.counts().duplicates, 0U);
  EXPECT_EQ(stored(), 21);
  const auto done = store_->read([&](Connection& c) -> Result<void> {
    const auto dlqs = dlq_states(c).value();
    EXPECT_EQ(dlqs.size(), 1U);
    EXPECT_EQ(dlqs.front().dlq_class, DlqClass::kFinancial);
    EXPECT_EQ(dlqs.front().letters[0], 21);
    return {};
  });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace bartleby
