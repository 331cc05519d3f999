// Carries out the engine's `Run`: the messages of a stretch one after the other, each given to its handler, until one
// does not succeed plainly.
//
// `run` and `release` are called by the worker's thread; handlers answer on any thread, and what a stretch came to is
// handed on by `done`, on that thread. Once a partition is released no further message of it begins and its attempts
// are cancelled: somebody else runs them now. The runner must outlive the handlers' answers; `idle` says when there
// are none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ports/handler.h"
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
  };
  using Done = std::function<void(std::uint64_t life, HandledRun)>;

  Runner(Settings settings, const Clock& clock, WorkerFigures& figures, Done done);
  ~Runner();

  // `life` comes back with what the stretch came to.
  void run(std::uint64_t life, const Run& run, std::span<const RunMessage> messages);
  void release(PartitionRef ref);
  // For stretches that begin from now on; by case, as many as before.
  void set_policies(const std::vector<RetryPolicy>& policies);
  bool idle() const { return figures_.running.load() == 0; }

 private:
  struct Gate;
  struct Stretch;

  void next(const std::shared_ptr<Stretch>& stretch);
  void answered(const std::shared_ptr<Stretch>& stretch, Decision decision);
  void finish(const Stretch& stretch, std::optional<Decision> last);

  const Settings settings_;
  const std::shared_ptr<const AttemptIn::Names> names_;
  const Clock& clock_;
  WorkerFigures& figures_;
  const Done done_;
  std::mutex mutex_;
  std::map<PartitionRef, std::shared_ptr<Gate>> gates_;
  std::shared_ptr<const std::vector<RetryPolicy>> policies_;
};

}  // namespace bartleby
