// Where a group begins: decided once for all partitions of its topics, before anybody joins. A topic with an offset
// somewhere has begun: a partition of it without one was added, or has lost its offset, and begins at its log's start,
// whatever `start` says; that is for the engine that takes it over, not for here.
#include "engine/start.h"

#include <set>
#include <string>

#include "base/assert.h"

namespace bartleby {
namespace {

Offset position(const StartRange& range, StartAt start) {
  switch (start) {
    case StartAt::kEarliest:
      return range.log_start;
    case StartAt::kLatest:
      return range.log_end;
    case StartAt::kTime:
      return range.at_time.value_or(range.log_end);
  }
  BARTLEBY_UNREACHABLE();
}

}  // namespace

std::vector<CommittedOffset> first_offsets(const std::vector<CommittedOffset>& offsets,
                                           const std::map<TopicPartition, StartRange>& ranges, StartAt start) {
  std::set<std::string> begun;
  for (const CommittedOffset& o : offsets)
    if (o.offset) begun.insert(o.tp.topic);
  std::vector<CommittedOffset> first;
  for (const CommittedOffset& o : offsets) {
    if (begun.contains(o.tp.topic)) continue;
    const auto range = ranges.find(o.tp);
    BARTLEBY_ASSERT(range != ranges.end());
    first.push_back({o.tp, position(range->second, start), ""});
  }
  return first;
}

}  // namespace bartleby
