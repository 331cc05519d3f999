#include "runtime/retry_counters.h"

#include <chrono>
#include <optional>

namespace bartleby {
namespace {

constexpr std::size_t kMaxSteps = 500;  // of one call
constexpr std::chrono::seconds kFarewell{1};

}  // namespace

void RetryCounter::tell(CounterStep::What what, const std::shared_ptr<const LogRecord>& record, std::uint32_t failed) {
  if (!all_.add({shared_from_this(), what, record, failed, payload_size(*record)})) count(Result::kDropped);
}

void RetryCounter::begins(const std::shared_ptr<const LogRecord>& record, std::uint32_t attempt) {
  tell(CounterStep::What::kCount, record, attempt - 1);
}

// What does not cost an attempt is no failure to count: the engine does not either.
void RetryCounter::ended(const std::shared_ptr<const LogRecord>& record, std::uint32_t, const Decision& decision) {
  if (decision.fate == Fate::kReject) return;  // a letter soon
  if (decision.fate != Fate::kRetry)
    tell(CounterStep::What::kErase, record, 0);
  else if (decision.kind != Kind::kThrottled)
    tell(CounterStep::What::kIncrement, record, 0);
}

void RetryCounter::letter_written(const std::shared_ptr<const LogRecord>& record, const LetterFacts&) {
  tell(CounterStep::What::kErase, record, 0);
}

std::shared_ptr<RetryCounter> RetryCounters::of_worker(KeyTemplate key, Duration ttl) {
  return std::make_shared<RetryCounter>(*this, std::move(key), ttl);
}

RetryCounters::RetryCounters(Counters& cache, Options options) : cache_(cache), options_(options) {
  thread_ = std::thread([this] { work(); });
}

RetryCounters::~RetryCounters() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void RetryCounters::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return queue_.empty() && !busy_; });
}

bool RetryCounters::add(Order order) {
  const std::lock_guard lock(mutex_);
  if (queue_.size() >= options_.max_queued || bytes_ + order.bytes > options_.max_bytes) return false;
  bytes_ += order.bytes;
  if (queue_.empty()) wake_.notify_one();
  queue_.push_back(std::move(order));
  return true;
}

void RetryCounters::work() {
  std::vector<Order> orders;
  std::optional<std::chrono::steady_clock::time_point> until;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_ && !until) until = std::chrono::steady_clock::now() + kFarewell;
    if (queue_.empty() || (until && std::chrono::steady_clock::now() >= *until)) return;
    while (!queue_.empty() && orders.size() < kMaxSteps) {
      orders.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    busy_ = true;
    lock.unlock();
    const bool there = carry_out(orders);
    std::size_t bytes = 0;
    for (const Order& order : orders) bytes += order.bytes;
    orders.clear();
    lock.lock();
    bytes_ -= bytes;
    busy_ = false;
    if (queue_.empty()) idle_.notify_all();
    if (stopping_ && !there) return;
  }
}

bool RetryCounters::carry_out(const std::vector<Order>& orders) {
  std::vector<CounterStep> steps;
  std::vector<const Order*> sent;
  for (const Order& order : orders) {
    auto key = order.whose->key_.fill(*order.record, fields_);
    if (!key) {
      order.whose->count(RetryCounter::Result::kNoKey);
      continue;
    }
    steps.push_back({order.what, std::move(*key), order.whose->ttl_});
    sent.push_back(&order);
  }
  if (steps.empty()) return true;
  const auto results = cache_.steps(steps);
  bool there = true;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    RetryCounter& whose = *sent[i]->whose;
    whose.count(results[i] ? RetryCounter::Result::kDone : RetryCounter::Result::kFailed);
    there = there && (results[i] || results[i].error().code != ErrorCode::kUnavailable);
    if (results[i] && sent[i]->what == CounterStep::What::kCount && *results[i] != sent[i]->failed)
      whose.differed_.fetch_add(1, std::memory_order_relaxed);
  }
  return there;
}

}  // namespace bartleby
