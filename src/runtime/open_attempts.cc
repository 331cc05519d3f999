#include "runtime/open_attempts.h"

#include <algorithm>
#include <vector>

namespace bartleby {
namespace {

constexpr Duration kLookForCancelled{1000};
constexpr Duration kNoRoomPause{1000};

Decision retry(Kind kind, std::string type, std::string message) {
  Decision d;
  d.fate = Fate::kRetry;
  d.kind = kind;
  d.error = {std::move(type), std::move(message), {}};
  return d;
}

Decision timed_out() { return retry(Kind::kTimeout, "Timeout", "not finished by its deadline"); }
Decision cancelled() { return retry(Kind::kTransient, "Cancelled", "nobody waits for it any more"); }
Decision stopped() { return Decision::not_run(); }

Decision no_room() {
  Decision d = retry(Kind::kThrottled, "Overloaded", "too many attempts are open in this process");
  d.after = kNoRoomPause;
  return d;
}

}  // namespace

void OpenAttempts::list(Entries::iterator entry) {
  entry->second.at = deadlines_.emplace(entry->second.deadline, entry->first);
}

OpenAttempts::Entry OpenAttempts::take(Entries::iterator entry) {
  if (entry->second.answer) deadlines_.erase(entry->second.at);
  Entry out = std::move(entry->second);
  entries_.erase(entry);
  return out;
}

bool OpenAttempts::announce(const std::shared_ptr<AttemptIn>& attempt) {
  const Now now = options_.clock();
  const std::lock_guard lock(mutex_);
  if (closed_ || entries_.size() >= options_.max_open) return false;
  const auto [entry, fresh] = entries_.try_emplace(attempt->token);
  if (!fresh) return false;
  entry->second.attempt = attempt;
  entry->second.opened = now.steady;
  entry->second.deadline = attempt->deadline;
  entry->second.wall = attempt->deadline_wall;
  return true;
}

void OpenAttempts::keep(const std::shared_ptr<AttemptIn>& attempt, Answer answer) {
  Decision decision;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(attempt->token);
    if (entry != entries_.end() && !entry->second.decided && !closed_) {
      entry->second.answer = std::move(answer);
      list(entry);
      return;
    }
    std::optional<Decision> decided;
    if (entry != entries_.end()) decided = take(entry).decided;
    decision = decided ? std::move(*decided) : stopped();
  }
  answer(std::move(decision));
}

std::optional<Decision> OpenAttempts::withdraw(const std::string& token) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(token);
  if (entry == entries_.end()) return std::nullopt;
  return take(entry).decided;
}

std::optional<Timestamp> OpenAttempts::open(const std::shared_ptr<AttemptIn>& attempt, Duration timeout,
                                            Answer answer) {
  const Now now = options_.clock();
  timeout = std::min(timeout, kLongestAttempt);
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ && entries_.size() < options_.max_open) {
      const auto [entry, fresh] = entries_.try_emplace(attempt->token);
      if (fresh) {
        Entry& e = entry->second;
        e.attempt = attempt;
        e.answer = std::move(answer);
        e.opened = now.steady;
        e.deadline = now.steady + timeout;
        e.wall = now.wall + timeout;
        list(entry);
        return e.wall;
      }
    }
  }
  answer(no_room());
  return std::nullopt;
}

OpenAttempts::Finish OpenAttempts::finish(const std::string& token, Decision decision) {
  Entry ended;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(token);
    if (entry == entries_.end() || entry->second.decided || entry->second.attempt->cancelled) return Finish::kGone;
    if (!entry->second.answer) {
      entry->second.decided = std::move(decision);
      return Finish::kOk;
    }
    ended = take(entry);
  }
  ended.answer(std::move(decision));
  return Finish::kOk;
}

std::expected<Timestamp, OpenAttempts::NotExtended> OpenAttempts::extend(const std::string& token, Duration by) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(token);
  if (entry == entries_.end()) return std::unexpected(NotExtended::kGone);
  Entry& e = entry->second;
  if (e.decided || e.attempt->cancelled) return std::unexpected(NotExtended::kGone);
  if (!e.answer) return std::unexpected(NotExtended::kUnanswered);
  const Instant latest = e.opened + kLongestAttempt;
  const Instant moved = std::min(latest, e.deadline + std::clamp(by, Duration(0), kLongestAttempt));
  if (moved <= e.deadline) return e.wall;
  e.wall += moved - e.deadline;
  e.deadline = moved;
  deadlines_.erase(e.at);
  list(entry);
  return e.wall;
}

void OpenAttempts::tick() {
  const Instant now = options_.clock().steady;
  std::vector<std::pair<Entry, Decision>> ended;
  {
    const std::lock_guard lock(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now)
      ended.emplace_back(take(entries_.find(deadlines_.begin()->second)), timed_out());
    if (now >= look_for_cancelled_) {
      look_for_cancelled_ = now + kLookForCancelled;
      for (auto i = entries_.begin(); i != entries_.end();) {
        const auto entry = i++;
        if (entry->second.answer && entry->second.attempt->cancelled) ended.emplace_back(take(entry), cancelled());
      }
    }
  }
  for (auto& [entry, decision] : ended) entry.answer(std::move(decision));
}

Instant OpenAttempts::next_deadline() const {
  const std::lock_guard lock(mutex_);
  if (deadlines_.empty()) return kNever;
  return std::min(deadlines_.begin()->first, look_for_cancelled_);
}

void OpenAttempts::close() {
  std::vector<Entry> ended;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    while (!deadlines_.empty()) ended.push_back(take(entries_.find(deadlines_.begin()->second)));
  }
  for (Entry& entry : ended) entry.answer(stopped());
}

std::size_t OpenAttempts::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace bartleby
