// A clock for the embedded broker that moves only when a member waits and the broker has nothing to do: what
// takes ten seconds passes at once, and no test depends on how busy the machine is. `advance` moves it by hand.
// Any thread.
#pragma once

#include <chrono>
#include <mutex>

#include "adapters/broker/embedded/options.h"

namespace bartleby::support {

class PlayedClock : public embedded::Clock {
 public:
  Now now() override {
    const std::lock_guard lock(mutex_);
    return {Instant(passed_), timestamp_ms(kBegin) + passed_};
  }

  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& ready, Instant until, bool quiet) override {
    if (quiet) {
      const std::lock_guard mine(mutex_);
      passed_ = std::max(passed_, until.time_since_epoch());
      return;
    }
    // Real time, and little of it: only until the other thread had its turn.
    ready.wait_for(lock, std::chrono::milliseconds(2));
  }

  void advance(Duration by) {
    const std::lock_guard lock(mutex_);
    passed_ += by;
  }

 private:
  static constexpr std::int64_t kBegin = 1736935800000;
  std::mutex mutex_;
  Duration passed_{1000};
};

}  // namespace bartleby::support
