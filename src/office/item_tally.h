// The one place that moves counts of an operation's items by result: table `operation_results`.
//
// A transaction that gives items another result says so here and calls `apply` before it ends, so that a look at an
// operation costs the same however many letters it has. Never negative: a move that would make a count so fails the
// transaction. `changed_at` is when the last item got this result.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "base/time.h"
#include "model/operation_facts.h"
#include "ports/store.h"

namespace bartleby {

class ItemTally {
 public:
  // From nothing: the items are new.
  void move(std::int64_t operation, std::optional<ItemResult> from, ItemResult to, std::int64_t items = 1);

  Result<void> apply(Connection& connection, Timestamp now);

 private:
  std::map<std::tuple<std::int64_t, std::optional<ItemResult>, ItemResult>, std::int64_t> moves_;
};

struct CountedResults {
  ResultCounts items{};
  std::optional<Timestamp> last_change;  // of any item
};
Result<CountedResults> counted_results(Connection& connection, std::int64_t operation);

}  // namespace bartleby
