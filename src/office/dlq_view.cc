#include "office/dlq_view.h"

#include <algorithm>
#include <map>

#include "office/sql.h"

namespace bartleby {
namespace {

struct StoredPlace {
  std::int64_t next = 0, missed = 0;
};

void ask(Broker& broker, const std::map<TopicPartition, StoredPlace>& cursors, DlqView& dlq) {
  const auto topic = broker.describe(dlq.state.name);
  if (!topic) return;
  dlq.partitions = topic->partitions;
  for (std::int32_t p = 0; p < topic->partitions; ++p) {
    const TopicPartition tp{dlq.state.name, Partition(p)};
    const auto range = broker.log_range(tp);
    if (!range) continue;
    const auto cursor = cursors.find(tp);
    const std::int64_t next = cursor == cursors.end() ? 0 : cursor->second.next;
    dlq.lag += std::max<std::int64_t>(range->second.v - std::max(next, range->first.v), 0);
    if (cursor != cursors.end()) dlq.missed += cursor->second.missed;
  }
}

}  // namespace

Result<std::vector<DlqView>> dlq_views(Store& store, Broker& broker) {
  std::vector<DlqView> dlqs;
  std::map<TopicPartition, StoredPlace> cursors;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    auto states = dlq_states(connection);
    if (!states) return std::unexpected(states.error());
    for (DlqState& state : *states) dlqs.push_back({.state = std::move(state)});
    return sql::each(connection, "SELECT dlq, partition, next, missed FROM cursors", [&](Rows& row) {
      cursors[{row.text(0), Partition(static_cast<std::int32_t>(row.integer(1)))}] = {row.integer(2), row.integer(3)};
    });
  }));
  // After the store: what came in between counts as lag, never as less than none.
  for (DlqView& dlq : dlqs) ask(broker, cursors, dlq);
  return dlqs;
}

}  // namespace bartleby
