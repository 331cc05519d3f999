// A cache beside the log: retry counters for others to look at, and the heartbeats of instances.
//
// It may vanish at any time, whole or in part: no promise rests on it, nothing is decided by it, and every call may
// fail (kUnavailable when it does not answer, kTooLarge over a limit). An increment and its expiry are one step, so
// that no counter stays for ever. What has expired is not there; time is the cache's own. A heartbeat is a text that
// the cache does not read, under `worker:{type}:{instance}`. A type has no colon, an instance may have some. Any
// thread; calls may wait for a server, but not for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace bartleby {

constexpr std::size_t kMaxCounterKey = 1024;
constexpr std::size_t kMaxHeartbeat = 4096;
constexpr std::size_t kMaxHeartbeats = 10000;  // of one list

struct Heartbeat {
  std::string type, instance;
  std::string text;

  bool operator==(const Heartbeat&) const = default;
};

inline std::string heartbeat_key(std::string_view type, std::string_view instance) {
  return "worker:" + std::string(type) + ":" + std::string(instance);
}

// What every cache refuses.
inline Result<void> heartbeat_fits(const Heartbeat& heartbeat) {
  if (heartbeat.text.size() > kMaxHeartbeat)
    return fail(ErrorCode::kTooLarge, "a heartbeat has at most " + std::to_string(kMaxHeartbeat) + " bytes");
  if (heartbeat.type.empty() || heartbeat.type.contains(':') || heartbeat.instance.empty())
    return fail(ErrorCode::kInvalid, "a heartbeat wants a type without ':' and an instance");
  if (heartbeat_key(heartbeat.type, heartbeat.instance).size() > kMaxCounterKey)
    return fail(ErrorCode::kTooLarge, "a heartbeat's key has at most " + std::to_string(kMaxCounterKey) + " bytes");
  return {};
}

// One thing to do with one counter.
struct CounterStep {
  enum class What : std::uint8_t { kCount, kIncrement, kErase } what = What::kCount;
  std::string key;
  Duration ttl{};  // of kIncrement
};

class Counters {
 public:
  virtual ~Counters() = default;

  // ---- Retry counters. One that does not exist, or has expired, is 0.
  virtual Result<std::int64_t> count(const std::string& key) = 0;
  // Adds 1, lets it expire `ttl` from now, and returns what it is then.
  virtual Result<std::int64_t> increment(const std::string& key, Duration ttl) = 0;
  virtual Result<void> erase(const std::string& key) = 0;
  // Several in a row, in their order, and what each came to (0 of kErase): a cache behind a network sends them in one
  // go. One that fails does not keep the next from being done.
  virtual std::vector<Result<std::int64_t>> steps(const std::vector<CounterStep>& steps) {
    std::vector<Result<std::int64_t>> out;
    out.reserve(steps.size());
    for (const CounterStep& step : steps) {
      if (step.what == CounterStep::What::kCount) {
        out.push_back(count(step.key));
      } else if (step.what == CounterStep::What::kIncrement) {
        out.push_back(increment(step.key, step.ttl));
      } else if (const auto erased = erase(step.key); erased) {
        out.emplace_back(0);
      } else {
        out.push_back(std::unexpected(erased.error()));
      }
    }
    return out;
  }

  // ---- Heartbeats
  // Replaces the one before, text and expiry.
  virtual Result<void> put_heartbeat(const Heartbeat& heartbeat, Duration ttl) = 0;
  virtual Result<std::optional<std::string>> heartbeat(const std::string& type, const std::string& instance) = 0;
  // By type, then instance; of all types, or of one. At most kMaxHeartbeats.
  virtual Result<std::vector<Heartbeat>> heartbeats(const std::optional<std::string>& type = std::nullopt) = 0;

  // Whether it is there and takes writes, as last known; waits for nobody.
  virtual Result<void> reachable() const = 0;
};

}  // namespace bartleby
