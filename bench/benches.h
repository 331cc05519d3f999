// The measurements, one function each: three runs, the median as a row.
// What a figure means stands in docs/performance.md.
#pragma once

#include <optional>

#include "bench/row.h"

namespace bartleby::bench {

Row engine_noop_uniform();
Row engine_noop_zipf();
Row engine_timer();
Row engine_parked_memory();
Row engine_behind_parked();
Row embedded_append_1();  // producers
Row embedded_append_16();
Row embedded_append_256();
Row embedded_append_1_batched();  // against many inserts per transaction
Row embedded_append_256_batched();
Row http_append();
Row embedded_worker();  // handler on the thread of the worker
Row embedded_worker_pooled();
std::optional<Row> noop_uniform_100();  // these on Kafka: nothing where there is none
std::optional<Row> noop_zipf_100();
std::optional<Row> noop_uniform_1k();
std::optional<Row> noop_zipf_1k();
std::optional<Row> noop_pooled();
std::optional<Row> async_1ms();
std::optional<Row> async_10ms();
std::optional<Row> async_100ms();
std::optional<Row> failing();
std::optional<Row> behind_parked();
std::optional<Row> redis_down();
std::optional<Row> noop_parallel_consumer();  // beside what others use
std::optional<Row> noop_spring_kafka();
std::optional<Row> failing_parallel_consumer();
std::optional<Row> failing_spring_kafka();
Row intake();
Row dlq_status();
Row search();
Row replay();
Row push();
Row push_slow();
std::optional<Row> sim();  // nothing where the simulation is not built

}  // namespace bartleby::bench
