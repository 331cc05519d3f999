#include "cli/text.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "codec/duration_text.h"
#include "codec/time_text.h"
#include "codec/utf8.h"

namespace bartleby::cli {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {{{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}}};

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t sign = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > sign; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ' ');
  return digits;
}

std::string counted(std::int64_t number, std::string_view thing) {
  return grouped(number) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

std::string span_text(Duration span) {
  if (span < Duration(0)) span = -span;
  if (span < std::chrono::seconds(1)) return std::to_string(span.count()) + "ms";
  std::int64_t rest = span.count() / 1000 * 1000;
  for (std::size_t i = kUnits.size(); i-- > 1;) {
    const std::int64_t whole = rest / kUnits[i].ms;
    if (whole == 0) continue;
    std::string text = std::to_string(whole) + std::string(kUnits[i].name);
    rest -= whole * kUnits[i].ms;
    if (i > 1 && rest >= kUnits[i - 1].ms)
      text += " " + std::to_string(rest / kUnits[i - 1].ms) + std::string(kUnits[i - 1].name);
    return text;
  }
  return "0s";
}

std::string ago_text(Timestamp at, Timestamp now) {
  const Duration age = now - at;
  if (age < Duration(0)) return "in " + span_text(age);
  if (age < std::chrono::seconds(1)) return "now";
  // The past is looked at from far: one unit says enough.
  const std::string span = span_text(age);
  return span.substr(0, span.find(' ')) + " ago";
}

std::string ago_text(const std::string& time_text, Timestamp now) {
  const auto at = time_from_text(time_text);
  if (!at) return time_text.empty() ? "-" : shown(time_text);
  return ago_text(*at, now);
}

std::string clock_text(Timestamp at) {
  const std::string whole = time_text(at);
  return whole.size() == 24 ? whole.substr(11, 8) : whole;
}

std::optional<Timestamp> moment_from(std::string_view text, Timestamp now) {
  if (const auto span = duration_from_text(text)) return now - *span;
  if (!text.contains('-')) return std::nullopt;  // a bare number is no time that a person would write
  // Whatever is left out is the beginning of the day, minute or second.
  constexpr std::string_view kRest = "0000-00-00T00:00:00.000Z";
  std::string whole(text);
  if (whole.ends_with('Z')) whole.pop_back();
  if (whole.size() != 10 && whole.size() != 16 && whole.size() != 19 && whole.size() != 23) return std::nullopt;
  if (whole.size() > 10 && whole[10] == ' ') whole[10] = 'T';
  whole += kRest.substr(whole.size());
  return time_from_text(whole);
}

std::string shown(std::string_view bytes) {
  std::string out;
  for (const char c : clean_utf8(bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\x%02x", byte);
      out += escaped.data();
    } else if (!out.empty() && out.back() == '\xC2' && byte >= 0x80 && byte < 0xA0) {
      // U+0080 to U+009F: control characters too, which some terminals obey.
      out.pop_back();
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\x%02x", byte);
      out += escaped.data();
    } else {
      out += c;
    }
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += begins_character(c) ? 1U : 0U;
  return width;
}

std::string cut(std::string_view text, std::size_t width) {
  if (text.size() <= width || width_of(text) <= width) return std::string(text);
  std::size_t seen = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end)
    if (begins_character(text[end]) && ++seen == width) break;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace bartleby::cli
