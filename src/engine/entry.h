// What a partition keeps of a message and of a lane.
//
// Plain data in slabs, linked by 32-bit numbers. There are very many of them, so sizes are asserted: a message that has
// not failed is an Entry alone, and only those that failed, died or emitted have Facts. Owned by PartitionEngine.
#pragma once

#include <cstdint>

#include "engine/shared.h"
#include "engine/timer_wheel.h"

namespace bartleby {

constexpr Offset kNoOffset{INT64_MAX};

enum class State : std::uint8_t {
  kQueued,  // in memory or about to be read again, waits for its turn
  kRunning,
  kFetching,  // its turn has come, its bytes are being read again
  kFailed,    // failed; the journal does not know it yet
  kParked,    // waits for its next attempt
  kKept,      // exhausted and may not be dead-lettered; waits for people
  kDying,     // becomes a letter; not durable yet
  kSettling,  // succeeded; what it leaves behind is not durable yet
  kFinished,  // over, but something before it in its lane is not
};

enum EntryFlag : std::uint8_t {
  kInWrite = 1,   // the write in flight carries its item
  kPending = 2,   // has an item that waits for a write
  kDecision = 4,  // the item in the write is the decision alone, not the letter
  kCounted = 8,   // finished durably and counted
  kDoomed = 16,   // must not run again: becomes a letter, `Facts::reason` says why
  kSkipped = 32,  // finished by skipping
  kReserve = 64,  // its bytes are the reserved message
  kUnread = 128,  // known by its offset alone
};

struct Entry {
  Offset offset;
  Timestamp timestamp;
  std::uint32_t slot = kNone;
  std::uint32_t size = 0;
  std::uint32_t lane = kNone;
  std::uint32_t next = kNone;
  std::uint32_t facts = kNone;
  std::uint32_t serial = 0;  // of its Run, or of its read
  std::uint16_t case_id = 0;
  State state = State::kQueued;
  std::uint8_t flags = 0;         // EntryFlag
  std::uint8_t record_flags = 0;  // RecordFlag
  Reason refuse_reason = Reason::kUnknown;
};

// What a success wants written; until the write is answered.
struct Emitted {
  std::uint64_t bytes = 0;
  std::uint32_t emit = kNone;
  std::uint32_t topic = kNone;
  std::uint32_t records = 0;
};

// What a message has besides its place: only those that failed, died or emitted have one. 100,000 of them are parked
// in a partition, so every byte counts.
struct Facts {
  Timestamp due;
  Timestamp first_failure;
  Timestamp last_failure;
  Instant due_steady{};
  std::uint64_t live = 0;  // fingerprint of its journal entry; meaningful with has_live
  TimerLink timer;
  std::uint32_t entry = kNone;
  std::uint32_t story = kNone;
  std::uint32_t throttled_ms = 0;
  std::uint16_t attempts = 0;
  Kind kind : 4 = Kind::kTransient;
  Reason reason : 4 = Reason::kUnknown;
  Fate fate : 3 = Fate::kDone;
  std::uint8_t form : 2 = 0;
  bool has_live : 1 = false;
  bool self : 1 = false;         // out of its lane, in the journal's words too
  bool decided : 1 = false;      // the journal holds the decision to dead-letter
  bool lost : 1 = false;         // retention took the bytes
  bool with_record : 1 = false;  // the journal entry holds the bytes
  bool emits : 1 = false;
  bool putting : 1 = false;  // the write in flight carries its first entry
  bool stuck : 1 = false;    // its letter fits into no record of its dlq; tried again at `due_steady`

  // What is emitted waits for a write and not for a timer: the number of its `Emitted` lies in the unused link.
  std::uint32_t& emitted() { return timer.prev; }
  std::uint32_t emitted() const { return timer.prev; }
};
static_assert(sizeof(Facts) <= 72);

struct LaneState {
  Lane hash;
  std::uint32_t chain = kNone;
  std::uint32_t head = kNone;  // first entry that is not settled
  std::uint32_t tail = kNone;
  std::uint32_t current = kNone;  // first entry without a decision
  std::uint32_t count = 0;        // entries in the list
  std::uint32_t bytes = 0;        // of them in memory
  std::uint16_t running = 0;      // entries in the present Run
  bool slow : 1 = false;
  bool solo : 1 = false;        // one message without followers: no key, or out of its lane
  bool ready : 1 = false;       // in the ready queue
  bool in_pass : 1 = false;     // the sweep brings its messages
  bool suspect : 1 = false;     // waits for its turn to run alone
  bool listed : 1 = false;      // its place is in listed_
  bool seen : 1 = false;        // by the cut that is being built
  Offset log_from = kNoOffset;  // from here on its messages lie in the log only
  Offset key = kNoOffset;       // its place in order_ or listed_
};
static_assert(sizeof(LaneState) <= 48);

}  // namespace bartleby
