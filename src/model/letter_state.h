// The states of a letter and what moves it from one to another: the law of the office, as one table.
//
// Whoever changes a letter's state asks `next_state`; there is no other list of what is allowed. The numbers are
// stored, so a state keeps its number for ever. docs/letters.md draws this table, and a test compares the two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bartleby {

enum class LetterState : std::uint8_t {
  kOpen,       // nobody has dealt with it
  kReplaying,  // sent back, its outcome is not known yet
  kResolved,   // a replay of it succeeded
  kDiscarded,  // given up by somebody, who can undo it for a while
  kArchived,   // its bytes lie in an archive
  kGone,       // purged: row and payload are deleted, the audit stays
};
constexpr std::array<std::string_view, 6> kLetterStateNames = {"open",      "replaying", "resolved",
                                                               "discarded", "archived",  "gone"};
constexpr std::size_t kLetterStates = 5;  // those that a stored letter can have: all but gone

enum class LetterCause : std::uint8_t {
  kReplay,     // an operation takes it to be sent
  kSucceeded,  // the worker that got it has handled it
  kCameBack,   // a letter of a later life of the same message was taken in: replays + 1
  kReturned,   // it was not sent after all, or somebody takes it back
  kDiscard,
  kRestore,
  kArchive,
  kPurge,
};
constexpr std::array<std::string_view, 8> kLetterCauseNames = {"replay",  "succeeded", "came_back", "returned",
                                                               "discard", "restore",   "archive",   "purge"};

struct LetterTransition {
  LetterState from;
  LetterCause cause;
  LetterState to;
};

// A later life comes back from every state: nothing that was decided about an earlier one may hide it.
constexpr std::array<LetterTransition, 16> kLetterTransitions = {{
    {LetterState::kOpen, LetterCause::kReplay, LetterState::kReplaying},
    {LetterState::kOpen, LetterCause::kDiscard, LetterState::kDiscarded},
    {LetterState::kOpen, LetterCause::kArchive, LetterState::kArchived},
    {LetterState::kOpen, LetterCause::kPurge, LetterState::kGone},
    {LetterState::kOpen, LetterCause::kCameBack, LetterState::kOpen},
    {LetterState::kReplaying, LetterCause::kSucceeded, LetterState::kResolved},
    {LetterState::kReplaying, LetterCause::kCameBack, LetterState::kOpen},
    {LetterState::kReplaying, LetterCause::kReturned, LetterState::kOpen},
    {LetterState::kResolved, LetterCause::kCameBack, LetterState::kOpen},
    {LetterState::kResolved, LetterCause::kPurge, LetterState::kGone},
    {LetterState::kDiscarded, LetterCause::kRestore, LetterState::kOpen},
    {LetterState::kDiscarded, LetterCause::kCameBack, LetterState::kOpen},
    {LetterState::kDiscarded, LetterCause::kPurge, LetterState::kGone},
    {LetterState::kArchived, LetterCause::kRestore, LetterState::kOpen},
    {LetterState::kArchived, LetterCause::kCameBack, LetterState::kOpen},
    {LetterState::kArchived, LetterCause::kPurge, LetterState::kGone},
}};

constexpr std::string_view name(LetterState s) { return kLetterStateNames[static_cast<std::size_t>(s)]; }
constexpr std::string_view name(LetterCause c) { return kLetterCauseNames[static_cast<std::size_t>(c)]; }

constexpr std::optional<LetterState> letter_state_named(std::string_view text) {
  for (std::size_t i = 0; i < kLetterStates; ++i)
    if (kLetterStateNames[i] == text) return static_cast<LetterState>(i);
  return std::nullopt;
}

// Nothing where the cause does not apply to the state.
constexpr std::optional<LetterState> next_state(LetterState from, LetterCause cause) {
  for (const LetterTransition& t : kLetterTransitions)
    if (t.from == from && t.cause == cause) return t.to;
  return std::nullopt;
}

}  // namespace bartleby
