// What messages that fail cost the others on a real Kafka: one in a hundred going through its retries while new ones
// are offered, and half of a topic behind one parked message.
#include "bench/benches.h"
#include "bench/kafka_rig.h"

#ifdef BARTLEBY_HAS_KAFKA

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/hash.h"
#include "runtime/in_process.h"

namespace bartleby::bench {
namespace {

constexpr std::size_t kManyKeys = 1'000'000;
constexpr std::chrono::milliseconds kTick{10};          // of what offers messages
constexpr std::chrono::milliseconds kPeerTime{20'000};  // that the peers have

std::size_t number_of(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): none is set here
  return text == nullptr ? otherwise : static_cast<std::size_t>(std::atoll(text));
}

// Sends `per_second` messages a second of as many keys, by a producer that waits for nothing.
class Offer {
 public:
  Offer(const OnKafka& kafka, std::string topic, std::size_t messages, std::size_t per_second)
      : topic_(std::move(topic)), messages_(messages), per_second_(per_second) {
    options_.bootstrap = kafka.bootstrap();
    auto made = kafka::make_handle(RD_KAFKA_PRODUCER, options_,
                                   {{"linger.ms", "5"}, {"queue.buffering.max.messages", "2000000"}});
    if (made) producer_ = std::move(*made);
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }

