#include "office/operation_row.h"

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include "codec/operation_text.h"
#include "office/audit.h"
#include "office/item_tally.h"
#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {
namespace {

#define BARTLEBY_OPERATION                                                                                         \
  "SELECT seq, id, kind, state, version, dlq, settings, report, letters, cursor, actor, reason, note, created_at," \
  " started_at, ended_at FROM operations"

std::optional<Timestamp> time_at(Rows& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return timestamp_ms(row.integer(column));
}

struct Row {
  Operation operation;
  std::string settings, report;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Row read_row(Rows& row) {
  Row found;
  Operation& o = found.operation;
  o.seq = row.integer(0);
  o.id = row.text(1);
  o.kind = static_cast<OperationKind>(row.integer(2));
  o.state = static_cast<OperationState>(row.integer(3));
  o.version = row.integer(4);
  o.dlqs = words_of(row.text(5));
  found.settings = row.text(6);
  found.report = row.text(7);
  o.letters = row.integer(8);
  o.cursor = row.integer(9);
  o.actor = row.text(10);
  o.reason = row.text(11);
  o.note = row.text(12);
  o.created_at = timestamp_ms(row.integer(13));
  o.started_at = time_at(row, 14);
  o.ended_at = time_at(row, 15);
  return found;
}

Result<Operation> whole(Connection& connection, Row row) {
  Operation& o = row.operation;
  auto settings = settings_from_text(row.settings);
  if (!settings) return std::unexpected(settings.error());
  auto report = report_from_text(row.report);
  if (!report) return std::unexpected(report.error());
  o.settings = std::move(*settings);
  o.report = std::move(*report);
  const auto counted = counted_results(connection, o.seq);
  if (!counted) return std::unexpected(counted.error());
  o.results = counted->items;
  o.last_result = counted->last_change;
  return std::move(o);
}

Result<std::optional<Operation>> whole(Connection& connection, Result<std::optional<Row>> row) {
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::optional<Operation>();
  auto operation = whole(connection, std::move(**row));
  if (!operation) return std::unexpected(operation.error());
  return std::optional(std::move(*operation));
}

OperationItem read_item(Rows& row) {
  OperationItem item;
  item.position = row.integer(0);
  item.letter = row.integer(1);
  if (!row.is_null(2)) item.letter_id = row.text(2);
  item.replays = static_cast<std::uint32_t>(row.integer(3));
  item.version = row.integer(4);
  item.result = static_cast<ItemResult>(row.integer(5));
  item.note = row.text(6);
  if (!row.is_null(7)) item.to_topic = row.text(7);
  if (!row.is_null(9)) item.to = Place{Partition(static_cast<std::int32_t>(row.integer(8))), Offset(row.integer(9))};
  item.changed_at = timestamp_ms(row.integer(10));
  return item;
}

#define BARTLEBY_ITEM                                                                                      \
  "SELECT i.position, i.letter, l.id, i.replays, i.version, i.result, i.note, i.to_topic, i.to_partition," \
  " i.to_offset, i.changed_at FROM operation_items i LEFT JOIN letters l ON l.seq = i.letter WHERE i.operation = $1"

}  // namespace

Result<std::optional<Operation>> operation_by_id(Connection& connection, std::string_view id) {
  return whole(connection, sql::one(connection, BARTLEBY_OPERATION " WHERE id = $1", read_row, id));
}

Result<std::optional<Operation>> operation_by_number(Connection& connection, std::int64_t seq) {
  return whole(connection, sql::one(connection, BARTLEBY_OPERATION " WHERE seq = $1", read_row, seq));
}

// One statement for each state, merged here: each walks its index from `before` on.
Result<std::vector<Operation>> operation_page(Connection& connection, const std::vector<OperationState>& states,
                                              std::optional<std::int64_t> before, std::size_t limit) {
  std::vector<Row> rows;
  const auto take = [&](Rows& row) { rows.push_back(read_row(row)); };
  const std::int64_t below = before.value_or(INT64_MAX);
  if (states.empty())
    BARTLEBY_TRY(
        sql::each(connection, BARTLEBY_OPERATION " WHERE seq < $1 ORDER BY seq DESC LIMIT $2", take, below, limit));
  for (const OperationState state : std::set(states.begin(), states.end()))
    BARTLEBY_TRY(sql::each(connection, BARTLEBY_OPERATION " WHERE state = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
                           take, static_cast<int>(state), below, limit));
  std::ranges::sort(rows, std::ranges::greater(), [](const Row& row) { return row.operation.seq; });
  if (rows.size() > limit) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(limit), rows.end());
  std::vector<Operation> page;
  for (Row& row : rows) {
    auto operation = whole(connection, std::move(row));
    if (!operation) return std::unexpected(operation.error());
    page.push_back(std::move(*operation));
  }
  return page;
}

