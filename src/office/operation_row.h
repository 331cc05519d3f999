// An operation's row and its items, read and written in one way everywhere. Inside transactions only.
//
// `move_operation` is the only way a state changes: it asks the table (`next_state`), compares, and leaves a line in
// the audit in the same transaction. What waits in an operation that is cancelled is skipped with it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/audit_entry.h"
#include "model/operation_facts.h"
#include "ports/store.h"

namespace bartleby {

Result<std::optional<Operation>> operation_by_id(Connection& connection, std::string_view id);
Result<std::optional<Operation>> operation_by_number(Connection& connection, std::int64_t seq);
// Newest first, below `before`; of some states, or of all where none is named.
Result<std::vector<Operation>> operation_page(Connection& connection, const std::vector<OperationState>& states,
                                              std::optional<std::int64_t> before, std::size_t limit);
// Replays that run and have letters left to send; a letter alone is none. Of one dlq there is at most one: two would
// mix the order of their keys. One that only waits for outcomes sends nothing more and is in nobody's way.
struct SendingReplay {
  std::int64_t seq = 0;
  std::string id;
  std::vector<std::string> dlqs;
};
Result<std::vector<SendingReplay>> sending_replays(Connection& connection);
// What whoever would start a second one is told.
std::string sends_already(const std::string& operation);

// By position, above `after`; of one result, if one is named.
Result<std::vector<OperationItem>> item_page(Connection& connection, std::int64_t operation,
                                             std::optional<ItemResult> result, std::optional<std::int64_t> after,
                                             std::size_t limit);

// How many there are, by kind and state.
using OperationsByState = std::array<std::array<std::int64_t, kOperationStateNames.size()>, kOperationKindNames.size()>;
Result<OperationsByState> operation_counts(Connection& connection);

// Running, or with letters that were taken and whose sending is not written down.
Result<std::vector<std::int64_t>> unfinished_operations(Connection& connection);

// False: the table does not allow it from the state it is in, and nothing was changed. `operation` is then, and
// afterwards, as it stands in the store.
Result<bool> move_operation(Connection& connection, Operation& operation, OperationCause cause, const Actor& actor,
                            const std::string& note, Timestamp now);

// A letter of an operation came to an end: its item says so. `replays`: of the life that was sent.
Result<void> settle_items(Connection& connection, std::int64_t letter, std::uint32_t replays, ItemResult result,
                          Timestamp now);

}  // namespace bartleby
