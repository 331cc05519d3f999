// Letters taken in per second, against the same rows put into the same tables by plain statements; and what
// `/dlq-status` costs, against a GROUP BY on the same letters.
#include "office/letters.h"

#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "adapters/sqlite/sqlite.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "bench/benches.h"
#include "office/take_in.h"

namespace bartleby::bench {
namespace {

using Time = std::chrono::steady_clock;

const std::string kFolder = "build/bench/letters";
constexpr std::int64_t kLetters = 40000;
constexpr std::int64_t kBatch = 1000;
const Timestamp kNow = timestamp_ms(1'800'000'000'000);

const std::string kStatusFolder = "build/bench/dlq_status";

std::string fresh(const std::string& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

double seconds_of(const std::function<void()>& work) {
  const auto began = Time::now();
  work();
  return std::chrono::duration<double>(Time::now() - began).count();
}

std::vector<LogRecord> records_of(std::int64_t from) {
  std::vector<LogRecord> records;
  for (std::int64_t n = from; n < from + kBatch; ++n) {
    LetterFacts facts;
    facts.cluster = "bench";
    facts.topic = "orders";
    facts.partition = Partition(0);
    facts.offset = Offset(n);
    facts.timestamp = timestamp_ms(ms(kNow) - kLetters + n);
    facts.group = facts.worker = "billing-" + std::to_string(n % 5);
    facts.instance = "billing-1";
    facts.reason = Reason::kExhausted;
    facts.attempts = 6;
    facts.last_failure = facts.timestamp;
    facts.error = {"Error" + std::to_string(n % 20), "no answer after " + std::to_string(n) + "s", ""};
    const std::string value = "{\"order\":" + std::to_string(n) + ",\"text\":\"" + std::string(400, 'v') + "\"}";
    const LogRecord message{facts.offset,
                            facts.timestamp,
                            "customer-" + std::to_string(n % 9973),
                            value,
                            {{"tenant", "acme"}, {"content-type", "application/json"}}};
    const Record written = letter_records(facts, message, LetterForm::kWhole, {"orders.dlq", 1})[0];
    records.push_back({Offset(n), facts.timestamp, written.key, written.value, written.headers});
  }
  return records;
}

double taken_in() {
  auto store = sqlite_store::SqliteStore::open({.folder = fresh(kFolder)});
  if (!store) return 0;
  std::vector<std::vector<LogRecord>> batches;
  for (std::int64_t n = 0; n < kLetters; n += kBatch) batches.push_back(records_of(n));
  TakeIn desk(**store, "bench");
  const TopicPartition dlq{"orders.dlq", Partition(0)};
  bool good = true;
  const double seconds = seconds_of([&] {
    std::optional<IntakePosition> before;
    for (auto& batch : batches) {
      std::vector<Arrival> letters;
      const Offset last = batch.back().offset;
      for (LogRecord& record : batch) {
        const Offset at = record.offset;
        const Timestamp appended = record.timestamp;
        std::vector<LogRecord> whole;
        whole.push_back(std::move(record));
        letters.push_back(arrival_of(dlq, at, appended, join_letter(whole).value()));
      }
      const IntakePosition after{next(last), next(last)};
      good &= desk.store({dlq, before, after, 0, std::move(letters)}, kNow).has_value();
      before = after;
    }
  });
  return good ? static_cast<double>(kLetters) / seconds : 0;
}

// Rows as SQLite has them, and a statement that puts one in.
class PlainTable {
 public:
  PlainTable(sqlite3* from, sqlite3* to, const std::string& select, const std::string& insert) {
    sqlite3_stmt* rows = nullptr;
    good_ = sqlite3_prepare_v2(from, select.c_str(), -1, &rows, nullptr) == SQLITE_OK &&
            sqlite3_prepare_v2(to, insert.c_str(), -1, &insert_, nullptr) == SQLITE_OK;
    columns_ = good_ ? sqlite3_column_count(rows) : 0;
    while (good_ && sqlite3_step(rows) == SQLITE_ROW)
      for (int i = 0; i < columns_; ++i) values_.push_back(sqlite3_value_dup(sqlite3_column_value(rows, i)));
    sqlite3_finalize(rows);
  }
  ~PlainTable() {
    sqlite3_finalize(insert_);
    for (sqlite3_value* value : values_) sqlite3_value_free(value);
  }
  PlainTable(const PlainTable&) = delete;
  PlainTable& operator=(const PlainTable&) = delete;

  bool put(std::size_t row) {
    for (int i = 0; i < columns_; ++i)
      sqlite3_bind_value(insert_, i + 1,
                         values_[row * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(i)]);
    good_ &= sqlite3_step(insert_) == SQLITE_DONE;
    sqlite3_reset(insert_);
    return good_;
  }

 private:
  sqlite3_stmt* insert_ = nullptr;
  int columns_ = 0;
  bool good_ = false;
  std::vector<sqlite3_value*> values_;
};

std::string question_marks(int count) {
  std::string text = "?";
  for (int i = 1; i < count; ++i) text += ", ?";
  return text;
}

// The finished rows of a store that took them in, put into empty tables of the same schema one by one, with the same
// durability and as many to a transaction. Nothing is decoded, compressed, hashed or counted.
double plain_insert() {
  if (taken_in() == 0) return 0;
  const std::string other = kFolder + "/plain";
  std::filesystem::create_directories(other);
  if (!sqlite_store::SqliteStore::open({.folder = other})) return 0;
  auto from = sqlite::Database::open(kFolder + "/office.db", sqlite::Open::kReadOnly);
  auto db = sqlite::Database::open(other + "/office.db", sqlite::Open::kReadWrite);
  if (!from || !db ||
      !db->exec("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-65536;"
                "PRAGMA temp_store=MEMORY;"))
    return 0;
  const auto columns = from->number("SELECT count(*) FROM pragma_table_info('letters')").value_or(0);
  PlainTable letters(from->handle(), db->handle(), "SELECT * FROM letters ORDER BY seq",
                     "INSERT INTO letters VALUES(" + question_marks(static_cast<int>(columns)) + ")");
  PlainTable payloads(from->handle(), db->handle(), "SELECT * FROM payloads ORDER BY letter",
                      "INSERT INTO payloads VALUES(?, ?, ?, ?)");
  PlainTable words(from->handle(), db->handle(),
                   "SELECT seq, error_type || ' ' || error_message, CAST(key AS TEXT),"
                   " 'tenant acme' || char(10) || 'content-type application/json' FROM letters ORDER BY seq",
                   "INSERT INTO letters_text(rowid, error, key, headers) VALUES(?, ?, ?, ?)");
  bool good = true;
  const double seconds = seconds_of([&] {
    for (std::int64_t n = 0; n < kLetters; n += kBatch) {
      good &= db->exec("BEGIN IMMEDIATE").has_value();
      for (std::int64_t i = n; i < n + kBatch; ++i)
        for (PlainTable* table : {&letters, &payloads, &words}) good &= table->put(static_cast<std::size_t>(i));
      good &= db->exec("COMMIT").has_value();
    }
  });
  return good ? static_cast<double>(kLetters) / seconds : 0;
}

// Letters without payload and words, put in by SQL; counters as the office would have them.
bool load(const std::string& folder, std::int64_t letters) {
  if (!sqlite_store::SqliteStore::open({.folder = folder})) return false;
  auto db = sqlite::Database::open(folder + "/office.db", sqlite::Open::kReadWrite);
  if (!db ||
      !db->exec("PRAGMA synchronous=OFF; PRAGMA cache_size=-262144;"
                "INSERT INTO shelves SELECT value, 'c' || value || '.dlq', 'bench', 'c' || value, 'c' || value || "
                "'.x', 'c' || value || '.x', 0,"
                " 'c' || value || '.x' FROM (WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s"
                " WHERE value < 50) SELECT value FROM s)"))
    return false;
  for (std::int64_t from = 1; from <= letters; from += 500000) {
    const std::string to = std::to_string(std::min(letters, from + 499999));
    if (!db->exec(
            "INSERT INTO letters(seq, id, shelf, issue, state, version, replays, attempts, kind, lineage, "
            "dlq_partition,"
            " dlq_offset, job_partition, job_offset, size, payload_hash, payload_life, instance, dialect, error_type,"
            " error_message, died_at, arrived_at, changed_at)"
            " WITH RECURSIVE n(i) AS (SELECT " +
            std::to_string(from) + " UNION ALL SELECT i + 1 FROM n WHERE i < " + to +
            ") SELECT i, 'ltr_' || i, 1 + i % 50, 1, 0, 1, 0, 6, 1, 'msg_' || i, 0, i, 0, i, 100, x'00', 0, 'i', "
            "'record',"
            " 'E', 'm', 1700000000000 + i, 1700000000000 + i, 1700000000000 + i FROM n"))
      return false;
  }
  return db
      ->exec(
          "INSERT INTO counters SELECT shelf, state, count(*) FROM letters GROUP BY 1, 2;"
          "INSERT INTO dlq_summary SELECT consumer, 'x', topic, topic, letters, 0 FROM counters JOIN shelves ON id = "
          "shelf")
      .has_value();
}

std::int64_t letters_of_status() {
  const char* wanted = std::getenv("BARTLEBY_BENCH_LETTERS");
  return wanted == nullptr ? 200000 : std::max(1L, std::atol(wanted));
}

}  // namespace

Row intake() {
  std::array<double, kRepeats> mine{}, theirs{};
  for (std::size_t i = 0; i < kRepeats; ++i) {
    theirs[i] = plain_insert();
    mine[i] = taken_in();
  }
  std::filesystem::remove_all(kFolder);
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  Row row{.name = "intake", .ours = figure.median, .peer = peer.median, .unit = "letters/s"};
  row.peer_name = "plain SQLite: the same rows into the same tables, as many to a transaction";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.goal = ">= 0.7 x";
  row.met = row.ratio >= 0.7;
  row.spread = figure.spread;
  row.notes.push_back(text("%lld letters of 450 bytes, %lld to a transaction; spread of the peer %.0f %%",
                           static_cast<long long>(kLetters), static_cast<long long>(kBatch), peer.spread * 100));
  return row;
}

Row dlq_status() {
  const std::int64_t letters = letters_of_status();
  Row row{.name = "dlq_status", .unit = "1/s", .goal = ">= 10000 x (23 million)"};
  const std::string folder = fresh(kStatusFolder);
  if (!load(folder, letters)) return row;
  auto store = sqlite_store::SqliteStore::open({.folder = folder});
  if (!store) return row;
  std::array<double, kRepeats> mine{}, theirs{};
  double page = 0;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    constexpr int kTimes = 200;
    mine[i] = kTimes / seconds_of([&] {
                for (int n = 0; n < kTimes; ++n)
                  static_cast<void>((*store)->read([](Connection& c) -> Result<void> {
                    const auto status = bartleby::dlq_status(c);
                    return status ? Result<void>() : std::unexpected(status.error());
                  }));
              });
    auto db = sqlite::Database::open(folder + "/office.db", sqlite::Open::kReadOnly);
    theirs[i] = 1 / seconds_of([&] {
                  static_cast<void>(
                      db->number("SELECT sum(n) FROM (SELECT consumerId, COUNT(id) AS n FROM job"
                                 " WHERE status = 1004 GROUP BY consumerId)"));
                });
    page = seconds_of([&] {
      static_cast<void>((*store)->read([](Connection& c) -> Result<void> {
        const auto first = letter_page(c, parse_query("state:open topic:c7").value(), kNow, std::nullopt, 50);
        return first ? Result<void>() : std::unexpected(first.error());
      }));
    });
  }
  store->reset();
  std::filesystem::remove_all(kStatusFolder);
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  row.ours = figure.median;
  row.peer = peer.median;
  row.peer_name = "a GROUP BY on the view job";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.met = row.ratio >= 10000;
  row.spread = figure.spread;
  row.notes.push_back(text("%lld letters (BARTLEBY_BENCH_LETTERS); first page of one consumer %.2f ms",
                           static_cast<long long>(letters), page * 1000));
  return row;
}

}  // namespace bartleby::bench
