// How many messages a worker on a real Kafka gets through with a handler that does nothing, against the raw librdkafka
// loop over the same topic in the same run. Both from the first message to the last: joining a group is not counted.
#include <cstdio>

#include "bench/benches.h"

#ifdef BARTLEBY_HAS_KAFKA

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "adapters/broker/kafka/kafka_broker.h"
#include "base/clock.h"
#include "runtime/in_process.h"
#include "runtime/worker.h"

namespace bartleby::bench {
namespace {

using Time = std::chrono::steady_clock;

constexpr const char* kStart = "scripts/kafka start build/bench/kafka";
constexpr const char* kStop = "scripts/kafka stop build/bench/kafka";
constexpr std::size_t kMessages = 1'000'000;
constexpr std::size_t kKeys = 100'000;
constexpr std::size_t kBytes = 100;
constexpr std::int32_t kPartitions = 8;
constexpr std::chrono::minutes kLimit{3};  // of one run

// Apache Kafka for as long as this lives; an empty address: it cannot be had here.
class RealKafka {
 public:
  RealKafka() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(popen(kStart, "r"), pclose);
    char line[256] = "";
    if (out && std::fgets(line, sizeof line, out.get()) != nullptr) bootstrap_ = line;
    while (!bootstrap_.empty() && bootstrap_.back() == '\n') bootstrap_.pop_back();
  }
  ~RealKafka() {
    if (std::system(kStop) != 0) std::printf("kafka: '%s' failed\n", kStop);
  }
  RealKafka(const RealKafka&) = delete;
  RealKafka& operator=(const RealKafka&) = delete;

  const std::string& bootstrap() const { return bootstrap_; }

 private:
  std::string bootstrap_;
};

class Span {
 public:
  void seen(std::size_t messages) {
    if (count_ == 0) first_ = Time::now();
    count_ += messages;
    last_ = Time::now();
  }
  std::size_t count() const { return count_; }
  double per_second() const {
    const double seconds = std::chrono::duration<double>(last_ - first_).count();
    return seconds > 0 ? static_cast<double>(count_) / seconds : 0;
  }

