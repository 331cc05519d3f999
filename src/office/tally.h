// The one place that moves counters: letters per shelf and state, open letters per issue, and `dlq_summary`.
//
// A transaction that adds, changes or removes letters says each of its moves here and calls `apply` before it ends, so
// counts and letters are true at the same moment or not at all. Never negative: a move that would make a counter so
// fails the transaction. What the check of counts has walked past (office/summary.h) is counted on here too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/letter_state.h"
#include "office/shelves.h"

namespace bartleby {

class Tally {
 public:
  // `letter`: its number. From nothing: it is new. To nothing: it is gone.
  void move(const Shelf& shelf, std::int64_t issue, std::int64_t letter, std::optional<LetterState> from,
            std::optional<LetterState> to);

  Result<void> apply(Connection& connection, Timestamp now);

 private:
  struct Summary {
    std::int64_t delta = 0;
    ShelfLabel label;
  };
  struct Moved {
    std::int64_t letter, shelf;
    LetterState state;
    std::int64_t delta;
  };
  void add(const Shelf& shelf, std::int64_t issue, std::int64_t letter, LetterState state, std::int64_t delta);
  Result<void> follow_walk(Connection& connection) const;

  std::vector<Moved> moved_;
  std::map<std::pair<std::int64_t, LetterState>, std::int64_t> shelves_;
  std::map<std::string, Summary> consumers_;
  std::map<std::int64_t, std::int64_t> issues_;
};

}  // namespace bartleby
