// The machine's clocks, for the edges: adapters and threads. What decides takes `Now` as an argument instead.
//
// `Instant` counts from the start of the machine: comparable within a process, not between machines.
#pragma once

#include <chrono>
#include <functional>

#include "base/time.h"

namespace bartleby {

using Clock = std::function<Now()>;

inline Now system_now() {
  using std::chrono::duration_cast;
  return {Instant(duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())),
          Timestamp(duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()))};
}

}  // namespace bartleby
