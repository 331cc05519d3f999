// What becomes of letters by the clock: those that nobody dealt with are archived, or deleted where that is asked for;
// resolved ones and those whose discard cannot be undone any more are deleted. Letters of a financial dlq stay.
//
// One office at a time, by a lease. In slices, each of them one transaction; done again after a crash it finds what is
// left. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/dlq_provision.h"
#include "model/stored_letter.h"
#include "ports/archive.h"
#include "ports/store.h"

namespace bartleby {

constexpr const char* kRetentionLease = "retention";

enum class Then : std::uint8_t { kArchive, kPurge };

// How letters of a dlq are kept.
struct DlqRule {
  DlqClass dlq_class = DlqClass::kNormal;
  std::optional<Duration> keep{std::chrono::hours(24 * 30)};  // since the last change; absent: until somebody acts
  Then then = Then::kArchive;                                 // with open ones
  std::string intake_group{};                                 // that shows how far intake is; empty: none
  DlqProvision provision{};
  std::vector<std::string> sinks{};                           // that get its letters too, by name
};
using RuleOf = std::function<DlqRule(const std::string& dlq)>;

struct RetentionReport {
  bool skipped = false;  // somebody else does it
  std::size_t archived = 0, archives = 0, purged = 0;
};

Result<RetentionReport> keep_tidy(Store& store, Archive& archive, const RuleOf& rule_of, const std::string& holder,
                                  Timestamp now);

}  // namespace bartleby
