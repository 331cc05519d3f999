// Retry counters beside the engine's own count, for others to look at: one per message, under a key made of it.
//
// Read before an attempt, raised by a failure that costs one, deleted by success and by a letter. `RetryCounters` has a
// thread that carries this out on the cache, and a queue of bounded number and bytes before it: messages never wait for
// the cache. What finds the queue full is dropped, what the cache does not take is lost, and both are counted: a
// counter may then be wrong, and lives no longer than its ttl. Nothing is decided by it. Any thread; the cache outlives
// it, and it outlives its workers.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "codec/key_template.h"
#include "ports/counters.h"
#include "runtime/watcher.h"

namespace bartleby {

class RetryCounters;

// The counters of one worker.
class RetryCounter : public Watcher, public std::enable_shared_from_this<RetryCounter> {
 public:
  enum class Result : std::uint8_t { kDone, kFailed, kDropped, kNoKey };
  static constexpr std::array<std::string_view, 4> kResultNames = {"done", "failed", "dropped", "no_key"};

  RetryCounter(RetryCounters& all, KeyTemplate key, Duration ttl) : all_(all), key_(std::move(key)), ttl_(ttl) {}

  void begins(const std::shared_ptr<const LogRecord>& record, std::uint32_t attempt) override;
  void ended(const std::shared_ptr<const LogRecord>& record, std::uint32_t attempt, const Decision& decision) override;
  void letter_written(const std::shared_ptr<const LogRecord>& record, const LetterFacts& facts) override;
  void letter_refused(Refusal) override {}

  std::uint64_t results(Result result) const { return results_[static_cast<std::size_t>(result)].load(); }
  // How often it was read as something else than the engine has counted: the cache lost it, or somebody else wrote.
  std::uint64_t differed() const { return differed_.load(); }

 private:
  friend class RetryCounters;
  void tell(CounterStep::What what, const std::shared_ptr<const LogRecord>& record, std::uint32_t failed);
  void count(Result result) { results_[static_cast<std::size_t>(result)].fetch_add(1, std::memory_order_relaxed); }

  RetryCounters& all_;
  const KeyTemplate key_;
  const Duration ttl_;
  std::array<std::atomic<std::uint64_t>, kResultNames.size()> results_{};
  std::atomic<std::uint64_t> differed_{0};
};

struct RetryCountersOptions {
  std::size_t max_queued = 50'000;
  std::size_t max_bytes = std::size_t{32} << 20;  // of messages that are alive only here
};

class RetryCounters {
 public:
  using Options = RetryCountersOptions;

  explicit RetryCounters(Counters& cache, Options options = {});
  ~RetryCounters();  // what is queued is still tried, for a second and as long as the cache answers
  RetryCounters(const RetryCounters&) = delete;
  RetryCounters& operator=(const RetryCounters&) = delete;

  std::shared_ptr<RetryCounter> of_worker(KeyTemplate key, Duration ttl);
  void wait_idle();  // for tests

 private:
  friend class RetryCounter;
  struct Order {
    std::shared_ptr<RetryCounter> whose;
    CounterStep::What what;
    std::shared_ptr<const LogRecord> record;
    std::uint32_t failed = 0;  // as the engine has counted, where it is read
    std::size_t bytes = 0;
  };

  bool add(Order order);
  void work();
  bool carry_out(const std::vector<Order>& orders);  // false: the cache is away

  Counters& cache_;
  const Options options_;
  RecordFields fields_;  // the thread's
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<Order> queue_;
  std::size_t bytes_ = 0;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last
};

}  // namespace bartleby
