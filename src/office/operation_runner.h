// The thread that carries operations out: drives each of them (OperationRun) on the store and a broker, and takes in
// the outcomes that workers report.
//
// Owns its thread; `stop` (and the destructor) ends it after the command at hand. Broker and store must outlive it.
// What fails is tried again later, with a line in the log. After a crash it goes on where the store and the broker's
// cursor say it was: group `bartleby-op-{id}` on partition 0 of `bartleby.outcomes`, whose offset is the index in the
// plan.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "codec/replay_header.h"
#include "office/operation_run.h"
#include "ports/broker.h"
#include "ports/store.h"

namespace bartleby {

struct RunnerOptions {
  OfficeKey key;
  RunLimits limits{};
  std::size_t outcomes = 1000;  // records of one partition in one transaction
  Duration expire{60000};       // how often plans that nobody started are looked for
};

struct OperationCounts {
  std::uint64_t sent = 0, resolved = 0, came_back = 0, failures = 0;
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

  // Without the thread: everything that is due now, until nothing more is. For tests.
  void run_until_idle();

 private:
  struct Running {
    OperationRun run;
    std::optional<RunEvent> answer;
    std::map<std::int64_t, Written> places;  // of what was sent and is not written down
  };

  void work();
  bool round();  // whether something was done
  bool prepare();
  void find_operations();
  bool take_in_outcomes();
  RunEvent carry_out(std::int64_t seq, Running& running, const Look& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const TakeLetters& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const SendLetters& command);
  RunEvent carry_out(std::int64_t seq, Running& running, const WriteDown& command);
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
  bool stopping_ = false;     // under the mutex
  bool woken_ = false;        // under the mutex
  OperationCounts counts_{};  // under the mutex
  std::thread thread_;
};

}  // namespace bartleby
