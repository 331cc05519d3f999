#include "wiring/counters.h"

#include <chrono>
#include <thread>

#include "adapters/counters/embedded/embedded_counters.h"
#ifdef BARTLEBY_HAS_REDIS
#include "adapters/counters/redis/redis_counters.h"
#endif

namespace bartleby {
namespace {

#ifdef BARTLEBY_HAS_REDIS
constexpr int kGreeting = 30;  // times 10 ms

Result<std::unique_ptr<Counters>> open_redis(const RedisAddress& address, const Clock& clock, Log& log) {
  redis::Options options;
  options.clock = [&clock] { return clock.now(); };
  options.link.host = address.at.host;
  options.link.port = address.at.port;
  options.link.user = address.user;
  options.link.password = address.password;
  options.link.database = address.database;
  options.link.told = [&log](const Result<void>& there) {
    if (there)
      log.info("counters_reached");
    else
      log.warning("counters_away", {{"why", there.error().message}});
  };
  auto counters = std::make_unique<redis::RedisCounters>(std::move(options));
  // One that is there is greeted before the first heartbeat; for one that is not nobody waits.
  for (int i = 0; i < kGreeting && !counters->reachable(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return counters;
}
#else
Result<std::unique_ptr<Counters>> open_redis(const RedisAddress&, const Clock&, Log&) {
  return fail(ErrorCode::kUnsupported,
              "counters.redis: this program was built without Redis; install libhiredis-dev, then build again");
}
#endif

}  // namespace

Result<std::unique_ptr<Counters>> open_counters(const Config& config, const Clock& clock, Log& log) {
  if (config.redis) return open_redis(*config.redis, clock, log);
  return std::make_unique<EmbeddedCounters>(EmbeddedCountersOptions{.clock = [&clock] { return clock.now(); }});
}

}  // namespace bartleby
