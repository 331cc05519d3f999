// The background check of counts: compares counters and `dlq_summary` with the letters, repairs and reports drift.
//
// Counts are exact without it (Tally); it is the second line, for a file that somebody has edited. One office at a time
// by a lease, skipped if the last check is younger than the interval. Shelf by shelf, each compared within one
// snapshot, so nobody who writes waits for it; only what differs is counted again in a transaction that writes.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "ports/store.h"

namespace bartleby {

constexpr const char* kSummaryLease = "dlq-summary-updater";

struct SummaryCheck {
  bool skipped = false;      // somebody else does it, or it was done lately
  std::int64_t shelves = 0;  // compared
  std::int64_t drift = 0;    // counters that were wrong, and are right now
};

Result<SummaryCheck> check_summary(Store& store, const std::string& holder, Timestamp now, Duration interval);

}  // namespace bartleby
