#include "office/summary.h"

#include <algorithm>
#include <map>
#include <set>

#include "codec/json_text.h"
#include "model/letter_state.h"
#include "office/audit.h"
#include "office/lease.h"
#include "office/shelves.h"
#include "office/sql.h"
#include "office/tally.h"

namespace bartleby {
namespace {

constexpr Duration kLease{std::chrono::minutes(5)};

using Counts = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;  // by shelf and state

Result<Counts> counts_in(Connection& connection, std::string_view statement) {
  Counts counts;
  BARTLEBY_TRY(sql::each(connection, statement, [&](Rows& row) {
    if (row.integer(2) != 0) counts[{row.integer(0), row.integer(1)}] = row.integer(2);
  }));
  return counts;
}

Result<void> set_counters(Connection& connection, const Counts& counts) {
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM counters"));
  for (const auto& [where, letters] : counts)
    BARTLEBY_TRY(sql::execute(connection, "INSERT INTO counters(shelf, state, letters) VALUES($1, $2, $3)", where.first,
                              where.second, letters));
  return {};
}

// Open letters of every issue are what was walked. Answers with how many issues differed, which are right afterwards.
Result<std::int64_t> set_issues(Connection& connection) {
  BARTLEBY_TRY(sql::execute(
      connection,
      "UPDATE issues SET open = coalesce((SELECT w.letters FROM walked_issues w WHERE w.issue = issues.seq), 0)"
      " WHERE open <> coalesce((SELECT w.letters FROM walked_issues w WHERE w.issue = issues.seq), 0)"));
  return connection.changes();
}

// Registered consumers have a row, dead jobs or none, and the names that people gave them.
Result<std::int64_t> set_registered(Connection& connection, Timestamp now) {
  BARTLEBY_TRY(sql::execute(
      connection,
      "INSERT INTO dlq_summary(consumerId, consumerName, channelId, channelName, dead_count, last_checked_at)"
      " SELECT c.channel || '.' || c.id, c.name, h.id, h.name, 0, $1 FROM consumers c"
      " JOIN channels h ON h.id = c.channel WHERE true ON CONFLICT(consumerId) DO UPDATE SET"
      " consumerName = excluded.consumerName, channelName = excluded.channelName"
      " WHERE dlq_summary.consumerName <> excluded.consumerName OR dlq_summary.channelName <> excluded.channelName",
      checked_at(now)));
  return connection.changes();
}

// The summary as it should be. Answers with how many consumers differed, which are right afterwards.
Result<std::int64_t> set_summary(Connection& connection, const Counts& counts, Timestamp now) {
  struct Due {
    ShelfLabel label;
    std::int64_t open = 0;
  };
  std::map<std::string, Due> due;
  const auto shelves = all_shelves(connection);
  if (!shelves) return std::unexpected(shelves.error());
  for (const Shelf& shelf : *shelves) {
    Due& one = due[shelf.consumer];
    one.label = shelf.label;
    const auto found = counts.find({shelf.id, static_cast<std::int64_t>(LetterState::kOpen)});
    if (found != counts.end()) one.open += found->second;
  }
  std::map<std::string, std::int64_t> there;
  BARTLEBY_TRY(sql::each(connection, "SELECT consumerId, dead_count FROM dlq_summary",
                         [&](Rows& row) { there[row.text(0)] = row.integer(1); }));
  std::int64_t differed = 0;
  for (const auto& [consumer, one] : due) {
    const auto found = there.find(consumer);
    if (found == there.end() ? one.open == 0 : found->second == one.open) continue;
    ++differed;
    BARTLEBY_TRY(sql::execute(connection, BARTLEBY_INSERT_SUMMARY " DO UPDATE SET dead_count = excluded.dead_count",
                              consumer, consumer_without_channel(one.label), channel_of(one.label), one.open,
                              checked_at(now)));
  }
  for (const auto& [consumer, count] : there) {
    if (count == 0 || due.contains(consumer)) continue;
    ++differed;
    BARTLEBY_TRY(sql::execute(connection, "UPDATE dlq_summary SET dead_count = 0 WHERE consumerId = $1", consumer));
  }
  const auto named = set_registered(connection, now);
  if (!named) return named;
  return differed + *named;
}

Result<void> set_walk(Connection& connection, std::int64_t walked_to) {
  return sql::execute(connection, "UPDATE summary_walk SET walked_to = $1 WHERE one = 1", walked_to);
}

Result<void> forget_walk(Connection& connection) {
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM walked"));
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM walked_issues"));
  return set_walk(connection, 0);
}

Result<void> tell_audit(Connection& connection, std::int64_t drift, Timestamp now) {
  if (drift == 0) return {};
  std::string detail;
  JsonObject(detail).number("counts", drift);
  AuditChain audit(connection);
  BARTLEBY_TRY(audit.append(
      {0, now, "office", "repair-counts", "counts", "", "", "counts and letters differed", "", std::move(detail)}));
  return audit.finish();
}

// The end of a walk: what was walked is what there is.
Result<void> compare(Connection& connection, SummaryCheck& check, Timestamp now) {
  const auto walked = counts_in(connection, "SELECT shelf, state, letters FROM walked");
  if (!walked) return std::unexpected(walked.error());
  // Somebody edited letters behind the walk: it proves nothing, and begins again.
  if (std::ranges::any_of(*walked, [](const auto& one) { return one.second < 0; })) return forget_walk(connection);
  const auto below = sql::one(connection, "SELECT 1 FROM walked_issues WHERE letters < 0 LIMIT 1",
                              [](Rows& row) { return row.integer(0); });
  if (!below) return std::unexpected(below.error());
  if (*below) return forget_walk(connection);
  const auto counters = counts_in(connection, "SELECT shelf, state, letters FROM counters");
  if (!counters) return std::unexpected(counters.error());
  if (*walked != *counters) {
    std::set<std::int64_t> shelves;
    for (const Counts* side : {&*walked, &*counters})
      for (const auto& [where, letters] : *side) {
        const Counts& other = side == &*walked ? *counters : *walked;
        const auto found = other.find(where);
        if (found == other.end() || found->second != letters) shelves.insert(where.first);
      }
    check.drift += static_cast<std::int64_t>(shelves.size());
    BARTLEBY_TRY(set_counters(connection, *walked));
  }
  const auto differed = set_summary(connection, *walked, now);
  if (!differed) return std::unexpected(differed.error());
  check.drift += *differed;
  const auto issues = set_issues(connection);
  if (!issues) return std::unexpected(issues.error());
  check.drift += *issues;
  check.compared = true;
  BARTLEBY_TRY(sql::execute(connection, "UPDATE dlq_summary SET last_checked_at = $1", checked_at(now)));
  BARTLEBY_TRY(tell_audit(connection, check.drift, now));
  return forget_walk(connection);
}

// False: the walk has come to its end.
Result<bool> walk_on(Store& store, SummaryCheck& check, std::int64_t slice, Timestamp now) {
  SummaryCheck after;
  const auto written = store.write([&](Connection& connection) -> Result<void> {
    after = check;
    const auto from = sql::one(connection, "SELECT walked_to FROM summary_walk WHERE one = 1",
                               [](Rows& row) { return row.integer(0); });
    if (!from) return std::unexpected(from.error());
    std::int64_t to = from->value_or(0), letters = 0;
    Counts counts;
    std::map<std::int64_t, std::int64_t> issues;
    BARTLEBY_TRY(sql::each(
        connection, "SELECT seq, shelf, state, issue FROM letters WHERE seq > $1 ORDER BY seq LIMIT $2",
        [&](Rows& row) {
          to = row.integer(0);
          ++counts[{row.integer(1), row.integer(2)}];
          if (row.integer(2) == static_cast<std::int64_t>(LetterState::kOpen)) ++issues[row.integer(3)];
          ++letters;
        },
        to, slice));
    for (const auto& [where, more] : counts)
      BARTLEBY_TRY(sql::execute(connection,
                                "INSERT INTO walked(shelf, state, letters) VALUES($1, $2, $3)"
                                " ON CONFLICT(shelf, state) DO UPDATE SET letters = walked.letters + excluded.letters",
                                where.first, where.second, more));
    for (const auto& [issue, more] : issues)
      BARTLEBY_TRY(sql::execute(connection,
                                "INSERT INTO walked_issues(issue, letters) VALUES($1, $2) ON CONFLICT(issue)"
                                " DO UPDATE SET letters = walked_issues.letters + excluded.letters",
                                issue, more));
    after.letters += letters;
    if (letters < slice) return compare(connection, after, now);
    return set_walk(connection, to);
  });
  if (!written) return std::unexpected(written.error());
  const bool more = !after.compared;
  check = after;
  return more;
}

// Whether there are open letters and no summary at all. Letters that are not open make no row of it: were they looked
// at too, everything would be counted anew each time after the last consumer was removed.
Result<bool> is_empty(Connection& connection) {
  const auto number = [](Rows& row) { return row.integer(0); };
  const auto summary = sql::one(connection, "SELECT 1 FROM dlq_summary LIMIT 1", number);
  if (!summary) return std::unexpected(summary.error());
  const auto letter = sql::one(connection, "SELECT 1 FROM letters WHERE state = 0 LIMIT 1", number);
  if (!letter) return std::unexpected(letter.error());
  return !*summary && letter->has_value();
}

Result<void> bootstrap(Connection& connection, Timestamp now) {
  const auto counts = counts_in(connection, "SELECT shelf, state, count(*) FROM letters GROUP BY shelf, state");
  if (!counts) return std::unexpected(counts.error());
  BARTLEBY_TRY(set_counters(connection, *counts));
  if (const auto set = set_summary(connection, *counts, now); !set) return std::unexpected(set.error());
  BARTLEBY_TRY(sql::execute(
      connection,
      "UPDATE issues SET open = (SELECT count(*) FROM letters l WHERE l.issue = issues.seq AND l.state = 0)"));
  return forget_walk(connection);
}

Result<SummaryCheck> check_now(Store& store, Timestamp now, const WalkLimits& limits) {
  SummaryCheck check;
  const auto begun = store.write([&](Connection& connection) -> Result<void> {
    const auto empty = is_empty(connection);
    if (!empty) return std::unexpected(empty.error());
    check.bootstrapped = *empty;
    if (*empty) BARTLEBY_TRY(bootstrap(connection, now));
    // Before the walk: who fails on the way does not try again at once.
    return sql::execute(connection, "UPDATE summary_walk SET ran_at = $1 WHERE one = 1", ms(now));
  });
  if (!begun) return std::unexpected(begun.error());
  for (int i = 0; i < limits.slices; ++i) {
    const auto more = walk_on(store, check, limits.slice, now);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
  }
  return check;
}

}  // namespace

Result<SummaryCheck> check_summary(Store& store, const std::string& holder, Timestamp now, Duration interval,
                                   const WalkLimits& limits) {
  const auto ours = take_lease(store, kSummaryLease, holder, now, kLease);
  if (!ours) return std::unexpected(ours.error());
  if (!*ours) return SummaryCheck{.skipped = true};
  std::int64_t last = 0;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    const auto ran =
        sql::one(connection, "SELECT ran_at FROM summary_walk WHERE one = 1", [](Rows& row) { return row.integer(0); });
    if (!ran) return std::unexpected(ran.error());
    last = ran->value_or(0);
    return {};
  }));
  Result<SummaryCheck> check = SummaryCheck{.skipped = true};
  if (last + interval.count() <= ms(now)) check = check_now(store, now, limits);
  BARTLEBY_TRY(release_lease(store, kSummaryLease, holder));
  return check;
}

}  // namespace bartleby
