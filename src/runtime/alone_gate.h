// Who may run inside this process: everybody, or one message that is under suspicion and nobody beside it.
//
// One for all workers of the process, because a death is evidence against a message only if nothing else ran. Any
// thread. An ordinary run waits while a suspect runs or waits, a suspect until nobody runs; neither for ever: then it
// runs beside the others, and the flight recorder, which has both, takes a death for no evidence. Waiting happens only
// while there are suspects. `begin` waits on its thread, which must be one that nobody else needs; `begin_later` does
// not wait, and what it was given begins on the thread that ends a run, or ticks.
#pragma once

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
    std::unique_lock lock(mutex_);
    if (suspect) ++suspects_;
    quiet_.wait_for(lock, at_most, [&] { return suspect ? running_ == 0 : suspects_ == 0; });
    const bool alone = suspect && running_ == 0;
    ++running_;
    return alone;
  }

  void begin_later(bool suspect, Go go) {
    bool alone = false;
    {
      const std::lock_guard lock(mutex_);
      if (suspect) ++suspects_;
      if (suspect ? running_ > 0 : suspects_ > 0) {
        waiting_.push_back({suspect, std::chrono::steady_clock::now(), std::move(go)});
        return;
      }
      alone = suspect && running_ == 0;
      ++running_;
    }
    go(alone);
  }

  void end(bool suspect) {
    std::vector<Ready> ready;
    bool awaited = suspect;
    {
      const std::lock_guard lock(mutex_);
      --running_;
      if (suspect) --suspects_;
      awaited = awaited || suspects_ > 0;
      take_ready(ready, {});
    }
    if (awaited) quiet_.notify_all();  // without suspects nobody waits
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
      if ((one.suspect ? running_ > 0 : suspects_ > 0) && !late) return false;
      ready.push_back({std::move(one.go), one.suspect && running_ == 0});
      ++running_;
      return true;
    });
  }

  std::mutex mutex_;
  std::condition_variable quiet_;
  std::uint32_t running_ = 0;
  std::uint32_t suspects_ = 0;    // that run or wait
  std::vector<Waiting> waiting_;  // as many as workers run at once
};

}  // namespace bartleby
