// Where a group begins: decided once, before anything runs, for all partitions of a topic together.
//
// A group without any offset on a topic gets its start position committed for every partition, while it has no
// members. A partition without an offset in a group that has others was added, or lost its offset: nothing is
// committed for it here, and the takeover begins at the log's start and says so where that may repeat messages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ports/broker.h"

namespace bartleby {

enum class StartAt : std::uint8_t { kEarliest, kLatest, kTime };

struct StartRange {
  Offset log_start;
  Offset log_end;
  std::optional<Offset> at_time;  // first record at or after the wanted time; absent: there is none yet
};

// What to commit first; empty where the group has begun already. Every partition in `offsets` has its range.
std::vector<CommittedOffset> first_offsets(const std::vector<CommittedOffset>& offsets,
                                           const std::map<TopicPartition, StartRange>& ranges, StartAt start);

}  // namespace bartleby
