// Base64, standard alphabet, in two spellings: padded for people's tools, bare where every character counts.
//
// Decoding is strict, so that one text has one meaning and one value one text: no white space, padding
// exactly as the spelling says, unused bits zero. Anything else is refused, and `out` is then unspecified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bartleby {

enum class Base64 : std::uint8_t { kPadded, kBare };

constexpr std::size_t base64_size(std::size_t bytes, Base64 spelling) {
  return spelling == Base64::kPadded ? (bytes + 2) / 3 * 4 : (bytes * 4 + 2) / 3;
}

void append_base64(std::string& out, std::string_view bytes, Base64 spelling);
bool append_from_base64(std::string& out, std::string_view text, Base64 spelling);

}  // namespace bartleby
