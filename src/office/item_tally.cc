#include "office/item_tally.h"

#include <algorithm>

#include "office/sql.h"

namespace bartleby {

void ItemTally::move(std::int64_t operation, std::optional<ItemResult> from, ItemResult to, std::int64_t items) {
  if (items != 0 && from != to) moves_[{operation, from, to}] += items;
}

Result<void> ItemTally::apply(Connection& connection, Timestamp now) {
  // What goes up first: of a chain of moves within one transaction no count falls below zero on the way.
  for (const auto& [move, items] : moves_)
    BARTLEBY_TRY(sql::execute(connection,
                              "INSERT INTO operation_results(operation, result, items, changed_at)"
                              " VALUES($1, $2, $3, $4) ON CONFLICT(operation, result) DO UPDATE SET"
                              " items = operation_results.items + excluded.items, changed_at = excluded.changed_at",
                              std::get<0>(move), static_cast<int>(std::get<2>(move)), items, ms(now)));
  for (const auto& [move, items] : moves_) {
    if (!std::get<1>(move)) continue;
    BARTLEBY_TRY(sql::execute(connection,
                              "UPDATE operation_results SET items = items - $3 WHERE operation = $1 AND result = $2",
                              std::get<0>(move), static_cast<int>(*std::get<1>(move)), items));
    if (connection.changes() != 1)
      return fail(ErrorCode::kMalformed, "the store's count of an operation's results is missing");
  }
  moves_.clear();
  return {};
}

Result<CountedResults> counted_results(Connection& connection, std::int64_t operation) {
  CountedResults counted;
  BARTLEBY_TRY(sql::each(
      connection, "SELECT result, items, changed_at FROM operation_results WHERE operation = $1",
      [&](Rows& row) {
        if (const auto result = static_cast<std::size_t>(row.integer(0)); result < kItemResults)
          counted.items[result] = row.integer(1);
        const Timestamp changed = timestamp_ms(row.integer(2));
        counted.last_change = std::max(counted.last_change.value_or(changed), changed);
      },
      operation));
  return counted;
}

}  // namespace bartleby
