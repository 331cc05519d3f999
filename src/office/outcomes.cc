#include "office/outcomes.h"

#include <algorithm>

#include "codec/replay_header.h"
#include "office/letter_changes.h"
#include "office/mutants.h"
#include "office/operation_row.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::size_t kReadBytes = std::size_t{4} << 20;

Result<void> apply(LetterChanges& changes, const OutcomeRecord& outcome, OutcomesTaken& taken, Timestamp now) {
  Connection& connection = changes.connection();
  const auto row = letter_row(connection, std::string_view(outcome.letter));
  if (!row) return std::unexpected(row.error());
  // The life that was sent is one after the one that the letter is in, unless that has come back already.
  if (!*row || outcome.replays == 0) return ++taken.ignored, Result<void>();
  if ((*row)->letter.replays + 1 != outcome.replays && !office_mutant(OfficeMutant::kEarlierOutcomeCounts)) {
    // Of one that came back intake may have been first, and has settled it.
    const bool known = outcome.verdict == Verdict::kDead && (*row)->letter.replays >= outcome.replays;
    return ++(known ? taken.came_back : taken.ignored), Result<void>();
  }
  const StoredLetter& letter = (*row)->letter;
  if (outcome.verdict == Verdict::kDead) {
    ++taken.came_back;
    return settle_items(connection, letter.seq, letter.replays, ItemResult::kCameBack, now);
  }
  const auto changed =
      changes.change(letter.seq, {.state = LetterState::kReplaying}, LetterCause::kSucceeded,
                     {.detail = outcome.verdict == Verdict::kSkipped ? R"({"outcome":"SKIPPED"})" : ""});
  if (!changed) return std::unexpected(changed.error());
  if (changed->result != ChangeResult::kDone) return ++taken.ignored, Result<void>();
  ++taken.resolved;
  return settle_items(connection, letter.seq, letter.replays, ItemResult::kSucceeded, now);
}

Result<std::optional<Offset>> position_of(Store& store, std::int32_t partition) {
  std::optional<Offset> position;
  const auto looked = store.read([&](Connection& connection) -> Result<void> {
    const auto row = sql::one(
        connection, "SELECT next FROM cursors WHERE dlq = $1 AND partition = $2",
        [](Rows& r) { return Offset(r.integer(0)); }, kOutcomesTopic, partition);
    if (!row) return std::unexpected(row.error());
    position = *row;
    return {};
  });
  if (!looked) return std::unexpected(looked.error());
  return position;
}

Result<void> move_position(Connection& connection, std::int32_t partition, std::optional<Offset> from, Offset to) {
  if (from)
    BARTLEBY_TRY(sql::execute(
        connection, "UPDATE cursors SET next = $3, done_to = $3 WHERE dlq = $1 AND partition = $2 AND next = $4",
        kOutcomesTopic, partition, to.v, from->v));
  else
    BARTLEBY_TRY(sql::execute(connection,
                              "INSERT INTO cursors(dlq, partition, next, done_to) VALUES($1, $2, $3, $3)"
                              " ON CONFLICT(dlq, partition) DO NOTHING",
                              kOutcomesTopic, partition, to.v));
  if (connection.changes() == 1) return {};
  return fail(ErrorCode::kUnavailable, "somebody else has taken these outcomes");
}

}  // namespace

Result<OutcomesTaken> take_outcomes(Store& store, Broker& broker, std::size_t records, Timestamp now) {
  OutcomesTaken total;
  const auto topic = broker.describe(kOutcomesTopic);
  if (!topic && topic.error().code == ErrorCode::kNotFound) return total;
  if (!topic) return std::unexpected(topic.error());
  for (std::int32_t partition = 0; partition < topic->partitions; ++partition) {
    const TopicPartition tp{kOutcomesTopic, Partition(partition)};
    const auto position = position_of(store, partition);
    if (!position) return std::unexpected(position.error());
    const auto range = broker.log_range(tp);
    if (!range) return std::unexpected(range.error());
    std::optional<Offset> at = *position;
    if (at && *at > range->second) {
      // The topic was made anew. Written down at once: it may have grown past the old position at the next look.
      BARTLEBY_TRY(
          store.write([&](Connection& connection) { return move_position(connection, partition, at, range->first); }));
      at = range->first;
    }
    const Offset from = std::max(at.value_or(Offset(0)), range->first);
    if (from >= range->second) continue;
    const auto read = broker.read(tp, from, records, kReadBytes);
    if (!read) return std::unexpected(read.error());
    // Where there is nothing, ends of transactions lie up to the end.
    const Offset after = read->empty() ? range->second : next(read->back().offset);
    OutcomesTaken taken;
    const auto applied = change_letters(store, {"outcomes", "", ""}, now, [&](LetterChanges& changes) -> Result<void> {
      taken = {};
      BARTLEBY_TRY(move_position(changes.connection(), partition, at, after));
      for (const LogRecord& record : *read) {
        ++taken.records;
        const auto outcome = record.value ? outcome_from(*record.value) : fail(ErrorCode::kMalformed, "null");
        if (!outcome)
          ++taken.ignored;
        else
          BARTLEBY_TRY(apply(changes, *outcome, taken, now));
      }
      return {};
    });
    if (!applied) return std::unexpected(applied.error());
    total.records += taken.records;
    total.resolved += taken.resolved;
    total.came_back += taken.came_back;
    total.ignored += taken.ignored;
  }
  return total;
}

}  // namespace bartleby
