#include "wiring/undertaker.h"

#include <algorithm>
#include <chrono>

#include "codec/journal.h"

namespace bartleby {
namespace {

constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kLongestPause{30000};
constexpr std::chrono::milliseconds kAMoment{1000};

// Trying again can help.
bool may_pass(const Error& error) { return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kFenced; }

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
// A journal that cannot be written to now keeps no other one from having theirs.
Result<void> Undertaker::bury() {
  std::map<std::string, std::vector<Record>> by_journal;
  for (const Casualty& c : recorder_.casualties()) {
    if (c.flight.journal.empty() || settled_.contains(c.flight.journal)) continue;
    const JournalEntry obituary = c.obituary();
    by_journal[c.flight.journal].push_back(
        {c.flight.journal, c.flight.partition, journal_key(obituary), journal_value(obituary, {}), {}});
  }
  Result<void> all;
  for (const auto& [journal, obituaries] : by_journal) {
    const auto at = broker_of(journal);
    const auto written = at ? write(*at, obituaries) : Result<void>(std::unexpected(at.error()));
    if (written)
      settled_.insert(journal);
    else
      all = written;
  }
  if (all) recorder_.forget_casualties();
  return all;
}

// Nobody: the journal was deleted since, or may not be looked at. One that is away matters only while no other has it.
Result<Broker*> Undertaker::broker_of(const std::string& journal) const {
  Result<Broker*> at = nullptr;
  for (const auto& [name, one] : brokers_) {
    const auto there = one->describe(journal);
    if (there) return one.get();
    if (may_pass(there.error())) at = std::unexpected(there.error());
  }
  return at;
}

// What is refused for good is dropped, each alone: a journal that was made anew may have fewer partitions, and what is
// waited for in vain would keep every handler of this process from running.
Result<void> Undertaker::write(Broker* at, const std::vector<Record>& obituaries) {
  Error why{ErrorCode::kNotFound, "there is no such journal"};
  if (at != nullptr) {
    const auto written = at->produce(obituaries);
    if (written) return {};
    if (may_pass(written.error())) return std::unexpected(written.error());
    why = written.error();
  }
  if (obituaries.size() > 1) {
    for (const Record& one : obituaries)
      if (const auto alone = write(at, {one}); !alone) return alone;
    return {};
  }
  const Record& lost = obituaries.front();
  log_.error("obituary_dropped", {{"journal", lost.topic}, {"partition", lost.partition->v}, {"why", why.message}});
  return {};
}

}  // namespace bartleby
