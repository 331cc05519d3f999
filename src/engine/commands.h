// What the engine wants done: `Commands`, filled by a step into vectors that the caller owns and reuses.
//
// The caller carries them out in any order and reports back by events. Nothing here has happened yet:
// the engine counts on a command only when its event has come.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/events.h"

namespace bartleby {

struct RunItem {
  Offset offset;
  std::uint32_t slot;
  std::uint16_t case_id;
};

// Run the handler on `count` consecutive messages of one lane, one after the other, and stop at the first
// that does not succeed plainly. Once the partition was released or lost no further message of it may begin.
struct Run {
  Token token;
  std::uint32_t first;  // into Commands::items
  std::uint32_t count;
  std::uint32_t attempt;  // of the first, from 1
  bool alone;             // nothing else runs in this process: it is under suspicion
  bool probe;
};

struct ReadOffsets {
  PartitionRef ref;
  Stability stability;
};
struct FenceWriter {
  PartitionRef ref;
  std::string writer;
};
struct ReadLog {
  PartitionRef ref;
};
struct ReadJournal {
  PartitionRef ref;
};
// The partition begins anew: what still runs of it counts no more, and its messages may come again.
struct ForgetRuns {
  PartitionRef ref;
};
struct StartReading {
  PartitionRef ref;
  Offset from;
};
struct SetIntake {
  PartitionRef ref;
  bool open;
};

// The message at one offset, again: from the log, or from the story that has its bytes.
struct ReadMessage {
  PartitionRef ref;
  std::uint32_t serial;
  Offset offset;
  std::uint32_t story = kNone;
};

// The messages of these lanes in [from, to), again, in slices. CancelSweep ends it early.
struct Sweep {
  PartitionRef ref;
  std::uint32_t serial;
  Offset from;
  Offset to;
  std::vector<Lane> lanes;  // ascending
};
struct CancelSweep {
  PartitionRef ref;
  std::uint32_t serial;
};

enum class RecordType : std::uint8_t { kJournalPut, kJournalErase, kLetter, kEmit, kOutcome };

struct LetterPlan {
  Reason reason = Reason::kUnknown;
  std::uint8_t form = 0;         // rung of the ladder for letters that are too large
  bool without_payload = false;  // retention took it
};

struct PlannedRecord {
  RecordType type;
  std::uint32_t partition;       // index into WritePlan::cuts
  JournalEntry entry;            // put, erase: the key counts; letter, outcome: the facts of the message
  std::uint32_t source = kNone;  // the engine's own name for the message
  std::uint32_t story = kNone;
  std::uint32_t slot = kNone;  // letter, outcome, put with the message inside
  std::uint32_t emit = kNone;  // all records of this emit
  LetterPlan letter;
  Fate fate = Fate::kDone;  // outcome: what became of the replayed message
};

struct PlannedCut {
  PartitionRef ref;
  Offset offset;  // L
  std::string metadata;
};

struct WritePlan {
  WriteSerial serial;
  std::vector<PlannedCut> cuts;
  std::vector<PlannedRecord> records;
};

struct ResolveWrite {
  WriteSerial serial;
};

// The partition may be handed over; the engine has forgotten it.
struct ReleasePartition {
  PartitionRef ref;
};
// A stop is complete: every partition was released.
struct Stopped {};

enum class AlarmType : std::uint8_t {
  kForeignMetadata,
  kNewerMetadata,
  kDamagedMetadata,
  kJournalDiffers,
  kOffsetReset,
  kTopicMadeAnew,  // under the same name: what was committed was of the old one
  kLostByRetention,
  kExpiring,
  kLimitParked,
  kLimitWindow,
  kDestinationRefused,
  kJournalRefused,
  kGuardOpened,
  kGuardClosed,
  kExhaustedKept,
  kCrashLoop,
  kCrashPoison,
  kStaleEntry,
  kDrainExpired,
  kParkedSkipped,    // so many messages that waited lie below a commit that people moved: nobody tries them again
  kMetadataRefused,  // a commit with metadata of so many bytes at most; the next ones have half of that
};

struct Alarm {
  AlarmType type;
  PartitionRef ref;
  Offset offset;
  std::uint64_t number = 0;
};

using Command = std::variant<ReadOffsets, FenceWriter, ReadLog, ReadJournal, ForgetRuns, StartReading, SetIntake,
                             ReadMessage, Sweep, CancelSweep, WritePlan, ResolveWrite, ReleasePartition, Stopped>;

struct Commands {
  std::vector<Run> runs;
  std::vector<RunItem> items;
  std::vector<std::uint32_t> free_slots;  // bytes nobody needs any more
  std::vector<std::uint32_t> free_stories;
  std::vector<std::uint32_t> free_emits;
  std::vector<Command> others;
  std::vector<Alarm> alarms;

  void clear() {
    runs.clear();
    items.clear();
    free_slots.clear();
    free_stories.clear();
    free_emits.clear();
    others.clear();
    alarms.clear();
  }
};

}  // namespace bartleby
