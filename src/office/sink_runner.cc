#include "office/sink_runner.h"

#include <algorithm>

#include "base/thread_name.h"
#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr Duration kFollow{5000};  // how often dlqs are looked at that have no new letters

}  // namespace

SinkRunner::SinkRunner(Sink& sink, Store& store, Log& log, const Clock& clock, SinkOptions options)
    : sink_(sink),
      store_(store),
      log_(log),
      clock_(clock),
      options_(std::move(options)),
      at_once_(options_.letters),
      wait_(options_.first_wait),
      refused_at_(clock.now().steady + options_.refused_again) {}

SinkRunner::~SinkRunner() { stop(); }

void SinkRunner::start() {
  thread_ = std::thread([this] { work(); });
}

void SinkRunner::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SinkRunner::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

void SinkRunner::work() {
  name_thread("sink");
  for (;;) {
    const bool more = round();
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    if (more) continue;
    // While it fails new letters change nothing: only time does.
    const Duration wait =
        failing_since_ ? std::max(try_at_ - clock_.now().steady, Duration(1)) : Duration(options_.look);
    wake_.wait_for(lock, clock_.real(wait), [&] { return stopping_ || (woken_ && !failing_since_); });
    woken_ = false;
    if (stopping_) return;
  }
}

bool SinkRunner::round() {
  const Now now = clock_.now();
  if (now.steady < try_at_) return false;
  const Result<bool> more = carry_on(now);
  if (!more) {
    failed(more.error(), now);
    return false;
  }
  went_well();
  return *more;
}

Result<bool> SinkRunner::carry_on(Now now) {
  if (!prepared_) BARTLEBY_TRY(sink_.prepare());
  prepared_ = true;
  if (now.steady >= follow_at_) {
    BARTLEBY_TRY(follow());
    follow_at_ = now.steady + kFollow;
  }
  if (now.steady >= refused_at_ && !office_mutant(OfficeMutant::kRefusedForgotten)) {
    refused_at_ = now.steady + options_.refused_again;
    BARTLEBY_TRY(store_.write([&](Connection& connection) -> Result<void> {
      const auto again = queue_refused_again(connection, options_.name, options_.refused_at_once);
      if (!again) return std::unexpected(again.error());
      return {};
    }));
  }

  std::vector<QueuedLetter> batch;
  bool more = false, filling = false;
  BARTLEBY_TRY(store_.read([&](Connection& connection) -> Result<void> {
    auto found = queued_letters(connection, options_.name, at_once_, options_.bytes);
    if (!found) return std::unexpected(found.error());
    batch = std::move(*found);
    const auto backlog = sink_backlog(connection, options_.name);
    if (!backlog) return std::unexpected(backlog.error());
    more = backlog->waiting > static_cast<std::int64_t>(batch.size());
    filling = backlog->waiting < options_.fill_below;
    return {};
  }));
  if (filling) {
    bool left = false;
    BARTLEBY_TRY(store_.read([&](Connection& connection) -> Result<void> {  // most of the time there is nothing
      const auto any = sql::one(
          connection, "SELECT 1 FROM sink_feeds WHERE sink = $1 AND next < until LIMIT 1", [](Rows&) { return true; },
          options_.name);
      if (!any) return std::unexpected(any.error());
      left = any->has_value();
      return {};
    }));
    if (left) {
      BARTLEBY_TRY(store_.write([&](Connection& connection) -> Result<void> {
        const auto filled = fill_queue(connection, options_.name, options_.fill_at_once);
        if (!filled) return std::unexpected(filled.error());
        return {};
      }));
      more = true;
    }
  }
  if (batch.empty()) return more;

  std::vector<SinkLetter> letters;
  std::vector<std::size_t> places;  // of each in the batch
  std::vector<RefusedLetter> refused;
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (batch[i].damaged.empty()) {
      letters.push_back(std::move(batch[i].life));
      places.push_back(i);
    } else {
      refused.push_back({i, batch[i].damaged});
    }
  const bool early = office_mutant(OfficeMutant::kLeavesQueueFirst);
  if (early) BARTLEBY_TRY(settle(batch, {}, now.wall));
  auto written = sink_.write(letters);
  if (!written && office_mutant(OfficeMutant::kSinkFailureIgnored)) written.emplace();
  if (!written) {
    // It may be another server by now, without what it needs. And where a batch takes longer than the sink waits for an
    // answer, only a smaller one gets anywhere.
    prepared_ = false;
    at_once_ = std::max<std::size_t>(1, letters.size() / 2);
    return std::unexpected(written.error());
  }
  at_once_ = std::min(options_.letters, at_once_ * 2);
  for (RefusedLetter& one : *written) refused.push_back({places[one.index], std::move(one.why)});
  if (!early) BARTLEBY_TRY(settle(batch, refused, now.wall));
  return more;
}

