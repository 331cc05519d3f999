// Operations for people: plan, start, pause, resume, cancel, and what became of them. What routes and commands call.
//
// Any thread. Every change is one transaction with a line in the audit; the thread that carries operations out
// (OperationRunner) is woken after it. Never does more than one replay of a dlq send.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "office/operation_plan.h"

namespace bartleby {

struct OperationsOptions {
  ReadersOf readers;
  FinishedIn finished{};  // in the log; absent: newer messages are looked for among letters alone
  PlanLimits limits;
  OperationSettings defaults;           // of rate, canary, halt and undo
  std::function<std::string()> new_id;  // `op_…`, never the same twice
  std::function<void()> wake;           // of the runner
  Duration wait{2000};                  // for another plan to be made; then it is refused with kUnavailable
};

enum class OperationChange : std::uint8_t {
  kDone,
  kNotFound,
  kWrongState,
  kConflict,  // another replay sends letters of one of its dlqs
};

struct ChangedOperation {
  OperationChange result = OperationChange::kDone;
  Operation operation;   // as it is now
  std::string conflict;  // id of the other one
};

class Operations {
 public:
  Operations(Store& store, const Clock& clock, OperationsOptions options)
      : store_(store), clock_(clock), options_(std::move(options)) {}

  const OperationSettings& defaults() const { return options_.defaults; }

  // One at a time, but for those of a few letters.
  Result<Operation> plan(const OperationRequest& request, const Actor& actor);
  Result<ChangedOperation> start(const std::string& id, const Actor& actor);
  Result<ChangedOperation> pause(const std::string& id, const Actor& actor);
  Result<ChangedOperation> resume(const std::string& id, const Actor& actor);
  // What was sent stays sent; what was not is left as it is.
  Result<ChangedOperation> cancel(const std::string& id, const Actor& actor);
  // Letters per second, from now on; 0: as fast as it goes.
  Result<ChangedOperation> set_rate(const std::string& id, std::uint32_t rate, const Actor& actor);

  Result<std::optional<Operation>> get(const std::string& id);
  Result<std::vector<Operation>> list(const std::vector<OperationState>& states, std::optional<std::int64_t> before,
                                      std::size_t limit);
  Result<std::vector<OperationItem>> results(const std::string& id, std::optional<ItemResult> result,
                                             std::optional<std::int64_t> after, std::size_t limit);

 private:
  static constexpr std::size_t kFewLetters = 100;

  Result<ChangedOperation> change(const std::string& id, OperationCause cause, const Actor& actor);

  Store& store_;
  const Clock& clock_;
  const OperationsOptions options_;
  std::mutex mutex_;
  std::condition_variable planned_;
  bool planning_ = false;  // a plan of many letters is being made
};

}  // namespace bartleby
