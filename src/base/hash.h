// Our own hash: the same bits on every machine and for ever.
//
// Lanes, journal checks and traces depend on it, so it can change only together with the version of
// whatever stores its result. `std::hash` may differ between libraries and is not used.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace bartleby {

constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint64_t combine(std::uint64_t seed, std::uint64_t value) {
  return mix64(seed + 0x9e3779b97f4a7c15ULL + value);
}

// Eight bytes at a time, little-endian whatever the machine; the length is part of the hash.
inline std::uint64_t hash64(std::string_view bytes) {
  std::uint64_t h = mix64(0x27d4eb2f165667c5ULL ^ bytes.size());
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    for (std::size_t b = 0; b < 8; ++b) word |= std::uint64_t{static_cast<unsigned char>(bytes[i + b])} << (8 * b);
    h = combine(h, word);
  }
  std::uint64_t tail = 0;
  for (std::size_t b = 0; i < bytes.size(); ++i, ++b)
    tail |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * b);
  return combine(h, tail);
}

}  // namespace bartleby
