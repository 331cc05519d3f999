// The background check of counts: compares counters, issues and `dlq_summary` with the letters, repairs and reports
// drift, with a line in the audit.
//
// Counts are exact without it (Tally); it is the second line, for a file that somebody has edited. It walks the letters
// by number, a slice in each transaction and a bounded number of slices in each run, and keeps what it has counted so
// far (tables `walked…`), which Tally carries on for letters behind the walk. So at the end of a walk, which may take
// many runs, what was walked is what there is, and is compared in that very transaction. One office at a time by a
// lease; skipped if the last run is younger than the interval. An empty summary beside open letters is filled at once.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "ports/store.h"

namespace bartleby {

constexpr const char* kSummaryLease = "dlq-summary-updater";

struct SummaryCheck {
  bool skipped = false;       // somebody else does it, or it was done lately
  bool bootstrapped = false;  // there was no summary: everything was counted, once
  bool compared = false;      // a walk came to its end
  std::int64_t letters = 0;   // walked in this run
  std::int64_t drift = 0;     // counters that were wrong, and are right now
};

struct WalkLimits {
  std::int64_t slice = 10000;  // letters of one transaction
  int slices = 100;            // of one run
};

Result<SummaryCheck> check_summary(Store& store, const std::string& holder, Timestamp now, Duration interval,
                                   const WalkLimits& limits = {});

}  // namespace bartleby
