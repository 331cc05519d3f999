// An issue: letters with one fingerprint, and what becomes of it. The second table of the office.
//
// The numbers are stored, so a state keeps its number for ever. docs/letters.md draws the table, and a test compares.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/failure.h"

namespace bartleby {

enum class IssueState : std::uint8_t { kNew, kActive, kRegressed, kMuted, kResolved };
constexpr std::array<std::string_view, 5> kIssueStateNames = {"new", "active", "regressed", "muted", "resolved"};

enum class IssueCause : std::uint8_t {
  kLetter,   // another letter of it arrived
  kTime,     // it is known for a day, or it was muted until now
  kResolve,  // people say so
  kMute,
  kReopen,
};
constexpr std::array<std::string_view, 5> kIssueCauseNames = {"letter", "time", "resolve", "mute", "reopen"};

struct IssueTransition {
  IssueState from;
  IssueCause cause;
  IssueState to;
};

constexpr std::array<IssueTransition, 18> kIssueTransitions = {{
    {IssueState::kNew, IssueCause::kLetter, IssueState::kNew},
    {IssueState::kNew, IssueCause::kTime, IssueState::kActive},
    {IssueState::kNew, IssueCause::kResolve, IssueState::kResolved},
    {IssueState::kNew, IssueCause::kMute, IssueState::kMuted},
    {IssueState::kActive, IssueCause::kLetter, IssueState::kActive},
    {IssueState::kActive, IssueCause::kResolve, IssueState::kResolved},
    {IssueState::kActive, IssueCause::kMute, IssueState::kMuted},
    {IssueState::kRegressed, IssueCause::kLetter, IssueState::kRegressed},
    {IssueState::kRegressed, IssueCause::kTime, IssueState::kActive},
    {IssueState::kRegressed, IssueCause::kResolve, IssueState::kResolved},
    {IssueState::kRegressed, IssueCause::kMute, IssueState::kMuted},
    {IssueState::kMuted, IssueCause::kLetter, IssueState::kMuted},
    {IssueState::kMuted, IssueCause::kTime, IssueState::kActive},
    {IssueState::kMuted, IssueCause::kResolve, IssueState::kResolved},
    {IssueState::kMuted, IssueCause::kMute, IssueState::kMuted},
    {IssueState::kMuted, IssueCause::kReopen, IssueState::kActive},
    {IssueState::kResolved, IssueCause::kLetter, IssueState::kRegressed},
    {IssueState::kResolved, IssueCause::kReopen, IssueState::kActive},
}};

constexpr std::string_view name(IssueState s) { return kIssueStateNames[static_cast<std::size_t>(s)]; }
constexpr std::string_view name(IssueCause c) { return kIssueCauseNames[static_cast<std::size_t>(c)]; }

constexpr std::optional<IssueState> issue_state_named(std::string_view text) {
  for (std::size_t i = 0; i < kIssueStateNames.size(); ++i)
    if (kIssueStateNames[i] == text) return static_cast<IssueState>(i);
  return std::nullopt;
}

constexpr std::optional<IssueState> next_state(IssueState from, IssueCause cause) {
  for (const IssueTransition& t : kIssueTransitions)
    if (t.from == from && t.cause == cause) return t.to;
  return std::nullopt;
}

struct Issue {
  std::int64_t seq = 0;
  std::string id;  // `iss_` + 16 hex of its fingerprint
  IssueState state = IssueState::kNew;
  std::int64_t version = 1;
  std::string title;  // type and normalised message, as people see it
  Kind kind = Kind::kTransient;
  std::string error_type;
  std::int64_t open = 0;   // letters of it that are open
  std::int64_t total = 0;  // letters and later lives there ever were
  Timestamp first;
  Timestamp last;
  std::optional<Timestamp> until;  // muted until; absent: for ever
  std::string note;

  bool operator==(const Issue&) const = default;
};

constexpr Duration kIssueIsNewFor{std::chrono::hours(24)};

}  // namespace bartleby
