// What the journal holds: one entry per message with a story, per surplus head, per death of a process.
//
// Entries are facts that survive the process. The text of the story (`JournalStory`) is carried beside
// the facts, because the engine decides by the facts alone and never holds the text.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/time.h"
#include "model/failure.h"
#include "model/ids.h"
#include "model/record.h"

namespace bartleby {

// `m/{offset}`: a message that has failed, or whose end the commit alone would forget.
struct MessageEntry {
  Offset offset;
  Timestamp timestamp;         // of the record: an entry counts only for a record with this very time
  std::optional<Lane> lane;    // absent: the record has no key
  bool self = false;           // it has left its lane: holds nobody, is held by nobody
  bool done = false;           // finished; must not run again
  std::optional<Reason> dead;  // decided to become a letter; must not run again
  std::uint32_t attempts = 0;  // failed attempts that count
  Kind kind = Kind::kTransient;
  Timestamp due;
  Timestamp first_failure;
  Timestamp last_failure;
  Duration throttled{0};  // waited on request of the other side, so far

  bool operator==(const MessageEntry&) const = default;
};

// `h/{lane}`: an open lane that found no room in the commit metadata.
struct HeadEntry {
  Lane lane;
  Offset from;

  bool operator==(const HeadEntry&) const = default;
};

// `x/{offset}/{incarnation}`: a process died while this message ran in it.
struct Obituary {
  Offset offset;
  std::uint64_t incarnation = 0;  // the life of the process that died
  Timestamp timestamp;            // of the record
  bool faulting = false;          // the signal handler named this message
  bool alone = false;             // no other handler ran in the process

  bool operator==(const Obituary&) const = default;
};

using JournalEntry = std::variant<MessageEntry, HeadEntry, Obituary>;

// The part for people, and for the letter.
struct JournalStory {
  ErrorText error;
  std::optional<LogRecord> record;  // the message itself, where retention would have deleted it

  bool operator==(const JournalStory& o) const {
    if (error != o.error || record.has_value() != o.record.has_value()) return false;
    return !record ||
           (record->offset == o.record->offset && record->timestamp == o.record->timestamp &&
            record->key == o.record->key && record->value == o.record->value && record->headers == o.record->headers);
  }
};

}  // namespace bartleby
