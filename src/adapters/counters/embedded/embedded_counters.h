// Counters and heartbeats in this process: what is in memory, and gone with it.
//
// Any thread, one lock, no waiting. What has expired is not seen any more, and every write drops a few of the dead, so
// that nobody has to. At the limits new keys are refused with kTooLarge; those that are there go on.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "ports/counters.h"

namespace bartleby {

struct EmbeddedCountersOptions {
  std::size_t max_counters = 100'000;
  std::size_t max_heartbeats = kMaxHeartbeats;
  TellTime clock = system_now;
};

class EmbeddedCounters : public Counters {
 public:
  explicit EmbeddedCounters(EmbeddedCountersOptions options = {}) : options_(std::move(options)) {}

  Result<std::int64_t> count(const std::string& key) override;
  Result<std::int64_t> increment(const std::string& key, Duration ttl) override;
  Result<void> erase(const std::string& key) override;

  Result<void> put_heartbeat(const Heartbeat& heartbeat, Duration ttl) override;
  Result<std::optional<std::string>> heartbeat(const std::string& type, const std::string& instance) override;
  Result<std::vector<Heartbeat>> heartbeats(const std::optional<std::string>& type) override;

  Result<void> reachable() const override { return {}; }

 private:
  template <class V>
  struct Expiring {
    V value;
    Instant until;
  };
  template <class K, class V>
  static void sweep(std::map<K, Expiring<V>>& all, K& at, Instant now);

  using Who = std::pair<std::string, std::string>;  // type, instance

  const EmbeddedCountersOptions options_;
  std::mutex mutex_;
  std::map<std::string, Expiring<std::int64_t>> counters_;
  std::map<Who, Expiring<std::string>> heartbeats_;
  std::string counters_at_;  // where the sweeps go on
  Who heartbeats_at_;
};

}  // namespace bartleby
