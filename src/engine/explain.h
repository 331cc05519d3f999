// Why something stands still, in words: a view of the engine's state, made on demand.
//
// Reads only. Answers four questions: what holds a partition's commit, what happens to one message or to one key, and
// why a partition takes in nothing. Every sentence names the limit, the due time or the step that it waits for.
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
  std::string state;          // running, parked, held, dying, …
  std::uint32_t attempt = 1;  // that runs or comes next; of one that gets none any more, the last
  std::optional<Kind> kind;   // of its last failure
  std::uint32_t max_attempts = 0;
  std::optional<Duration> due_in;
  std::uint32_t slot = kNone;   // of its bytes, where they are in memory
  std::uint32_t story = kNone;  // of its last failure
};

struct Explanation {
  std::string answer;
  std::vector<Pin> pinned_by;  // lowest first, at most 10
  Offset committed, high, frontier;
};

// A message that waits for its next attempt, or for people.
struct WaitingMessage {
  Offset offset;
  Timestamp timestamp;
  std::uint32_t slot = kNone;
  std::uint32_t story = kNone;
  std::uint32_t attempts = 0;  // failed so far
  std::uint32_t max_attempts = 0;
  Kind kind = Kind::kTransient;
  Timestamp first_failure, last_failure;
  std::optional<Timestamp> due;  // absent: kept for people
};

// Lowest offsets first, at most `limit`.
std::vector<WaitingMessage> waiting_messages(const Engine& engine, PartitionRef ref, Now now,
                                             std::optional<Offset> offset, std::optional<Kind> kind, std::size_t limit);

// Why the partition stands where it stands.
std::optional<Explanation> explain(const Engine& engine, PartitionRef ref, Instant now);
// What happens to the message at `offset`.
std::optional<Explanation> explain(const Engine& engine, PartitionRef ref, Offset offset, Instant now);
// What happens to the messages of a lane; `pinned_by` are they. An empty answer: none waits or runs here.
std::optional<Explanation> explain(const Engine& engine, PartitionRef ref, Lane lane, Instant now);

// What cannot be read off the partition at once.
struct WaitingFigures {
  std::size_t held_keys = 0;  // lanes with messages behind one that is parked or kept
  std::size_t dying = 0;      // messages whose letter is not durable yet
};
WaitingFigures waiting_figures(const Engine& engine, PartitionRef ref);

// When the message that this run began with was due; nullopt where it never waited.
std::optional<Instant> due_of(const Engine& engine, const Token& token);

}  // namespace bartleby
