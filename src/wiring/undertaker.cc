#include "wiring/undertaker.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "codec/journal.h"

namespace bartleby {
namespace {

constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kLongestPause{30000};
constexpr std::chrono::milliseconds kAMoment{1000};

}  // namespace

Undertaker::Undertaker(FlightRecorder& recorder, const Brokers& brokers, Log& log)
    : recorder_(recorder), brokers_(brokers), log_(log) {
  for (const Casualty& c : recorder_.casualties())
    log_.warning("process_died_in_handler", {{"journal", c.flight.journal},
                                             {"partition", c.flight.partition.v},
                                             {"offset", c.flight.offset.v},
                                             {"faulting", c.faulting}});
  if (recorder_.casualties().empty()) {
    recorder_.forget_casualties();
    over_ = true;
    return;
  }
  thread_ = std::jthread([this](const std::stop_token& stopping) { work(stopping); });
}

Result<void> Undertaker::buried() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kAMoment, [this] { return over_; })) return {};
  return fail(ErrorCode::kUnavailable, "obituaries of the last process are not written yet: " + why_);
}

bool Undertaker::over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

void Undertaker::work(const std::stop_token& stopping) {
  for (auto pause = kFirstPause; !stopping.stop_requested(); pause = std::min(2 * pause, kLongestPause)) {
    const auto done = bury();
    std::unique_lock lock(mutex_);
    over_ = done.has_value();
    changed_.notify_all();
    if (over_) return;
    if (why_ != done.error().message) log_.warning("obituaries_wait", {{"why", done.error().message}});
    why_ = done.error().message;
    changed_.wait_for(lock, stopping, pause, [] { return false; });
  }
}

// Whoever ran when the last process died is named in the journal of its message; whoever owns the partition reads it.
Result<void> Undertaker::bury() {
  std::map<Broker*, std::vector<Record>> records;
  for (const Casualty& c : recorder_.casualties()) {
    if (c.flight.journal.empty()) continue;
    Broker* at = nullptr;
    for (const auto& [name, one] : brokers_) {
      const auto there = one->describe(c.flight.journal);
      if (there) at = one.get();
      if (!there && there.error().code != ErrorCode::kNotFound) return std::unexpected(there.error());
    }
    if (at == nullptr) continue;  // the topic was deleted since
    const JournalEntry obituary = c.obituary();
    records[at].push_back(
        {c.flight.journal, c.flight.partition, journal_key(obituary), journal_value(obituary, {}), {}});
  }
  for (const auto& [at, theirs] : records)
    if (const auto written = at->produce(theirs); !written) return std::unexpected(written.error());
  recorder_.forget_casualties();
  return {};
}

}  // namespace bartleby
