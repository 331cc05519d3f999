#include "adapters/sqlite/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/assert.h"

namespace bartleby::sqlite {

// ---- Errors ------------------------------------------------------------------------------------------

namespace {

ErrorCode code_of(int extended) {
  switch (extended & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return ErrorCode::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kMalformed;
    case SQLITE_TOOBIG:
    case SQLITE_INTERRUPT:  // by a limit of its own
      return ErrorCode::kTooLarge;
    default:
      return ErrorCode::kInvalid;
  }
}

}  // namespace

Error error_of(sqlite3* db, std::string_view doing) {
  const int extended = sqlite3_extended_errcode(db);
  const char* file = sqlite3_db_filename(db, "main");
  std::string message = file == nullptr ? "SQLite" : file;
  message.append(": ").append(doing).append(": ").append(sqlite3_errmsg(db));
  if (const int why = sqlite3_system_errno(db); why != 0 && (extended & 0xff) == SQLITE_IOERR)
    message.append(": ").append(std::system_category().message(why));
  message.append(" (SQLite error ").append(std::to_string(extended)).append(")");
  return fail(code_of(extended), std::move(message)).error();
}

// ---- Statement ---------------------------------------------------------------------------------------

void Statement::Finalize::operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }

// Binding fails only for a parameter that is not there, or for a statement that was not reset.
void Statement::bind(int parameter, std::int64_t value) {
  BARTLEBY_ASSERT(sqlite3_bind_int64(statement_.get(), parameter, value) == SQLITE_OK);
}

void Statement::bind_null(int parameter) {
  BARTLEBY_ASSERT(sqlite3_bind_null(statement_.get(), parameter) == SQLITE_OK);
}

void Statement::bind_text(int parameter, std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  BARTLEBY_ASSERT(sqlite3_bind_text64(statement_.get(), parameter, data, value.size(), SQLITE_STATIC, SQLITE_UTF8) ==
                  SQLITE_OK);
}

void Statement::bind_blob(int parameter, std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  BARTLEBY_ASSERT(sqlite3_bind_blob64(statement_.get(), parameter, data, value.size(), SQLITE_STATIC) == SQLITE_OK);
}

void Statement::bind_blob(int parameter, const std::optional<std::string>& value) {
  if (value)
    bind_blob(parameter, std::string_view(*value));
  else
    bind_null(parameter);
}

Result<Step> Statement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return Step::kRow;
    case SQLITE_DONE:
      return Step::kDone;
    default: {
      Error error = error_of(sqlite3_db_handle(statement_.get()), sqlite3_sql(statement_.get()));
      reset();
      return std::unexpected(std::move(error));
    }
  }
}

Result<void> Statement::run() {
  const Result<Step> stepped = step();
  reset();
  if (!stepped) return std::unexpected(stepped.error());
  return {};
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return data == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
}

std::optional<std::string> Statement::blob(int column) const {
  if (is_null(column)) return std::nullopt;
  return std::string(bytes(column));
}

// ---- Database ----------------------------------------------------------------------------------------

void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Result<Database> Database::open(const std::string& path, Open how) {
  const int flags = (how == Open::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  // Messages are in it, which are not for everybody on the machine; SQLite gives its other files the same mode. One
  // that is there already is left alone: closing it here would end locks of this process.
  if (how != Open::kReadOnly)
    if (const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); made >= 0) ::close(made);
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database;
  database.db_.reset(raw);
  if (raw == nullptr) return fail(ErrorCode::kUnavailable, path + ": no memory to open it");
  if (result != SQLITE_OK) return std::unexpected(error_of(raw, "cannot open"));
  sqlite3_busy_timeout(raw, 5000);
  return database;
}

Result<void> Database::exec(const std::string& sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return std::unexpected(error_of(db_.get(), sql.substr(0, 60)));
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int result =
      sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (result != SQLITE_OK) return std::unexpected(error_of(db_.get(), sql));
  Statement statement;
  statement.statement_.reset(raw);
  return statement;
}

Result<std::int64_t> Database::number(const std::string& sql) {
  Result<Statement> asked = prepare(sql);
  if (!asked) return std::unexpected(asked.error());
  const Result<Step> stepped = asked->step();
  if (!stepped) return std::unexpected(stepped.error());
  return *stepped == Step::kRow ? asked->integer(0) : 0;
}

Result<std::string> Database::text(const std::string& sql) {
  Result<Statement> asked = prepare(sql);
  if (!asked) return std::unexpected(asked.error());
  const Result<Step> stepped = asked->step();
  if (!stepped) return std::unexpected(stepped.error());
  return *stepped == Step::kRow ? std::string(asked->bytes(0)) : std::string();
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

void Database::rollback() {
  // It may have been rolled back already, by the error itself. Then this one complains, which is all right.
  if (in_transaction()) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

std::int64_t Database::changes() const { return sqlite3_changes64(db_.get()); }

Result<int> Database::checkpoint(bool wait_for_readers) {
  int frames = 0, moved = 0;
  const int how = wait_for_readers ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  const int result = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, how, &frames, &moved);
  if (result != SQLITE_OK && (result & 0xff) != SQLITE_BUSY) return std::unexpected(error_of(db_.get(), "checkpoint"));
  return frames - moved;
}

bool Database::full() const {
  const int code = sqlite3_errcode(db_.get()) & 0xff;
  if (code != SQLITE_IOERR) return code == SQLITE_FULL;
  const int why = sqlite3_system_errno(db_.get());
  return why == ENOSPC || why == EDQUOT || why == EFBIG;
}

int Database::error_code() const { return sqlite3_extended_errcode(db_.get()); }

}  // namespace bartleby::sqlite
