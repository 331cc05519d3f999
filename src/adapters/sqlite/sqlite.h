// SQLite behind RAII: a connection, a statement, and errors as values.
//
// A connection and its statements belong to one thread at a time; connections are independent of each other. A
// statement must not outlive its connection. Text and blobs that are bound must stay until the statement was
// reset; what a column returns is valid until the next step. An error names the file and what SQLite says, and
// its code answers what can be done: kUnavailable (full, busy, I/O: trying again can help), kMalformed (not a
// database, or damaged), kInvalid (a mistake of ours).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace bartleby::sqlite {

class Database;

// What a step came to.
enum class Step : std::uint8_t { kRow, kDone };

class Statement {
 public:
  Statement() = default;

  // ---- Parameters, from 1; null where the optional is empty
  void bind(int parameter, std::int64_t value);
  void bind_null(int parameter);
  void bind_text(int parameter, std::string_view value);  // not copied
  void bind_blob(int parameter, std::string_view value);  // not copied; empty is empty, not null
  void bind_blob(int parameter, const std::optional<std::string>& value);

  Result<Step> step();
  Result<void> run();  // a statement without rows, to its end; resets
  void reset();        // parameters stay

  // ---- Columns of the row, from 0
  std::int64_t integer(int column) const;
  bool is_null(int column) const;
  std::string_view bytes(int column) const;
  std::optional<std::string> blob(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* s) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Resets the statement when it goes: a read that ends early must not hold its snapshot.
class Reading {
 public:
  explicit Reading(Statement& statement) : statement_(statement) {}
  ~Reading() { statement_.reset(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  Statement& statement_;
};

enum class Open : std::uint8_t { kReadWrite, kReadOnly };

class Database {
 public:
  static Result<Database> open(const std::string& path, Open how);

  Result<void> exec(const std::string& sql);  // one or more statements without parameters; rows are dropped
  Result<Statement> prepare(std::string_view sql);
  Result<std::int64_t> number(const std::string& sql);  // the first column of the first row
  Result<std::string> text(const std::string& sql);

  bool in_transaction() const;
  void rollback();  // if there is a transaction; never fails
  std::int64_t changes() const;
  // Moves what it can from the write-ahead log into the file. Answers with the frames that are left in the log.
  Result<int> checkpoint(bool wait_for_readers);

  int error_code() const;  // of the last call, extended
  bool full() const;       // the last call failed because the file may not grow
  sqlite3* handle() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  std::unique_ptr<sqlite3, Close> db_;
};

Error error_of(sqlite3* db, std::string_view doing);

}  // namespace bartleby::sqlite
