// What the engine is told about its worker.
// Every queue, buffer and loop takes its limit from here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/metadata.h"
#include "model/retry_policy.h"

namespace bartleby {

// hold: a key waits for its parked message; bypass: it does not.
enum class KeyPolicy : std::uint8_t { kHold, kBypass };

struct GuardConfig {
  std::uint32_t open_percent = 50;
  std::uint32_t of = 20;  // different messages
  Duration within{60000};
  Duration probe{5000};
  Duration hold_max{3600000};
  std::uint32_t letters = 5;  // of exhausted messages, per window, while open
};

struct EngineConfig {
  std::string writer;  // our transactional id
  std::vector<RetryPolicy> cases{RetryPolicy{}};
  KeyPolicy key_policy = KeyPolicy::kHold;
  std::optional<GuardConfig> guard = GuardConfig{};
  bool dead_letters = true;  // off: an exhausted message stays parked, out of its lane
  bool drop = false;         // with dead letters off: lose it on purpose, counted
  bool adopt = false;        // take over a group whose metadata is not ours
  bool in_process = true;    // handlers run inside this process, so that a message can kill it

  std::uint32_t concurrency = 64;  // attempts at once
  std::uint32_t max_stretch = 16;  // messages of one lane handed out in one Run
  Duration drain{25000};           // how long stop and revoke wait for running handlers

  std::uint64_t max_bytes = 64ULL << 20;   // of messages in memory
  std::uint64_t max_message = 1ULL << 20;  // reserved for one due head
  std::uint32_t max_queued = 20000;        // messages in memory per partition that are not parked
  std::uint32_t lane_messages = 1000;      // behind the first of a lane, in memory
  std::uint64_t lane_bytes = 1ULL << 20;
  std::uint32_t max_parked = 100000;  // per partition
  std::int64_t max_window = 5000000;  // offsets between commit and frontier
  std::uint32_t max_ahead = 262144;   // offsets between H and frontier; beyond, heads go into the journal

  std::uint32_t write_records = 2000;  // says when to stop adding; the first item always goes
  std::uint64_t write_bytes = 1ULL << 20;
  Duration linger{50};           // from the first record to write
  Duration offsets_linger{500};  // offsets alone
  std::size_t metadata_limit = kMaxMetadata;
  std::size_t writer_room = kMaxWriterId;  // kept free in the metadata: the next owner's claim adds its name
  std::uint64_t seed = 1;                  // of the jitter
};

// What may change while a worker runs. Parked messages keep the due time they have; everything else counts from now on.
struct LiveSettings {
  explicit LiveSettings(const EngineConfig& c)
      : cases(c.cases),
        guard(c.guard),
        concurrency(c.concurrency),
        max_parked(c.max_parked),
        max_window(c.max_window) {}

  void apply_to(EngineConfig& c) const {
    c.cases = cases;
    c.guard = guard;
    c.concurrency = concurrency;
    c.max_parked = max_parked;
    c.max_window = max_window;
  }

  std::vector<RetryPolicy> cases;  // as many as before
  std::optional<GuardConfig> guard;
  std::uint32_t concurrency;
  std::uint32_t max_parked;
  std::int64_t max_window;
};

// What is known of a source topic.
struct TopicTraits {
  std::optional<Duration> retention;
  std::optional<std::uint64_t> retention_bytes;
  bool compacted = false;
  std::optional<std::uint64_t> max_message;  // that the topic takes
  bool first = false;                        // the group has never had an offset on it: none is missing
};

}  // namespace bartleby
