#include "runtime/heartbeats.h"

#include <algorithm>

#include "base/thread_name.h"

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
  name_thread("heartbeats");
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
  for (const auto& worker : workers)
    if (!worker->stopped()) beat(*worker);
  std::erase_if(known_, [&](const auto& known) {
    if (std::ranges::any_of(workers, [&](const auto& w) { return w->spec().name == known.first && !w->stopped(); }))
      return false;
    if (!known.second.instance.empty() && !known.second.says_stopping) last_words(known.first, known.second);
    return true;
  });
}

void Heartbeats::beat(Worker& worker) {
  Known& known = known_[worker.spec().name];
  WorkerStatus& status = known.status;
  // One that has handed over its partitions only waits for handlers, and answers nothing any more.
  if (!worker.parted()) {
    if (auto now = worker.status(Duration(0)))  // a heartbeat waits for no broker
      status = std::move(*now);
    else if (!worker.stopping())
      return log_.warning("no_heartbeat", {{"worker", worker.spec().name}, {"why", now.error().message}});
  }
  const bool stopping = worker.stopping();
  known.instance = worker.spec().instance;
  HeartbeatFacts& facts = known.facts;
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
  put(worker.spec().name, known);
}

// It stopped between two beats: what stands in the cache says that it runs, and would run out like that of a dead one.
// Said once, in vain where the cache is away.
void Heartbeats::last_words(const std::string& worker, Known known) {
  known.facts.status = LifeStatus::kShuttingDown;
  put(worker, known);
}

void Heartbeats::put(const std::string& worker, Known& known) {
  const bool stopping = known.facts.status == LifeStatus::kShuttingDown;
  known.facts.timestamp = clock_.now().wall;
  const auto written = counters_.put_heartbeat({worker, known.instance, heartbeat_text(known.facts)},
                                               stopping ? options_.stopping_ttl : options_.ttl);
  known.says_stopping = stopping && written;
  if (!written && !silent_) log_.warning("heartbeats_silent", {{"why", written.error().message}});
  if (written && silent_) log_.info("heartbeats_heard");
  silent_ = !written;
}

}  // namespace bartleby
