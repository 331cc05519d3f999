// What becomes of letters by the clock: those that nobody dealt with are archived, or deleted where that is asked for;
// resolved ones and those whose discard cannot be undone any more are deleted. Letters of a financial dlq stay. Ended
// operations are forgotten after their time, and archives lose what has left them.
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
#include "office/archives.h"
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
  std::vector<std::string> sinks{};  // that get its letters too, by name
};
// When a letter is archived, or deleted, by itself; nothing: when somebody acts.
std::optional<Timestamp> expires_at(const StoredLetter& letter, const DlqRule& rule);

using RuleOf = std::function<DlqRule(const std::string& dlq)>;

constexpr Duration kKeepOperations{std::chrono::hours(24 * 90)};

struct RetentionReport {
  bool skipped = false;  // somebody else does it
  std::size_t archived = 0, archives = 0, purged = 0;
  std::size_t left_out = 0;                // letters that could not be archived: damaged, or too large to be read back
  std::vector<NotArchived> named;          // the first of them
  std::size_t operations = 0, issues = 0;  // forgotten
  std::size_t rewritten = 0, removed = 0;  // archives that letters have left
  std::vector<std::string> damaged;        // archives that letters have left and whose files are not what was written
};

// `operations`: for how long one is kept after its end. Where something fails the rest is done all the same, and the
// first error is the answer.
Result<RetentionReport> keep_tidy(Store& store, Archive& archive, const RuleOf& rule_of, Duration operations,
                                  const std::string& holder, Timestamp now);

// Operations that ended before, with their items, unless they still wait for outcomes; what the audit says of them
// stays. In slices: an operation that is being forgotten has fewer items from one look to the next. At most `most`
// slices of items.
Result<std::size_t> forget_operations(Store& store, Timestamp before, int most, std::int64_t slice, Timestamp now);

// Plans that were cancelled, or too old, before anybody started them lose their items: a million of them would lie
// there for as long as the operation is kept. What was planned, and the report, stay. At most `most` slices; answers
// with how many plans have none left.
Result<std::size_t> empty_plans(Store& store, int most, std::int64_t slice);

}  // namespace bartleby
