// An operation: replay, discard, restore or purge of a selection, from its plan to its end.
//
// The numbers are stored, so a state keeps its number for ever. docs/letters.md draws the table, and a test compares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bartleby {

enum class OperationKind : std::uint8_t { kReplay, kDiscard, kRestore, kPurge };
constexpr std::array<std::string_view, 4> kOperationKindNames = {"replay", "discard", "restore", "purge"};

enum class OperationState : std::uint8_t {
  kPlanned,
  kAwaitingApproval,
  kRunning,
  kPaused,
  kHalted,  // stopped by itself: too many letters came back
  kDone,
  kCancelled,
  kFailed,
};
constexpr std::array<std::string_view, 8> kOperationStateNames = {
    "planned", "awaiting_approval", "running", "paused", "halted", "done", "cancelled", "failed"};

enum class OperationCause : std::uint8_t {
  kStart,
  kAsk,  // started, but a second person must agree
  kApprove,
  kPause,
  kResume,
  kHalt,
  kFinish,
  kCancel,  // by somebody, or because a plan is older than a day
  kFail,
};
constexpr std::array<std::string_view, 9> kOperationCauseNames = {"start", "ask",    "approve", "pause", "resume",
                                                                  "halt",  "finish", "cancel",  "fail"};

struct OperationTransition {
  OperationState from;
  OperationCause cause;
  OperationState to;
};

constexpr std::array<OperationTransition, 15> kOperationTransitions = {{
    {OperationState::kPlanned, OperationCause::kStart, OperationState::kRunning},
    {OperationState::kPlanned, OperationCause::kAsk, OperationState::kAwaitingApproval},
    {OperationState::kPlanned, OperationCause::kCancel, OperationState::kCancelled},
    {OperationState::kAwaitingApproval, OperationCause::kApprove, OperationState::kRunning},
    {OperationState::kAwaitingApproval, OperationCause::kCancel, OperationState::kCancelled},
    {OperationState::kRunning, OperationCause::kPause, OperationState::kPaused},
    {OperationState::kRunning, OperationCause::kHalt, OperationState::kHalted},
    {OperationState::kRunning, OperationCause::kFinish, OperationState::kDone},
    {OperationState::kRunning, OperationCause::kCancel, OperationState::kCancelled},
    {OperationState::kRunning, OperationCause::kFail, OperationState::kFailed},
    {OperationState::kPaused, OperationCause::kResume, OperationState::kRunning},
    {OperationState::kPaused, OperationCause::kCancel, OperationState::kCancelled},
    {OperationState::kHalted, OperationCause::kResume, OperationState::kRunning},
    {OperationState::kHalted, OperationCause::kCancel, OperationState::kCancelled},
    {OperationState::kHalted, OperationCause::kFail, OperationState::kFailed},
}};

// What became of one letter of an operation.
enum class ItemResult : std::uint8_t {
  kPending,
  kSent,
  kSucceeded,
  kPassed,  // a foreign group's offsets went by it, and no letter came
  kCameBack,
  kUnknown,
  kSkipped,
};
constexpr std::array<std::string_view, 7> kItemResultNames = {"pending",   "sent",    "succeeded", "passed",
                                                              "came_back", "unknown", "skipped"};

constexpr std::string_view name(OperationKind k) { return kOperationKindNames[static_cast<std::size_t>(k)]; }
constexpr std::string_view name(OperationState s) { return kOperationStateNames[static_cast<std::size_t>(s)]; }
constexpr std::string_view name(OperationCause c) { return kOperationCauseNames[static_cast<std::size_t>(c)]; }
constexpr std::string_view name(ItemResult r) { return kItemResultNames[static_cast<std::size_t>(r)]; }

constexpr std::optional<OperationState> next_state(OperationState from, OperationCause cause) {
  for (const OperationTransition& t : kOperationTransitions)
    if (t.from == from && t.cause == cause) return t.to;
  return std::nullopt;
}

}  // namespace bartleby
