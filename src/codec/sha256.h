// SHA-256 of bytes in memory.
//
// Cannot fail: a library that refuses is a broken installation and ends the process.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace bartleby {

using Sha256 = std::array<unsigned char, 32>;

Sha256 sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);  // 64 lower-case digits

}  // namespace bartleby
