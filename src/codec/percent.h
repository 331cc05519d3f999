// Bytes as text: two hexadecimal digits each, or only where a text must not have them (`%3B`).
//
// Any thread; keeps nothing. Decoding is strict: a `%` without two digits after it is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bartleby {

std::string hex(std::span<const std::uint8_t> bytes);  // lower case

// `%XX` for this byte.
void append_percent(std::string& out, char byte);

// What `keep` is true for stays as it is.
template <class Keep>
std::string percent_encoded(std::string_view text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (keep(c))
      out += c;
    else
      append_percent(out, c);
  }
  return out;
}

// nullopt: not well formed. In a URL's query a `+` is a blank.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank = false);

}  // namespace bartleby
