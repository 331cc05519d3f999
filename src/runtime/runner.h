// Carries out the engine's `Run`: the messages of a stretch one after the other, each given to its handler, until one
// does not succeed plainly.
//
// `run` and `release` are called by the worker's thread; handlers answer on any thread, and what a stretch came to is
// handed on by `done`, on that thread. Once a partition is released no further message of it begins and its attempts
// are cancelled: somebody else runs them now. The runner must outlive the handlers' answers; `idle` says when there
// are none.
#pragma once

#include <atomic>
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

namespace bartleby {

// How attempts ended, counted where they end. Read by any thread.
struct AttemptCounters {
  static constexpr std::size_t kFates = 5;
  static constexpr std::array<double, 14> kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                      0.25,  0.5,    1,     2.5,  5,     10,   30};
  std::array<std::atomic<std::uint64_t>, kFates> by_fate{};
  std::array<std::atomic<std::uint64_t>, kSeconds.size() + 1> buckets{};
  std::atomic<std::uint64_t> total_us{0};
  std::atomic<std::int64_t> last_end_ms{0};  // wall clock; 0 = none yet
  std::atomic<std::uint32_t> running{0};
};

class Runner {
 public:
  struct Case {
    std::shared_ptr<Handler> handler;
    RetryPolicy policy;
  };
  struct Settings {
    std::string cluster, worker, group;
    std::vector<Case> cases;
  };
  using Done = std::function<void(std::uint64_t life, HandledRun)>;

  Runner(Settings settings, const Clock& clock, Done done);
  ~Runner();

  // `life` comes back with what the stretch came to.
  void run(std::uint64_t life, const Run& run, std::span<const RunMessage> messages);
  void release(PartitionRef ref);
  bool idle() const { return counters_.running.load() == 0; }
  const AttemptCounters& counters() const { return counters_; }

 private:
  struct Gate;
  struct Stretch;

  void next(const std::shared_ptr<Stretch>& stretch);
  void answered(const std::shared_ptr<Stretch>& stretch, Decision decision);
  void finish(const Stretch& stretch, std::optional<Decision> last);

  const Settings settings_;
  const Clock& clock_;
  const Done done_;
  std::mutex mutex_;
  std::map<PartitionRef, std::shared_ptr<Gate>> gates_;
  AttemptCounters counters_;
};

}  // namespace bartleby
