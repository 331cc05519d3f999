#include "runtime/group_begin.h"

#include <algorithm>

#include "base/assert.h"
#include "ports/group_look.h"
#include "ports/log_look.h"

namespace bartleby {

bool has_begun(Broker& broker, const std::string& group, const std::vector<std::string>& topics) {
  auto* look = dynamic_cast<GroupLook*>(&broker);
  if (look == nullptr) return false;
  const auto offsets = look->offsets_by_now(group, topics);
  return offsets && std::ranges::all_of(topics, [&](const std::string& topic) {
           return std::ranges::any_of(*offsets,
                                      [&](const CommittedOffset& o) { return o.tp.topic == topic && o.offset; });
         });
}

std::map<std::string, bool> begun_before(Broker& broker, const std::map<std::string, SourceTopic>& sources,
                                         const std::vector<CommittedOffset>& offsets) {
  std::map<std::string, bool> begun;
  for (const CommittedOffset& o : offsets) {
    const auto source = sources.find(o.tp.topic);
    BARTLEBY_ASSERT(source != sources.end());
    const auto journal = broker.log_range({source->second.journal, o.tp.partition});
    const bool written = journal && journal->second > Offset(0);
    begun[o.tp.topic] = begun[o.tp.topic] || written;
  }
  return begun;
}

// A broker that knows is asked: where producers set the times, they fall, and halving would pass messages over. Where
// the log itself sets them they never do.
Result<Offset> first_at(Broker& broker, const TopicPartition& tp, Offset from, Offset to, Timestamp time) {
  if (auto* look = dynamic_cast<LogLook*>(&broker)) {
    const auto found = look->first_at(tp, time);
    if (!found) return std::unexpected(found.error());
    return *found ? std::clamp(**found, from, to) : to;
  }
  while (from < to) {
    const Offset middle(from.v + (to.v - from.v) / 2);
    const auto found = broker.read(tp, middle, 1, 1);
    if (!found) return std::unexpected(found.error());
    if (found->empty() || found->front().offset >= to || found->front().timestamp >= time)
      to = middle;
    else
      from = next(found->front().offset);
  }
  return from;
}

}  // namespace bartleby
