// One connection to office.db as the port wants it. `$1` becomes `?1`; prepared statements are kept by their text.
// One thread at a time; statements must not outlive it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "adapters/sqlite/sqlite.h"
#include "ports/store.h"

namespace bartleby::sqlite_store {

class SqliteDialect : public Dialect {
 public:
  std::string_view text_insert() const override {
    return "INSERT INTO letters_text(rowid, error, key, headers) VALUES($1, $2, $3, $4)";
  }
  std::string_view text_delete() const override { return "DELETE FROM letters_text WHERE rowid = $1"; }
  std::string_view text_join() const override { return "JOIN letters_text t ON t.rowid = l.seq"; }
  std::string text_condition(int parameter) const override;
  std::string_view text_place() const override { return "t.rowid"; }
  std::string text_query(const std::vector<std::pair<TextColumn, std::string>>& phrases) const override;
};

class SqliteStatement : public Statement {
 public:
  explicit SqliteStatement(sqlite::Statement statement) : statement_(std::move(statement)) {}

  void bind(int parameter, std::int64_t value) override { statement_.bind(parameter, value); }
  void bind_null(int parameter) override { statement_.bind_null(parameter); }
  void bind_text(int parameter, std::string_view value) override { statement_.bind_text(parameter, value); }
  void bind_bytes(int parameter, std::string_view value) override { statement_.bind_blob(parameter, value); }
  Result<bool> step() override;
  void end() override { statement_.reset(); }
  std::int64_t integer(int column) const override { return statement_.integer(column); }
  bool is_null(int column) const override { return statement_.is_null(column); }
  std::string_view bytes(int column) const override { return statement_.bytes(column); }

 private:
  sqlite::Statement statement_;
};

class SqliteConnection : public Connection {
 public:
  explicit SqliteConnection(sqlite::Database database) : database_(std::move(database)) {}

  Result<Statement*> statement(std::string_view sql) override;
  Result<std::unique_ptr<Statement>> prepare(std::string_view sql) override;
  void limit_time(Duration limit) override;
  void unlimited();
  std::int64_t changes() const override { return database_.changes(); }
  const Dialect& dialect() const override { return dialect_; }

  sqlite::Database& database() { return database_; }

 private:
  SqliteDialect dialect_;
  std::chrono::steady_clock::time_point until_;  // of a limit
  sqlite::Database database_;                    // before its statements: they go first
  std::map<std::string, SqliteStatement, std::less<>> kept_;
};

}  // namespace bartleby::sqlite_store
