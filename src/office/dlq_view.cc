#include "office/dlq_view.h"

#include <algorithm>
#include <map>

#include "office/sql.h"
#include "ports/log_look.h"

namespace bartleby {
namespace {

struct StoredPlace {
  std::int64_t next = 0, missed = 0;
};

constexpr Duration kSoon{std::chrono::hours(24)};
constexpr Duration kEndsLimit{1000};  // for the ends of all dlqs together

// Records lie in the order of their times, so a few of them tell how many are too old.
void look_ahead(Broker& broker, const TopicPartition& tp, Duration retention, Offset taken_to,
                const std::pair<Offset, Offset>& range, Timestamp now, DlqView& dlq) {
  const auto leaves = [&](Offset at) -> std::optional<Timestamp> {
    const auto records = broker.read(tp, at, 1, 1);
    if (!records || records->empty()) return std::nullopt;
    return records->front().timestamp + retention;
  };
  if (range.first >= range.second) return;
  const auto first = leaves(range.first);
  if (!first) return;
  dlq.next_expiry = std::min(*first, dlq.next_expiry.value_or(*first));
  const Offset from = std::max(taken_to, range.first);
  Offset low = from, high = range.second;
  while (low < high) {
    const Offset middle(low.v + (high.v - low.v) / 2);
    const auto at = leaves(middle);
    if (at && *at <= now + kSoon)
      low = next(middle);
    else
      high = middle;
  }
  dlq.expiring += std::max<std::int64_t>(low.v - from.v, 0);
}

// A dlq's topic, and those of its partitions that can be asked.
struct Asked {
  DlqView* dlq;
  TopicSpec topic;
  std::vector<TopicPartition> tps;
};

void ask(Broker& broker, const std::map<TopicPartition, StoredPlace>& cursors, Timestamp now, const Asked& asked) {
  DlqView& dlq = *asked.dlq;
  for (const TopicPartition& tp : asked.tps) {
    const auto range = broker.log_range(tp);
    if (!range) continue;
    const auto cursor = cursors.find(tp);
    const std::int64_t taken_to = cursor == cursors.end() ? 0 : cursor->second.next;
    dlq.lag += std::max<std::int64_t>(range->second.v - std::max(taken_to, range->first.v), 0);
    if (asked.topic.retention) look_ahead(broker, tp, *asked.topic.retention, Offset(taken_to), *range, now, dlq);
  }
}

// The newest of each shelf and state is the end of an index, however many there are.
Result<void> find_dialects(Connection& connection, std::vector<DlqView>& dlqs) {
  std::map<std::string, std::pair<std::int64_t, std::string>> newest;  // by dlq: when it died, its dialect
  for (std::size_t state = 0; state < kLetterStates; ++state)
    BARTLEBY_TRY(sql::each(
        connection,
        "SELECT s.dlq, l.died_at, l.dialect FROM shelves s JOIN letters l ON l.seq ="
        " (SELECT n.seq FROM letters n WHERE n.shelf = s.id AND n.state = $1 ORDER BY n.died_at DESC LIMIT 1)",
        [&](Rows& row) {
          auto& found = newest.try_emplace(row.text(0), INT64_MIN, "").first->second;
          found = std::max(found, std::pair(row.integer(1), row.text(2)));
        },
        static_cast<int>(state)));
  for (DlqView& dlq : dlqs)
    if (const auto found = newest.find(dlq.state.name); found != newest.end()) dlq.dialect = found->second.second;
  return {};
}

// All together, where a broker across a network can tell: what is empty, and what has no leader, is not asked for by
// itself. Many dlqs whose leader is away would be waited for one after the other.
void leave_out(Broker& broker, std::vector<Asked>& all) {
  auto* look = dynamic_cast<LogLook*>(&broker);
  if (look == nullptr) return;
  std::vector<TopicPartition> tps;
  for (const Asked& one : all) tps.insert(tps.end(), one.tps.begin(), one.tps.end());
  const auto ends = look->ends_now(tps, kEndsLimit);
  for (Asked& one : all)
    std::erase_if(one.tps, [&](const TopicPartition& tp) {
      const auto end = ends.find(tp);
      return end == ends.end() || end->second == Offset(0);
    });
}

}  // namespace

Result<std::vector<DlqView>> dlq_views(Store& store, Broker& broker, Timestamp now) {
  std::vector<DlqView> dlqs;
  std::map<TopicPartition, StoredPlace> cursors;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    auto states = dlq_states(connection);
    if (!states) return std::unexpected(states.error());
    for (DlqState& state : *states) dlqs.push_back({.state = std::move(state), .dialect = {}});
    if (auto found = find_dialects(connection, dlqs); !found) return found;
    return sql::each(connection, "SELECT dlq, partition, next, missed FROM cursors", [&](Rows& row) {
      cursors[{row.text(0), Partition(static_cast<std::int32_t>(row.integer(1)))}] = {row.integer(2), row.integer(3)};
    });
  }));
  auto* look = dynamic_cast<LogLook*>(&broker);
  if (look != nullptr && !look->answers()) return dlqs;  // each dlq would be waited for by itself
  // After the store: what came in between counts as lag, never as less than none.
  std::vector<Asked> all;
  for (DlqView& dlq : dlqs) {
    const auto topic = look != nullptr ? look->known(dlq.state.name) : broker.describe(dlq.state.name);
    if (!topic && look != nullptr && topic.error().code == ErrorCode::kUnavailable) break;  // away since a moment ago
    if (!topic) continue;
    dlq.partitions = topic->partitions;
    all.push_back({&dlq, *topic, {}});
    for (std::int32_t p = 0; p < topic->partitions; ++p) {
      const TopicPartition& tp = all.back().tps.emplace_back(dlq.state.name, Partition(p));
      if (const auto cursor = cursors.find(tp); cursor != cursors.end()) dlq.missed += cursor->second.missed;
    }
  }
  leave_out(broker, all);
  for (const Asked& one : all) ask(broker, cursors, now, one);
  return dlqs;
}

Result<std::map<Partition, Offset>> intake_positions(Connection& connection, std::string_view dlq) {
  std::map<Partition, Offset> positions;
  BARTLEBY_TRY(sql::each(
      connection, "SELECT partition, next FROM cursors WHERE dlq = $1",
      [&](Rows& row) { positions[Partition(static_cast<std::int32_t>(row.integer(0)))] = Offset(row.integer(1)); },
      dlq));
  return positions;
}

void warn_of_expiry(Store& store, Broker& broker, Log& log, Timestamp now) {
  const auto dlqs = dlq_views(store, broker, now);
  if (!dlqs) return log.warning("expiry_not_looked_at", {{"error", dlqs.error().message}});
  for (const DlqView& dlq : *dlqs)
    if (dlq.expiring > 0)
      log.error("letters_expiring",
                {{"dlq", dlq.state.name},
                 {"records", dlq.expiring},
                 {"why",
                  "the topic's retention deletes them within a day and they are not taken in; lines with "
                  "intake_failed tell what is in the way"}});
}

}  // namespace bartleby
