// Durations as people write them: `250ms 10s 5m 1h 30d`. One number and one unit, no sign, no blank.
// nullopt: not one of these, or more milliseconds than 64 bits hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace bartleby {

std::optional<Duration> duration_from_text(std::string_view text);

// In the largest unit that loses nothing; `0s`.
std::string duration_text(Duration duration);

}  // namespace bartleby
