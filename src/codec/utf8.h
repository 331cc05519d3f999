// Text from outside made fit to be stored: valid UTF-8 and no longer than agreed.
//
// Cannot fail: every ill-formed sequence becomes one U+FFFD, and a cut falls between characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bartleby {

struct TextLimit {
  std::size_t bytes = SIZE_MAX;
  std::size_t characters = SIZE_MAX;
};

bool is_utf8(std::string_view text);

// Looks at no more of `text` than it keeps.
std::string clean_utf8(std::string_view text, TextLimit limit = {});

// The same, free of charge where there is nothing to do.
void clean_utf8_in_place(std::string& text, TextLimit limit = {});

}  // namespace bartleby
