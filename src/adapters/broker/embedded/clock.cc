#include "adapters/broker/embedded/options.h"

namespace bartleby::embedded {
namespace {

class MachineClock : public Clock {
 public:
  Now now() override {
    const auto steady = std::chrono::steady_clock::now().time_since_epoch();
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    return {Instant(std::chrono::duration_cast<Duration>(steady)),
            Timestamp(std::chrono::duration_cast<Duration>(wall))};
  }

  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& ready, Instant until, bool) override {
    constexpr Duration kLongest = std::chrono::hours(1);
    const Duration left = std::min(until - now().steady, kLongest);
    if (left > Duration(0)) ready.wait_for(lock, left);
  }
};

}  // namespace

std::shared_ptr<Clock> machine_clock() { return std::make_shared<MachineClock>(); }

}  // namespace bartleby::embedded
