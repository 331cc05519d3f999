// Letters of a real embedded log, taken into a real office.db by the runner's thread.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "adapters/archive/files/file_archive.h"
#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "base/random.h"
#include "office/archives.h"
#include "office/intake_runner.h"
#include "office/letters.h"
#include "office/operation_runner.h"
#include "office/operations.h"
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

  // What a worker writes when it dies.
  std::vector<Record> died(std::int64_t n, const LogRecord& message, LetterForm form) {
    LetterFacts facts;
    facts.cluster = "test";
    facts.topic = "orders";
    facts.partition = Partition(static_cast<std::int32_t>(n % 2));
    facts.offset = Offset(n);
    facts.timestamp = message.timestamp;
    facts.group = facts.worker = "billing";
    facts.reason = Reason::kExhausted;
    ids_.push_back(letter_id(facts));
    return letter_records(facts, message, form, {"orders.dlq", 2, 400, static_cast<LetterDialect>(n % 3)});
  }
  void die(std::int64_t n, const LogRecord& message) {
    ASSERT_TRUE(broker_->produce(died(n, message, LetterForm::kWhole)));
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
  if (random.chance(30)) record.value = random.chance(50) ? "{ \"a\": 1 }\n" : R"({"dlq_metadata":{"b":"c"},"a":[]})";
  for (std::uint64_t i = random.below(5); i > 0; --i)
    record.headers.emplace_back(bytes(10), random.chance(70) ? Bytes(bytes(20)) : Bytes());
  return record;
}

TEST_F(OfficeIntake, AGroupShowsHowFarItIsAndDecidesNothing) {
  IntakeOptions wanted = options();
  wanted.show = Duration(0);
  wanted.group_of = [](const std::string& topic) { return topic == "orders.dlq" ? "billing-dlq" : ""; };
  const auto shown = [&] {
    std::map<std::int32_t, std::int64_t> all;
    const auto offsets = broker_->group_offsets("billing-dlq", {"orders.dlq"});
    for (const CommittedOffset& one : offsets.value())
      if (one.offset) all[one.tp.partition.v] = one.offset->v;
    return all;
  };
  for (std::int64_t n = 0; n < 3; ++n) die(n, {Offset(n), timestamp_ms(1), "k", "v", {}});
  {
    IntakeRunner intake(*broker_, *store_, log_, clock_, wanted);
    intake.run_until_idle();
  }
  EXPECT_EQ(stored(), 3);
  EXPECT_EQ(shown(), (std::map<std::int32_t, std::int64_t>{{0, 2}, {1, 1}}));
  // Somebody resets it: nothing is taken in twice, and it shows the truth again.
  ASSERT_TRUE(broker_->commit_first("billing-dlq", {{{"orders.dlq", Partition(0)}, Offset(0), ""}}));
  {
    IntakeRunner intake(*broker_, *store_, log_, clock_, wanted);
    intake.run_until_idle();
    EXPECT_EQ(intake.counts().stored + intake.counts().duplicates, 0U);
  }
  EXPECT_EQ(stored(), 3);
  EXPECT_EQ(shown(), (std::map<std::int32_t, std::int64_t>{{0, 2}, {1, 1}}));
}

TEST_F(OfficeIntake, BytesAreTheSameAfterDeathArchiveRestoreAndReplay) {
  constexpr std::int64_t kLetters = 10000;
  const Actor ann{.name = "ann", .reason = "", .request_id = ""};
  Random random(7);
  std::map<std::string, LogRecord> messages;  // by the letter's id
  std::vector<Record> batch;
  for (std::int64_t n = 0; n < kLetters; ++n) {
    LogRecord message = random_record(random);
    for (Record& record : died(n, message, static_cast<LetterForm>(random.below(4))))
      batch.push_back(std::move(record));
    messages[ids_.back()] = std::move(message);
    if (n % 250 < 249) continue;
    ASSERT_TRUE(broker_->produce(std::exchange(batch, {})));
  }
  IntakeRunner runner(*broker_, *store_, log_, clock_, options());
  runner.run_until_idle();
  ASSERT_EQ(stored(), kLetters);
  std::vector<std::int64_t> seqs;
  const auto same = [&](const Bytes& key, const Bytes& value, const Headers& headers, const LogRecord& message) {
    return key == message.key && value == message.value && headers == message.headers;
  };
  const auto differing = [&] {
    std::size_t differ = 0;
    seqs.clear();
    const auto done = store_->read([&](Connection& c) -> Result<void> {
      for (const auto& [id, message] : messages) {
        const auto row = letter_row(c, std::string_view(id)).value();
        if (row) seqs.push_back(row->letter.seq);
        const auto payload = row ? letter_payload(c, row->letter.seq).value() : std::nullopt;
        const bool good = payload && same(payload->key, payload->value, payload->headers, message) &&
                          row->letter.timestamp == message.timestamp;
        if (!good) ++differ;
      }
      return {};
    });
    EXPECT_TRUE(done);
    return differ;
  };
  EXPECT_EQ(differing(), 0U) << "as they were taken in";

  FileArchive archive(folder_.path() + "/archive");
  std::vector<std::string> archives;
  for (std::size_t from = 0; from < seqs.size(); from += 500) {
    const auto end = seqs.begin() + static_cast<std::ptrdiff_t>(std::min(from + 500, seqs.size()));
    const std::vector<std::int64_t> some(seqs.begin() + static_cast<std::ptrdiff_t>(from), end);
    archives.push_back(archive_letters(*store_, archive, "orders.dlq", some, ann, clock_.now().wall).value().id);
  }
  EXPECT_EQ(differing(), messages.size()) << "their bytes are in files now";
  for (const std::string& id : archives) ASSERT_TRUE(restore_archive(*store_, archive, id, ann, clock_.now().wall));
  EXPECT_EQ(differing(), 0U) << "as they were restored";

  OperationsOptions wanted;
  wanted.readers = [](const std::string&) { return std::vector<Reader>(); };
  wanted.new_id = [] { return "op_1"; };
  Operations operations(*store_, clock_, wanted);
  OperationRequest all;
  all.query = Query{};
  all.settings.rate = all.settings.canary = 0;
  ASSERT_EQ(operations.start(operations.plan(all, ann).value().id, ann)->result, OperationChange::kDone);
  OperationRunner sender(*broker_, *store_, log_, clock_, {.key = {"o1", std::string(32, 'k')}});
  sender.run_until_idle();
  std::size_t sent = 0, changed = 0;
  for (std::int32_t p = 0; p < 2; ++p)
    for (Offset at(0);;) {
      const auto read = broker_->read({"orders", Partition(p)}, at, 1000, std::size_t{8} << 20).value();
      if (read.empty()) break;
      at = next(read.back().offset);
      for (const LogRecord& record : read) {
        ASSERT_EQ(record.headers.back().first, "bartleby-replay");
        const std::string mark = *record.headers.back().second;
        const std::size_t begin = mark.find("letter=") + 7;
        const Headers own(record.headers.begin(), record.headers.end() - 1);
        ++sent;
        const std::string letter = mark.substr(begin, mark.find(';', begin) - begin);
        if (!same(record.key, record.value, own, messages.at(letter))) ++changed;
      }
    }
  EXPECT_EQ(sent, messages.size());
  EXPECT_EQ(changed, 0U) << "as they were sent again";
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
