// Counters and heartbeats in a Redis server, shared by all processes that name the same one.
//
// A counter is a number under its key, raised and given its expiry by one script. A heartbeat is a text under
// `worker:{type}:{instance}`; their keys are also in the sorted set `bartleby:heartbeats`, because looking through all
// keys of a server costs what it holds. The server may be away, lose everything, take no writes, or hold something
// else under a key: calls then fail (kUnavailable; kMalformed for what a key holds) within a bounded time, and nothing
// is kept here to be written later. Any thread. Owns the connection and its thread; not for a Redis Cluster, no TLS.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "adapters/counters/redis/redis_link.h"
#include "base/clock.h"
#include "ports/counters.h"

namespace bartleby::redis {

struct Options {
  LinkOptions link{};
  Duration look_for_writer{5000};  // a server that takes no writes is left after so long, for one that does
  TellTime clock = system_now;
};

class RedisCounters : public Counters {
 public:
  explicit RedisCounters(Options options) : options_(std::move(options)), link_(options_.link) {}

  Result<std::int64_t> count(const std::string& key) override;
  Result<std::int64_t> increment(const std::string& key, Duration ttl) override;
  Result<void> erase(const std::string& key) override;
  std::vector<Result<std::int64_t>> steps(const std::vector<CounterStep>& steps) override;

  Result<void> put_heartbeat(const Heartbeat& heartbeat, Duration ttl) override;
  Result<std::optional<std::string>> heartbeat(const std::string& type, const std::string& instance) override;
  Result<std::vector<Heartbeat>> heartbeats(const std::optional<std::string>& type) override;

  Result<void> reachable() const override;

 private:
  Result<std::int64_t> number_of(const CounterStep& step, const Reply& reply);
  Error error_of(const Reply& reply);
  Error wrong_answer();
  void wrote(const Result<void>& result);

  const Options options_;
  Link link_;
  mutable std::mutex mutex_;
  std::optional<Error> no_writes_;  // since when it takes none, in its words
  Instant no_writes_since_{};
};

}  // namespace bartleby::redis
