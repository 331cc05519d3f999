#include "office/sql.h"

namespace bartleby::sql {

Result<std::int64_t> take_numbers(Connection& connection, std::string_view of, std::int64_t count) {
  const auto next = one(
      connection, "UPDATE numbers SET next = next + $1 WHERE name = $2 RETURNING next",
      [](Rows& row) { return row.integer(0); }, count, of);
  if (!next) return std::unexpected(next.error());
  if (!*next) return fail(ErrorCode::kMalformed, "the store has no numbers for: " + std::string(of));
  return **next - count;
}

}  // namespace bartleby::sql
