#include "office/operation_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/json_text.h"
#include "office/item_tally.h"
#include "office/letter_changes.h"
#include "office/mutants.h"
#include "office/operation_row.h"
#include "office/sql.h"

namespace bartleby {
namespace {

struct Item {
  std::int64_t position, letter, version;
  std::uint32_t replays;
  ItemResult result;
};

Result<std::vector<Item>> items_in(Connection& connection, std::int64_t seq, std::int64_t from, std::int64_t to,
                                   ItemResult result) {
  std::vector<Item> items;
  BARTLEBY_TRY(sql::each(
      connection,
      "SELECT position, letter, version, replays FROM operation_items"
      " WHERE operation = $1 AND position >= $2 AND position < $3 AND result = $4 ORDER BY position",
      [&](Rows& row) {
        items.push_back(
            {row.integer(0), row.integer(1), row.integer(2), static_cast<std::uint32_t>(row.integer(3)), result});
      },
      seq, from, to, static_cast<int>(result)));
  return items;
}

Result<void> set_result(Connection& connection, ItemTally& tally, std::int64_t seq, const Item& item, ItemResult result,
                        const std::string& note, Timestamp now) {
  tally.move(seq, item.result, result);
  return sql::execute(connection,
                      "UPDATE operation_items SET result = $3, note = CASE WHEN $4 = '' THEN note ELSE $4 END,"
                      " changed_at = $5 WHERE operation = $1 AND position = $2",
                      seq, item.position, static_cast<int>(result), note, ms(now));
}

// The same for all of [from, to) that have the one result: those that are to get another have it by now.
Result<void> set_results(Connection& connection, ItemTally& tally, std::int64_t seq, std::int64_t from, std::int64_t to,
                         ItemResult before, ItemResult after, Timestamp now) {
  BARTLEBY_TRY(sql::execute(connection,
                            "UPDATE operation_items SET result = $4, changed_at = $5 WHERE operation = $1"
                            " AND position >= $2 AND position < $3 AND result = $6",
                            seq, from, to, static_cast<int>(after), ms(now), static_cast<int>(before)));
  tally.move(seq, before, after, connection.changes());
  return {};
}

std::unexpected<Error> moved_on() {
  return fail(ErrorCode::kUnavailable, "the operation is not where it was; it is looked at again");
}

// An outcome may have come before this: what is known stays.
Result<void> set_sent(Connection& connection, ItemTally& tally, std::int64_t seq, std::int64_t position,
                      const Written& place, Timestamp now) {
  BARTLEBY_TRY(sql::execute(connection,
                            "UPDATE operation_items SET result = $5, changed_at = $6, to_partition = $3, to_offset = $4"
                            " WHERE operation = $1 AND position = $2 AND result = $7",
                            seq, position, place.partition.v, place.offset.v, static_cast<int>(ItemResult::kSent),
                            ms(now), static_cast<int>(ItemResult::kUnknown)));
  tally.move(seq, ItemResult::kUnknown, ItemResult::kSent, connection.changes());
  if (connection.changes() == 1) return {};
  return sql::execute(connection,
                      "UPDATE operation_items SET to_partition = $3, to_offset = $4"
                      " WHERE operation = $1 AND position = $2",
                      seq, position, place.partition.v, place.offset.v);
}

Result<Operation> found(Connection& connection, std::int64_t seq) {
  auto operation = operation_by_number(connection, seq);
  if (!operation) return std::unexpected(operation.error());
  if (!*operation) return fail(ErrorCode::kNotFound, "there is no such operation");
  return std::move(**operation);
}

Result<void> move_cursor(Connection& connection, std::int64_t seq, std::int64_t from, std::int64_t to) {
  BARTLEBY_TRY(
      sql::execute(connection, "UPDATE operations SET cursor = $3 WHERE seq = $1 AND cursor = $2", seq, from, to));
  if (connection.changes() != 1) return moved_on();
  return {};
}

std::string why_not(const Changed& changed) {
  switch (changed.result) {
    case ChangeResult::kNotFound:
      return "it is gone";
    case ChangeResult::kWrongState:
      return "it is " + std::string(name(changed.state));
    default:
      return "it has changed since the plan";
  }
}

std::string detail_of(const Operation& operation) {
  std::string detail;
  JsonObject(detail).text("operation", operation.id);
  return detail;
}

// One that was started before this was written down is its planner's.
Actor starter_of(const Operation& operation) {
  const OperationSettings& s = operation.settings;
  return {s.started_by.empty() ? operation.actor : s.started_by,
          s.started_reason.empty() ? operation.reason : s.started_reason, s.started_request};
}

// Runs `work` in one transaction with the operation as it stands, if it is running and its cursor is `from`.
Result<void> on_letters(Store& store, std::int64_t seq, std::int64_t from, bool running, Timestamp now,
                        const std::function<Result<void>(LetterChanges&, const Operation&, ItemTally&)>& work) {
  // The actor of the changes is whoever started the operation, which is known only inside the transaction.
  return store.write([&](Connection& connection) -> Result<void> {
    const auto operation = found(connection, seq);
    if (!operation) return std::unexpected(operation.error());
    if (operation->cursor != from || (running && operation->state != OperationState::kRunning)) return moved_on();
    LetterChanges changes(connection, starter_of(*operation), now);
    ItemTally tally;
    BARTLEBY_TRY(work(changes, *operation, tally));
    BARTLEBY_TRY(tally.apply(connection, now));
    return changes.finish();
  });
}

}  // namespace

Result<OperationSeen> look_at_operation(Store& store, std::int64_t seq) {
  OperationSeen seen;
  const auto read = store.read([&](Connection& connection) -> Result<void> {
    const auto operation = found(connection, seq);
    if (!operation) return std::unexpected(operation.error());
    seen.answered = true;
    seen.id = operation->id;
    seen.kind = operation->kind;
    seen.state = operation->state;
    seen.settings = operation->settings;
    seen.letters = operation->letters;
    seen.cursor = seen.taken_to = operation->cursor;
    seen.results = operation->results;
    const auto taken = sql::one(
        connection, "SELECT max(position) FROM operation_items WHERE operation = $1 AND result = $2",
        [](Rows& row) { return row.maybe(0); }, seq, static_cast<int>(ItemResult::kUnknown));
    if (!taken) return std::unexpected(taken.error());
    if (*taken && **taken) seen.taken_to = std::max(seen.taken_to, ***taken + 1);
    const bool at_canary = seen.cursor > 0 && seen.cursor == seen.settings.canary;
    if (seen.cursor >= seen.letters || at_canary) seen.last_result = operation->last_result;
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return seen;
}

Result<Dealt> take_letters(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to, Timestamp now) {
  Dealt dealt;
  const auto written = on_letters(
      store, seq, from, true, now,
      [&](LetterChanges& changes, const Operation& operation, ItemTally& tally) -> Result<void> {
        Connection& connection = changes.connection();
        const auto items = items_in(connection, seq, from, to, ItemResult::kPending);
        if (!items) return std::unexpected(items.error());
        const ChangeOptions options{.detail = detail_of(operation)};
        dealt = {};
        for (const Item& item : *items) {
          const auto changed = changes.change(item.letter, {.replays = item.replays, .version = item.version},
                                              LetterCause::kReplay, options);
          if (!changed) return std::unexpected(changed.error());
          const bool taken = changed->result == ChangeResult::kDone;
          ++(taken ? dealt.changed : dealt.skipped);
          if (!taken)
            BARTLEBY_TRY(set_result(connection, tally, seq, item, ItemResult::kSkipped, why_not(*changed), now));
        }
        BARTLEBY_TRY(set_results(connection, tally, seq, from, to, ItemResult::kPending, ItemResult::kUnknown, now));
        if (connection.changes() != dealt.changed) return moved_on();
        // Nothing to send: it goes on after these.
        return dealt.changed == 0 ? move_cursor(connection, seq, from, to) : Result<void>();
      });
  if (!written) return std::unexpected(written.error());
  return dealt;
}

Result<void> write_down(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to,
                        const std::map<std::int64_t, Written>& places, Timestamp now) {
  return store.write([&](Connection& connection) -> Result<void> {
    BARTLEBY_TRY(move_cursor(connection, seq, from, to));
    ItemTally tally;
    for (auto at = places.lower_bound(from); at != places.end() && at->first < to; ++at)
      BARTLEBY_TRY(set_sent(connection, tally, seq, at->first, at->second, now));
    // After a crash it is not known where they landed.
    BARTLEBY_TRY(set_results(connection, tally, seq, from, to, ItemResult::kUnknown, ItemResult::kSent, now));
    return tally.apply(connection, now);
  });
}

Result<void> give_back(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to, Timestamp now) {
  return on_letters(
      store, seq, from, false, now,
      [&](LetterChanges& changes, const Operation& operation, ItemTally& tally) -> Result<void> {
        if (operation.state == OperationState::kRunning) return moved_on();
        Connection& connection = changes.connection();
        const bool over = operation.state == OperationState::kCancelled;
        const auto items = items_in(connection, seq, from, to, ItemResult::kUnknown);
        if (!items) return std::unexpected(items.error());
        for (const Item& item : *items) {
          const auto changed = changes.change(item.letter, {.state = LetterState::kReplaying, .replays = item.replays},
                                              LetterCause::kReturned, {.detail = detail_of(operation)});
          if (!changed) return std::unexpected(changed.error());
          BARTLEBY_TRY(set_result(connection, tally, seq, item, over ? ItemResult::kSkipped : ItemResult::kPending,
                                  over ? "cancelled" : "", now));
          // It has changed since the plan, but by this operation alone.
          BARTLEBY_TRY(sql::execute(connection,
                                    "UPDATE operation_items SET version = $3 WHERE operation = $1 AND position = $2",
                                    seq, item.position, changed->version));
        }
        return {};
      });
}

Result<void> return_letter(Store& store, std::int64_t seq, std::int64_t at, const std::string& why, Timestamp now) {
  return on_letters(store, seq, at, false, now,
                    [&](LetterChanges& changes, const Operation& operation, ItemTally& tally) -> Result<void> {
                      Connection& connection = changes.connection();
                      const auto items = items_in(connection, seq, at, at + 1, ItemResult::kUnknown);
                      if (!items) return std::unexpected(items.error());
                      for (const Item& item : *items) {
                        const auto changed =
                            changes.change(item.letter, {.state = LetterState::kReplaying, .replays = item.replays},
                                           LetterCause::kReturned, {.detail = detail_of(operation)});
                        if (!changed) return std::unexpected(changed.error());
                        BARTLEBY_TRY(set_result(connection, tally, seq, item, ItemResult::kSkipped, why, now));
                      }
                      return move_cursor(connection, seq, at, at + 1);
                    });
}

Result<Dealt> change_slice(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to, Timestamp now) {
  Dealt dealt;
  const auto written = on_letters(
      store, seq, from, true, now,
      [&](LetterChanges& changes, const Operation& operation, ItemTally& tally) -> Result<void> {
        constexpr std::array kCauses = {LetterCause::kReplay, LetterCause::kDiscard, LetterCause::kRestore,
                                        LetterCause::kPurge};
        const LetterCause cause = kCauses[static_cast<std::size_t>(operation.kind)];
        ChangeOptions options{.detail = detail_of(operation)};
        if (cause == LetterCause::kDiscard) options.undo_until = now + operation.settings.undo;
        Connection& connection = changes.connection();
        const auto items = items_in(connection, seq, from, to, ItemResult::kPending);
        if (!items) return std::unexpected(items.error());
        dealt = {};
        for (const Item& item : *items) {
          const auto changed =
              changes.change(item.letter, {.replays = item.replays, .version = item.version}, cause, options);
          if (!changed) return std::unexpected(changed.error());
          const bool done = changed->result == ChangeResult::kDone;
          ++(done ? dealt.changed : dealt.skipped);
          if (!done)
            BARTLEBY_TRY(set_result(connection, tally, seq, item, ItemResult::kSkipped, why_not(*changed), now));
        }
        BARTLEBY_TRY(set_results(connection, tally, seq, from, to, ItemResult::kPending, ItemResult::kSucceeded, now));
        if (connection.changes() != dealt.changed) return moved_on();
        return move_cursor(connection, seq, from, to);
      });
  if (!written) return std::unexpected(written.error());
  return dealt;
}

Result<void> move_by_itself(Store& store, std::int64_t seq, OperationCause cause, const std::string& note,
                            Timestamp now) {
  return store.write([&](Connection& connection) -> Result<void> {
    auto operation = found(connection, seq);
    if (!operation) return std::unexpected(operation.error());
    const auto moved = move_operation(connection, *operation, cause, {"office", "", ""}, note, now);
    if (!moved) return std::unexpected(moved.error());
    if (!*moved) return moved_on();  // people were faster
    return {};
  });
}

Result<std::optional<ChangedLetter>> take_back(LetterChanges& changes, const StoredLetter& letter, Timestamp now) {
  Connection& connection = changes.connection();
  struct Sent {
    std::int64_t operation;
    bool over;
  };
  const auto sent = sql::one(
      connection,
      "SELECT i.operation, o.ended_at FROM operation_items i JOIN operations o ON o.seq = i.operation"
      " WHERE i.letter = $1 AND i.replays = $2 AND i.result = $3 ORDER BY i.operation DESC LIMIT 1",
      [](Rows& row) { return Sent{row.integer(0), row.maybe(1).has_value()}; }, letter.seq, letter.replays,
      static_cast<int>(ItemResult::kSent));
  if (!sent) return std::unexpected(sent.error());
  if (letter.state != LetterState::kReplaying || !*sent || !(*sent)->over) return std::nullopt;
  auto changed =
      changes.change(std::string_view(letter.id), {.state = LetterState::kReplaying, .replays = letter.replays},
                     LetterCause::kReturned, {.detail = R"({"taken_back":true})"});
  if (!changed) return std::unexpected(changed.error());
  if (changed->result != ChangeResult::kDone) return std::optional(std::move(*changed));
  BARTLEBY_TRY(sql::execute(connection, "UPDATE letters SET replays = replays + 1 WHERE seq = $1", letter.seq));
  BARTLEBY_TRY(sql::execute(connection,
                            "UPDATE operation_items SET result = $3, note = 'taken back', changed_at = $4"
                            " WHERE operation = $1 AND letter = $2 AND result = $5",
                            (*sent)->operation, letter.seq, static_cast<int>(ItemResult::kSkipped), ms(now),
                            static_cast<int>(ItemResult::kSent)));
  ItemTally tally;
  tally.move((*sent)->operation, ItemResult::kSent, ItemResult::kSkipped, connection.changes());
  BARTLEBY_TRY(tally.apply(connection, now));
  ++changed->letter.replays;
  return std::optional(std::move(*changed));
}

}  // namespace bartleby
