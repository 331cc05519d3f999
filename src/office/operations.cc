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

// Two replays of one dlq that send would mix the order of their keys. A letter alone does not: it goes beside them,
// else whoever replays two letters one after the other would wait for the first.
Result<std::string> sending_beside(Connection& connection, const Operation& operation) {
  if (operation.letters <= 1 || operation.cursor >= operation.letters) return std::string();
  if (office_mutant(OfficeMutant::kSendsBeside)) return std::string();
  const auto sending = sending_replays(connection);
  if (!sending) return std::unexpected(sending.error());
  for (const SendingReplay& other : *sending) {
    if (other.seq == operation.seq) continue;
    for (const std::string& dlq : other.dlqs)
      if (std::ranges::find(operation.dlqs, dlq) != operation.dlqs.end()) return other.id;
  }
  return std::string();
}

// Who resumes what was halted has seen what came back: it is not counted again. Nobody has seen anything by a pause:
// were this done there too, whoever pauses and resumes would send the rest without the canary and never be halted.
void forgive(Operation& operation) {
  OperationSettings& settings = operation.settings;
  settings.came_back_before = operation.with(ItemResult::kCameBack);
  settings.known_before =
      settings.came_back_before + operation.with(ItemResult::kSucceeded) + operation.with(ItemResult::kPassed);
  // Halted before the canary had gone, its outcomes are still to be awaited. Halted at it, all of them were known, or
  // nobody answered and people go on without.
  if (operation.cursor >= settings.canary) settings.waiting_before = operation.with(ItemResult::kSent);
}

}  // namespace

// A plan of many letters reads for up to two minutes, and there are few connections to read by: at most one has one, so
// that whoever asks who a caller is, and the runner, find others.
Result<Operation> Operations::plan(const OperationRequest& request, const Actor& actor) {
  const bool large = request.query || request.ids.size() > kFewLetters;
  if (large) {
    std::unique_lock lock(mutex_);
    if (!planned_.wait_for(lock, clock_.real(options_.wait), [this] { return !planning_; }))
      return fail(ErrorCode::kUnavailable, "another plan of many letters is being made; try again in a moment");
    planning_ = true;
  }
  const auto end = [](Operations* ours) {
    {
      const std::lock_guard lock(ours->mutex_);
      ours->planning_ = false;
    }
    ours->planned_.notify_one();
  };
  const std::unique_ptr<Operations, decltype(end)> turn(large ? this : nullptr, end);  // over also where it throws
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
      const auto other = sending_beside(connection, operation);
      if (!other) return std::unexpected(other.error());
      if (!other->empty()) {
        changed.result = OperationChange::kConflict;
        changed.conflict = *other;
        return {};
      }
    }
    const bool halted = operation.state == OperationState::kHalted || office_mutant(OfficeMutant::kPauseForgives);
    if (cause == OperationCause::kResume && halted && !office_mutant(OfficeMutant::kResumeCountsAgain))
      forgive(operation);
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
