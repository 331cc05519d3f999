// Whether the office's store takes writes and answers, found out by doing both: for health, which is asked often.
//
// Owns its thread, which looks when somebody asks and the last look is old. So whoever asks waits a moment at most,
// even for a store that hangs, and however many ask, the disk is asked once a second. A store that fails, and one that
// works again, is told in the log, once each. Any thread may ask; store, clock and log must outlive it. Ending it
// waits for the look under way.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "ports/store.h"

namespace bartleby {

struct StoreLook {
  std::optional<Error> failure{};      // why it takes no writes or does not answer; absent: it did when last asked
  std::optional<std::int64_t> open{};  // letters that are open, when it last answered
  Duration waits{0};                   // since the look began that has not ended yet; 0: none is under way
};

struct StoreCheckTimes {
  Duration fresh{1000};     // a look counts as long as this
  Duration patience{1000};  // who asks waits as long as this for a new one
};

class StoreCheck {
 public:
  StoreCheck(Store& store, const Clock& clock, Log& log, StoreCheckTimes times = {});
  ~StoreCheck();
  StoreCheck(const StoreCheck&) = delete;
  StoreCheck& operator=(const StoreCheck&) = delete;

  StoreLook ask();

 private:
  void work();
  Result<std::int64_t> look();
  void tell(const std::optional<Error>& before, const std::optional<Error>& now);

  Store& store_;
  const Clock& clock_;
  Log& log_;
  const StoreCheckTimes times_;

  std::mutex mutex_;
  std::condition_variable wanted_, looked_;
  StoreLook last_;  // under the mutex, like all below
  std::optional<Instant> looked_at_;
  std::optional<Instant> began_;  // of the look that is wanted or under way
  bool stopping_ = false;
  std::thread thread_;  // last
};

}  // namespace bartleby
