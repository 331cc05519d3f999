// What the engine is told: the events of one step, and what handlers ended.
//
// Hot events (records, completions) come as spans of small references; the bytes stay with the caller,
// who knows them by slot. Everything names its partition with the assignment epoch, so that an answer
// from an earlier life is recognised and ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/config.h"
#include "model/journal.h"
#include "model/outcome.h"
#include "ports/broker.h"

namespace bartleby {

constexpr std::uint32_t kNone = 0xffffffff;  // no slot, no story, no link

enum RecordFlag : std::uint8_t {
  kKeyless = 1,   // no key: a lane of its own
  kSkip = 2,      // does not match: finished unrun
  kRefuse = 4,    // refused at admission: becomes a letter unrun, `reason` says why, `story` tells
  kReplayed = 8,  // carries a valid replay header: its verdict is reported
};

struct RecordRef {
  Offset offset;
  Timestamp timestamp;
  Lane lane;
  std::uint32_t slot = kNone;  // the caller's name for the bytes
  std::uint32_t size = 0;
  std::uint16_t case_id = 0;  // index into EngineConfig::cases
  std::uint8_t flags = 0;
  Reason reason = Reason::kUnknown;
};
static_assert(sizeof(RecordRef) == 32);

// One run of handlers, as named by the `Run` command that began it.
struct Token {
  PartitionRef ref;
  std::uint32_t entry = kNone;
  std::uint32_t serial = 0;

  bool operator==(const Token&) const = default;
};

struct Ending {
  Fate fate = Fate::kDone;
  Kind kind = Kind::kTransient;       // of a retry or reject
  Reason reason = Reason::kRejected;  // of a reject
  std::optional<Duration> after;      // the other side asked to wait this long
  std::uint32_t story = kNone;        // the caller's name for the error text
  std::uint32_t emit = kNone;         // the caller's name for the emitted records
  std::uint32_t emit_records = 0;
  std::uint64_t emit_bytes = 0;
  std::uint32_t emit_topic = kNone;  // destination, the caller's name
};

// `done` messages of the stretch succeeded plainly; then, if `last` is set, the next one ended with it.
// What is left of the stretch did not run.
struct Completion {
  Token token;
  std::uint32_t done = 0;
  std::optional<Ending> last;
};

struct RecordsIn {
  PartitionRef ref;
  std::span<const RecordRef> records;
};

struct AssignedIn {
  PartitionRef ref;
  TopicTraits traits;
  std::uint32_t dlq = 0;  // destination of its letters, the caller's name
};
struct RevokedIn {
  PartitionRef ref;
};
struct LostIn {
  PartitionRef ref;
};

struct EndIn {
  PartitionRef ref;
  Offset next;
};

struct OutOfRangeIn {
  PartitionRef ref;
  Offset log_start;
  Offset log_end;
};

struct OffsetsIn {
  PartitionRef ref;
  Stability stability;
  bool answered;
  std::optional<Offset> offset;
  std::string metadata;
};

struct FencedIn {
  PartitionRef ref;
  bool answered;
};

struct JournalItem {
  JournalEntry entry;
  std::uint32_t story = kNone;
  bool with_record = false;  // the story has the message's bytes
};

// The live entries of the journal partition, in slices; with `tail`, obituaries that came later.
struct JournalIn {
  PartitionRef ref;
  bool answered;
  std::vector<JournalItem> items;
  bool end;
  bool tail = false;
};

// Answer to Read (one message) and Sweep.
struct ReadIn {
  PartitionRef ref;
  std::uint32_t serial;
  bool answered;
  std::vector<RecordRef> records;
  Offset next;
  bool end;
  Offset log_start{0};
};

struct LogIn {
  PartitionRef ref;
  Offset log_start;
  Offset log_end;           // the high watermark: an offset may lie beyond a transaction that is still open
  std::uint64_t bytes = 0;  // from start to end; 0 = not known
  bool answered = true;
  std::uint64_t log = 0;  // which log; 0 = not known
};

struct RefusedItem {
  std::size_t index;  // into WritePlan::records
  Refusal why;
  std::uint32_t story = kNone;  // of an emitted record: what to tell about it
};

struct WriteIn {
  WriteSerial serial;
  WriteResult result;
  std::vector<RefusedItem> refused;
};

struct ResolvedPartition {
  PartitionRef ref;
  std::optional<Offset> offset;
  std::string metadata;
};

struct ResolvedIn {
  WriteSerial serial;
  bool answered;
  std::vector<ResolvedPartition> partitions;
};

// People. `offset` absent: every parked message (of `kind`, where set).
struct ParkedOrder {
  enum class What : std::uint8_t { kRunNow, kGiveUp } what;
  std::optional<PartitionRef> ref;
  std::optional<Offset> offset;
  std::optional<Kind> kind;
};
struct PauseIn {
  bool paused;
};
struct SettingsIn {
  std::shared_ptr<const LiveSettings> settings;
};
struct StopIn {};

using Event = std::variant<AssignedIn, RevokedIn, LostIn, RecordsIn, EndIn, OutOfRangeIn, OffsetsIn, FencedIn,
                           JournalIn, ReadIn, LogIn, WriteIn, ResolvedIn, ParkedOrder, PauseIn, SettingsIn, StopIn>;

}  // namespace bartleby