// Dlqs without new letters have feeds too: a sink that was added to them is filled from what is there.
Result<void> SinkRunner::follow() {
  std::vector<std::string> fresh;
  BARTLEBY_TRY(store_.read([&](Connection& connection) -> Result<void> {
    return sql::each(
        connection,
        "SELECT d.name FROM dlqs d WHERE NOT EXISTS (SELECT 1 FROM sink_feeds f WHERE f.dlq = d.name AND f.sink = $1)",
        [&](Rows& row) { fresh.push_back(row.text(0)); }, options_.name);
  }));
  std::erase_if(fresh, [&](const std::string& dlq) {
    const std::vector<std::string> sinks = options_.sinks_of(dlq);
    return std::ranges::find(sinks, options_.name) == sinks.end();
  });
  if (fresh.empty()) return {};
  return store_.write([&](Connection& connection) -> Result<void> {
    for (const std::string& dlq : fresh) BARTLEBY_TRY(follow_feeds(connection, dlq, options_.sinks_of(dlq)));
    return {};
  });
}

Result<void> SinkRunner::settle(const std::vector<QueuedLetter>& batch, const std::vector<RefusedLetter>& refused,
                                Timestamp now) {
  const auto settled = store_.write([&](Connection& connection) -> Result<void> {
    for (const RefusedLetter& one : refused)
      if (!office_mutant(OfficeMutant::kRefusedDropped))
        BARTLEBY_TRY(put_aside(connection, options_.name, batch[one.index].number, one.why, now));
    std::vector<std::int64_t> numbers;
    numbers.reserve(batch.size());
    for (const QueuedLetter& one : batch) numbers.push_back(one.number);
    return leave_queue(connection, options_.name, numbers);
  });
  if (!settled) return settled;
  for (const RefusedLetter& one : refused)
    log_.error("sink_refused", {{"sink", options_.name}, {"number", batch[one.index].number}, {"why", one.why}});
  const std::lock_guard lock(mutex_);
  written_ += batch.size() - refused.size();
  errors_ += refused.size();
  return {};
}

void SinkRunner::failed(const Error& error, Now now) {
  try_at_ = now.steady + wait_;
  log_.warning("sink_failed", {{"sink", options_.name}, {"again_in_ms", wait_.count()}, {"error", error.message}});
  wait_ = std::min(wait_ * 2, options_.longest_wait);
  const std::lock_guard lock(mutex_);
  ++errors_;
  if (!failing_since_) failing_since_ = now.wall;
  error_ = error.message;
}

void SinkRunner::went_well() {
  wait_ = options_.first_wait;
  const std::lock_guard lock(mutex_);
  if (!failing_since_) return;
  failing_since_.reset();
  error_.clear();
  log_.info("sink_works_again", {{"sink", options_.name}});
}

Result<SinkStatus> SinkRunner::status() const {
  SinkStatus status;
  status.name = options_.name;
  {
    const std::lock_guard lock(mutex_);
    status.written = written_;
    status.errors = errors_;
    status.failing_since = failing_since_;
    status.error = error_;
  }
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    auto backlog = sink_backlog(connection, options_.name);
    if (!backlog) return std::unexpected(backlog.error());
    status.backlog = std::move(*backlog);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return status;
}

}  // namespace bartleby
