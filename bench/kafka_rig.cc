#include "bench/kafka_rig.h"

#ifdef BARTLEBY_HAS_KAFKA

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "runtime/in_process.h"

namespace bartleby::bench {
namespace {

constexpr const char* kStart = "scripts/kafka start build/bench/kafka";
constexpr const char* kStop = "scripts/kafka stop build/bench/kafka";

const char* given(const char* name) { return std::getenv(name); }  // NOLINT(concurrency-mt-unsafe): none is set here

TopicSpec spec_of(const std::string& name) {
  TopicSpec topic;
  topic.name = name;
  topic.partitions = kPartitions;
  return topic;
}

}  // namespace

std::size_t scaled(std::size_t messages) {
  const char* share = given("BARTLEBY_BENCH_SHARE");
  return share == nullptr ? messages : static_cast<std::size_t>(static_cast<double>(messages) * std::atof(share));
}

double cpu_seconds() {
  struct rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// ---- The broker ----------------------------------------------------------------------------------------

OnKafka* on_kafka(const char* name) {
  static OnKafka kafka;
  static const bool there = kafka.start();
  if (there) return &kafka;
  std::printf("%s: skipped, there is no Apache Kafka here\n", name);
  return nullptr;
}

bool OnKafka::start() {
  if (const char* running = given("BARTLEBY_BENCH_KAFKA")) {
    bootstrap_ = running;
  } else {
    started_ = true;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(popen(kStart, "r"), pclose);
    char line[256] = "";
    if (out && std::fgets(line, sizeof line, out.get()) != nullptr) bootstrap_ = line;
    while (!bootstrap_.empty() && bootstrap_.back() == '\n') bootstrap_.pop_back();
  }
  kafka::Options options;
  options.bootstrap = bootstrap_;
  auto opened =
      bootstrap_.empty() ? fail(ErrorCode::kUnavailable, "none") : kafka::KafkaBroker::open(std::move(options));
  if (opened) broker_ = std::move(*opened);
  return broker_ != nullptr;
}

OnKafka::~OnKafka() {
  broker_.reset();
  if (started_ && std::system(kStop) != 0) std::printf("kafka: '%s' failed\n", kStop);  // NOLINT
}

bool OnKafka::fill(const std::string& topic, std::size_t messages, std::size_t bytes,
                   const std::function<std::string(std::size_t)>& key) {
  if (!broker_->ensure_topics({spec_of(topic)})) return false;
  std::int64_t there = 0;
  for (std::int32_t p = 0; p < kPartitions; ++p)
    if (const auto range = broker_->log_range({topic, Partition(p)})) there += range->second.v;
  if (there == static_cast<std::int64_t>(messages)) return true;
  if (there != 0) return std::printf("topic %s has other messages already\n", topic.c_str()), false;
  std::vector<Record> batch;
  for (std::size_t i = 0; i < messages; ++i) {
    batch.push_back({topic, std::nullopt, key(i), std::string(bytes, 'v'), {}});
    if (batch.size() < 10'000 && i + 1 < messages) continue;
    if (!broker_->produce(batch)) return false;
    batch.clear();
  }
  return true;
}

bool OnKafka::fill(TopicShape& shape) {
  shape.messages = scaled(shape.messages);
  std::vector<double> up_to;  // sum of the weights of the keys so far
  double sum = 0;
  for (std::size_t k = 0; shape.zipf && k < shape.keys; ++k)
    up_to.push_back(sum += std::pow(static_cast<double>(k + 1), -0.99));
  Random random(1);
  return fill(shape.name, shape.messages, shape.bytes, [&](std::size_t) {
    if (!shape.zipf) return "customer-" + std::to_string(random.below(shape.keys));
    const double at = static_cast<double>(random.next() >> 11) * 0x1p-53 * sum;
    return "customer-" + std::to_string(std::ranges::lower_bound(up_to, at) - up_to.begin());
  });
}

// ---- Runs ----------------------------------------------------------------------------------------------

void Counter::look(std::size_t n) {
  const std::lock_guard lock(mutex_);
  const Time::time_point now = Time::now();
  if (seen_ == 0) first_ = now;
  if (n <= seen_) return;
  seen_ = n;
  last_ = now;
}

double Counter::per_second() {
  const std::lock_guard lock(mutex_);
  const double seconds = std::chrono::duration<double>(last_ - first_).count();
  return seconds > 0 ? static_cast<double>(seen_) / seconds : 0;
}

Ran raw(const OnKafka& kafka, const TopicShape& shape) {
  kafka::Options options;
  options.bootstrap = kafka.bootstrap();
  kafka::Properties ours = kafka::reader_properties();
  ours.emplace_back("group.id", "raw");
  ours.emplace_back("queued.min.messages", "100000");
  ours.emplace_back("fetch.queue.backoff.ms", "5");
  ours.emplace_back("fetch.wait.max.ms", "50");  // as a worker's member: else the fullest partition stands still
  const double cpu = cpu_seconds();
  Counter counter(shape.messages);
  Time::time_point first{}, last{};
  std::size_t count = 0, bytes = 0;
  {
    const auto consumer = kafka::make_handle(RD_KAFKA_CONSUMER, options, ours);
    if (!consumer) return {};
    rd_kafka_poll_set_consumer(consumer->get());
    const kafka::QueuePtr queue(rd_kafka_queue_get_consumer(consumer->get()));
    kafka::ListPtr list = kafka::make_list(kPartitions);
    for (std::int32_t p = 0; p < kPartitions; ++p)
      kafka::add_to(list, {shape.name, Partition(p)})->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(consumer->get(), list.get());
    std::vector<rd_kafka_message_t*> messages(1000);
    for (const auto began = Time::now(); count < shape.messages && Time::now() - began < kLimit;) {
      const ssize_t got = rd_kafka_consume_batch_queue(queue.get(), 100, messages.data(), messages.size());
      std::size_t good = 0;
      for (ssize_t i = 0; i < got; ++i) {
        rd_kafka_message_t* message = messages[static_cast<std::size_t>(i)];
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) bytes += message->len, ++good;
        rd_kafka_message_destroy(message);
      }
      if (good == 0) continue;
      if (count == 0) first = Time::now();
      count += good;
      last = Time::now();
    }
  }
  const double seconds = std::chrono::duration<double>(last - first).count();
  if (bytes != shape.messages * shape.bytes || seconds <= 0) return {};
  return {static_cast<double>(count) / seconds, (cpu_seconds() - cpu) * 1e9 / static_cast<double>(count)};
}

InProcess in_process() {
  static AloneGate gate;
  static const std::unique_ptr<FlightRecorder> recorder = [] {
    std::filesystem::create_directories("build/bench");
    auto opened = FlightRecorder::open("build/bench/flight", 1);
    return opened ? std::move(*opened) : nullptr;
  }();
  return {"bench", recorder.get(), [](const std::string& topic) { return topic + ".parked.g"; }, &gate};
}

Ran through_worker(OnKafka& kafka, std::size_t messages, const WorkerRun& run) {
  static int groups = 0;
  const SystemClock clock;
  Log log(LogFormat::kText, LogLevel::kError, [](std::string_view) {});
  Counter counter(messages);
  WorkerSpec spec;
  spec.name = "w";
  spec.group = "g" + std::to_string(::getpid()) + "-" + std::to_string(++groups);
  spec.cluster = "bench";
  spec.instance = "i";
  spec.topics = {run.topic};
  spec.handlers.push_back(run.handler(counter));
  if (run.change) run.change(spec);
  const double cpu = cpu_seconds();
  std::optional<std::size_t> handled;  // when the time was over
  {
    const auto worker = std::make_shared<Worker>(std::move(spec), kafka.broker(), clock, log);
    const std::shared_ptr<void> company = run.company ? run.company(worker) : nullptr;
    auto first = Time::time_point::max();
    for (const auto began = Time::now(); !counter.over() && Time::now() - began < kLimit;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (first == Time::time_point::max() && counter.count() > 0) first = Time::now();
      if (first != Time::time_point::max() && Time::now() - first >= run.at_most) {
        handled = counter.count();
        break;
      }
      if (run.meanwhile) run.meanwhile(*worker, counter);
    }
  }
  const double used = (cpu_seconds() - cpu) * 1e9 / static_cast<double>(std::max<std::size_t>(1, counter.count()));
  if (handled && run.at_most < kLimit)
    return {static_cast<double>(*handled) / std::chrono::duration<double>(run.at_most).count(), used};
  return {counter.per_second(), used, counter.over()};
}

Row compare(const char* name, const std::string& peer_name, double goal, const std::function<Ran()>& ours,
            const std::function<Ran()>& peer) {
  std::array<double, kRepeats> mine{}, theirs{}, my_cpu{}, their_cpu{};
  std::size_t cut_off = 0;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    const Ran a = peer(), b = ours();
    theirs[i] = a.per_second;
    their_cpu[i] = a.cpu_ns;
    mine[i] = b.per_second;
    my_cpu[i] = b.cpu_ns;
    cut_off += (a.over ? 0U : 1U) + (b.over ? 0U : 1U);
  }
  const Figure figure = figure_of(mine), against = figure_of(theirs);
  Row row{.name = name, .ours = figure.median, .peer = against.median, .unit = "messages/s"};
  row.peer_name = peer_name;
  row.ratio = against.median > 0 ? figure.median / against.median : 0;
  row.goal = text(">= %.1f x", goal);
  row.met = row.ratio >= goal;
  row.spread = figure.spread;
  row.notes.push_back(
      text("spread of the peer %.0f %%; processor time of this process: %.0f ns a message, the peer's %.0f ns",
           against.spread * 100, figure_of(my_cpu).median, figure_of(their_cpu).median));
  if (cut_off > 0) {
    row.met = false;
    row.notes.push_back(
        text("%zu runs were cut off after %lld min with messages left: the figure says how far they came", cut_off,
             static_cast<long long>(kLimit.count())));
  }
  return row;
}

}  // namespace bartleby::bench

#endif
