#include "bench/some_letters.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "adapters/sqlite/sqlite.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "office/take_in.h"

namespace bartleby::bench {
namespace {

constexpr std::int64_t kSlice = 500000;

std::string numbers(const std::string& from, const std::string& to) {
  return "WITH RECURSIVE n(i) AS (SELECT " + from + " UNION ALL SELECT i + 1 FROM n WHERE i < " + to + ") ";
}

// The statements that make the indexes of the letters again, which are dropped: a million rows in the order of one
// index are in disorder for the others.
Result<std::vector<std::string>> without_indexes(sqlite::Database& db) {
  std::vector<std::string> names, again;
  {
    auto rows = db.prepare(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'letters'"
        " AND sql IS NOT NULL");
    if (!rows) return std::unexpected(rows.error());
    for (;;) {
      const auto row = rows->step();
      if (!row) return std::unexpected(row.error());
      if (*row == sqlite::Step::kDone) break;
      names.emplace_back(rows->bytes(0));
      again.emplace_back(rows->bytes(1));
    }
  }
  for (const std::string& name : names)
    if (auto dropped = db.exec("DROP INDEX " + name); !dropped) return std::unexpected(dropped.error());
  return again;
}

bool fill(sqlite::Database& db, std::int64_t letters, bool words) {
  const auto indexes = without_indexes(db);
  if (!indexes) return false;
  for (std::int64_t from = 1; from <= letters; from += kSlice) {
    const std::string slice = numbers(std::to_string(from), std::to_string(std::min(letters, from + kSlice - 1)));
    const std::string insert =
        "INSERT INTO letters(seq, id, shelf, issue, state, version, replays, attempts, kind, lineage, dlq_partition,"
        " dlq_offset, job_partition, job_offset, size, payload_hash, payload_life, instance, dialect, error_type,"
        " error_message, died_at, arrived_at, changed_at) " +
        slice +
        "SELECT i, printf('ltr_%010d', i), 1 + i % 50, 1 + i % 20, 0, 1, 0, 6, 1, printf('msg_%010d', i), 0, i, 0, i,"
        " 100, x'00', 0, 'i', 'record', 'Error' || (i % 20), 'no answer after ' || i || 's', 1700000000000 + i,"
        " 1700000000000 + i, 1700000000000 + i FROM n";
    if (!db.exec(insert)) return false;
    if (words && !db.exec("INSERT INTO letters_text(rowid, error, key, headers) " + slice +
                          "SELECT i, 'Error' || (i % 20) || ' no answer after ' || i || 's', 'customer-' || (i % 9973),"
                          " 'tenant acme trace t' || i FROM n"))
      return false;
  }
  for (const std::string& index : *indexes)
    if (!db.exec(index)) return false;
  return db
      .exec(
          "INSERT INTO counters SELECT shelf, state, count(*) FROM letters GROUP BY 1, 2;"
          "INSERT INTO issues(seq, id, state, version, title, kind, error_type, open, total, first, last, state_since)"
          " SELECT issue, 'iss_' || issue, 1, 1, 'Error', 1, 'Error' || (issue - 1), count(*), count(*), min(died_at),"
          " max(died_at), min(died_at) FROM letters GROUP BY issue;"
          "INSERT INTO dlq_summary SELECT consumer, 'x', topic, topic, letters, 0 FROM counters JOIN shelves ON id = "
          "shelf")
      .has_value();
}

}  // namespace

std::string fresh(const std::string& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

bool keeps_letters() { return std::getenv("BARTLEBY_BENCH_KEEP") != nullptr; }

std::int64_t letters_wanted(std::int64_t otherwise) {
  const char* wanted = std::getenv("BARTLEBY_BENCH_LETTERS");
  return wanted == nullptr ? otherwise : std::max(1L, std::atol(wanted));
}

std::vector<LogRecord> dlq_records(std::int64_t from) {
  std::vector<LogRecord> records;
  for (std::int64_t n = from; n < from + kLettersAtOnce; ++n) {
    LetterFacts facts;
    facts.cluster = "bench";
    facts.topic = "orders";
    facts.partition = Partition(0);
    facts.offset = Offset(n);
    facts.timestamp = timestamp_ms(ms(kNow) - 10000000 + n);
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

bool take_in(Store& store, std::vector<std::vector<LogRecord>> batches) {
  TakeIn desk(store, "bench");
  const TopicPartition dlq{"orders.dlq", Partition(0)};
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
    if (!desk.store({dlq, before, after, 0, std::move(letters)}, kNow)) return false;
    before = after;
  }
  return true;
}

bool load_letters(const std::string& folder, std::int64_t letters, bool words) {
  if (keeps_letters() && std::filesystem::exists(folder + "/office.db")) return true;
  std::filesystem::create_directories(folder);
  if (!sqlite_store::SqliteStore::open({.folder = folder})) return false;
  auto db = sqlite::Database::open(folder + "/office.db", sqlite::Open::kReadWrite);
  return db &&
         db->exec(
             "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-524288;"
             "INSERT INTO shelves " +
             numbers("1", "50") +
             "SELECT i, 'c' || i || '.dlq', 'bench', 'c' || i, 'c' || i || '.x', 'c' || i || '.x', 0,"
             " 'c' || i || '.x' FROM n") &&
         fill(*db, letters, words);
}

}  // namespace bartleby::bench
