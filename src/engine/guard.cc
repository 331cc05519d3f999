#include "engine/guard.h"

#include <algorithm>

#include "engine/mutants.h"

namespace bartleby {

void OutageGuard::add(std::uint8_t kind, PartitionRef ref, Offset offset, bool again, Instant now) {
  // One sample per message: its newest. A success at the first attempt need not be looked for.
  if (again) {
    for (Sample& s : samples_)
      if (s.offset == offset && s.ref == ref && !mutant(Mutant::kGuardCountsAttempts)) {
        s = {now, ref, offset, kind};
        return;
      }
  }
  if (samples_.size() < kSamples) {
    samples_.push_back({now, ref, offset, kind});
    return;
  }
  // Field by field, here and in `run`: a whole struct would be put together on the stack and copied in wider pieces
  // than it was written in, which the processor cannot forward.
  Sample& s = samples_[at_];
  s.at = now;
  s.ref.index = ref.index;
  s.ref.epoch = ref.epoch;
  s.offset = offset;
  s.kind = kind;
  at_ = (at_ + 1) % kSamples;
}

bool OutageGuard::evidence() const {
  std::array<std::uint32_t, kKinds + 1> count{};
  Instant newest{};
  for (const Sample& s : samples_) newest = std::max(newest, s.at);
  std::uint32_t total = 0;
  for (const Sample& s : samples_) {
    if (newest - s.at > config_->within) continue;
    ++count[s.kind];
    ++total;
  }
  if (total < config_->of) return false;
  for (std::size_t k = 0; k < kKinds; ++k)
    if (!is_final(static_cast<Kind>(k)) && count[k] * 100ULL >= std::uint64_t{config_->open_percent} * total)
      return true;
  return false;
}

bool OutageGuard::failed(Kind kind, PartitionRef ref, Offset offset, Now now, Duration longest) {
  if (!config_) return false;
  probing_ = false;
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
  add(kKinds, ref, offset, again || open_, now);
  if (!open_) return false;
  const std::pair<PartitionRef, Offset> who{ref, offset};
  if (!first_success_ && !mutant(Mutant::kGuardClosesAtOnce)) {
    first_success_ = who;
    return false;
  }
  if (first_success_ == who) return false;
  open_ = false;
  samples_.clear();
  at_ = 0;
  return true;
}

// What it has seen stays: an outage does not end because somebody changed how often it is probed.
bool OutageGuard::set(std::optional<GuardConfig> config) {
  const bool closes = open_ && !config;
  if (!config) *this = OutageGuard(std::nullopt);
  config_ = config;
  return closes;
}

bool OutageGuard::tick(Instant now) {
  if (!config_) return false;
  if (spent_ && now - spent_since_ >= config_->within) {
    spent_ = false;
    samples_.clear();
    at_ = 0;
  }
  if (open_ && now - letters_from_ >= config_->within) {
    letters_from_ = now;
    letters_ = 0;
  }
  if (!open_ || now < give_up_) return false;
  open_ = false;
  spent_ = true;
  spent_since_ = now;
  return true;
}

void OutageGuard::forget(PartitionRef ref) {
  if (samples_.size() == kSamples) std::ranges::rotate(samples_, samples_.begin() + static_cast<std::ptrdiff_t>(at_));
  std::erase_if(samples_, [ref](const Sample& s) { return s.ref == ref; });
  at_ = 0;
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
