// Letters taken in per second, against the same rows put into the same tables by plain statements.
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "adapters/sqlite/sqlite.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "bench/benches.h"
#include "bench/some_letters.h"

namespace bartleby::bench {
namespace {

const std::string kFolder = "build/bench/letters";
constexpr std::int64_t kLetters = 40000;

double taken_in() {
  auto store = sqlite_store::SqliteStore::open({.folder = fresh(kFolder)});
  if (!store) return 0;
  std::vector<std::vector<LogRecord>> batches;
  for (std::int64_t n = 0; n < kLetters; n += kLettersAtOnce) batches.push_back(dlq_records(n));
  bool good = false;
  const double seconds = seconds_of([&] { good = take_in(**store, std::move(batches)); });
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
    for (std::int64_t n = 0; n < kLetters; n += kLettersAtOnce) {
      good &= db->exec("BEGIN IMMEDIATE").has_value();
      for (std::int64_t i = n; i < n + kLettersAtOnce; ++i)
        for (PlainTable* table : {&letters, &payloads, &words}) good &= table->put(static_cast<std::size_t>(i));
      good &= db->exec("COMMIT").has_value();
    }
  });
  return good ? static_cast<double>(kLetters) / seconds : 0;
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
                           static_cast<long long>(kLetters), static_cast<long long>(kLettersAtOnce),
                           peer.spread * 100));
  return row;
}

}  // namespace bartleby::bench
