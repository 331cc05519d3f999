// Text for people: numbers, times, counts, and bytes from outside made fit for a terminal.
//
// What a message holds may be anything, escape sequences included: `shown` lets none through. Widths are counted in
// characters, not bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace bartleby::cli {

std::string grouped(std::int64_t number);                           // `7 769`
std::string counted(std::int64_t number, std::string_view thing);   // `1 topic`, `12 topics`
std::string span_text(Duration span);                               // `4m 12s`, `35m`, `2d 3h`; the two largest units
std::string ago_text(Timestamp at, Timestamp now);                  // `3m ago`, `now`, `in 4m 12s`
std::string ago_text(const std::string& time_text, Timestamp now);  // of a time as the server writes it; `-` if none
std::string clock_text(Timestamp at);                               // `11:32:07`, UTC

// `2025-01-15`, `2025-01-15T10:30`, `…:00Z`, `….250Z` (UTC), or how long ago (`10m`).
std::optional<Timestamp> moment_from(std::string_view text, Timestamp now);

// One line, valid UTF-8, control characters as `\n`, `\x1b`.
std::string shown(std::string_view bytes);
std::size_t width_of(std::string_view text);
// At most `width` characters, the last an ellipsis where something was cut.
std::string cut(std::string_view text, std::size_t width);

}  // namespace bartleby::cli
