// Time passing, what retention is about to take, and the end: drain, release, loss.
//
// An end waits for handlers, then for one last write that takes everything along, and for neither of them for ever: the
// next owner reads stable offsets, so it learns what was written and repeats the rest.
#include <algorithm>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {

void PartitionEngine::tick() {
  const Instant now = shared_.now.steady;
  if (retry_at_ <= now) ask();
  if (stuck_until_ <= now) {
    stuck_until_ = kNever;
    retry_blocked();
  }
  if (phase_ == Phase::kRunning) {
    due_timers();
    if (now >= next_log_look_ && (any_slow() || shared_.guard.open())) {
      next_log_look_ = now + Duration(5000);
      if (traits_.retention || traits_.retention_bytes) {
        shared_.out->others.push_back(ReadLog{ref_});
        look_at_retention();
      }
    }
    serve_reads();
    start_pass();
  }
  if (phase_ == Phase::kDraining && may_release()) begin_release();
  // The last write cannot be made, for instance because the journal refuses, or nobody can say what became of it: go
  // without it, and the next owner repeats a little. It reads stable offsets, so it learns what was written.
  if (last_write_waits() && now >= drain_until_ + kLastWrite) {
    shared_.alarm(AlarmType::kDrainExpired, ref_, low_);
    phase_ = Phase::kRefused;
  }
  if (dirty_ && dirty_since_ == kNever) dirty_since_ = now;
}

// Whether from a message to a place behind it (its time and offset) lies so much of what retention leaves.
bool PartitionEngine::retention_between(const Entry& e, Timestamp time, Offset offset, std::int64_t tenths) const {
  return (traits_.retention && time - e.timestamp >= *traits_.retention / 10 * tenths) ||
         size_between(e, offset, tenths);
}

bool PartitionEngine::size_between(const Entry& e, Offset offset, std::int64_t tenths) const {
  if (!traits_.retention_bytes || log_bytes_ == 0 || log_end_ <= log_start_ || e.offset < log_start_) return false;
  const auto per_offset = static_cast<double>(log_bytes_) / static_cast<double>(log_end_.v - log_start_.v);
  return per_offset * static_cast<double>(offset.v - e.offset.v) >=
         static_cast<double>(tenths) / 10 * static_cast<double>(*traits_.retention_bytes);
}

// A waiting message that retention is about to delete is handed over while it can still be read.
bool PartitionEngine::expiring(const Entry& e) const {
  return (e.facts == kNone || !facts_[e.facts].with_record) && retention_between(e, shared_.now.wall, log_end_, 8);
}

// The window may not be longer than half of what retention leaves: measured from what waits to what was read last. How
// old both are does not matter: who reads what lay there for long would stand still otherwise.
bool PartitionEngine::half_over(const Entry& e) const {
  if (e.flags & kUnread) return false;  // its time is not known yet
  return last_read_ && retention_between(e, std::min(*last_read_, shared_.now.wall), window_.end(), 5);
}

void PartitionEngine::look_at_retention() {
  if (!traits_.retention && !traits_.retention_bytes) return;
  std::vector<std::uint32_t> chosen;
  half_over_ = false;
  each_slow([&](std::uint32_t lane) {
    const std::uint32_t head = lanes_[lane].head;
    // What is kept on purpose waits for people, and does not hold up the partition.
    if (head != kNone && entries_[head].state != State::kKept) half_over_ = half_over_ || half_over(entries_[head]);
    const std::uint32_t i = lanes_[lane].current;
    if (i == kNone) return;
    const bool waits = entries_[i].state == State::kParked || entries_[i].state == State::kKept;
    if (waits && expiring(entries_[i])) chosen.push_back(i);
  });
  // A letter that waits for its dlq, and whose bytes the log will not have much longer.
  std::vector<std::uint32_t> letters;
  for (const std::uint32_t i : blocked_)
    if (entries_[i].state == State::kDying && unread(entries_[i]) && expiring(entries_[i])) letters.push_back(i);
  for (const std::uint32_t i : letters) {
    std::erase(blocked_, i);
    read_letter_again(i);
  }
  give_up_guard();
  for (const std::uint32_t i : chosen) {
    if (entries_[i].state == State::kParked) {
      timers_.remove(entries_[i].facts);
    } else {  // nobody may dead-letter it: the journal takes the message itself
      --kept_;
      facts_[entries_[i].facts].with_record = true;
      entries_[i].flags |= kDoomed;
    }
    entries_[i].state = State::kQueued;
    advance(entries_[i].lane);
  }
}

// What the guard holds back is not read, and a log that is bounded by its size grows meanwhile: half of that is the
// longest that it may wait.
void PartitionEngine::give_up_guard() {
  if (!shared_.guard.open() || window_.first_open() >= window_.end()) return;
  if (!size_between(entries_[window_.entry(window_.first_open())], log_end_, 5)) return;
  shared_.guard.give_up(shared_.now.steady);
  shared_.alarm(AlarmType::kGuardClosed, {}, Offset(0), 1);
}

