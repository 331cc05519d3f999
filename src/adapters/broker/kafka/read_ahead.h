// How much a member lets librdkafka read ahead of one partition.
//
// librdkafka has a limit per partition and none for all of them, so the worker's budget is divided: among all
// partitions of its topics, because one member may have to take them all. No partition has less than 512 kB, or it
// would stand still while the broker is asked for more, nor more than 8 MB, which is enough to keep a handler busy
// meanwhile. One fetch (1 MB) can come on top. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace bartleby::kafka {

constexpr std::uint64_t kLeastAheadKb = 512, kMostAheadKb = 8192;

inline std::uint64_t read_ahead_kb(std::uint64_t max_bytes, std::uint64_t partitions) {
  return std::clamp(max_bytes / 1024 / std::max<std::uint64_t>(partitions, 1), kLeastAheadKb, kMostAheadKb);
}

}  // namespace bartleby::kafka
