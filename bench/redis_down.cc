// Whether a worker minds that Redis is gone: one with a retry counter and heartbeats on a real Kafka, with a Redis that
// is frozen, dead, takes no writes (a replica), is slow (held up by CLIENT PAUSE, most of the time), is flushed again
// and again, or holds lists where counters belong, against one that answers, and against none at all (the cache of the
// process). One message in a hundred fails once, so that counters are raised and deleted too.
#include <cstdio>

#include "bench/benches.h"
#include "bench/kafka_rig.h"

#if defined(BARTLEBY_HAS_KAFKA) && defined(BARTLEBY_HAS_REDIS)

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/counters/embedded/embedded_counters.h"
#include "adapters/counters/redis/redis_counters.h"
#include "adapters/counters/redis/redis_link.h"
#include "runtime/heartbeats.h"
#include "runtime/retry_counters.h"
#include "tests/support/redis_server.h"

namespace bartleby::bench {
namespace {

constexpr double kGoal = 0.9;

enum Cache : std::uint8_t { kInProcess, kHealthy, kFrozen, kDead, kReadOnly, kSlow, kFlushed, kOtherTypes };
constexpr std::array kAll = {kInProcess, kHealthy, kFrozen, kDead, kReadOnly, kSlow, kFlushed, kOtherTypes};
constexpr std::size_t kCaches = kAll.size();
constexpr std::chrono::milliseconds kHeldUp{200}, kBetween{20};
constexpr std::int64_t kFailing = 100;  // one in so many fails, once
constexpr Duration kAgain{20};

// What happens to a server while a worker uses it, by a connection of its own.
class Mischief {
 public:
  Mischief(Cache which, std::uint16_t port) : link_(options(port)) {
    if (which == kSlow)
      thread_ = std::jthread([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {  // this connection is held up too
          link_.ask({{"CLIENT", "PAUSE", std::to_string(kHeldUp.count()), "ALL"}});
          std::this_thread::sleep_for(kHeldUp + kBetween);
        }
      });
    if (which == kFlushed)
      thread_ = std::jthread([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          link_.ask({{"FLUSHALL"}});
          std::this_thread::sleep_for(kBetween);
        }
      });
  }

 private:
  static redis::LinkOptions options(std::uint16_t port) {
    redis::LinkOptions options;
    options.port = port;
    return options;
  }

