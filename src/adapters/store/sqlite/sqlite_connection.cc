#include "adapters/store/sqlite/sqlite_connection.h"

#include <sqlite3.h>

#include "base/assert.h"

namespace bartleby::sqlite_store {
namespace {

constexpr int kLookEvery = 1000;       // steps, whether the time is over
constexpr std::size_t kMaxKept = 512;  // statements of the program; a query's own are not kept

std::string with_question_marks(std::string_view sql) {
  std::string text(sql);
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i] == '$' && text[i + 1] >= '1' && text[i + 1] <= '9') text[i] = '?';
  return text;
}

}  // namespace

// ---- Dialect -----------------------------------------------------------------------------------------

std::string SqliteDialect::text_condition(int parameter) const {
  return "letters_text MATCH $" + std::to_string(parameter);
}

// FTS5's own language has operators; inside quotes everything is words. A phrase without any word would be an error,
// and it finds nothing else either.
std::string SqliteDialect::text_query(const std::vector<std::pair<TextColumn, std::string>>& phrases) const {
  std::string query;
  for (const auto& [column, words] : phrases) {
    if (!query.empty()) query += " AND ";
    if (column == TextColumn::kHeaders) query += "headers : ";
    query += '"';
    for (const char c : words) query += c == '"' ? ' ' : c;
    query += '"';
  }
  return query;
}

// ---- Statements --------------------------------------------------------------------------------------

Result<bool> SqliteStatement::step() {
  const Result<sqlite::Step> stepped = statement_.step();
  if (!stepped) return std::unexpected(stepped.error());
  if (*stepped == sqlite::Step::kRow) return true;
  statement_.reset();
  return false;
}

Result<Statement*> SqliteConnection::statement(std::string_view sql) {
  if (const auto found = kept_.find(sql); found != kept_.end()) return &found->second;
  BARTLEBY_ASSERT(kept_.size() < kMaxKept);
  auto made = database_.prepare(with_question_marks(sql));
  if (!made) return std::unexpected(made.error());
  return &kept_.emplace(std::string(sql), SqliteStatement(std::move(*made))).first->second;
}

Result<std::unique_ptr<Statement>> SqliteConnection::prepare(std::string_view sql) {
  auto made = database_.prepare(with_question_marks(sql));
  if (!made) return std::unexpected(made.error());
  return std::make_unique<SqliteStatement>(std::move(*made));
}

void SqliteConnection::limit_time(Duration limit) {
  using Clock = std::chrono::steady_clock;
  until_ = Clock::now() + limit;
  sqlite3_progress_handler(
      database_.handle(), kLookEvery,
      [](void* until) { return Clock::now() >= *static_cast<Clock::time_point*>(until) ? 1 : 0; }, &until_);
}

void SqliteConnection::unlimited() { sqlite3_progress_handler(database_.handle(), 0, nullptr, nullptr); }

}  // namespace bartleby::sqlite_store
