#include "office/operations.h"

#include <algorithm>

#include "codec/operation_text.h"
#include "office/audit.h"
#include "office/letters.h"
#include "office/mutants.h"
#include "office/operation_row.h"
#include "office/sql.h"

namespace bartleby {
namespace {

// Two replays of one dlq would mix the order of their keys, and each would halt on the other's failures. A letter alone
// does neither: it goes beside them, else whoever replays two letters one after the other would wait for the first.
Result<std::string> running_beside(Connection& connection, const Operation& operation) {
  if (operation.letters <= 1) return std::string();
  const auto running = operation_page(connection, {OperationState::kRunning}, std::nullopt, kMaxPage);
  if (!running) return std::unexpected(running.error());
  for (const Operation& other : *running) {
    if (other.kind != OperationKind::kReplay || other.seq == operation.seq || other.letters <= 1) continue;
    for (const std::string& dlq : other.dlqs)
      if (std::ranges::find(operation.dlqs, dlq) != operation.dlqs.end()) return other.id;
  }
  return std::string();
}

}  // namespace

Result<Operation> Operations::plan(const OperationRequest& request, const Actor& actor) {
  return plan_operation(store_, request, {options_.readers, options_.finished}, options_.limits, options_.new_id(),
                        actor, clock_.now().wall);
}

Result<ChangedOperation> Operations::start(const std::string& id, const Actor& actor) {
  return change(id, OperationCause::kStart, actor);
}
Result<ChangedOperation> Operations::pause(const std::string& id, const Actor& actor) {
  return change(id, OperationCause::kPause, actor);
}
Result<ChangedOperation> Operations::resume(const std::string& id, const Actor& actor) {
  return change(id, OperationCause::kResume, actor);
}
Result<ChangedOperation> Operations::cancel(const std::string& id, const Actor& actor) {
  return change(id, OperationCause::kCancel, actor);
}

Result<ChangedOperation> Operations::change(const std::string& id, OperationCause cause, const Actor& actor) {
  ChangedOperation changed;
  const Timestamp now = clock_.now().wall;
  const auto written = store_.write([&](Connection& connection) -> Result<void> {
    changed = {};
    auto found = operation_by_id(connection, id);
    if (!found) return std::unexpected(found.error());
    if (!*found) return changed.result = OperationChange::kNotFound, Result<void>();
    Operation& operation = changed.operation = std::move(**found);
    const auto to = next_state(operation.state, cause);
    if (to == OperationState::kRunning && operation.kind == OperationKind::kReplay) {
      const auto other = running_beside(connection, operation);
      if (!other) return std::unexpected(other.error());
      if (!other->empty()) {
        changed.result = OperationChange::kConflict;
        changed.conflict = *other;
        return {};
      }
    }
    // Who resumes has seen what came back: it is not counted again.
    if (cause == OperationCause::kResume && !office_mutant(OfficeMutant::kResumeCountsAgain)) {
      operation.settings.came_back_before = operation.with(ItemResult::kCameBack);
      operation.settings.known_before = operation.settings.came_back_before + operation.with(ItemResult::kSucceeded) +
                                        operation.with(ItemResult::kPassed);
      operation.settings.waiting_before = operation.with(ItemResult::kSent);
    }
    const auto moved = move_operation(connection, operation, cause, actor, "", now);
    if (!moved) return std::unexpected(moved.error());
    if (!*moved) return changed.result = OperationChange::kWrongState, Result<void>();
    if (cause != OperationCause::kCancel) return {};
    auto again = operation_by_id(connection, id);
    if (!again) return std::unexpected(again.error());
    operation = std::move(**again);
    return {};
  });
  if (!written) return std::unexpected(written.error());
  if (changed.result == OperationChange::kDone && options_.wake) options_.wake();
  return changed;
}

Result<ChangedOperation> Operations::set_rate(const std::string& id, std::uint32_t rate, const Actor& actor) {
  if (rate > options_.limits.max_rate)
    return fail(ErrorCode::kInvalid, "the rate is at most " + std::to_string(options_.limits.max_rate) + " per second");
  ChangedOperation changed;
  const auto written = store_.write([&](Connection& connection) -> Result<void> {
    changed = {};
    auto found = operation_by_id(connection, id);
    if (!found) return std::unexpected(found.error());
    if (!*found) return changed.result = OperationChange::kNotFound, Result<void>();
    Operation& operation = changed.operation = std::move(**found);
    if (operation.ended_at) return changed.result = OperationChange::kWrongState, Result<void>();
    operation.settings.rate = rate;
    ++operation.version;
    BARTLEBY_TRY(sql::execute(connection, "UPDATE operations SET settings = $2, version = $3 WHERE seq = $1",
                              operation.seq, settings_text(operation.settings), operation.version));
    AuditChain audit(connection);
    BARTLEBY_TRY(audit.append({0, clock_.now().wall, actor.name, "rate", id, "", "", actor.reason, actor.request_id,
                               "{\"rate\":" + std::to_string(rate) + "}"}));
    return audit.finish();
  });
  if (!written) return std::unexpected(written.error());
  return changed;
}

Result<std::optional<Operation>> Operations::get(const std::string& id) {
  std::optional<Operation> operation;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    auto found = operation_by_id(connection, id);
    if (!found) return std::unexpected(found.error());
    operation = std::move(*found);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return operation;
}

Result<std::vector<Operation>> Operations::list(const std::vector<OperationState>& states,
                                                std::optional<std::int64_t> before, std::size_t limit) {
  std::vector<Operation> page;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    auto found = operation_page(connection, states, before, std::clamp<std::size_t>(limit, 1, kMaxPage));
    if (!found) return std::unexpected(found.error());
    page = std::move(*found);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return page;
}

Result<std::vector<OperationItem>> Operations::results(const std::string& id, std::optional<ItemResult> result,
                                                       std::optional<std::int64_t> after, std::size_t limit) {
  std::vector<OperationItem> page;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    const auto operation = operation_by_id(connection, id);
    if (!operation) return std::unexpected(operation.error());
    if (!*operation) return fail(ErrorCode::kNotFound, "there is no operation " + id);
    auto found = item_page(connection, (*operation)->seq, result, after, std::clamp<std::size_t>(limit, 1, kMaxPage));
    if (!found) return std::unexpected(found.error());
    page = std::move(*found);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return page;
}

}  // namespace bartleby