  redis::Link link_;
  std::jthread thread_;
};

// Null: there is no Redis here.
std::unique_ptr<Counters> open_cache(Cache which, support::RedisServer& server) {
  if (which == kInProcess) return std::make_unique<EmbeddedCounters>();
  redis::Options options;
  options.link.port = server.port();
  auto counters = std::make_unique<redis::RedisCounters>(std::move(options));
  for (int i = 0; i < 1000 && !counters->reachable(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!counters->reachable()) return nullptr;
  if (which == kFrozen) server.freeze();
  if (which == kDead) server.end();
  return counters;
}

// Every key of a counter is taken by a list.
bool take_keys(std::uint16_t port, const TopicShape& shape) {
  constexpr std::size_t kAtOnce = 5000;
  redis::LinkOptions options;
  options.port = port;
  redis::Link link(std::move(options));
  for (int i = 0; i < 1000 && !link.reachable(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::vector<redis::Command> commands;
  for (std::size_t key = 0; key < shape.keys; ++key) {
    commands.push_back({"RPUSH", "ticket:retry_count:customer-" + std::to_string(key), "x"});
    if (commands.size() == kAtOnce || key + 1 == shape.keys)
      if (!link.ask(std::exchange(commands, {}))) return false;
  }
  return true;
}

Ran with(OnKafka& kafka, const TopicShape& shape, Cache which) {
  using Words = std::vector<std::string>;
  support::RedisServer server(which == kReadOnly ? Words{"--replicaof", "127.0.0.1", "1"} : Words{});
  const auto cache = open_cache(which, server);
  if (!cache || (which == kOtherTypes && !take_keys(server.port(), shape))) return {};
  const auto mischief =
      which == kSlow || which == kFlushed ? std::make_unique<Mischief>(which, server.port()) : nullptr;
  const SystemClock clock;
  Log log(LogFormat::kText, LogLevel::kError, [](std::string_view) {});
  RetryCounters counters(*cache);
  return through_worker(
      kafka, shape.messages,
      {.topic = shape.name,
       .handler = [](Counter& counter) -> std::shared_ptr<Handler> {
         return std::make_shared<InlineHandler>(in_process(), [&counter](const Message& message, Attempt& attempt) {
           if (message.offset().v % kFailing == 0 && attempt.number() == 1) return retry("BankBusy", "no answer");
           counter.handled();
           return done();
         });
       },
       .company = [&](const std::shared_ptr<Worker>& worker) -> std::shared_ptr<void> {
         HeartbeatOptions options;
         options.every = Duration(1000);
         options.advertise = [] { return "http://127.0.0.1:1853"; };
         options.whose = [worker] { return std::vector{worker}; };
         auto heartbeats = std::make_shared<Heartbeats>(std::move(options), *cache, clock, log);
         heartbeats->start();
         return heartbeats;
       },
       .change =
           [&](WorkerSpec& spec) {
             spec.engine.cases.front().backoff = Schedule{{kAgain}};
             spec.watchers.push_back(
                 counters.of_worker(*KeyTemplate::parse("ticket:retry_count:{key}"), Duration(std::chrono::hours(1))));
           }});
}

}  // namespace

std::optional<Row> redis_down() {
  OnKafka* kafka = on_kafka("redis_down");
  TopicShape shape{"uniform-100", 3'000'000, 100'000, 100};
  if (kafka == nullptr || !kafka->fill(shape)) return std::nullopt;
  std::array<std::array<double, kRepeats>, kCaches> ran{};
  for (std::size_t i = 0; i < kRepeats; ++i)
    for (const Cache which : kAll) {
      ran[which][i] = with(*kafka, shape, which).per_second;
      if (ran[which][i] <= 0) return std::printf("redis_down: skipped, there is no redis-server here\n"), std::nullopt;
    }
  std::array<Figure, kCaches> figures{};
  for (std::size_t i = 0; i < kCaches; ++i) figures[i] = figure_of(ran[i]);
  const Figure& worse =
      *std::ranges::min_element(figures.begin() + kFrozen, figures.end(), {}, [](const Figure& f) { return f.median; });
  const double of_none = worse.median / figures[kInProcess].median;
  Row row{.name = "redis_down", .ours = worse.median, .peer = figures[kHealthy].median, .unit = "messages/s"};
  row.peer_name = "the same with a Redis that answers";
  row.ratio = worse.median / figures[kHealthy].median;
  row.goal = text(">= %.1f x; of none too", kGoal);
  row.met = row.ratio >= kGoal && of_none >= kGoal;
  row.spread = worse.spread;
  row.notes.push_back(
      text("%zu messages of 100 bytes, 1 in %lld fails once, a retry counter each, a heartbeat a second; frozen %.0f, "
           "dead %.0f, read-only %.0f, slow %.0f, flushed %.0f, keys taken %.0f, without Redis %.0f messages/s (%.2f x "
           "of that); spread of the peer %.0f %%",
           shape.messages, static_cast<long long>(kFailing), figures[kFrozen].median, figures[kDead].median,
           figures[kReadOnly].median, figures[kSlow].median, figures[kFlushed].median, figures[kOtherTypes].median,
           figures[kInProcess].median, of_none, figures[kHealthy].spread * 100));
  return row;
}

}  // namespace bartleby::bench

#else

std::optional<bartleby::bench::Row> bartleby::bench::redis_down() {
  std::printf("redis_down: skipped, this program was built without Kafka or without Redis\n");
  return std::nullopt;
}

#endif
