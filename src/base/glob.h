// Names by pattern: `*` stands for any text, also none; everything else for itself.
// Pure; the time is bounded by the product of the lengths.
#pragma once

#include <string_view>

namespace bartleby {

constexpr bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {  // the last star takes one more
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

static_assert(glob_matches("*.dlq", "orders.dlq") && !glob_matches("*.dlq", "orders.dlq2"));
static_assert(glob_matches("a*b*c", "aXbXbc") && glob_matches("*", "") && !glob_matches("a", ""));

}  // namespace bartleby
