// The office's database as a driver: statements with parameters, transactions, and the few words that differ.
//
// The seam is SQL, not a list of calls: src/office has every statement once, in the SQL that SQLite and PostgreSQL
// share, with parameters `$1`. What they do not share is `Dialect`, and the tables themselves, which a driver makes
// before it hands out a connection (docs/decisions/0008).
//
// Any thread may call a `Store`. One transaction writes at a time, whoever asks; readers have connections of their
// own and see a state that stands still as long as they read. A `Connection` and its statements belong to the
// function that got them. After an error everything since the beginning is undone; kUnavailable means that trying
// again can help. A commit that failed may yet be found after a crash: who writes reads first and compares.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace bartleby {

class Statement {
 public:
  virtual ~Statement() = default;

  // ---- Parameters, from 1. Bytes are not copied: they must stay until the statement has ended
  virtual void bind(int parameter, std::int64_t value) = 0;
  virtual void bind_null(int parameter) = 0;
  virtual void bind_text(int parameter, std::string_view value) = 0;  // UTF-8
  virtual void bind_bytes(int parameter, std::string_view value) = 0;

  virtual Result<bool> step() = 0;  // true: there is a row
  virtual void end() = 0;           // also by itself after the last row; parameters stay

  // ---- Columns of the row, from 0; views are valid until the next step
  virtual std::int64_t integer(int column) const = 0;
  virtual bool is_null(int column) const = 0;
  virtual std::string_view bytes(int column) const = 0;
};

// A parameter of bytes that are no text.
struct Blob {
  std::string_view bytes;
};

// A prepared statement with its values: `run` for one without rows; `next` row by row. Ends when it goes.
class Rows {
 public:
  explicit Rows(Statement& statement) : statement_(&statement) {}
  ~Rows() { statement_->end(); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  template <std::integral T>
  Rows& operator<<(T value) {
    statement_->bind(++bound_, static_cast<std::int64_t>(value));
    return *this;
  }
  Rows& operator<<(std::nullopt_t) {
    statement_->bind_null(++bound_);
    return *this;
  }
  Rows& operator<<(std::string_view text) {
    statement_->bind_text(++bound_, text);
    return *this;
  }
  Rows& operator<<(const std::string& text) { return *this << std::string_view(text); }
  Rows& operator<<(const char* text) { return *this << std::string_view(text); }
  Rows& operator<<(std::optional<std::int64_t> value) { return value ? *this << *value : *this << std::nullopt; }
  Rows& operator<<(Blob bytes) {
    statement_->bind_bytes(++bound_, bytes.bytes);
    return *this;
  }

  Result<bool> next() { return statement_->step(); }
  Result<void> run() {
    const Result<bool> stepped = statement_->step();
    if (!stepped) return std::unexpected(stepped.error());
    return {};
  }

  std::int64_t integer(int column) const { return statement_->integer(column); }
  bool is_null(int column) const { return statement_->is_null(column); }
  std::string_view view(int column) const { return statement_->bytes(column); }
  std::string text(int column) const { return std::string(statement_->bytes(column)); }
  std::optional<std::int64_t> maybe(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }

 private:
  Statement* statement_;
  int bound_ = 0;
};

// What two databases say differently.
class Dialect {
 public:
  virtual ~Dialect() = default;

  // Puts a letter's words into the full-text index ($1 number, $2 error, $3 key, $4 headers), and takes them out ($1).
  virtual std::string_view text_insert() const = 0;
  virtual std::string_view text_delete() const = 0;

  // A full-text search in the letters: what to join `letters l` with, and the condition on the parameter, which is
  // what `text_query` makes of the words. Rows come by `text_place`, in either direction, without being sorted.
  virtual std::string_view text_join() const = 0;
  virtual std::string text_condition(int parameter) const = 0;
  virtual std::string_view text_place() const = 0;  // the letter's number, as the full-text index has it
  // All words, in their order, in one of the columns: `all` (error, key, headers) or `headers`.
  enum class TextColumn : std::uint8_t { kAll, kHeaders };
  virtual std::string text_query(const std::vector<std::pair<TextColumn, std::string>>& phrases) const = 0;
};

class Connection {
 public:
  virtual ~Connection() = default;

  // Kept and found again by its text: for the statements of the program, of which there are few.
  virtual Result<Statement*> statement(std::string_view sql) = 0;
  // Made for one use: for statements that are put together from a query.
  virtual Result<std::unique_ptr<Statement>> prepare(std::string_view sql) = 0;

  // Until the work of this transaction ends, or another limit is set: its statements end with kTooLarge when they have
  // taken so long.
  virtual void limit_time(Duration limit) = 0;

  virtual std::int64_t changes() const = 0;  // rows that the last statement changed
  virtual const Dialect& dialect() const = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  using Work = std::function<Result<void>(Connection&)>;

  // One transaction that writes. It is committed if the work succeeds, and durable when this returns; an error or an
  // exception undoes it. Not to be called from within one.
  virtual Result<void> write(const Work& work) = 0;

  // Sees one state of everything, from its first statement to its end.
  virtual Result<void> read(const Work& work) = 0;
};

}  // namespace bartleby
