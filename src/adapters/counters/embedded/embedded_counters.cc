#include "adapters/counters/embedded/embedded_counters.h"

namespace bartleby {
namespace {

constexpr int kSwept = 4;  // per write: more than one write can add, so what is dead does not pile up

Error too_large(const std::string& what) { return fail(ErrorCode::kTooLarge, what).error(); }

}  // namespace

template <class K, class V>
void EmbeddedCounters::sweep(std::map<K, Expiring<V>>& all, K& at, Instant now) {
  auto next = all.lower_bound(at);
  for (int i = 0; i < kSwept && !all.empty(); ++i) {
    if (next == all.end()) next = all.begin();
    next = next->second.until <= now ? all.erase(next) : std::next(next);
  }
  at = next == all.end() ? K{} : next->first;
}

Result<std::int64_t> EmbeddedCounters::count(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto at = counters_.find(key);
  return at == counters_.end() || at->second.until <= options_.clock().steady ? 0 : at->second.value;
}

Result<std::int64_t> EmbeddedCounters::increment(const std::string& key, Duration ttl) {
  if (key.empty() || key.size() > kMaxCounterKey)
    return std::unexpected(too_large("a counter's key has 1 to " + std::to_string(kMaxCounterKey) + " bytes"));
  const Instant now = options_.clock().steady;
  const std::lock_guard lock(mutex_);
  sweep(counters_, counters_at_, now);
  auto at = counters_.find(key);
  if (at == counters_.end()) {
    if (counters_.size() >= options_.max_counters)
      return std::unexpected(too_large("more than " + std::to_string(options_.max_counters) + " counters"));
    at = counters_.emplace(key, Expiring<std::int64_t>{0, now}).first;
  }
  if (at->second.until <= now) at->second.value = 0;
  at->second.until = now + ttl;
  return ++at->second.value;
}

Result<void> EmbeddedCounters::erase(const std::string& key) {
  const std::lock_guard lock(mutex_);
  counters_.erase(key);
  return {};
}

Result<void> EmbeddedCounters::put_heartbeat(const Heartbeat& heartbeat, Duration ttl) {
  if (auto fits = heartbeat_fits(heartbeat); !fits) return fits;
  const Instant now = options_.clock().steady;
  const std::lock_guard lock(mutex_);
  sweep(heartbeats_, heartbeats_at_, now);
  const Who who{heartbeat.type, heartbeat.instance};
  if (!heartbeats_.contains(who) && heartbeats_.size() >= options_.max_heartbeats)
    return std::unexpected(too_large("more than " + std::to_string(options_.max_heartbeats) + " heartbeats"));
  heartbeats_.insert_or_assign(who, Expiring<std::string>{heartbeat.text, now + ttl});
  return {};
}

Result<std::optional<std::string>> EmbeddedCounters::heartbeat(const std::string& type, const std::string& instance) {
  const std::lock_guard lock(mutex_);
  const auto at = heartbeats_.find({type, instance});
  if (at == heartbeats_.end() || at->second.until <= options_.clock().steady) return std::nullopt;
  return at->second.value;
}

Result<std::vector<Heartbeat>> EmbeddedCounters::heartbeats(const std::optional<std::string>& type) {
  const Instant now = options_.clock().steady;
  std::vector<Heartbeat> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [who, beat] : heartbeats_) {
    if (beat.until <= now || (type && *type != who.first)) continue;
    if (found.size() == kMaxHeartbeats) break;
    found.push_back({who.first, who.second, beat.value});
  }
  return found;
}

}  // namespace bartleby