Result<std::vector<SendingReplay>> sending_replays(Connection& connection) {
  std::vector<SendingReplay> found;
  BARTLEBY_TRY(sql::each(
      connection,
      "SELECT seq, id, dlq FROM operations WHERE state = $1 AND kind = $2 AND letters > 1 AND cursor < letters"
      " ORDER BY seq",
      [&](Rows& row) { found.push_back({row.integer(0), row.text(1), words_of(row.text(2))}); },
      static_cast<int>(OperationState::kRunning), static_cast<int>(OperationKind::kReplay)));
  return found;
}

std::string sends_already(const std::string& operation) {
  return "operation " + operation +
         " has letters of the same dlq to send; wait until it has, or pause it: never more than one does";
}

Result<std::vector<OperationItem>> item_page(Connection& connection, std::int64_t operation,
                                             std::optional<ItemResult> result, std::optional<std::int64_t> after,
                                             std::size_t limit) {
  std::vector<OperationItem> items;
  const auto take = [&](Rows& row) { items.push_back(read_item(row)); };
  if (result)
    BARTLEBY_TRY(sql::each(connection,
                           BARTLEBY_ITEM " AND i.result = $2 AND i.position > $3 ORDER BY i.position LIMIT $4", take,
                           operation, static_cast<int>(*result), after.value_or(-1), limit));
  else
    BARTLEBY_TRY(sql::each(connection, BARTLEBY_ITEM " AND i.position > $2 ORDER BY i.position LIMIT $3", take,
                           operation, after.value_or(-1), limit));
  return items;
}

Result<OperationsByState> operation_counts(Connection& connection) {
  OperationsByState counts{};
  BARTLEBY_TRY(
      sql::each(connection, "SELECT kind, state, count(*) FROM operations GROUP BY kind, state", [&](Rows& row) {
        const auto kind = static_cast<std::size_t>(row.integer(0));
        const auto state = static_cast<std::size_t>(row.integer(1));
        if (kind < counts.size() && state < counts[kind].size()) counts[kind][state] = row.integer(2);
      }));
  return counts;
}

Result<std::vector<std::int64_t>> unfinished_operations(Connection& connection) {
  std::vector<std::int64_t> found;
  const auto take = [&](Rows& row) { found.push_back(row.integer(0)); };
  BARTLEBY_TRY(sql::each(connection, "SELECT seq FROM operations WHERE state = $1 ORDER BY seq", take,
                         static_cast<int>(OperationState::kRunning)));
  if (office_mutant(OfficeMutant::kTakenForgottenWhenStopped)) return found;
  // Paused, halted or cancelled between two transactions of a batch: what was taken must still be dealt with. From the
  // counts on, of which few are of that result: those that were cancelled are many after a while. Its number stands
  // there as it does in the index.
  static_assert(static_cast<int>(ItemResult::kUnknown) == 5);
  BARTLEBY_TRY(sql::each(connection,
                         "SELECT o.seq FROM operation_results r CROSS JOIN operations o WHERE r.result = 5 AND"
                         " r.items > 0 AND o.seq = r.operation AND o.state IN ($1, $2, $3) ORDER BY r.operation",
                         take, static_cast<int>(OperationState::kPaused), static_cast<int>(OperationState::kHalted),
                         static_cast<int>(OperationState::kCancelled)));
  return found;
}

