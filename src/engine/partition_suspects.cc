// Suspects: what the obituaries of a partition say of a message.
//
// A process that dies leaves one obituary for each message that ran in it. One that names the message (its fault was
// there, or nothing else ran) is evidence; one that only stood nearby makes it run alone, so that the next death tells.
#include <algorithm>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {

bool PartitionEngine::suspicious(const Entry& e) const {
  if (obituaries_.empty()) return false;
  const auto at = obituaries_.find(e.offset);
  if (at == obituaries_.end()) return false;
  return std::ranges::any_of(at->second, [&](const Obituary& o) {
    return o.timestamp == e.timestamp || mutant(Mutant::kObituaryTimestampIgnored);
  });
}

bool PartitionEngine::must_run_alone(const Entry& e) const {
  return suspicious(e) && shared_.config.in_process && !mutant(Mutant::kSuspectsRunTogether);
}

bool PartitionEngine::died_too_often(const Entry& e) const {
  return !mutant(Mutant::kCrashesNotCounted) && deaths(e) >= shared_.config.cases[e.case_id].max_crashes;
}

std::uint32_t PartitionEngine::fewest_crashes() const {
  return std::ranges::min(shared_.config.cases, {}, &RetryPolicy::max_crashes).max_crashes;
}

// Deaths that count: the message was named by the fault, or nothing else ran.
std::uint32_t PartitionEngine::deaths(const Entry& e) const {
  if (obituaries_.empty()) return 0;
  const auto at = obituaries_.find(e.offset);
  if (at == obituaries_.end()) return 0;
  std::uint32_t n = 0;
  for (const Obituary& o : at->second) {
    if (o.timestamp != e.timestamp && !mutant(Mutant::kObituaryTimestampIgnored)) continue;
    if (o.faulting || o.alone || mutant(Mutant::kInnocentsCounted)) ++n;
  }
  return n;
}

}  // namespace bartleby