 private:
  void work(const std::stop_token& stop) {
    if (!producer_) return;
    const kafka::TopicPtr topic(rd_kafka_topic_new(producer_.get(), topic_.c_str(), nullptr));
    const std::string value(100, 'v');
    const auto began = Time::now();
    for (std::size_t sent = 0; sent < messages_ && !stop.stop_requested();) {
      const double passed = std::chrono::duration<double>(Time::now() - began).count();
      const auto due = std::min(messages_, static_cast<std::size_t>(passed * static_cast<double>(per_second_)));
      for (; sent < due; ++sent) {
        const std::string key = "customer-" + std::to_string(hash64(std::to_string(sent)) % kManyKeys);
        while (rd_kafka_produce(topic.get(), RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY,
                                const_cast<char*>(value.data()), value.size(), key.data(), key.size(), nullptr) != 0 &&
               !stop.stop_requested())
          rd_kafka_poll(producer_.get(), 1);
      }
      rd_kafka_poll(producer_.get(), 0);
      std::this_thread::sleep_for(kTick);
    }
    rd_kafka_flush(producer_.get(), 30'000);
  }

  kafka::Options options_;
  const std::string topic_;
  const std::size_t messages_, per_second_;
  kafka::HandlePtr producer_;
  std::jthread thread_;
};

// Every hundredth message by its place in the log fails at its first three attempts.
bool fails(const Message& m) {
  return hash64(std::to_string(m.partition().v) + "/" + std::to_string(m.offset().v)) % 100 == 0;
}

// A first attempt is what counts: retries come later, and are no messages of their own. So those of a key that waits
// are missing when the time is over, as they are to whoever sent them.
Ran retrying(OnKafka& kafka, const std::string& topic, std::size_t messages, bool some_fail,
             std::atomic<std::size_t>& failures, std::chrono::milliseconds at_most) {
  return through_worker(kafka, messages,
                        {.topic = topic,
                         .handler = [&](Counter& counter) -> std::shared_ptr<Handler> {
                           return std::make_shared<InlineHandler>(in_process(),
                                                                  [&](const Message& m, Attempt& attempt) {
                                                                    if (attempt.number() == 1) counter.handled();
                                                                    if (!some_fail || attempt.number() > 3 || !fails(m))
                                                                      return done();
                                                                    failures.fetch_add(1, std::memory_order_relaxed);
                                                                    return retry("BankBusy", "no answer");
                                                                  });
                         },
                         .change =
                             [](WorkerSpec& spec) {
                               RetryPolicy& policy = spec.engine.cases.front();
                               policy.max_attempts = 4;
                               policy.backoff = Schedule{{Duration(1000), Duration(5000), Duration(30'000)}};
                             },
                         .at_most = at_most});
}

// On a topic that is full from the start: the peers are offered nothing while they run.
std::optional<Row> failing_beside(const char* name, const char* peer, const char* peer_name) {
  OnKafka* kafka = on_kafka(name);
  TopicShape shape{"million-keys", 1'000'000, kManyKeys, 100};
  if (kafka == nullptr || !kafka->fill(shape)) return std::nullopt;
  std::atomic<std::size_t> failures{0};
  return beside(name, peer, peer_name, "failing", *kafka, shape,
                [&] { return retrying(*kafka, shape.name, shape.messages, true, failures, kPeerTime); });
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

}  // namespace

std::optional<Row> failing() {
  OnKafka* kafka = on_kafka("failing");
  if (kafka == nullptr) return std::nullopt;
  const std::size_t rate = number_of("BARTLEBY_BENCH_RATE", 300'000);
  const std::size_t seconds = number_of("BARTLEBY_BENCH_SECONDS", 40);
  const std::size_t messages = rate * seconds;
  std::atomic<std::size_t> failures{0};
  const auto run_with = [&](bool some_fail) {
    static int topics = 0;
    const std::string topic = "offered-" + std::to_string(::getpid()) + "-" + std::to_string(++topics);
    if (!kafka->fill(topic, 0, 0, {})) return Ran{};
    const Offer offer(*kafka, topic, messages, rate);
    return retrying(*kafka, topic, messages, some_fail, failures, std::chrono::seconds(seconds));
  };
  Row row = compare(
      "failing", "itself without failures", 0.9, [&] { return run_with(true); }, [&] { return run_with(false); });
  row.notes.push_back(
      text("offered %zu messages a second of 100 bytes for %zu s, %zu keys, %d partitions; 1 %% fail through "
           "1 s, 5 s, 30 s (%zu failed attempts in three runs); a message counts when it is first attempted, by the "
           "end of the offer: those behind one of their key that waits are missing then",
           rate, seconds, kManyKeys, kPartitions, failures.load()));
  return row;
}

std::optional<Row> failing_parallel_consumer() {
  return failing_beside("failing_parallel_consumer", "parallel",
                        "Confluent Parallel Consumer 0.5.3.3, key order, 64 at once");
}
std::optional<Row> failing_spring_kafka() {
  return failing_beside("failing_spring_kafka", "spring", "Spring Kafka 3.3.4, one thread, DefaultErrorHandler");
}

std::optional<Row> behind_parked() {
  OnKafka* kafka = on_kafka("behind_parked");
  const std::size_t messages = scaled(2'000'000);
  const auto key = [](std::size_t i) { return i % 2 == 0 ? std::string("held") : "customer-" + std::to_string(i); };
  if (kafka == nullptr || !kafka->fill("behind-parked", messages, 100, key)) return std::nullopt;
  std::array<std::int64_t, 2> most{};  // of memory, without and with
  std::size_t disorder = 0;
  const auto run_with = [&](bool parks) {
    std::atomic<bool> parked{false}, released{false};
    std::atomic<std::int64_t> last{-1};
    std::int64_t peak = 0;
    const Ran ran =
        through_worker(*kafka, messages,
                       {.topic = "behind-parked",
                        .handler = [&](Counter& counter) -> std::shared_ptr<Handler> {
                          return std::make_shared<InlineHandler>(in_process(), [&](const Message& m, Attempt&) {
                            if (m.key() == "held") {
                              if (parks && !parked.exchange(true))
                                return retry("Parked", "until all others are through").after(std::chrono::hours(1));
                              if (last.exchange(m.offset().v) >= m.offset().v) ++disorder;
                            }
                            counter.handled();
                            return done();
                          });
                        },
                        .meanwhile =
                            [&](Worker& worker, const Counter& counter) {
                              peak = std::max(peak, resident_bytes());
                              if (!parks || released || counter.count() < messages / 2) return;
                              released = true;  // the log has been read once
                              if (!worker.order(ParkedOrder::What::kRunNow, {})) released = false;
                            }});
    std::int64_t& seen = most[parks ? 1 : 0];
    seen = seen == 0 ? peak : std::min(seen, peak);
    return ran;
  };
  Row row = compare(
      "behind_parked", "the same messages, nothing failing", 0.9, [&] { return run_with(true); },
      [&] { return run_with(false); });
  const double more = static_cast<double>(most[1] - most[0]) / (1 << 20);
  row.goal += "; <= 64 MB more";
  row.met = row.met && more <= 64 && disorder == 0;
  row.notes.push_back(
      text("%zu messages of 100 bytes, every second one of one key whose first is parked until the others are "
           "through; %.0f MB more memory; %zu out of order",
           messages, more, disorder));
  return row;
}

}  // namespace bartleby::bench

#endif
