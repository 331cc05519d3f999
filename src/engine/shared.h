// What the partitions of one worker share: settings, clock, the commands of this step, byte budget, guard.
//
// It belongs to the Engine and lives as long as it. Partitions reach each other only through here.
#pragma once

#include <cstdint>
#include <map>

#include "base/random.h"
#include "engine/commands.h"
#include "engine/config.h"
#include "engine/guard.h"

namespace bartleby {

// A topic that refused a record is left alone for a while, longer each time, and then tried with one item.
struct Destination {
  Instant suspended_until{};
  Duration pause{0};
  bool suspended = false;
  bool probing = false;  // the one item is on its way
  WriteSerial refused;   // the last write of which it refused something
};

enum class DestinationType : std::uint8_t { kDlq, kEmit, kOutcomes, kJournal };

struct DestinationId {
  DestinationType type;
  std::uint32_t id;

  constexpr auto operator<=>(const DestinationId&) const = default;
};

struct EngineCounters {
  std::uint64_t stale_replies = 0;
  std::uint64_t sweeps = 0;
  std::uint64_t reads = 0;
  std::uint64_t evictions = 0;
  std::uint64_t evict_walks = 0;  // over all slow lanes, for something to evict
  std::uint64_t dropped = 0;
  std::uint64_t stale_entries = 0;
  std::uint64_t writes = 0;
  std::uint64_t resolved_done = 0;  // unknown outcomes that turned out well
  std::uint64_t resolved_not_done = 0;
};

struct Shared {
  Shared(EngineConfig c, Commands& commands)
      : config(std::move(c)), out(&commands), random(config.seed), guard(config.guard) {}

  EngineConfig config;
  Commands* out;
  Now now{};
  Random random;
  OutageGuard guard;
  std::map<DestinationId, Destination> destinations;
  EngineCounters counters;
  std::uint64_t bytes = 0;          // of messages in memory, all partitions
  std::uint64_t emitted = 0;        // of these, what handlers emitted and nobody has written yet
  bool in_doubt = false;            // nobody knows what became of the write in flight
  std::uint64_t reading = 0;        // of single messages that are being read: they will be in memory
  std::uint32_t running = 0;        // Run commands without their completion
  std::uint32_t reserve_users = 0;  // due heads that live on the reserved message

  bool room_for(std::uint64_t size) const { return bytes + reading + size <= config.max_bytes; }
  void alarm(AlarmType type, PartitionRef ref, Offset offset, std::uint64_t number = 0) {
    out->alarms.push_back({type, ref, offset, number});
  }

  bool suspended(DestinationId id) const {
    const auto at = destinations.find(id);
    return at != destinations.end() && at->second.suspended;
  }

  // What the pump keeps for the engine is given back; kNone is nothing.
  void free_slot(std::uint32_t slot) { give_back(slot, out->free_slots); }
  void free_story(std::uint32_t story) { give_back(story, out->free_stories); }
  void free_emit(std::uint32_t emit) { give_back(emit, out->free_emits); }

  // An outcome that nobody waits for gives back what it names.
  void drop(const std::optional<Ending>& ending) {
    if (!ending) return;
    free_story(ending->story);
    free_emit(ending->emit);
  }

  void suspend(DestinationId id, WriteSerial refused);
  void works(DestinationId id);

  bool over_budget() const { return bytes >= config.max_bytes; }

 private:
  static void give_back(std::uint32_t number, std::vector<std::uint32_t>& list) {
    if (number != kNone) list.push_back(number);
  }
};

}  // namespace bartleby
