#include "base/clock.h"

#include <algorithm>

#include "adapters/broker/embedded/options.h"

namespace bartleby::embedded {
namespace {

class MachineClock : public Clock {
 public:
  explicit MachineClock(std::function<Timestamp()> calendar) : calendar_(std::move(calendar)) {}

  Now now() override {
    Now both = system_now();
    if (calendar_) both.wall = calendar_();
    return both;
  }

  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& ready, Instant until, bool) override {
    constexpr Duration kLongest = std::chrono::hours(1);
    const Duration left = std::min(until - now().steady, kLongest);
    if (left > Duration(0)) ready.wait_for(lock, left);
  }

 private:
  const std::function<Timestamp()> calendar_;
};

}  // namespace

std::shared_ptr<Clock> machine_clock(std::function<Timestamp()> calendar) {
  return std::make_shared<MachineClock>(std::move(calendar));
}

}  // namespace bartleby::embedded
