#include "office/summary.h"

#include <map>

#include "office/lease.h"
#include "office/letters.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr Duration kLease{std::chrono::minutes(5)};

using Counts = std::array<std::int64_t, kLetterStates>;

Result<Counts> count_shelf(Connection& connection, std::int64_t shelf) {
  Counts counts{};
  BARTLEBY_TRY(sql::each(
      connection, "SELECT state, count(*) FROM letters WHERE shelf = $1 GROUP BY state",
      [&](Rows& row) { counts.at(static_cast<std::size_t>(row.integer(0))) = row.integer(1); }, shelf));
  return counts;
}

Result<Counts> counters_of(Connection& connection, std::int64_t shelf) {
  Counts counts{};
  BARTLEBY_TRY(sql::each(
      connection, "SELECT state, letters FROM counters WHERE shelf = $1",
      [&](Rows& row) { counts.at(static_cast<std::size_t>(row.integer(0))) = row.integer(1); }, shelf));
  return counts;
}

Result<std::int64_t> open_of_consumer(Connection& connection, const std::string& consumer) {
  auto sum = sql::one(
      connection,
      "SELECT coalesce(sum(c.letters), 0) FROM shelves s JOIN counters c ON c.shelf = s.id AND c.state = 0"
      " WHERE s.consumer = $1",
      [](Rows& row) { return row.integer(0); }, consumer);
  if (!sum) return std::unexpected(sum.error());
  return sum->value_or(0);
}

Result<std::int64_t> summary_of(Connection& connection, const std::string& consumer) {
  auto count = sql::one(
      connection, "SELECT dead_count FROM dlq_summary WHERE consumerId = $1", [](Rows& row) { return row.integer(0); },
      consumer);
  if (!count) return std::unexpected(count.error());
  return count->value_or(0);
}

// Whether counters and rows of a shelf, or its consumer's summary, differ in this snapshot.
Result<bool> differs(Connection& connection, const Shelf& shelf) {
  const auto rows = count_shelf(connection, shelf.id), counters = counters_of(connection, shelf.id);
  if (!rows) return std::unexpected(rows.error());
  if (!counters) return std::unexpected(counters.error());
  if (*rows != *counters) return true;
  const auto open = open_of_consumer(connection, shelf.consumer), summary = summary_of(connection, shelf.consumer);
  if (!open) return std::unexpected(open.error());
  if (!summary) return std::unexpected(summary.error());
  return *open != *summary;
}

Result<void> repair(Connection& connection, const Shelf& shelf, Timestamp now) {
  const auto rows = count_shelf(connection, shelf.id);
  if (!rows) return std::unexpected(rows.error());
  for (std::size_t state = 0; state < kLetterStates; ++state)
    BARTLEBY_TRY(sql::execute(connection,
                              "INSERT INTO counters(shelf, state, letters) VALUES($1, $2, $3)"
                              " ON CONFLICT(shelf, state) DO UPDATE SET letters = excluded.letters",
                              shelf.id, state, (*rows)[state]));
  const auto open = open_of_consumer(connection, shelf.consumer);
  if (!open) return std::unexpected(open.error());
  return sql::execute(
      connection,
      "INSERT INTO dlq_summary(consumerId, consumerName, channelId, channelName, dead_count, last_checked_at)"
      " VALUES($1, $2, $3, $3, $4, $5) ON CONFLICT(consumerId) DO UPDATE SET dead_count = excluded.dead_count",
      shelf.consumer, consumer_without_channel(shelf.label), channel_of(shelf.label), *open, ms(now));
}

Result<SummaryCheck> check_all(Store& store, Timestamp now) {
  SummaryCheck check;
  std::vector<Shelf> shelves;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    auto all = all_shelves(connection);
    if (!all) return std::unexpected(all.error());
    shelves = std::move(*all);
    return {};
  }));
  for (const Shelf& shelf : shelves) {
    bool wrong = false;
    ++check.shelves;
    BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
      auto found = differs(connection, shelf);
      if (!found) return std::unexpected(found.error());
      wrong = *found;
      return {};
    }));
    if (!wrong) continue;
    ++check.drift;
    BARTLEBY_TRY(store.write([&](Connection& connection) { return repair(connection, shelf, now); }));
  }
  BARTLEBY_TRY(store.write([&](Connection& connection) {
    return sql::execute(connection, "UPDATE dlq_summary SET last_checked_at = $1", ms(now));
  }));
  return check;
}

}  // namespace

Result<SummaryCheck> check_summary(Store& store, const std::string& holder, Timestamp now, Duration interval) {
  const auto ours = take_lease(store, kSummaryLease, holder, now, kLease);
  if (!ours) return std::unexpected(ours.error());
  if (!*ours) return SummaryCheck{.skipped = true};
  std::optional<std::int64_t> last;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    // The oldest, not the newest: a consumer that was added since has never been checked.
    auto oldest =
        sql::one(connection, "SELECT min(last_checked_at) FROM dlq_summary", [](Rows& row) { return row.maybe(0); });
    if (!oldest) return std::unexpected(oldest.error());
    if (*oldest) last = **oldest;
    return {};
  }));
  Result<SummaryCheck> check = SummaryCheck{.skipped = true};
  if (!last || *last + interval.count() <= ms(now)) check = check_all(store, now);
  BARTLEBY_TRY(release_lease(store, kSummaryLease, holder));
  return check;
}

}  // namespace bartleby
