#include "codec/time_text.h"

#include <algorithm>
#include <charconv>

namespace bartleby {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::int64_t kDay = 24LL * 60 * 60 * 1000;
constexpr std::int64_t kFirst = sys_days(std::chrono::year(0) / 1 / 1).time_since_epoch().count() * kDay;
constexpr std::int64_t kEnd = sys_days(std::chrono::year(10000) / 1 / 1).time_since_epoch().count() * kDay;
constexpr std::string_view kShape = "0000-00-00T00:00:00.000Z";

void put(std::string& text, std::size_t at, std::size_t width, std::int64_t value) {
  for (std::size_t i = width; i-- > 0; value /= 10) text[at + i] = static_cast<char>('0' + value % 10);
}

int digits(std::string_view text, std::size_t at, std::size_t width) {
  int value = 0;
  for (const char c : text.substr(at, width)) value = value * 10 + (c - '0');
  return value;
}

bool has_shape(std::string_view text) {
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !digit : text[i] != kShape[i]) return false;
  }
  return true;
}

std::optional<Timestamp> from_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  const Timestamp time = timestamp_ms(value);
  if (time_text(time) != text) return std::nullopt;
  return time;
}

}  // namespace

std::string time_text(Timestamp time) {
  const std::int64_t value = ms(time);
  if (value < kFirst || value >= kEnd) return std::to_string(value);
  const std::int64_t since_first = value - kFirst;  // not negative, so that division rounds the way it should
  const auto day = static_cast<days::rep>((kFirst + since_first / kDay * kDay) / kDay);
  const std::int64_t in_day = since_first % kDay;
  const year_month_day date{sys_days(days(day))};
  std::string text(kShape);
  put(text, 0, 4, static_cast<int>(date.year()));
  put(text, 5, 2, static_cast<unsigned>(date.month()));
  put(text, 8, 2, static_cast<unsigned>(date.day()));
  put(text, 11, 2, in_day / 3'600'000);
  put(text, 14, 2, in_day / 60'000 % 60);
  put(text, 17, 2, in_day / 1000 % 60);
  put(text, 20, 3, in_day % 1000);
  return text;
}

std::optional<Timestamp> time_from_text(std::string_view text) {
  if (!has_shape(text)) return from_number(text);
  const year_month_day date{std::chrono::year(digits(text, 0, 4)),
                            std::chrono::month(static_cast<unsigned>(digits(text, 5, 2))),
                            std::chrono::day(static_cast<unsigned>(digits(text, 8, 2)))};
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t day = sys_days(date).time_since_epoch().count();
  return timestamp_ms(day * kDay + hour * 3'600'000LL + minute * 60'000LL + second * 1000LL + digits(text, 20, 3));
}

std::optional<Timestamp> time_from_rfc3339(std::string_view text) {
  constexpr std::size_t kSeconds = 19;  // `2025-01-15T10:30:00`
  if (text.size() <= kSeconds) return std::nullopt;
  std::string plain(text.substr(0, kSeconds));
  if (plain[10] == 't' || plain[10] == ' ') plain[10] = 'T';
  text.remove_prefix(kSeconds);
  std::string fraction;
  if (text.starts_with('.')) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
    fraction = text.substr(1, end - 1);
    text.remove_prefix(end);
    if (fraction.empty()) return std::nullopt;
  }
  fraction.resize(3, '0');
  const auto utc = time_from_text(plain + "." + fraction + "Z");
  if (!utc || text == "Z" || text == "z") return utc;
  constexpr std::string_view kOffset = "+00:00";
  if (text.size() != kOffset.size() || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  for (const std::size_t i : {1U, 2U, 4U, 5U})
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
  const int hours = digits(text, 1, 2), minutes = digits(text, 4, 2);
  if (hours > 23 || minutes > 59) return std::nullopt;
  const Duration east = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return text[0] == '+' ? *utc - east : *utc + east;
}

}  // namespace bartleby
