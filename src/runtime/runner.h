// Carries out the engine's `Run`: the messages of a stretch one after the other, each given to its handler, until one
// does not succeed plainly.
//
// All but `idle` are called by the worker's thread; handlers answer on any thread, and what a stretch came to is
// handed on by `done`, on that thread. An immediate handler is run on the worker's own: nothing is allocated, locked or
// shared then, and what is counted of it is told to others once a turn (between `begin_turn` and `end_turn`). Once a
// partition is released no further message of it begins and its attempts are cancelled: somebody else runs them now.
// Where that is this process again, a message waits until the attempt that it is still in has come back: attempts of
// one message do not overlap.
// The runner must outlive the handlers' answers; `idle` says when there are none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ports/handler.h"
#include "runtime/failure_log.h"
#include "runtime/pump.h"
#include "runtime/watcher.h"
#include "runtime/worker_figures.h"

namespace bartleby {

class Runner {
 public:
  struct Settings {
    std::string cluster, worker, group;
    std::vector<std::shared_ptr<Handler>> handlers;  // by case
    std::vector<RetryPolicy> policies;               // at the start
    ReplayOf replay_of;
    std::vector<std::shared_ptr<Watcher>> watchers;
    std::shared_ptr<FailureLog> failures;  // may be null
  };
  using Done = std::function<void(std::uint64_t life, HandledRun)>;

  Runner(Settings settings, const Clock& clock, WorkerFigures& figures, Done done);
  ~Runner();

  void begin_turn(Now now);
  void end_turn();
  // `life` comes back with what the stretch came to.
  void run(std::uint64_t life, const Run& run, std::span<const RunMessage> messages);
  // Nothing of it begins any more. What runs is left behind: where one of its messages comes again, under this or
  // another assignment, it waits for that to end.
  void release(PartitionRef ref);
  // For stretches that begin from now on; by case, as many as before.
  void set_policies(const std::vector<RetryPolicy>& policies);
  bool idle() const { return figures_.running.load() == 0; }

 private:
  struct Gate;
  struct Stretch;
  struct LeftBehind {  // of a partition that was released
    TopicPartition tp;
    Offset offset;
    std::weak_ptr<AttemptIn> attempt;
  };
  struct Waiting {
    std::shared_ptr<Stretch> stretch;
    std::weak_ptr<AttemptIn> older;
  };

  void run_now(std::uint64_t life, const Run& run, std::span<const RunMessage> messages, Handler& handler);
  void begin(const std::shared_ptr<Stretch>& stretch);
  std::optional<std::weak_ptr<AttemptIn>> still_running(const Stretch& stretch);
  void next(const std::shared_ptr<Stretch>& stretch);
  std::shared_ptr<AttemptIn> next_attempt(const std::shared_ptr<Stretch>& stretch);
  Answer answer_of(const std::shared_ptr<Stretch>& stretch);
  void answered(const std::shared_ptr<Stretch>& stretch, Decision decision);
  void finish(const Stretch& stretch, std::optional<Decision> last);
  void count(Duration took, Fate fate, std::uint64_t n);
  void count_failure(const TopicPartition& tp, Offset offset, std::uint32_t attempt, std::uint32_t max,
                     const Decision& decision, Instant now);

  const Settings settings_;
  const std::shared_ptr<const AttemptIn::Names> names_;
  const Clock& clock_;
  WorkerFigures& figures_;
  const Done done_;
  std::map<PartitionRef, std::shared_ptr<Gate>> gates_;
  std::shared_ptr<const std::vector<RetryPolicy>> policies_;
  std::vector<std::vector<Handler::Start>> starts_;  // of this turn, by case, for handlers that queue
  std::vector<LeftBehind> left_behind_;
  std::vector<Waiting> waiting_;

  // Of immediate handlers, within one turn:
  AttemptIn attempt_;
  Now turn_began_;
  Now now_;                  // when the one before ended: that is when the next one begins
  bool running_ = false;     // is counted in `figures_.running`
  std::uint64_t plain_ = 0;  // handled in less than a millisecond, and not counted yet
};

}  // namespace bartleby
