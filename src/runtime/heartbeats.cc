#include "runtime/heartbeats.h"

#include <algorithm>

namespace bartleby {
namespace {

constexpr Duration kAgain{1000};  // after one that the cache did not take

}  // namespace

Heartbeats::Heartbeats(HeartbeatOptions options, Counters& counters, const Clock& clock, Log& log)
    : options_(std::move(options)), counters_(counters), clock_(clock), log_(log) {}

Heartbeats::~Heartbeats() {
  thread_.request_stop();
  wake();
}

void Heartbeats::start() {
  thread_ = std::jthread([this](const std::stop_token& stopping) { work(stopping); });
}

void Heartbeats::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  wake_.notify_all();
}

void Heartbeats::work(const std::stop_token& stopping) {
  while (!stopping.stop_requested()) {
    beat();
    std::unique_lock lock(mutex_);
    const Duration wait = silent_ ? std::min(options_.every, kAgain) : options_.every;
    wake_.wait_for(lock, stopping, clock_.real(wait), [this] { return woken_; });
    woken_ = false;
  }
}

void Heartbeats::beat() {
  const std::lock_guard lock(beating_);
  const auto workers = options_.whose();
  for (const auto& worker : workers) beat(*worker);
  std::erase_if(last_, [&](const auto& known) {
    return std::ranges::none_of(workers, [&](const auto& w) { return w->spec().name == known.first; });
  });
}

void Heartbeats::beat(Worker& worker) {
  if (worker.stopped()) return;  // its last heartbeat said that it stops, and runs out
  WorkerStatus& status = last_[worker.spec().name];
  // One that has handed over its partitions only waits for handlers, and answers nothing any more.
  if (!worker.parted()) {
    if (auto now = worker.status(Duration(0)))  // a heartbeat waits for no broker
      status = std::move(*now);
    else if (!worker.stopping())
      return log_.warning("no_heartbeat", {{"worker", worker.spec().name}, {"why", now.error().message}});
  }
  const bool stopping = worker.stopping();
  HeartbeatFacts facts;
  facts.timestamp = clock_.now().wall;
  facts.status = stopping                               ? LifeStatus::kShuttingDown
                 : status.state == WorkerState::kPaused ? LifeStatus::kPaused
                                                        : LifeStatus::kRunning;
  facts.last_message_at = worker.last_message_at();
  facts.consumer_lag = status.effective_lag;
  facts.started_at = worker.started_at();
  facts.version = options_.version;
  facts.advertise = options_.advertise();
  facts.partitions = status.partitions.size();
  facts.parked = status.parked;
  facts.pinned = status.pinned;
  const auto written = counters_.put_heartbeat({worker.spec().name, worker.spec().instance, heartbeat_text(facts)},
                                               stopping ? options_.stopping_ttl : options_.ttl);
  if (!written && !silent_) log_.warning("heartbeats_silent", {{"why", written.error().message}});
  if (written && silent_) log_.info("heartbeats_heard");
  silent_ = !written;
}

}  // namespace bartleby
