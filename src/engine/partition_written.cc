// What the answer to a write means: the cut becomes the truth, or nothing happened.
//
// The live state has gone on since the cut was made. So what the cut said is applied, not what is now; and what it took
// back stands at the front of `pending_` again, in its order.
#include <algorithm>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {
namespace {

constexpr Duration kStuckFor{60000};

}  // namespace

void PartitionEngine::written(bool done) {
  if (!cut_) {  // the partition is to begin anew, and has waited for this: else it might read what was there before it
    if (std::exchange(anew_, false) && phase_ == Phase::kReadStable) begin();
    return;
  }
  if (!done) {
    dirty_ = true;
    revert_cut();
    if (phase_ == Phase::kClaiming && handing_over_) phase_ = Phase::kRefused;
    return;
  }
  if (cut_->claim) {
    cut_.reset();
    start_running();
    if (handing_over_) drain();
    return;
  }
  apply_cut();
}

void PartitionEngine::apply_cut() {
  CutInFlight cut = std::move(*cut_);
  if (cut.low > low_) unclean_ = 0;
  low_ = cut.low;
  high_ = std::max(high_, cut.high);
  if (mutant(Mutant::kHighMayFall)) high_ = cut.high;
  check_ = cut.check;
  for (const auto& [i, mark] : cut.puts) {
    Facts& f = facts_[facts_of(i)];
    f.has_live = true;
    f.live = mark;
    f.putting = false;
    place(entries_[i].lane);
  }
  for (const std::uint32_t i : cut.erased) facts_[entries_[i].facts].has_live = false;
  for (const Offset o : cut.done_erases) live_done_.erase(o);
  for (const MessageEntry& m : cut.done_puts) live_done_[m.offset] = m;
  for (const Lane lane : cut.head_erases) live_heads_.erase(lane);
  for (const HeadEntry& h : cut.head_puts) live_heads_[h.lane] = h.from;
  strays_.erase(strays_.begin(), strays_.begin() + static_cast<std::ptrdiff_t>(cut.strays));
  if (cut.more) dirty_ = true;
  emptied_ = another_log_ = false;
  waits_for_journal_ = false;
  // A death that was told late, of a message that was over by then.
  for (auto at = obituaries_.begin(); at != obituaries_.end() && at->first < low_; at = obituaries_.erase(at)) {
    for (const Obituary& o : at->second) add_stray(o);
    dirty_ = true;
  }
  cut_.reset();

  std::set<std::uint32_t> lanes;
  std::vector<std::uint32_t> failed;
  for (const std::uint32_t i : cut.items) {
    Entry& e = entries_[i];
    const bool decision = (e.flags & kDecision) != 0;
    e.flags &= static_cast<std::uint8_t>(~(kInWrite | kDecision | kPending));
    if (e.state == State::kFailed) {
      failed.push_back(i);
      continue;
    }
    if (decision) {
      facts_[e.facts].decided = true;
      e.flags |= kPending;
      if (suspended_for(e)) {
        blocked_.push_back(i);
      } else {
        pending_.push_back(i);
        if (items_since_ == kNever) items_since_ = shared_.now.steady;
      }
      continue;
    }
    if (const auto at = obituaries_.find(e.offset); at != obituaries_.end()) {
      for (std::size_t k = cut.obituaries[e.offset]; k < at->second.size();
           ++k) {  // told while the write was on its way
        add_stray(at->second[k]);
        dirty_ = true;
      }
      obituaries_.erase(at);
    }
    if (e.state == State::kDying)
      ++base_.dead;
    else
      ++(e.flags & kSkipped ? base_.skipped : base_.handled);
    e.state = State::kFinished;
    e.flags |= kCounted;
    release_bytes(e);
    drop_facts(e);
    lanes.insert(e.lane);
  }
  for (const std::uint32_t lane : lanes) advance(lane);
  for (const std::uint32_t i : failed) parked_durably(i);

  const Offset base = std::min({high_, window_.first_open(), window_.end()});
  base_.handled += window_.count(Mark::kHandled, window_.base(), base);
  base_.skipped += window_.count(Mark::kSkipped, window_.base(), base);
  window_.trim(base);
}

void PartitionEngine::revert_cut() {
  const CutInFlight cut = std::move(*cut_);
  cut_.reset();
  for (const auto& [i, mark] : cut.puts) facts_[facts_of(i)].putting = false;
  for (auto at = cut.items.rbegin(); at != cut.items.rend(); ++at) {
    Entry& e = entries_[*at];
    if (e.flags & kInWrite) pending_.push_front(*at);
    e.flags &= static_cast<std::uint8_t>(~(kInWrite | kDecision));
  }
  if (!pending_.empty() && items_since_ == kNever) items_since_ = shared_.now.steady;
}

// One record of a refused write was this entry's. Called after `written(false)`.
bool PartitionEngine::item_refused(std::uint32_t i, RecordType type, const RefusedItem& refused, WriteSerial write) {
  const Refusal why = refused.why;
  if (type == RecordType::kJournalPut || type == RecordType::kJournalErase) {
    if (!shared_.suspended(journal_destination())) shared_.alarm(AlarmType::kJournalRefused, ref_, low_);
    shared_.suspend(journal_destination(), write);
    return false;
  }
  Entry& e = entries_[i];
  Facts& f = facts_[e.facts];
  if (type == RecordType::kLetter && why == Refusal::kTooLarge && f.form < 3) {
    ++f.form;
    return false;
  }
  if (type == RecordType::kEmit && why != Refusal::kTimeout) {
    // Refused for good: the attempt failed after all. What ran behind it in its lane has run.
    std::erase(pending_, i);
    e.flags &= static_cast<std::uint8_t>(~kPending);
    drop_emitted(f);
    e.state = State::kQueued;
    const std::uint32_t lane = e.lane;
    LaneState& l = lanes_[lane];
    l.current = l.head;  // back to the first without a decision, which may be this one
    while (entries_[l.current].state == State::kSettling || entries_[l.current].state == State::kFinished)
      l.current = entries_[l.current].next;
    leave_queue(lane);  // it was there for a message behind, which may be in the log alone when its turn comes
    failed(i, Ending{.fate = Fate::kRetry, .kind = Kind::kConfig, .after = {}, .story = refused.story});
    if (l.running == 0) advance(lane);  // else when what runs of it is answered
    return true;
  }
  shared_.alarm(AlarmType::kDestinationRefused, ref_, e.offset, static_cast<std::uint64_t>(why));
  if (type == RecordType::kLetter && why == Refusal::kTooLarge) {  // in every form: it waits alone
    f.stuck = true;
    f.due_steady = shared_.now.steady + kStuckFor;
    stuck_until_ = std::min(stuck_until_, f.due_steady);
    return false;
  }
  // What refused, and not what its message also writes to: others may need only that.
  const DestinationId outcomes{DestinationType::kOutcomes, 0};
  shared_.suspend(type == RecordType::kOutcome ? outcomes : destination_of(e), write);
  return false;
}

void PartitionEngine::retry_blocked() {
  unblock_ = true;
  if (!blocked_.empty() && items_since_ == kNever) items_since_ = shared_.now.steady;
  if (!live_done_.empty() || !strays_.empty()) dirty_ = true;  // what was left in a journal that refused can go now
}

}  // namespace bartleby
