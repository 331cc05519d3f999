#include "office/tally.h"

#include "codec/time_text.h"
#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {
namespace {

// Adds where it only grows; takes away only from what is there.
Result<void> must_change_one(Connection& connection, Result<void> ran, std::string_view what) {
  if (!ran) return ran;
  if (connection.changes() == 1) return {};
  return fail(ErrorCode::kMalformed, "the store's counter is missing: " + std::string(what));
}

}  // namespace

std::string checked_at(Timestamp time) {
  std::string text = time_text(time);
  if (const std::size_t at = text.find('T'); at != std::string::npos) {
    text[at] = ' ';
    text.pop_back();
  }
  return text;
}

void Tally::add(const Shelf& shelf, std::int64_t issue, std::int64_t letter, LetterState state, std::int64_t delta) {
  moved_.push_back({letter, shelf.id, issue, state, delta});
  shelves_[{shelf.id, state}] += delta;
  if (state != LetterState::kOpen) return;
  issues_[issue] += delta;
  const auto [summary, added] = consumers_.try_emplace(shelf.consumer);
  if (added) summary->second.label = shelf.label;
  summary->second.delta += delta;
}

void Tally::move(const Shelf& shelf, std::int64_t issue, std::int64_t letter, std::optional<LetterState> from,
                 std::optional<LetterState> to) {
  if (from) add(shelf, issue, letter, *from, -1);
  if (to && *to != LetterState::kGone) add(shelf, issue, letter, *to, +1);
}

// What the walk found may be wrong where somebody has edited the file; it never stops those who change letters.
Result<void> Tally::follow_walk(Connection& connection) const {
  const auto walked_to = sql::one(connection, "SELECT walked_to FROM summary_walk WHERE one = 1",
                                  [](Rows& row) { return row.integer(0); });
  if (!walked_to) return std::unexpected(walked_to.error());
  std::map<std::pair<std::int64_t, LetterState>, std::int64_t> walked;
  std::map<std::int64_t, std::int64_t> issues;
  for (const Moved& one : moved_) {
    if (one.letter > walked_to->value_or(0)) continue;
    walked[{one.shelf, one.state}] += one.delta;
    if (one.state == LetterState::kOpen) issues[one.issue] += one.delta;
  }
  for (const auto& [issue, delta] : issues)
    if (delta != 0)
      BARTLEBY_TRY(sql::execute(connection,
                                "INSERT INTO walked_issues(issue, letters) VALUES($1, $2) ON CONFLICT(issue)"
                                " DO UPDATE SET letters = walked_issues.letters + excluded.letters",
                                issue, delta));
  for (const auto& [where, delta] : walked)
    if (delta != 0)
      BARTLEBY_TRY(sql::execute(connection,
                                "INSERT INTO walked(shelf, state, letters) VALUES($1, $2, $3)"
                                " ON CONFLICT(shelf, state) DO UPDATE SET letters = walked.letters + excluded.letters",
                                where.first, static_cast<int>(where.second), delta));
  return {};
}

Result<void> Tally::apply(Connection& connection) {
  if (!moved_.empty() && !office_mutant(OfficeMutant::kWalkNotFollowed)) BARTLEBY_TRY(follow_walk(connection));
  for (const auto& [where, delta] : shelves_) {
    const auto state = static_cast<int>(where.second);
    if (delta > 0)
      BARTLEBY_TRY(
          sql::execute(connection,
                       "INSERT INTO counters(shelf, state, letters) VALUES($1, $2, $3)"
                       " ON CONFLICT(shelf, state) DO UPDATE SET letters = counters.letters + excluded.letters",
                       where.first, state, delta));
    if (delta < 0)
      BARTLEBY_TRY(must_change_one(
          connection,
          sql::execute(connection, "UPDATE counters SET letters = letters + $3 WHERE shelf = $1 AND state = $2",
                       where.first, state, delta),
          "letters of a shelf"));
  }
  for (const auto& [consumer, summary] : consumers_) {
    if (summary.delta > 0)
      BARTLEBY_TRY(sql::execute(
          connection,
          BARTLEBY_INSERT_SUMMARY " DO UPDATE SET dead_count = dlq_summary.dead_count + excluded.dead_count", consumer,
          consumer_without_channel(summary.label), channel_of(summary.label), summary.delta, kNeverChecked));
    if (summary.delta < 0)
      BARTLEBY_TRY(must_change_one(
          connection,
          sql::execute(connection, "UPDATE dlq_summary SET dead_count = dead_count + $2 WHERE consumerId = $1",
                       consumer, summary.delta),
          "dead jobs of a consumer"));
  }
  for (const auto& [issue, delta] : issues_)
    if (delta != 0)
      BARTLEBY_TRY(must_change_one(
          connection, sql::execute(connection, "UPDATE issues SET open = open + $2 WHERE seq = $1", issue, delta),
          "open letters of an issue"));
  moved_.clear();
  shelves_.clear();
  consumers_.clear();
  issues_.clear();
  return {};
}

}  // namespace bartleby
