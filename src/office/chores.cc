#include "office/chores.h"

#include <algorithm>

#include "base/thread_name.h"
#include "office/issues.h"
#include "office/shelf_upkeep.h"
#include "office/summary.h"

namespace bartleby {
namespace {

constexpr std::size_t kIssuesAtOnce = 500;
constexpr Duration kSoon{1000};

}  // namespace

Chores::Chores(Store& store, News& news, Log& log, const Clock& clock, std::string holder, Tidy tidy, ChoreTimes times)
    : store_(store),
      news_(news),
      log_(log),
      clock_(clock),
      holder_(std::move(holder)),
      tidy_(std::move(tidy)),
      times_(times) {}

Chores::~Chores() { stop(); }

void Chores::start() {
  thread_ = std::thread([this] { work(); });
}

void Chores::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Chores::work() {
  name_thread("chores");
  for (;;) {
    run_due(clock_.now());
    std::unique_lock lock(mutex_);
    const Duration wait = std::min({age_at_, check_at_, tidy_at_}) - clock_.now().steady;
    wake_.wait_for(lock, clock_.real(wait), [&] { return stopping_; });
    if (stopping_) return;
  }
}

void Chores::run_due(Now now) {
  if (now.steady >= age_at_) {
    age_at_ = now.steady + times_.age;
    const auto aged = age_issues(store_, now.wall, kIssuesAtOnce);
    if (!aged) log_.warning("issues_not_aged", {{"error", aged.error().message}});
    if (aged)
      for (const IssueNews& issue : *aged) news_.changed(issue);
    if (aged && aged->size() == kIssuesAtOnce) age_at_ = now.steady + kSoon;  // there are more
  }
  if (now.steady >= tidy_at_) {
    tidy_at_ = now.steady + times_.tidy;
    tidy_up(now);
  }
  if (now.steady < check_at_) return;
  check_at_ = now.steady + times_.check;
  if (const auto freed = free_shelves(store_); !freed)
    log_.warning("shelves_not_freed", {{"error", freed.error().message}});
  else if (freed->shelves + freed->rows > 0)
    log_.info("shelves_freed", {{"shelves", freed->shelves}, {"summary_rows", freed->rows}});
  const auto check = check_summary(store_, holder_, now.wall, times_.check);
  if (!check) return log_.warning("summary_not_checked", {{"error", check.error().message}});
  if (check->bootstrapped)
    log_.info("summary_bootstrapped", {{"why", "there were letters and no summary of them: all were counted"}});
  if (check->drift == 0) return;
  news_.drifted(static_cast<std::uint64_t>(check->drift));
  log_.error("summary_drift", {{"counters", check->drift},
                               {"why", "counts and letters differed; the file was changed by somebody else"}});
}

void Chores::tidy_up(Now now) {
  const auto done = tidy_(now.wall);
  if (!done) return log_.warning("letters_not_archived", {{"error", done.error().message}});
  for (const std::string& id : done->damaged)
    log_.error("archive_damaged",
               {{"archive", id}, {"why", "letters have left it and its file is not what was written"}});
  for (const NotArchived& one : done->named)
    log_.error("letter_not_archived", {{"letter", one.id}, {"why", one.why}, {"letters", done->left_out}});
  if (done->archived + done->purged + done->operations + done->issues + done->rewritten + done->removed == 0) return;
  log_.info("retention", {{"archived", done->archived},
                          {"archives", done->archives},
                          {"purged", done->purged},
                          {"operations_forgotten", done->operations},
                          {"issues_forgotten", done->issues},
                          {"archives_rewritten", done->rewritten},
                          {"archives_removed", done->removed}});
}

}  // namespace bartleby
