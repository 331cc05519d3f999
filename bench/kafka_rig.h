// What the measurements on a real Apache Kafka share: one broker, topics with messages, the raw librdkafka loop, and a
// worker that reads a topic from its beginning to its end.
//
// The broker is started by scripts/kafka when the first of them asks, and ended with the program;
// BARTLEBY_BENCH_KAFKA=host:port takes one that runs already, and topics that are full there are not filled again.
// BARTLEBY_BENCH_SHARE=0.1 makes all topics that much smaller. Where there is no Kafka `on_kafka` says so and answers
// null.
#pragma once

#ifdef BARTLEBY_HAS_KAFKA

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/broker/kafka/kafka_broker.h"
#include "bench/row.h"
#include "runtime/in_process.h"
#include "runtime/worker.h"

namespace bartleby::bench {

using Time = std::chrono::steady_clock;

constexpr std::int32_t kPartitions = 8;
constexpr std::chrono::minutes kLimit{3};  // of one run

struct TopicShape {
  std::string name;
  std::size_t messages;
  std::size_t keys;
  std::size_t bytes;
  bool zipf = false;  // the k-th key with a probability that falls with k^-0.99; else all alike
};

class OnKafka {
 public:
  const std::string& bootstrap() const { return bootstrap_; }
  kafka::KafkaBroker& broker() { return *broker_; }

  // With its messages; smaller where a share is set. Empty: it could not be made.
  bool fill(TopicShape& shape);
  // The same with a key for each message, from its number.
  bool fill(const std::string& topic, std::size_t messages, std::size_t bytes,
            const std::function<std::string(std::size_t)>& key);

  ~OnKafka();

 private:
  friend OnKafka* on_kafka(const char* name);
  bool start();

  std::string bootstrap_;
  bool started_ = false;
  std::unique_ptr<kafka::KafkaBroker> broker_;
};

// Null: there is no Kafka here, and `name` was said to be skipped.
OnKafka* on_kafka(const char* name);

std::size_t scaled(std::size_t messages);
// Processor time of all threads of this process, in seconds: the client's own threads are among them.
double cpu_seconds();

// From the first message to the last; joining a group is not counted.
struct Ran {
  double per_second = 0;
  double cpu_ns = 0;  // per message, everything counted
  bool over = true;   // false: it was cut off before all messages were through
};

// What somebody who wants speed alone would write: one consumer, no group, all partitions, batches of 1,000.
Ran raw(const OnKafka& kafka, const TopicShape& shape);

// Counts messages as they are handled, on any thread.
class Counter {
 public:
  explicit Counter(std::size_t all) : all_(all) {}
  void handled() {
    const std::size_t n = count_.fetch_add(1, std::memory_order_relaxed) + 1;
    // The clock is asked at the ends, and once in a while, so that a run that is cut off says how far it came.
    if (n == 1 || n == all_ || n % 4096 == 0) look(n);
  }
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }
  bool over() const { return count() >= all_; }
  double per_second();

 private:
  void look(std::size_t n);

  const std::size_t all_;
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;  // of the rest
  Time::time_point first_{}, last_{};
  std::size_t seen_ = 0;
};

// What a program has around its handlers: the flight recorder in a real file, and the gate.
InProcess in_process();

struct WorkerRun {
  std::string topic;
  std::function<std::shared_ptr<Handler>(Counter&)> handler;
  std::function<void(Worker&, const Counter&)> meanwhile{};                        // called every millisecond
  std::function<std::shared_ptr<void>(const std::shared_ptr<Worker>&)> company{};  // what lives beside the worker
  std::function<void(WorkerSpec&)> change{};
  std::chrono::milliseconds at_most{kLimit};  // from the first message on; what is left then is not waited for
};

// A new group, from the beginning of the topic until so many messages are handled. Where it ends before that because of
// `at_most`, the figure is what was handled by then over that time.
Ran through_worker(OnKafka& kafka, std::size_t messages, const WorkerRun& run);

// Ours and the peer's alternate, three times.
Row compare(const char* name, const std::string& peer_name, double goal, const std::function<Ran()>& ours,
            const std::function<Ran()>& peer);

// Against a peer from Maven Central, in `mode` noop or failing.
Row beside(const char* name, const char* peer, const char* peer_name, const char* mode, const OnKafka& kafka,
           const TopicShape& shape, const std::function<Ran()>& ours);

}  // namespace bartleby::bench

#endif
