// Kafka's murmur2, bit for bit, and its default partitioner: a key goes to the partition where every other
// client puts it.
#pragma once

#include <cstdint>
#include <string_view>

namespace bartleby {

constexpr std::uint32_t murmur2(std::string_view key) {
  constexpr std::uint32_t kM = 0x5bd1e995;
  const std::size_t size = key.size();
  auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(key[i])}; };
  std::uint32_t h = 0x9747b28cU ^ static_cast<std::uint32_t>(size);
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    std::uint32_t k = byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
    k *= kM;
    k ^= k >> 24;
    k *= kM;
    h = (h * kM) ^ k;
  }
  if (const std::size_t left = size - i; left > 0) {
    if (left >= 3) h ^= byte(i + 2) << 16;
    if (left >= 2) h ^= byte(i + 1) << 8;
    h = (h ^ byte(i)) * kM;
  }
  h ^= h >> 13;
  h *= kM;
  return h ^ h >> 15;
}

constexpr std::int32_t partition_of_key(std::string_view key, std::int32_t count) {
  return static_cast<std::int32_t>(murmur2(key) & 0x7fffffffU) % count;
}

}  // namespace bartleby
