// The two clocks, as types that do not mix.
//
// `Instant` never jumps and is what waiting is measured with; `Timestamp` is the calendar (Unix ms),
// which can jump, and is what is written down. Nothing here reads a clock: whoever drives the engine
// passes `Now` in.
#pragma once

#include <bartleby/types.h>

#include <chrono>
#include <cstdint>

namespace bartleby {

struct SteadyTag {
  using rep = std::int64_t;
  using period = std::milli;
  using duration = Duration;
  using time_point = std::chrono::time_point<SteadyTag>;
  static constexpr bool is_steady = true;
};

using Instant = SteadyTag::time_point;

struct Now {
  Instant steady;
  Timestamp wall;
};

constexpr std::int64_t ms(Instant t) { return t.time_since_epoch().count(); }

constexpr Instant kNever{Duration(INT64_MAX)};

}  // namespace bartleby
