#include "runtime/group_begin.h"

#include <algorithm>

#include "base/assert.h"
#include "ports/group_look.h"

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

}  // namespace bartleby
