// Calendar times as text: `2025-01-15T10:30:00.000Z` (RFC 3339, UTC, milliseconds).
//
// A record's time is whatever its producer wrote. One outside the years 0 to 9999 has no such text (microseconds
// taken for milliseconds are common) and is written as plain Unix milliseconds, so that every time survives.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace bartleby {

std::string time_text(Timestamp time);

// The exact inverse: nullopt for anything that `time_text` does not write.
std::optional<Timestamp> time_from_text(std::string_view text);

// What other programs write: any RFC 3339 text, with or without a fraction, with `Z` or an offset. Cut to milliseconds.
std::optional<Timestamp> time_from_rfc3339(std::string_view text);

}  // namespace bartleby
