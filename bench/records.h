// Records to measure with: references in memory, offsets without gaps.
// Seeded, so that every run measures the same ones.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/events.h"

namespace bartleby::bench {

constexpr std::uint32_t kMessageSize = 256;
constexpr std::int64_t kWallStart = 1'700'000'000'000;  // Unix ms

// The record at `offset` with the key of that number.
RecordRef record(std::int64_t offset, std::uint64_t key);

// Every key as likely as every other.
std::vector<RecordRef> uniform_log(std::size_t records, std::size_t keys);

// The k-th key with a probability that falls with k^-0.99, as in YCSB.
std::vector<RecordRef> zipf_log(std::size_t records, std::size_t keys);

}  // namespace bartleby::bench
