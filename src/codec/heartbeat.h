// What an instance says of itself every few seconds, as JSON (`worker:{type}:{instance_id}`).
//
// Workers in other languages write the same, and perhaps only its first four fields: reading wants `timestamp` and
// `status`, takes the rest where it is there, and ignores what it does not know. nullopt: no heartbeat of this kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace bartleby {

enum class LifeStatus : std::uint8_t { kRunning, kPaused, kShuttingDown };
std::string_view name(LifeStatus status);

struct HeartbeatFacts {
  Timestamp timestamp;
  LifeStatus status = LifeStatus::kRunning;
  std::optional<Timestamp> last_message_at;  // when the last attempt ended
  std::int64_t consumer_lag = 0;             // effective: what could run now and has not
  std::optional<Timestamp> started_at;
  std::string version, advertise;
  std::uint64_t partitions = 0;
  std::uint64_t parked = 0;
  bool pinned = false;  // a waiting message holds a commit

  bool operator==(const HeartbeatFacts&) const = default;
};

std::string heartbeat_text(const HeartbeatFacts& facts);
std::optional<HeartbeatFacts> heartbeat_from_text(std::string_view text);

}  // namespace bartleby
