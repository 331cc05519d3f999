// Topics and partitions as they are in memory: what is committed, what is planned, and who waits for more.
//
// Plain data, guarded by the lock of `Core`. Partitions keep their address as long as the broker is open.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/broker/embedded/log_file.h"

namespace bartleby::embedded {

class EmbeddedMember;

struct PartitionLog {
  TopicPartition tp;
  StoredPartition stored;  // committed: what readers may see
  Offset planned{0};       // the end, once the batch that is being written is committed
  Timestamp planned_last{};
  std::uint64_t unsaved = 0;             // bytes since `stored` was saved
  std::vector<Offset> held;              // first offsets of writes that a test holds open
  std::optional<Offset> keep_from;       // who must see every record has come so far
  std::vector<EmbeddedMember*> waiters;  // woken when the log changes
  std::uint64_t kept_by_compaction = 0;  // records that the last run left

  // Committed reads end here.
  Offset stable() const { return held.empty() ? stored.end : *std::min_element(held.begin(), held.end()); }
};

struct Topic {
  std::int64_t id = 0;
  TopicSpec spec;
  std::deque<PartitionLog> logs;
  bool denied = false;   // by a test
  bool stalled = false;  // by a test
};

using Topics = std::map<std::string, Topic, std::less<>>;

}  // namespace bartleby::embedded
