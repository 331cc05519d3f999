// Which items the next write carries: failed attempts, letters, and what successes leave behind.
//
// In their order, until the write is full; the first always goes, however large. What a suspended destination cannot
// take waits aside, except that the decision to dead-letter is journalled meanwhile: nobody runs the handler again.
#include <algorithm>
#include <iterator>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {
namespace {

constexpr std::uint64_t kStoryBytes = 2048;  // of a journal entry or of a letter's headers, at most

}  // namespace

DestinationId PartitionEngine::destination_of(const Entry& e) const {
  if (e.state == State::kDying) return {DestinationType::kDlq, dlq_};
  if (e.facts != kNone && facts_[e.facts].emits)
    return {DestinationType::kEmit, emitted_[facts_[e.facts].emitted()].topic};
  if (e.record_flags & kReplayed) return {DestinationType::kOutcomes, 0};
  return journal_destination();
}

// Whether a topic that its item must be written to refuses or is silent; `probe` does not count.
bool PartitionEngine::suspended_for(const Entry& e, std::optional<DestinationId> probe) const {
  const auto refuses = [&](DestinationId id) { return id != probe && shared_.suspended(id); };
  const DestinationId to = destination_of(e);
  return (to != journal_destination() && refuses(to)) || (also_outcome(e) && refuses({DestinationType::kOutcomes, 0}));
}

bool PartitionEngine::also_outcome(const Entry& e) const {
  return e.state != State::kFailed && (e.record_flags & kReplayed) != 0;
}

std::uint32_t PartitionEngine::item_size(const Entry& e, bool decision, std::uint64_t& bytes) const {
  if (decision || e.state == State::kFailed) {
    bytes += kStoryBytes;
    return 1;
  }
  bytes += kStoryBytes;
  if (e.state == State::kDying) {
    bytes += e.size;
    return 2;
  }
  const Facts& f = facts_[e.facts];
  if (!f.emits) return 1;
  const Emitted& emitted = emitted_[f.emitted()];
  bytes += emitted.bytes;
  return emitted.records + 1;
}

// While the guard is open only a few exhausted messages become letters; the others wait.
bool PartitionEngine::held_by_guard(const Entry& e) {
  return e.state == State::kDying && facts_[e.facts].reason == Reason::kExhausted && !shared_.guard.may_write_letter();
}

// Some that wait may be tried again.
void PartitionEngine::unblock() {
  if (!std::exchange(unblock_, false)) return;
  const auto goes_on = [this](std::uint32_t i) { return !is_stuck(entries_[i]); };
  std::vector<std::uint32_t> going;
  std::ranges::copy_if(blocked_, std::back_inserter(going), goes_on);
  std::erase_if(blocked_, goes_on);
  pending_.insert(pending_.begin(), going.begin(), going.end());
  for (const std::uint32_t i : blocked_) stuck_until_ = std::min(stuck_until_, facts_[entries_[i].facts].due_steady);
}

bool PartitionEngine::waits_for_journal_and(DestinationId destination) const {
  if (destination.type == DestinationType::kJournal) return false;  // the journal itself waits for nobody
  const auto goes_there = [&](std::uint32_t i) {
    const Entry& e = entries_[i];
    return destination_of(e) == destination || (also_outcome(e) && destination.type == DestinationType::kOutcomes);
  };
  return waits_for_journal() && std::ranges::any_of(blocked_, goes_there);
}

std::optional<WriteItem> PartitionEngine::choose_probe(DestinationId probe) {
  if (phase_ != Phase::kRunning && phase_ != Phase::kDraining) return std::nullopt;
  unblock();
  bool decision = false;
  const auto fits = [&](std::uint32_t i) {
    const Entry& e = entries_[i];
    if (probe == journal_destination()) {
      decision = e.state == State::kDying && !facts_[e.facts].decided && suspended_for(e);
      if (e.state == State::kFailed || decision) return true;
      return has_live(e) && has_bytes(e) && !suspended_for(e) && !is_stuck(e) && !held_by_guard(e);
    }
    const bool goes_there = destination_of(e) == probe || (also_outcome(e) && probe.type == DestinationType::kOutcomes);
    return goes_there && has_bytes(e) && !is_stuck(e) && !suspended_for(e, probe) && !held_by_guard(e);
  };
  const auto take = [&](auto& from) -> std::optional<WriteItem> {
    const auto at = std::ranges::find_if(from, fits);
    if (at == from.end()) return std::nullopt;
    const WriteItem item{*at, decision};
    from.erase(at);
    return item;
  };
  if (auto item = take(blocked_)) return item;
  return take(pending_);
}

void PartitionEngine::choose_items(std::uint32_t& records, std::uint64_t& bytes, std::vector<WriteItem>& items) {
  if (phase_ != Phase::kRunning && phase_ != Phase::kDraining && phase_ != Phase::kReleasing) return;
  unblock();
  std::deque<std::uint32_t> later;
  while (!pending_.empty()) {
    const std::uint32_t i = pending_.front();
    const Entry& e = entries_[i];
    const bool first = (records == 0 && !mutant(Mutant::kFirstItemLimited)) ||
                       phase_ == Phase::kReleasing;  // the last write takes everything
    if (!first && (records >= shared_.config.write_records || bytes >= shared_.config.write_bytes)) break;
    pending_.pop_front();
    bool decision = false;
    if (suspended_for(e) || is_stuck(e)) {
      if (e.state != State::kDying || facts_[e.facts].decided || mutant(Mutant::kDecisionNotJournalled)) {
        blocked_.push_back(i);
        continue;
      }
      decision = true;
    }
    // What needs the journal waits for it, and others are written meanwhile. The last write waits for all.
    const bool needs_journal = e.state == State::kFailed || decision || (has_live(e) && phase_ != Phase::kReleasing);
    if (needs_journal && shared_.suspended(journal_destination())) {
      blocked_.push_back(i);
      continue;
    }
    if (!decision && held_by_guard(e)) {
      if (facts_[e.facts].decided) {
        later.push_back(i);
        continue;
      }
      decision = true;  // it waits, but what was decided must survive us
    }
    if (!decision && e.state == State::kDying && unread(e) && !mutant(Mutant::kLetterNotReadAgain)) {
      if (phase_ == Phase::kRunning) {
        read_letter_again(i);
        continue;
      }
      if (facts_[e.facts].decided || shared_.suspended(journal_destination())) {  // the next owner reads and writes it
        later.push_back(i);
        continue;
      }
      decision = true;
    }
    std::uint64_t add = 0;
    const std::uint32_t n = item_size(e, decision, add);
    if (!first && (records + n > shared_.config.write_records || bytes + add > shared_.config.write_bytes)) {
      pending_.push_front(i);
      break;
    }
    records += n;
    bytes += add;
    items.push_back({i, decision});
  }
  pending_.insert(pending_.begin(), later.begin(), later.end());
  if (pending_.empty())
    items_since_ = kNever;
  else if (later.size() == pending_.size())
    items_since_ = shared_.now.steady + Duration(1000);  // the guard's, all of it
}

}  // namespace bartleby