 private:
  Time::time_point first_{}, last_{};
  std::size_t count_ = 0;
};

bool fill(Broker& broker) {
  TopicSpec topic;
  topic.name = "t";
  topic.partitions = kPartitions;
  if (!broker.ensure_topics({topic})) return false;
  std::vector<Record> batch;
  for (std::size_t i = 0; i < kMessages; ++i) {
    batch.push_back({"t", std::nullopt, "customer-" + std::to_string(i * 7919 % kKeys), std::string(kBytes, 'v'), {}});
    if (batch.size() < 10'000) continue;
    if (!broker.produce(batch)) return false;
    batch.clear();
  }
  return true;
}

// What somebody who wants speed alone would write: one consumer, all partitions, batches.
double raw(const std::string& bootstrap) {
  kafka::Options options;
  options.bootstrap = bootstrap;
  kafka::Properties ours = kafka::reader_properties();
  ours.emplace_back("group.id", "raw");
  ours.emplace_back("queued.min.messages", "20000");
  ours.emplace_back("fetch.queue.backoff.ms", "5");
  const auto consumer = kafka::make_handle(RD_KAFKA_CONSUMER, options, ours);
  if (!consumer) return 0;
  rd_kafka_poll_set_consumer(consumer->get());
  const kafka::QueuePtr queue(rd_kafka_queue_get_consumer(consumer->get()));
  kafka::ListPtr list = kafka::make_list(kPartitions);
  for (std::int32_t p = 0; p < kPartitions; ++p)
    kafka::add_to(list, {"t", Partition(p)})->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(consumer->get(), list.get());
  std::vector<rd_kafka_message_t*> messages(1000);
  Span span;
  std::size_t bytes = 0;
  for (const auto began = Time::now(); span.count() < kMessages && Time::now() - began < kLimit;) {
    const ssize_t count = rd_kafka_consume_batch_queue(queue.get(), 100, messages.data(), messages.size());
    std::size_t good = 0;
    for (ssize_t i = 0; i < count; ++i) {
      rd_kafka_message_t* message = messages[static_cast<std::size_t>(i)];
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) bytes += message->len, ++good;
      rd_kafka_message_destroy(message);
    }
    if (good > 0) span.seen(good);
  }
  return bytes == kMessages * kBytes ? span.per_second() : 0;
}

double ours(kafka::KafkaBroker& broker, bool pooled) {
  static int groups = 0;
  const SystemClock clock;
  Log log(LogFormat::kText, LogLevel::kError, [](std::string_view) {});
  std::mutex mutex;
  Span span;
  std::atomic<std::size_t> handled{0};
  const SyncHandler code = [&](const Message& m, Attempt&) {
    const std::size_t n = handled.fetch_add(m.value().empty() ? 0 : 1, std::memory_order_relaxed) + 1;
    // The clock is asked at the ends, and once in a while, so that a run that is cut off says how far it came.
    if (n == 1 || n == kMessages || n % 4096 == 0) {
      const std::lock_guard lock(mutex);
      if (n > span.count()) span.seen(n - span.count());
    }
    return done();
  };
  WorkerSpec spec;
  spec.name = "w";
  spec.group = "g" + std::to_string(++groups);
  spec.cluster = "bench";
  spec.instance = "i";
  spec.topics = {"t"};
  if (pooled)
    spec.handlers.push_back(std::make_shared<PooledHandler>(InProcess{}, code, 16));
  else
    spec.handlers.push_back(std::make_shared<InlineHandler>(InProcess{}, code));
  {
    Worker worker(std::move(spec), broker, clock, log);
    for (const auto began = Time::now(); handled.load() < kMessages && Time::now() - began < kLimit;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::lock_guard lock(mutex);
  return span.per_second();
}

std::optional<Row> measure(const char* name, bool pooled, double goal) {
  const RealKafka real;
  kafka::Options options;
  options.bootstrap = real.bootstrap();
  auto broker = kafka::KafkaBroker::open(std::move(options));
  if (real.bootstrap().empty() || !broker || !fill(**broker)) {
    std::printf("%s: skipped, there is no Apache Kafka here\n", name);
    return std::nullopt;
  }
  std::array<double, kRepeats> mine{}, theirs{};
  for (std::size_t i = 0; i < kRepeats; ++i) {
    theirs[i] = raw(real.bootstrap());
    mine[i] = ours(**broker, pooled);
  }
  broker->reset();
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  Row row{.name = name, .ours = figure.median, .peer = peer.median, .unit = "messages/s"};
  row.peer_name = "raw librdkafka loop over the same topic";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.goal = text(">= %.1f x", goal);
  row.met = row.ratio >= goal;
  row.spread = figure.spread;
  row.notes.push_back(
      text("%zu messages of %zu bytes, %zu keys, %d partitions, one broker on this machine, %s; "
           "spread of the peer %.0f %%",
           kMessages, kBytes, kKeys, kPartitions, pooled ? "16 threads" : "handler on the worker's thread",
           peer.spread * 100));
  return row;
}

}  // namespace

std::optional<Row> kafka_noop() { return measure("kafka_noop", false, 0.8); }
std::optional<Row> kafka_noop_pooled() { return measure("kafka_noop_pooled", true, 0.5); }

}  // namespace bartleby::bench

#else

namespace bartleby::bench {

std::optional<Row> kafka_noop() {
  std::printf("kafka_noop: skipped, built without Kafka\n");
  return std::nullopt;
}
std::optional<Row> kafka_noop_pooled() {
  std::printf("kafka_noop_pooled: skipped, built without Kafka\n");
  return std::nullopt;
}

}  // namespace bartleby::bench

#endif
