// The thread that carries operations out: drives each of them (OperationRun) on the store and a broker, and takes in
// the outcomes that workers report.
//
// Owns its thread; `stop` (and the destructor) ends it after the command at hand. Broker and store must outlive it.
// What fails is tried again later, with a line in the log. After a crash it goes on where the store and the broker's
// cursor say it was: group `bartleby-op-{id}` on partition 0 of `bartleby.outcomes`, whose offset is the index in the
// plan.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "codec/replay_header.h"
#include "office/operation_run.h"
#include "office/operation_steps.h"
#include "ports/broker.h"
#include "ports/store.h"

namespace bartleby {

struct RunnerOptions {
  OfficeKey key;
  RunLimits limits{};
  std::size_t outcomes = 1000;  // records of one partition in one transaction
  Duration expire{60000};       // how often plans that nobody started are looked for
};

// Since the process started.
struct OperationCounts {
  std::array<std::array<std::uint64_t, kItemResults>, kOperationKindNames.size()> letters{};  // by kind and result
  std::map<std::string, std::uint64_t> replayed;                                              // letters sent, by dlq
  std::uint64_t failures = 0;

  void add(OperationKind kind, ItemResult result, std::int64_t n) {
    letters[static_cast<std::size_t>(kind)][static_cast<std::size_t>(result)] += static_cast<std::uint64_t>(n);
  }
};

class OperationRunner {
 public:
  OperationRunner(Broker& broker, Store& store, Log& log, const Clock& clock, RunnerOptions options);
  ~OperationRunner();
  OperationRunner(const OperationRunner&) = delete;
  OperationRunner& operator=(const OperationRunner&) = delete;

  void start();
  void stop();
  void wake();  // any thread: people have changed something
  OperationCounts counts() const;

  // Calls `told` once, on the runner's thread: when every letter of the operation has been dealt with, when it no
  // longer runs, or when `limit` is over. False: too many are waiting already. Any thread.
  bool watch(std::string operation, Duration limit, std::move_only_function<void()> told);
  // Whoever waits is told now, and nobody waits from now on: `watch` answers false. Any thread.
  void end_watching();

  // Without the thread: everything that is due now, until nothing more is. For tests.
  void run_until_idle();

 private:
  struct Running {
    OperationRun run;
    std::optional<RunEvent> answer;
    std::map<std::int64_t, Written> places;  // of what was sent and is not written down
  };

  struct Watch {
    std::string operation;
    Instant until;
    std::move_only_function<void()> told;
  };
  static constexpr std::size_t kMostWatches = 1000;

  void work();
  void tell_watches();
  bool dealt_with(const std::string& operation);
  void count(OperationKind kind, ItemResult result, std::int64_t n);
  bool round();  // whether something was done
  bool prepare();
  void find_operations();
  bool take_in_outcomes();
  RunEvent carry_out(std::int64_t seq, Running& running, const Look& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const TakeLetters& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const SendLetters& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const WriteDown& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const GiveBack& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const ReturnLetter& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const ChangeSlice& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const MoveOperation& command);
  CommandDone told(std::int64_t seq, std::string_view doing, const Result<void>& result);
  Result<Offset> cursor_of(const std::string& operation);

  Broker& broker_;
  Store& store_;
  Log& log_;
  const Clock& clock_;
  const RunnerOptions options_;
  bool prepared_ = false;
  Instant next_look_{}, next_expiry_{};
  std::map<std::int64_t, Running> running_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;       // under the mutex
  bool woken_ = false;          // under the mutex
  OperationCounts counts_{};    // under the mutex
  std::vector<Watch> watches_;  // under the mutex
  bool watching_ = true;        // under the mutex
  std::thread thread_;
};

}  // namespace bartleby
