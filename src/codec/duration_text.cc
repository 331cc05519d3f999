#include "codec/duration_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace bartleby {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array kUnits{Unit{"d", 86400000}, Unit{"h", 3600000}, Unit{"m", 60000}, Unit{"s", 1000}, Unit{"ms", 1}};

}  // namespace

std::optional<Duration> duration_from_text(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;  // from_chars takes a minus
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return std::nullopt;
  const auto unit = std::ranges::find(kUnits, text.substr(static_cast<std::size_t>(end - text.data())), &Unit::name);
  if (unit == kUnits.end() || number > std::numeric_limits<std::int64_t>::max() / unit->ms) return std::nullopt;
  return Duration(number * unit->ms);
}

std::string duration_text(Duration duration) {
  if (duration == Duration(0)) return "0s";
  const auto unit = std::ranges::find_if(kUnits, [&](const Unit& u) { return duration.count() % u.ms == 0; });
  return std::to_string(duration.count() / unit->ms) + std::string(unit->name);
}

}  // namespace bartleby
