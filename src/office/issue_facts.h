// What an issue's page shows beside the issue: where its letters lie, and what they have in common.
//
// Inside a read of the store. Both look at the newest letters of an issue alone, up to a limit that the answer names:
// an issue may have millions.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "model/issue.h"
#include "ports/store.h"

namespace bartleby {

constexpr std::size_t kLookedAtForPlaces = 100;
constexpr std::size_t kLookedAtForShared = 100;
constexpr std::size_t kMaxShared = 20;

struct IssuePlaces {
  std::set<std::string> workers, dlqs;
};
Result<IssuePlaces> issue_places(Connection& connection, std::int64_t issue);

// A value that at least half of the letters looked at have.
struct SharedFact {
  std::string name;  // worker, partition …, `header.x`, or a JSON pointer into the value
  std::string value;
  std::size_t letters = 0;
  bool of_payload = false;  // from headers or value, not from the letter's story
};
struct SharedFacts {
  std::size_t looked_at = 0;
  std::vector<SharedFact> facts;  // most letters first
};
Result<SharedFacts> issue_shared(Connection& connection, std::int64_t issue);

using IssueCounts = std::array<std::int64_t, kIssueStateNames.size()>;
Result<IssueCounts> issue_counts(Connection& connection);

}  // namespace bartleby