Instant PartitionEngine::next_wakeup() const {
  Instant at = std::min(retry_at_, stuck_until_);
  if (phase_ == Phase::kRunning) {
    at = std::min(at, timers_.next_due());
    if ((any_slow() || shared_.guard.open()) && (traits_.retention || traits_.retention_bytes))
      at = std::min(at, next_log_look_);
    if (!room_queue_.empty() && reads_.empty())
      at = std::min(at, std::max(fetch_retry_at_, shared_.now.steady + (may_read() ? Duration(1) : kReadRetry)));
    // What was parked since may be what keeps an intake closed, of this partition or of another.
    if (evict_again_ > shared_.now.steady) at = std::min(at, evict_again_);
    if (!wanting_.empty() && !sweeping_) at = std::min(at, std::max(sweep_retry_at_, shared_.now.steady + Duration(1)));
  }
  if (phase_ == Phase::kDraining || waits_for_orphans()) at = std::min(at, drain_until_);
  if (last_write_waits()) at = std::min(at, drain_until_ + kLastWrite);
  return at;
}

bool PartitionEngine::wants_write(Instant& at) const {
  at = kNever;
  switch (phase_) {
    case Phase::kClaiming:
    case Phase::kReleasing:
      at = shared_.now.steady;
      break;
    case Phase::kRunning:
    case Phase::kDraining:
      if (items_since_ != kNever) at = items_since_ + shared_.config.linger;
      if (dirty_ && dirty_since_ != kNever) at = std::min(at, dirty_since_ + shared_.config.offsets_linger);
      break;
    default:
      break;
  }
  return at != kNever;
}

// Stop handing out work; wait for what runs, but not for ever.
void PartitionEngine::drain() {
  if (phase_ == Phase::kDraining || phase_ == Phase::kReleasing || (handing_over_ && waits_for_orphans())) return;
  handing_over_ = true;
  drain_until_ = shared_.now.steady + shared_.config.drain;
  if (phase_ == Phase::kClaiming && cut_) return;  // our name may be there in a moment, and must not stay
  if (phase_ != Phase::kRunning) {                 // nothing of ours is there yet
    phase_ = Phase::kRefused;
    return;
  }
  phase_ = Phase::kDraining;
  if (!mutant(Mutant::kDispatchWhileDraining)) {
    for (const std::uint32_t lane : ready_) lanes_[lane].ready = false;
    ready_.clear();
  }
  for (const std::uint32_t lane : suspects_) lanes_[lane].suspect = false;
  suspects_.clear();
  dirty_ = true;
  if (may_release()) begin_release();
}

// Its own last write, or the claim of one that is to go.
bool PartitionEngine::last_write_waits() const {
  const bool leaves = phase_ == Phase::kReleasing || (phase_ == Phase::kClaiming && handing_over_);
  return leaves && (!cut_ || shared_.in_doubt);
}

void PartitionEngine::begin_release() {
  phase_ = Phase::kReleasing;
  unblock_ = true;  // the last write takes everything that any topic takes
}

bool PartitionEngine::may_release() const {
  if (shared_.now.steady >= drain_until_) return true;
  // A letter that the guard or its topic holds back is decided, durably: the next owner writes it.
  const auto waits = [this](std::uint32_t i) {
    return entries_[i].state == State::kDying && facts_[entries_[i].facts].decided;
  };
  return (runs() == 0 || mutant(Mutant::kReleaseBeforeHandlersEnd)) && !cut_ && std::ranges::all_of(pending_, waits);
}

void PartitionEngine::lost() { forget_live(); }

void PartitionEngine::forget_live() {
  each_slow([&](std::uint32_t lane) {
    for (std::uint32_t i = lanes_[lane].head; i != kNone;) {
      const std::uint32_t following = entries_[i].next;
      free_entry(i);
      i = following;
    }
  });
  for (Offset o = window_.first_open(); o < window_.end(); o = window_.next_open(o)) free_entry(window_.entry(o));
  for (auto& [lane, after] : after_)
    for (const RecordRef& r : after.records) {
      shared_.bytes -= r.size;
      shared_.free_slot(r.slot);
    }
  for (const auto& [offset, note] : notes_) shared_.free_story(note.story);
  for (const JournalItem& item : found_entries_) shared_.free_story(item.story);
  if (sweeping_) shared_.out->others.push_back(CancelSweep{ref_, sweep_serial_});
  entries_ = {};
  facts_ = {};
  lanes_ = {};
  table_.clear();
  order_ = {};
  listed_ = {};
  emitted_ = {};
  window_.reset(Offset(0));
  timers_.clear();
  ready_.clear();
  suspects_.clear();
  pending_.clear();
  blocked_.clear();
  room_queue_.clear();
  for (const auto& [serial, read] : reads_) shared_.reading -= read.size;
  reads_.clear();
  wanting_.clear();
  notes_.clear();
  self_offsets_.clear();
  obituaries_.clear();
  live_done_.clear();
  live_heads_.clear();
  strays_.clear();
  found_entries_.clear();
  after_.clear();
  pass_lanes_.clear();
  sweeping_ = lacks_room_ = false;
  waits_for_journal_ = false;
  cut_.reset();
  orphans_ += std::exchange(runs_, 0);
  kept_ = 0;
  half_over_ = false;
  lost_from_ = kNoOffset;  // of another log nothing was said yet
  lost_below_ = Offset(0);
  last_read_.reset();
  stuck_until_ = kNever;
  dirty_ = false;
  dirty_since_ = items_since_ = kNever;
  intake_known_ = false;
}

}  // namespace bartleby
