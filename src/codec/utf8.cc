#include "codec/utf8.h"

#include <simdjson.h>

namespace bartleby {
namespace {

struct Character {
  std::size_t size;
  bool valid;
};

bool is_within(std::string_view text, std::size_t i, unsigned low, unsigned high) {
  if (i >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[i]);
  return byte >= low && byte <= high;
}

// The first character of `text`, or the ill-formed bytes that stand in its place: as many as could have begun
// one (Unicode's "maximal subpart"), so that a cut character is replaced once, not once per byte.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4) return {1, false};
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte's range keeps out overlong forms, surrogates and what lies above U+10FFFF.
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (!is_within(text, 1, low, high)) return {1, false};
  for (std::size_t i = 2; i < size; ++i)
    if (!is_within(text, i, 0x80, 0xbf)) return {i, false};
  return {size, true};
}

}  // namespace

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string clean_utf8(std::string_view text, TextLimit limit) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string out;
  for (std::size_t characters = 0; !text.empty() && characters < limit.characters; ++characters) {
    const Character c = first_character(text);
    const std::string_view kept = c.valid ? text.substr(0, c.size) : kReplacement;
    if (kept.size() > limit.bytes - out.size()) break;
    out += kept;
    text.remove_prefix(c.size);
  }
  return out;
}

void clean_utf8_in_place(std::string& text, TextLimit limit) {
  // No text has more characters than bytes.
  if (text.size() <= limit.bytes && text.size() <= limit.characters && is_utf8(text)) return;
  text = clean_utf8(text, limit);
}

}  // namespace bartleby
