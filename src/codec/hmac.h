// HMAC-SHA256 of bytes in memory, and a comparison that takes the same time whichever byte differs.
//
// Cannot fail: a library that refuses is a broken installation and ends the process.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "codec/sha256.h"

namespace bartleby {

Sha256 hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts);
std::string hmac_sha256_hex(std::string_view key, std::initializer_list<std::string_view> parts);

bool same_bytes(std::string_view a, std::string_view b);

}  // namespace bartleby
