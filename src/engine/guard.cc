// How the guard counts: the window in sixty parts, and every message once, by what became of it last.
//
// Of a message that failed it is known in which part it was counted, so that it moves when something else becomes of
// it. The evidence is the newest parts that hold enough first attempts: a worker with many messages is judged by its
// last second or two, one with few by the whole window, and so is one that only repeats what has failed.
#include "engine/guard.h"

#include <algorithm>

#include "engine/mutants.h"

namespace bartleby {

// The part of the window that is now; those that are over are forgotten.
OutageGuard::Part& OutageGuard::part(Instant now) {
  if (now < part_ends_) return parts_[static_cast<std::size_t>(newest_ % kParts)];
  const std::int64_t length = std::max<std::int64_t>(1, config_->within.count() / kParts);
  const std::int64_t number = now.time_since_epoch().count() / length;
  if (number != newest_) {
    for (std::int64_t i = std::max(newest_ + 1, number - kParts + 1); i <= number; ++i) {
      Part& old = parts_[static_cast<std::size_t>(i % kParts)];
      old = {.number = i};
    }
    newest_ = std::max(newest_, number);
    part_ends_ = Instant(Duration((newest_ + 1) * length));
  }
  return parts_[static_cast<std::size_t>(newest_ % kParts)];
}

void OutageGuard::add(std::uint8_t kind, PartitionRef ref, Offset offset, bool again, Instant now) {
  Part& here = part(now);
  if (again && !mutant(Mutant::kGuardCountsAttempts)) take_back({ref, offset});
  ++here.messages[kind];
  if (kind == kKinds) return;
  if (failed_.insert_or_assign({ref, offset}, Failure{here.number, kind}).second) known_.push_back({ref, offset});
  while (known_.size() > kKnown) {
    failed_.erase(known_.front());
    known_.pop_front();
  }
}

// It failed before, and now something else has become of it.
void OutageGuard::take_back(Who who) {
  const auto at = failed_.find(who);
  if (at == failed_.end()) return;
  Part& then = parts_[static_cast<std::size_t>(at->second.part % kParts)];
  if (then.number == at->second.part) --then.messages[at->second.kind];
  failed_.erase(at);
}

void OutageGuard::forget_all() {
  parts_ = {};
  newest_ = -1;
  part_ends_ = {};
  failed_.clear();
  known_.clear();
}

// Judged by the newest parts that have enough messages, two at least: where many messages pass, an outage is seen after
// a moment, and a moment of failures is no outage. Enough first attempts: where a burst is over, only those that failed
// come again and fail again, and they are few of it.
bool OutageGuard::evidence() const {
  std::array<std::uint64_t, kKinds + 1> messages{};
  std::uint64_t total = 0, first_attempts = 0;
  for (std::int64_t i = newest_; i > newest_ - kParts && i >= 0; --i) {
    const Part& one = parts_[static_cast<std::size_t>(i % kParts)];
    if (one.number != i) continue;
    for (std::size_t k = 0; k <= kKinds; ++k) {
      messages[k] += one.messages[k];
      total += one.messages[k];
    }
    first_attempts += one.first_attempts;
    if (first_attempts >= config_->of && i < newest_) break;
  }
  if (total < config_->of) return false;
  for (std::size_t k = 0; k < kKinds; ++k)
    if (!is_final(static_cast<Kind>(k)) && messages[k] * 100 >= config_->open_percent * total) return true;
  return false;
}

bool OutageGuard::failed(Kind kind, PartitionRef ref, Offset offset, bool again, Now now, Duration longest) {
  if (!config_) return false;
  probing_ = false;
  if (!again) ++part(now.steady).first_attempts;
  add(static_cast<std::uint8_t>(kind), ref, offset, true, now.steady);
  if (open_) {
    if (!is_final(kind)) first_success_.reset();
    return false;
  }
  const bool bad = evidence();
  if (spent_) {
    if (bad) spent_since_ = now.steady;
    return false;
  }
  if (!bad || std::min(config_->hold_max, longest) < config_->probe) return false;  // no time left to wait in
  open_ = true;
  opened_ = now.steady;
  give_up_ = now.steady + std::min(config_->hold_max, longest);
  next_probe_ = now.steady + config_->probe;
  letters_from_ = now.steady;
  letters_ = 0;
  first_success_.reset();
  return true;
}

bool OutageGuard::succeeded(PartitionRef ref, Offset offset, bool again, Instant now) {
  if (!config_) return false;
  probing_ = false;
  if (!again) ++part(now).first_attempts;
  add(kKinds, ref, offset, again || open_, now);
  if (!open_) return false;
  const std::pair<PartitionRef, Offset> who{ref, offset};
  if (!first_success_ && !mutant(Mutant::kGuardClosesAtOnce)) {
    first_success_ = who;
    return false;
  }
  if (first_success_ == who) return false;
  open_ = false;
  forget_all();
  return true;
}

// What it has seen stays: an outage does not end because somebody changed how often it is probed.
bool OutageGuard::set(std::optional<GuardConfig> config) {
  const bool closes = open_ && !config;
  if (!config) *this = OutageGuard(std::nullopt);
  if (config_ && config && config_->within != config->within) forget_all();  // its parts have another length
  config_ = config;
  return closes;
}

bool OutageGuard::tick(Instant now) {
  if (!config_) return false;
  if (spent_ && now - spent_since_ >= config_->within) {
    spent_ = false;
    forget_all();
  }
  if (open_ && now - letters_from_ >= config_->within) {
    letters_from_ = now;
    letters_ = 0;
  }
  if (!open_ || now < give_up_) return false;
  give_up(now);
  return true;
}

void OutageGuard::give_up(Instant now) {
  open_ = false;
  spent_ = true;
  spent_since_ = now;
}

// Its messages may come again under another assignment, and would count twice. Which of the counts were theirs is not
// known, so all begin anew: enough to judge is seen again in a moment.
void OutageGuard::forget(PartitionRef ref) {
  forget_all();
  if (first_success_ && first_success_->first == ref) first_success_.reset();
}

void OutageGuard::probe_started(Instant now) {
  probing_ = true;
  next_probe_ = now + config_->probe;
}

bool OutageGuard::may_write_letter() {
  if (!open_ || mutant(Mutant::kGuardLetsLettersPass)) return true;
  if (letters_ >= config_->letters) return false;
  ++letters_;
  return true;
}

Instant OutageGuard::next_event(Instant now) const {
  if (!open_) return kNever;
  // A probe that is due but found nothing to run waits for something to become ready, not for the clock.
  return std::min({give_up_, next_probe_ > now ? next_probe_ : kNever, letters_from_ + config_->within});
}

}  // namespace bartleby
