// A letter as the office keeps it: what lists and one letter's page show. The bytes are apart (`LetterPayload`).
//
// One letter is one message in one group, through all its lives: a replay that fails again opens the same letter with
// `replays` one higher. What is not known of a record that nobody could decode is absent, never a number that stands
// for nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/failure.h"
#include "model/letter_state.h"
#include "model/record.h"

namespace bartleby {

enum class DlqClass : std::uint8_t { kNormal, kFinancial };
constexpr std::string_view name(DlqClass c) { return c == DlqClass::kNormal ? "normal" : "financial"; }

// What letters have in common that lie on the same shelf: where they came from and why. Few, so that counting by any
// of these is adding up a handful of numbers.
struct ShelfLabel {
  std::string dlq;
  std::string cluster;
  std::string topic;  // of the first life
  std::string group;  // topic, group and worker are empty where nobody could tell
  std::string worker;
  Reason reason = Reason::kUnknown;

  auto operator<=>(const ShelfLabel&) const = default;
};

// Where the record of one life lay in its topic.
struct Place {
  Partition partition;
  Offset offset;

  constexpr auto operator<=>(const Place&) const = default;
};

struct StoredLetter {
  std::int64_t seq = 0;  // order of arrival
  std::string id;        // of the first life that was taken in; later lives' ids find it too
  LetterState state = LetterState::kOpen;
  std::int64_t version = 1;  // grows with every change
  std::uint32_t replays = 0;
  ShelfLabel shelf;
  std::int64_t issue = 0;  // its number; its id is `issue_id`
  std::string lineage;
  Place dlq;                           // of the newest life's record
  std::optional<Place> origin;         // of the newest life
  std::string origin_topic;            // where that lies, if not in the shelf's topic: a private lane, say
  Place job;                           // of the first life's record; of the dlq's where that is not known
  std::optional<Timestamp> timestamp;  // of the first life's record
  std::optional<std::string> key;      // its first `kShownKey` bytes
  std::size_t size = 0;                // of key, value and headers
  std::string instance;
  std::string dialect;
  Kind kind = Kind::kTransient;
  std::uint32_t attempts = 0;
  std::string error_type;
  std::string error_message;
  std::optional<Timestamp> first_failure_at;
  Timestamp died_at;  // the last failure; of the dlq's record where that is not known
  Timestamp arrived_at;
  Timestamp changed_at;  // of the state
  std::optional<Timestamp> undo_until;

  bool operator==(const StoredLetter&) const = default;
};

constexpr std::size_t kShownKey = 256;

// What only one letter's page, a replay or an archive needs.
struct LetterPayload {
  Bytes key;
  Bytes value;
  Headers headers;
  std::string stack;

  bool operator==(const LetterPayload&) const = default;
};

// The bytes of one life: kept for each that died and was taken in.
struct LifeBytes {
  std::uint32_t life = 0;
  LetterPayload payload;

  bool operator==(const LifeBytes&) const = default;
};

}  // namespace bartleby
