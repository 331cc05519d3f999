// What a cut says to the journal: surplus heads, and the end of entries that nobody needs any more.
//
// The check that the cut's metadata carries is counted along, entry by entry: it vouches for what the journal holds
// when this very write is done. So every record that is added or left out here moves it.
#include <algorithm>
#include <span>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxErases = 500;  // of entries that may as well go with the next write

}  // namespace

void PartitionEngine::journal_surplus(const std::vector<HeadInCut>& surplus, WritePlan& plan, std::uint32_t index) {
  for (const HeadInCut& h : surplus) {
    const LaneState& l = lanes_[h.lane];
    if (l.solo) {  // a head without a key: its entry is a head and nothing more, whatever has failed meanwhile
      MessageEntry bare;
      bare.offset = h.from;
      bare.timestamp = entries_[l.head].timestamp;
      const std::uint64_t mark = fingerprint(JournalEntry(bare));
      ++cut_->check.count;
      cut_->check.sum += mark;
      cut_->puts.push_back({l.head, mark});
      facts_[facts_of(l.head)].putting = true;  // whatever becomes of it now, the entry must be ended
      make_slow(h.lane);
      plan.records.push_back({.type = RecordType::kJournalPut, .partition = index, .entry = bare, .letter = {}});
      continue;
    }
    const HeadEntry entry{l.hash, h.from};
    if (const auto at = live_heads_.find(l.hash); at != live_heads_.end()) {
      cut_->check.sum -= fingerprint(JournalEntry(HeadEntry{l.hash, at->second}));
      --cut_->check.count;
    }
    ++cut_->check.count;
    cut_->check.sum += fingerprint(JournalEntry(entry));
    cut_->head_puts.push_back(entry);
    plan.records.push_back({.type = RecordType::kJournalPut, .partition = index, .entry = entry, .letter = {}});
  }
  std::ranges::sort(cut_->head_puts, {}, &HeadEntry::lane);
}

// Of lanes that begin elsewhere by now, or are finished.
void PartitionEngine::erase_heads(WritePlan& plan, std::uint32_t index) {
  for (const auto& [lane, from] : live_heads_) {
    const bool rewritten = std::ranges::binary_search(cut_->head_puts, lane, {}, &HeadEntry::lane);
    bool in_journal = false;
    const std::uint32_t i = table_.find(lane);
    if (rewritten || (i != kNone && from_in_cut(lanes_[i], in_journal) == from) || mutant(Mutant::kHeadEntryNotErased))
      continue;
    cut_->head_erases.push_back(lane);
    --cut_->check.count;
    cut_->check.sum -= fingerprint(JournalEntry(HeadEntry{lane, from}));
    plan.records.push_back(
        {.type = RecordType::kJournalErase, .partition = index, .entry = HeadEntry{lane, from}, .letter = {}});
  }
}

// What the cut alone would not repeat any more.
void PartitionEngine::erase_done(WritePlan& plan, std::uint32_t index) {
  for (const auto& [offset, done] : live_done_) {
    if (offset >= cut_->high && !mutant(Mutant::kDoneErasedEarly)) continue;
    if (lane_open_at(done.lane, offset) && !mutant(Mutant::kDoneOfOpenLaneErased)) continue;
    if (cut_->done_erases.size() == kMaxErases && !cut_->release) {
      cut_->more = true;
      break;
    }
    cut_->done_erases.push_back(offset);
    --cut_->check.count;
    cut_->check.sum -= fingerprint(JournalEntry(done));
    plan.records.push_back({.type = RecordType::kJournalErase, .partition = index, .entry = done, .letter = {}});
  }
}

// The last write: whatever it would repeat is said to be done, and of what it passes nothing is left.
void PartitionEngine::say_all_at_the_end(WritePlan& plan, std::uint32_t index) {
  if (!mutant(Mutant::kCleanStopForgetsDone)) {
    each_slow([&](std::uint32_t lane) {
      bool in_journal = false;
      const Offset from = from_in_cut(lanes_[lane], in_journal);
      for (std::uint32_t i = lanes_[lane].head; i != kNone; i = entries_[i].next) {
        const Entry& e = entries_[i];
        if (e.state != State::kFinished || (e.flags & kCounted) || e.offset < from) continue;
        ++(e.flags & kSkipped ? cut_->extra.skipped : cut_->extra.handled);
        add_done(entry_of(e), false, 0, plan, index);
      }
    });
  }
  // Of a message that compaction or retention took: nobody comes back for these.
  for (const auto& [offset, deaths] : obituaries_) {
    if (offset >= cut_->low || cut_->obituaries.contains(offset)) continue;
    cut_->obituaries[offset] = deaths.size();
    for (const Obituary& o : deaths)
      plan.records.push_back({.type = RecordType::kJournalErase, .partition = index, .entry = o, .letter = {}});
  }
}

void PartitionEngine::erase_strays(bool rests, WritePlan& plan, std::uint32_t index) {
  // A check vouches for what is left: of what people have reset nothing may be left.
  const bool all = cut_->release || emptied_ || strays_.size() <= kMaxErases;
  const bool misled = std::ranges::any_of(strays_, [this](const Stray& s) { return misleads(s.entry); });
  const bool stay = rests && !misled;
  cut_->strays = stay ? 0 : all ? strays_.size() : std::max(kMaxErases, bring_forward());
  cut_->more = cut_->more || (!stay && cut_->strays < strays_.size());
  for (const Stray& stray : std::span(strays_).first(cut_->strays)) {
    if (!std::holds_alternative<Obituary>(stray.entry)) {
      --cut_->check.count;
      cut_->check.sum -= stray.mark;
    }
    if (!replaced_in_cut(stray.entry))
      plan.records.push_back(
          {.type = RecordType::kJournalErase, .partition = index, .entry = stray.entry, .letter = {}});
  }
}

}  // namespace bartleby
