// How often and when a failing message is tried again. A pure function of the policy, the number of
// failed attempts and the seeded generator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "model/failure.h"

namespace bartleby {

struct Schedule {
  std::vector<Duration> steps;  // the last one repeats; at least one
};

struct Linear {
  Duration step;  // × number of failed attempts
};

struct Exponential {
  Duration initial;
  std::uint32_t factor = 2;
  Duration max;
};

struct RetryPolicy {
  std::uint32_t max_attempts = 6;
  std::variant<Schedule, Linear, Exponential> backoff = Schedule{{Duration(1000)}};
  std::uint32_t jitter_percent = 0;  // of the delay, both ways
  Duration timeout{30000};
  Duration max_retry_after{3600000};  // longest wait that the other side may ask for, and in total
  std::uint32_t max_crashes = 3;      // deaths of the process after which a message is given up unrun
  std::array<std::optional<std::uint32_t>, kKinds> max_attempts_by_kind{};

  // Attempts a message has whose last failure is of this kind; 1 for kinds that are final.
  std::uint32_t attempts_for(Kind kind) const;

  // Wait after the `failed`th failed attempt (from 1).
  Duration delay(std::uint32_t failed, Random& random) const;
};

}  // namespace bartleby
