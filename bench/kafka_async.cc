// How many messages a worker on a real Kafka gets through when the handler answers later: 1,000 keys, one message of a
// key at a time, so keys ÷ time is the most there can be, or what the raw loop reads if that is less.
#include "bench/benches.h"
#include "bench/kafka_rig.h"

#ifdef BARTLEBY_HAS_KAFKA

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

#include "runtime/in_process.h"

namespace bartleby::bench {
namespace {

constexpr std::size_t kKeys = 1000;

// Answers every attempt after the same time, in the order they came, from a thread of its own.
class Later {
 public:
  explicit Later(std::chrono::milliseconds after) : after_(after), thread_([this] { work(); }) {}
  ~Later() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      wake_.notify_one();
    }
    thread_.join();
  }
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

  void add(Reply reply) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({Time::now() + after_, std::move(reply)});
    if (waiting_.size() == 1) wake_.notify_one();
  }

 private:
  struct Waiting {
    Time::time_point due;
    Reply reply;
  };

  void work() {
    std::vector<Reply> due;
    std::unique_lock lock(mutex_);
    while (!ending_ || !waiting_.empty()) {
      if (waiting_.empty()) {
        wake_.wait(lock);
        continue;
      }
      if (const auto at = waiting_.front().due; at > Time::now()) {
        wake_.wait_until(lock, at);
        continue;
      }
      for (const auto now = Time::now(); !waiting_.empty() && waiting_.front().due <= now; waiting_.pop_front())
        due.push_back(std::move(waiting_.front().reply));
      lock.unlock();
      for (Reply& reply : due) reply(done());
      due.clear();
      lock.lock();
    }
  }

  const std::chrono::milliseconds after_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

std::optional<Row> measure(const char* name, std::chrono::milliseconds takes, std::size_t messages, double goal) {
  OnKafka* kafka = on_kafka(name);
  TopicShape shape{"thousand-keys", 1'000'000, kKeys, 100};
  if (kafka == nullptr || !kafka->fill(shape)) return std::nullopt;
  messages = std::min(scaled(messages), shape.messages);
  Later later(takes);
  WorkerRun run{.topic = shape.name,
                .handler = [&](Counter& counter) -> std::shared_ptr<Handler> {
                  return std::make_shared<AsynchronousHandler>(
                      in_process(),
                      [&](const std::shared_ptr<const Message>&, const std::shared_ptr<Attempt>&, Reply reply) {
                        counter.handled();
                        later.add(std::move(reply));
                      });
                },
                .change = [](WorkerSpec& spec) { spec.engine.concurrency = 2 * kKeys; }};
  const double limit = static_cast<double>(kKeys) * 1000 / static_cast<double>(takes.count());
  Row row = compare(
      name,
      text("the limit %zu keys / %lld ms, or the raw librdkafka loop if that is slower", kKeys,
           static_cast<long long>(takes.count())),
      goal, [&] { return through_worker(*kafka, messages, run); },
      [&] {
        Ran peer = raw(*kafka, shape);
        peer.per_second = std::min(peer.per_second, limit);
        return peer;
      });
  row.notes.push_back(
      text("%zu messages of %zu bytes, uniform keys, %d partitions; the peer's processor time is the loop's", messages,
           shape.bytes, kPartitions));
  return row;
}

}  // namespace

std::optional<Row> async_1ms() { return measure("async_1ms", std::chrono::milliseconds(1), 1'000'000, 0.5); }
std::optional<Row> async_10ms() { return measure("async_10ms", std::chrono::milliseconds(10), 400'000, 0.9); }
std::optional<Row> async_100ms() { return measure("async_100ms", std::chrono::milliseconds(100), 50'000, 0.9); }

}  // namespace bartleby::bench

#endif
