// Statements in one line: `execute` runs one, `each` walks its rows, `one` takes the first.
//
// Parameters are numbers, text, `Blob` or optional numbers, in the order of `$1`, `$2` … The statement's text is
// kept by the connection, so it must be one of the program's own.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "ports/store.h"

namespace bartleby::sql {

template <class... Values>
Result<void> execute(Connection& connection, std::string_view text, const Values&... values) {
  const Result<Statement*> statement = connection.statement(text);
  if (!statement) return std::unexpected(statement.error());
  Rows rows(**statement);
  static_cast<void>((rows << ... << values));
  return rows.run();
}

// Calls `row` for each.
template <class Row, class... Values>
Result<void> each(Connection& connection, std::string_view text, Row&& row, const Values&... values) {
  const Result<Statement*> statement = connection.statement(text);
  if (!statement) return std::unexpected(statement.error());
  Rows rows(**statement);
  static_cast<void>((rows << ... << values));
  for (;;) {
    const Result<bool> stepped = rows.next();
    if (!stepped) return std::unexpected(stepped.error());
    if (!*stepped) return {};
    row(rows);
  }
}

// What `read` makes of the first row; nothing where there is none.
template <class Read, class... Values>
auto one(Connection& connection, std::string_view text, Read&& read, const Values&... values)
    -> Result<std::optional<decltype(read(std::declval<Rows&>()))>> {
  std::optional<decltype(read(std::declval<Rows&>()))> found;
  const Result<Statement*> statement = connection.statement(text);
  if (!statement) return std::unexpected(statement.error());
  Rows rows(**statement);
  static_cast<void>((rows << ... << values));
  const Result<bool> stepped = rows.next();
  if (!stepped) return std::unexpected(stepped.error());
  if (*stepped) found.emplace(read(rows));
  return found;
}

// The first of `count` numbers that nobody else has. Given out in the order of transactions.
Result<std::int64_t> take_numbers(Connection& connection, std::string_view of, std::int64_t count);

}  // namespace bartleby::sql

// For functions that return a Result: leaves with the error, if it is one.
#define BARTLEBY_TRY(expression)                                                  \
  do {                                                                            \
    if (auto tried = (expression); !tried) return std::unexpected(tried.error()); \
  } while (false)
