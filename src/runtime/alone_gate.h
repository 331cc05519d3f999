// Who may run inside this process: everybody, or one message that is under suspicion and nobody beside it.
//
// One for all workers of the process, because a death is evidence against a message only if nothing else ran. Any
// thread. An ordinary run waits while a suspect runs or waits, a suspect until nobody runs; neither for ever: then it
// runs beside the others, and the flight recorder, which has both, takes a death for no evidence. Waiting happens only
// while there are suspects; without any nothing is locked. `begin` waits on its thread, which must be one that nobody
// else needs; `begin_later` does not wait, and what it was given begins on the thread that ends a run, or ticks.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace bartleby {

class AloneGate {
 public:
  using Go = std::move_only_function<void(bool alone)>;
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::milliseconds kSuspectWaits{10000};
  static constexpr std::chrono::milliseconds kOthersWait{30000};

  // True: nobody else runs now, and nobody begins until `end`, unless it takes too long.
  bool begin(bool suspect, std::chrono::milliseconds at_most) {
    if (!suspect && begin_plainly()) return false;
    std::unique_lock lock(mutex_);
    if (suspect) who_ += kSuspect;
    const bool begun = quiet_.wait_for(lock, at_most, [&] { return suspect ? begin_alone() : begin_plainly(); });
    if (!begun) who_ += kRunning;
    return suspect && begun;
  }

  void begin_later(bool suspect, Go go) {
    if (!suspect && begin_plainly()) return go(false);
    {
      const std::lock_guard lock(mutex_);
      if (suspect) who_ += kSuspect;
      if (!(suspect ? begin_alone() : begin_plainly())) {
        waiting_.push_back({suspect, std::chrono::steady_clock::now(), std::move(go)});
        return;
      }
    }
    go(suspect);
  }

  // Somebody is under suspicion and runs, or waits for those who run.
  bool wanted() const { return who_.load(std::memory_order_relaxed) >= kSuspect; }

  void end(bool suspect) {
    // Whoever waits has counted its suspect, or seen one, before: without suspects nobody does.
    const std::uint64_t before = who_.fetch_sub(suspect ? kRunning + kSuspect : kRunning);
    if (before < kSuspect) return;
    std::vector<Ready> ready;
    {
      const std::lock_guard lock(mutex_);
      take_ready(ready, {});
    }
    quiet_.notify_all();
    for (Ready& one : ready) one.go(one.alone);
  }

  // Somebody must call it now and then: who has waited long enough begins.
  void tick(Time now = std::chrono::steady_clock::now()) {
    std::vector<Ready> ready;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return;
      take_ready(ready, now);
    }
    for (Ready& one : ready) one.go(one.alone);
  }

 private:
  struct Waiting {
    bool suspect;
    Time since;
    Go go;
  };
  struct Ready {
    Go go;
    bool alone;
  };

  void take_ready(std::vector<Ready>& ready, Time now) {
    std::erase_if(waiting_, [&](Waiting& one) {
      const bool late = now - one.since >= (one.suspect ? kSuspectWaits : kOthersWait);
      const bool begun = one.suspect ? begin_alone() : begin_plainly();
      if (!begun && !late) return false;
      if (!begun) who_ += kRunning;
      ready.push_back({std::move(one.go), one.suspect && begun});
      return true;
    });
  }

  // Counted as running, if no suspect runs or waits.
  bool begin_plainly() {
    std::uint64_t now = who_.load();
    while (now < kSuspect)
      if (who_.compare_exchange_weak(now, now + kRunning)) return true;
    return false;
  }
  // Counted as running, if nobody else does.
  bool begin_alone() {
    std::uint64_t now = who_.load();
    while (now % kSuspect == 0)
      if (who_.compare_exchange_weak(now, now + kRunning)) return true;
    return false;
  }

  static constexpr std::uint64_t kRunning = 1;
  static constexpr std::uint64_t kSuspect = std::uint64_t{1} << 32;  // that runs or waits

  std::atomic<std::uint64_t> who_{0};  // both counts, so that they change together
  std::mutex mutex_;
  std::condition_variable quiet_;
  std::vector<Waiting> waiting_;  // as many as workers run at once
};

}  // namespace bartleby
