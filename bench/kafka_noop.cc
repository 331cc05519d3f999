// How many messages a worker on a real Kafka gets through with a handler that does nothing, against the raw librdkafka
// loop over the same topic in the same run.
#include <cstdio>

#include "bench/benches.h"
#include "bench/kafka_rig.h"

#ifdef BARTLEBY_HAS_KAFKA

#include "runtime/in_process.h"

namespace bartleby::bench {
namespace {

constexpr std::size_t kKeys = 100'000;

SyncHandler noop(Counter& counter) {
  return [&counter](const Message& m, Attempt&) {
    if (!m.value().empty()) counter.handled();
    return done();
  };
}

Ran ours(OnKafka& kafka, const TopicShape& shape, bool pooled) {
  return through_worker(kafka, shape.messages,
                        {.topic = shape.name, .handler = [&](Counter& counter) -> std::shared_ptr<Handler> {
                           if (pooled) return std::make_shared<PooledHandler>(in_process(), noop(counter), 16);
                           return std::make_shared<InlineHandler>(in_process(), noop(counter));
                         }});
}

std::optional<Row> against(const char* name, const char* peer, const char* peer_name) {
  OnKafka* kafka = on_kafka(name);
  TopicShape shape{"uniform-100", 3'000'000, kKeys, 100};
  if (kafka == nullptr || !kafka->fill(shape)) return std::nullopt;
  return beside(name, peer, peer_name, "noop", *kafka, shape, [&] { return ours(*kafka, shape, false); });
}

std::optional<Row> measure(const char* name, TopicShape shape, bool pooled, double goal) {
  OnKafka* kafka = on_kafka(name);
  if (kafka == nullptr || !kafka->fill(shape)) return std::nullopt;
  Row row = compare(
      name, "raw librdkafka loop over the same topic", goal, [&] { return ours(*kafka, shape, pooled); },
      [&] { return raw(*kafka, shape); });
  row.notes.push_back(text("%zu messages of %zu bytes, %zu keys (%s), %d partitions, one broker on this machine, %s",
                           shape.messages, shape.bytes, shape.keys, shape.zipf ? "Zipf 0.99" : "uniform", kPartitions,
                           pooled ? "16 threads" : "handler on the worker's thread"));
  return row;
}

}  // namespace

std::optional<Row> noop_uniform_100() {
  return measure("noop_uniform_100", {"uniform-100", 3'000'000, kKeys, 100}, false, 0.8);
}
std::optional<Row> noop_zipf_100() {
  return measure("noop_zipf_100", {"zipf-100", 3'000'000, kKeys, 100, true}, false, 0.8);
}
std::optional<Row> noop_uniform_1k() {
  return measure("noop_uniform_1k", {"uniform-1k", 400'000, kKeys, 1000}, false, 0.8);
}
std::optional<Row> noop_zipf_1k() {
  return measure("noop_zipf_1k", {"zipf-1k", 400'000, kKeys, 1000, true}, false, 0.8);
}
std::optional<Row> noop_pooled() { return measure("noop_pooled", {"uniform-100", 3'000'000, kKeys, 100}, true, 0.5); }

std::optional<Row> noop_parallel_consumer() {
  return against("noop_parallel_consumer", "parallel", "Confluent Parallel Consumer 0.5.3.3, key order, 64 at once");
}
std::optional<Row> noop_spring_kafka() {
  return against("noop_spring_kafka", "spring", "Spring Kafka 3.3.4, one thread, DefaultErrorHandler");
}

}  // namespace bartleby::bench

#else

namespace bartleby::bench {
namespace {

std::optional<Row> without(const char* name) {
  std::printf("%s: skipped, built without Kafka\n", name);
  return std::nullopt;
}

}  // namespace

std::optional<Row> noop_uniform_100() { return without("noop_uniform_100"); }
std::optional<Row> noop_zipf_100() { return without("noop_zipf_100"); }
std::optional<Row> noop_uniform_1k() { return without("noop_uniform_1k"); }
std::optional<Row> noop_zipf_1k() { return without("noop_zipf_1k"); }
std::optional<Row> noop_pooled() { return without("noop_pooled"); }
std::optional<Row> async_1ms() { return without("async_1ms"); }
std::optional<Row> async_10ms() { return without("async_10ms"); }
std::optional<Row> async_100ms() { return without("async_100ms"); }
std::optional<Row> failing() { return without("failing"); }
std::optional<Row> behind_parked() { return without("behind_parked"); }
std::optional<Row> noop_parallel_consumer() { return without("noop_parallel_consumer"); }
std::optional<Row> noop_spring_kafka() { return without("noop_spring_kafka"); }
std::optional<Row> failing_parallel_consumer() { return without("failing_parallel_consumer"); }
std::optional<Row> failing_spring_kafka() { return without("failing_spring_kafka"); }

}  // namespace bartleby::bench

#endif
