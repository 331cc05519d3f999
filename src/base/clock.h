// The two clocks of the machine behind one seam, so that tests can wind them by hand.
//
// `SystemClock` may run faster than the machine: in test builds a thirty-minute schedule then takes seconds. Waiting is
// done by whoever waits; `real` says how long a span of this clock takes on the machine. Any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

#include "base/time.h"

namespace bartleby {

using TellTime = std::function<Now()>;

inline Now system_now() {
  using std::chrono::duration_cast;
  return {Instant(duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())),
          Timestamp(duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()))};
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now now() const = 0;
  virtual Instant steady() const { return now().steady; }
  virtual std::chrono::microseconds real(Duration span) const = 0;
};

class SystemClock : public Clock {
 public:
  explicit SystemClock(double speed = 1) : speed_(speed) {}

  Now now() const override {
    using std::chrono::duration_cast;
    if (speed_ == 1) return system_now();
    const auto steady = std::chrono::steady_clock::now();
    const Duration passed(
        static_cast<std::int64_t>(std::chrono::duration<double, std::milli>(steady - began_steady_).count() * speed_));
    return {Instant(duration_cast<Duration>(began_steady_.time_since_epoch()) + passed),
            Timestamp(duration_cast<Duration>(began_wall_.time_since_epoch()) + passed)};
  }

  Instant steady() const override {
    if (speed_ != 1) return now().steady;
    return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }

  std::chrono::microseconds real(Duration span) const override {
    return std::chrono::microseconds(
        static_cast<std::int64_t>(static_cast<double>(std::max(span, Duration(0)).count()) * 1000 / speed_));
  }

 private:
  double speed_;
  std::chrono::steady_clock::time_point began_steady_ = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point began_wall_ = std::chrono::system_clock::now();
};

}  // namespace bartleby
