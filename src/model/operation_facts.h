// An operation as it is kept: what was asked for, what the plan found, and what became of each letter.
// Plain data. The states and what moves them are in model/operation.h; times are the office's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/operation.h"
#include "model/record.h"
#include "model/stored_letter.h"

namespace bartleby {

// Where a replay goes: back to the original topic, where every group reads it, or to the group's private lane.
enum class ReplayScope : std::uint8_t { kTopic, kGroup };
constexpr std::string_view name(ReplayScope s) { return s == ReplayScope::kTopic ? "topic" : "group"; }

// An operation stops by itself when more than `percent` of at least `of` known outcomes came back.
struct HaltRule {
  std::uint32_t percent = 5;
  std::uint32_t of = 20;

  bool operator==(const HaltRule&) const = default;
};

struct OperationSettings {
  std::optional<ReplayScope> scope;  // absent: chosen for each letter
  std::string to;                    // another topic; empty: where it came from
  std::uint32_t rate = 50;           // letters per second; 0: as fast as it goes
  std::uint32_t canary = 10;         // so many go first, and all their outcomes are awaited; 0: none
  HaltRule halt;
  Duration undo{std::chrono::hours(72)};  // of a discard
  std::string edit;                       // of the values, as a JSON Patch; empty: none
  std::string selection;                  // the query, or how many ids, as people wrote it
  // What was known when it was last started: what came back before that does not halt it again.
  std::int64_t known_before = 0;
  std::int64_t came_back_before = 0;
  std::int64_t waiting_before = 0;  // sent and without an outcome then: the canary is not awaited for them
  // Who has started it, why and by which request: what it does to letters is theirs, whoever planned it.
  std::string started_by, started_reason, started_request;

  bool operator==(const OperationSettings&) const = default;
};

struct Excluded {
  std::string why;
  std::int64_t letters = 0;

  bool operator==(const Excluded&) const = default;
};

struct PlanTarget {
  std::string topic;
  std::string group;
  std::int64_t letters = 0;

  bool operator==(const PlanTarget&) const = default;
};

// What an edit makes of one letter's value; the beginnings of both.
struct EditPreview {
  std::string letter;
  std::string before, after;

  bool operator==(const EditPreview&) const = default;
};

struct PlanReport {
  std::vector<Excluded> excluded;
  std::vector<PlanTarget> to;
  std::vector<std::string> also_read_by;  // groups that see what goes to an original topic
  std::vector<std::string> spared;        // groups that read a topic too, and do not see what goes to another's lane
  std::int64_t order_conflicts = 0;       // a newer message of the key was handled already, as far as the office knows
  std::int64_t bytes = 0;
  std::int64_t seconds = 0;
  std::vector<std::string> warnings;
  std::vector<EditPreview> previews;  // of the first letters

  bool operator==(const PlanReport&) const = default;
};

constexpr std::size_t kItemResults = kItemResultNames.size();
using ResultCounts = std::array<std::int64_t, kItemResults>;  // by ItemResult

struct Operation {
  std::int64_t seq = 0;
  std::string id;
  OperationKind kind = OperationKind::kReplay;
  OperationState state = OperationState::kPlanned;
  std::int64_t version = 1;
  std::vector<std::string> dlqs;
  OperationSettings settings;
  PlanReport report;
  std::int64_t letters = 0;
  std::int64_t cursor = 0;  // items below it are dealt with
  std::string actor, reason;
  std::string note;  // why it is where it is: what halted it, what it waits for
  Timestamp created_at;
  std::optional<Timestamp> started_at, ended_at;
  ResultCounts results{};
  std::optional<Timestamp> last_result;  // when an item got the result it has, of the newest of them

  std::int64_t with(ItemResult result) const { return results[static_cast<std::size_t>(result)]; }
};

struct OperationItem {
  std::int64_t position = 0;
  std::int64_t letter = 0;  // its number
  std::string letter_id;    // empty: it is gone
  std::uint32_t replays = 0;
  std::int64_t version = 0;  // of the letter, as the plan saw it
  ItemResult result = ItemResult::kPending;
  std::string note;
  std::string to_topic;  // empty: not sent
  std::optional<Place> to;
  Timestamp changed_at;
};

}  // namespace bartleby
