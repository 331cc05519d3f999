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

// A row of the summary: id inside, id without its channel, channel, dead jobs, when it was checked. Names are those of
// people where the consumer and its channel are registered. A conflict is for whoever goes on.
#define BARTLEBY_INSERT_SUMMARY                                                                                     \
  "INSERT INTO dlq_summary(consumerId, consumerName, channelId, channelName, dead_count, last_checked_at)"          \
  " SELECT $1, coalesce((SELECT name FROM consumers WHERE channel = $3 AND id = $2 AND channel || '.' || id = $1)," \
  " $2), $3, coalesce((SELECT name FROM channels WHERE id = $3), $3), $4, $5 WHERE true ON CONFLICT(consumerId)"

// `last_checked_at` as text, in the form of the times of the view `job`: the two are compared.
std::string checked_at(Timestamp time);
constexpr std::string_view kNeverChecked = "1970-01-01 00:00:00.000";

class Tally {
 public:
  // `letter`: its number. From nothing: it is new. To nothing: it is gone.
  void move(const Shelf& shelf, std::int64_t issue, std::int64_t letter, std::optional<LetterState> from,
            std::optional<LetterState> to);

  Result<void> apply(Connection& connection);

 private:
  struct Summary {
    std::int64_t delta = 0;
    ShelfLabel label;
  };
  struct Moved {
    std::int64_t letter, shelf, issue;
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
