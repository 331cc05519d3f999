// Why something stands still, in words: a view of the engine's state, made on demand.
//
// Reads only. Answers three questions: what holds a partition's commit, what happens to one message, and why a
// partition takes in nothing. Every sentence names the limit, the due time or the step that it waits for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace bartleby {

// One message, or lane in the log, that holds the commit.
struct Pin {
  Offset offset;
  std::optional<Lane> lane;
  std::string state;           // running, parked, held, dying, …
  std::uint32_t attempts = 0;  // failed so far
  std::uint32_t max_attempts = 0;
  std::optional<Duration> due_in;
};

struct Explanation {
  std::string answer;
  std::vector<Pin> pinned_by;  // lowest first, at most 10
  Offset committed, high, frontier;
};

// Why the partition stands where it stands.
std::optional<Explanation> explain(const Engine& engine, PartitionRef ref, Instant now);
// What happens to the message at `offset`.
std::optional<Explanation> explain(const Engine& engine, PartitionRef ref, Offset offset, Instant now);

}  // namespace bartleby