Result<bool> move_operation(Connection& connection, Operation& operation, OperationCause cause, const Actor& actor,
                            const std::string& note, Timestamp now) {
  const auto to = next_state(operation.state, cause);
  if (!to) return false;
  const bool over = *to == OperationState::kDone || *to == OperationState::kCancelled || *to == OperationState::kFailed;
  const bool begins = operation.state == OperationState::kPlanned && *to == OperationState::kRunning;
  if (operation.state == OperationState::kPlanned && *to != OperationState::kCancelled) {
    operation.settings.started_by = actor.name;
    operation.settings.started_reason = actor.reason;
    operation.settings.started_request = actor.request_id;
  }
  const auto time = [&](bool set) { return set ? std::optional(ms(now)) : std::nullopt; };
  BARTLEBY_TRY(sql::execute(connection,
                            "UPDATE operations SET state = $3, version = version + 1, note = $4, settings = $5,"
                            " started_at = coalesce(started_at, $6), ended_at = $7 WHERE seq = $1 AND version = $2",
                            operation.seq, operation.version, static_cast<int>(*to), note,
                            settings_text(operation.settings), time(begins), time(over)));
  if (connection.changes() != 1) return false;
  if (*to == OperationState::kCancelled) {
    BARTLEBY_TRY(sql::execute(connection,
                              "UPDATE operation_items SET result = $2, note = 'cancelled', changed_at = $3"
                              " WHERE operation = $1 AND result = $4",
                              operation.seq, static_cast<int>(ItemResult::kSkipped), ms(now),
                              static_cast<int>(ItemResult::kPending)));
    ItemTally tally;
    tally.move(operation.seq, ItemResult::kPending, ItemResult::kSkipped, connection.changes());
    if (!office_mutant(OfficeMutant::kCancelNotCounted)) BARTLEBY_TRY(tally.apply(connection, now));
  }
  AuditChain audit(connection);
  BARTLEBY_TRY(
      audit.append({0, now, actor.name, std::string(name(cause)), operation.id, std::string(name(operation.state)),
                    std::string(name(*to)), actor.reason.empty() ? note : actor.reason, actor.request_id, ""}));
  BARTLEBY_TRY(audit.finish());
  operation.state = *to;
  operation.note = note;
  ++operation.version;
  if (begins && !operation.started_at) operation.started_at = now;
  if (over) operation.ended_at = now;
  return true;
}

Result<void> settle_items(Connection& connection, std::int64_t letter, std::uint32_t replays, ItemResult result,
                          Timestamp now) {
  ItemTally tally;
  BARTLEBY_TRY(sql::each(
      connection,
      "SELECT operation, result FROM operation_items WHERE letter = $1 AND replays = $2 AND result IN ($3, $4)",
      [&](Rows& row) { tally.move(row.integer(0), static_cast<ItemResult>(row.integer(1)), result); }, letter, replays,
      static_cast<int>(ItemResult::kSent), static_cast<int>(ItemResult::kUnknown)));
  BARTLEBY_TRY(sql::execute(connection,
                            "UPDATE operation_items SET result = $3, changed_at = $4 WHERE letter = $1 AND replays = $2"
                            " AND result IN ($5, $6)",
                            letter, replays, static_cast<int>(result), ms(now), static_cast<int>(ItemResult::kSent),
                            static_cast<int>(ItemResult::kUnknown)));
  if (office_mutant(OfficeMutant::kOutcomeNotCounted)) return {};
  return tally.apply(connection, now);
}

}  // namespace bartleby
