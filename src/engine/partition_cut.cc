// A cut: what one write says about this partition.
//
// L, H, heads, counters and check are computed from the verdicts that this very write makes durable. The live
// state may be far ahead. The pieces, in order: mark the items the write carries, read off where every lane
// begins if they are finished, list the heads from the lowest on until the metadata is full (that is H), then
// decide for each finished message whether the cut alone would repeat it after a crash and must be told `done`.
#include <algorithm>
#include <span>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxHeads = kMaxMetadata;  // more than any metadata holds
constexpr JournalCheck kNoJournal{UINT64_MAX, UINT64_MAX};

}  // namespace

MessageEntry PartitionEngine::entry_of(const Entry& e) const {
  MessageEntry m;
  m.offset = e.offset;
  m.timestamp = e.timestamp;
  if (!(e.record_flags & kKeyless)) m.lane = lanes_[e.lane].hash;
  if (e.facts == kNone) return m;
  const Facts& f = facts_[e.facts];
  m.self = f.self;
  m.attempts = f.attempts;
  m.kind = f.kind;
  m.due = f.due;
  m.first_failure = f.first_failure;
  m.last_failure = f.last_failure;
  m.throttled = Duration(f.throttled_ms);
  if (f.decided || (e.flags & kDoomed)) m.dead = f.reason;
  return m;
}

// Where the lane begins if this write is done; kNoOffset = nowhere, it is finished.
Offset PartitionEngine::from_in_cut(const LaneState& l, bool& in_journal) const {
  in_journal = false;
  for (std::uint32_t i = l.head; i != kNone; i = entries_[i].next) {
    const Entry& e = entries_[i];
    if (e.state == State::kFinished) continue;
    if (e.flags & kInWrite) {
      const bool ends = e.state == State::kSettling || (e.state == State::kDying && !(e.flags & kDecision));
      if (ends) continue;
      if (facts_[e.facts].self && !l.solo) continue;  // leaves the lane; its own entry lists it
      in_journal = true;
      return e.offset;
    }
    in_journal = e.facts != kNone && facts_[e.facts].has_live;
    return e.offset;
  }
  return l.log_from;
}

// Every open lane that this cut must look at, by where it begins, ascending; all below `floor`, and as many as metadata
// could hold. Lanes whose first message has its entry, and that the write does not touch, are not among them: only the
// lowest of these counts, and is returned.
Offset PartitionEngine::collect_heads(std::vector<HeadInCut>& heads, Offset floor, bool all) {
  std::vector<HeadInCut> touched;
  std::vector<std::uint32_t> seen;
  const auto see = [&](std::uint32_t lane) {
    lanes_[lane].seen = true;
    seen.push_back(lane);
  };
  for (const std::uint32_t i : cut_->items) {
    const std::uint32_t lane = entries_[i].lane;
    const Entry& e = entries_[i];
    const bool leaves =
        (e.state == State::kFailed || (e.flags & kDecision)) && facts_[e.facts].self && !lanes_[lane].solo;
    if (leaves) touched.push_back({e.offset, lane, true});
    if (lanes_[lane].seen) continue;
    see(lane);
    HeadInCut head{kNoOffset, lane, false};
    head.from = from_in_cut(lanes_[lane], head.in_journal);
    if (head.from != kNoOffset) touched.push_back(head);
  }
  std::ranges::sort(touched, {}, &HeadInCut::from);
  Offset lowest_listed = kNoOffset;
  listed_.walk([&](Offset from, std::uint32_t lane) {
    if (lanes_[lane].seen) return true;
    lowest_listed = from;
    return false;
  });
  auto next_touched = touched.begin();
  OffsetOrder::Cursor slow(order_);
  Offset open = window_.first_open();
  std::size_t listed = 0;
  while (true) {
    while (!slow.at_end() && lanes_[slow.id()].seen) slow.next();
    while (open < window_.end() && lanes_[entries_[window_.entry(open)].lane].seen) open = window_.next_open(open);
    const Offset a = next_touched == touched.end() ? kNoOffset : next_touched->from;
    const Offset b = slow.at_end() ? kNoOffset : slow.offset();
    const Offset c = open < window_.end() ? open : kNoOffset;
    const Offset least = std::min({a, b, c});
    if (least == kNoOffset) break;
    if (!all && least >= floor && listed > kMaxHeads) break;
    HeadInCut head{least, kNone, false};
    if (a == least) {
      head = *next_touched++;
    } else if (b == least) {
      head.lane = slow.id();
      head.from = from_in_cut(lanes_[head.lane], head.in_journal);
      BARTLEBY_ASSERT(head.from == least);
      slow.next();
    } else {
      head.lane = entries_[window_.entry(open)].lane;
      see(head.lane);
      open = window_.next_open(open);
    }
    const LaneState& l = lanes_[head.lane];
    if (!head.in_journal && !l.solo)
      if (const auto at = live_heads_.find(l.hash); at != live_heads_.end() && at->second == head.from)
        head.in_journal = true;
    if (!head.in_journal) ++listed;
    heads.push_back(head);
  }
  for (const std::uint32_t lane : seen) lanes_[lane].seen = false;
  return lowest_listed;
}

bool PartitionEngine::lane_open_at(std::optional<Lane> lane, Offset offset) const {
  if (!lane) return false;
  const std::uint32_t i = table_.find(*lane);
  if (i == kNone) return false;
  bool in_journal = false;
  return from_in_cut(lanes_[i], in_journal) <= offset;
}

void PartitionEngine::add_done(const MessageEntry& m, bool replaces_live, std::uint64_t live, WritePlan& plan,
                               std::uint32_t cut_index) {
  MessageEntry done;
  done.offset = m.offset;
  done.timestamp = m.timestamp;
  done.lane = m.lane;
  done.done = true;
  if (replaces_live)
    cut_->check.sum -= live;
  else
    ++cut_->check.count;
  cut_->check.sum += fingerprint(JournalEntry(done));
  cut_->done_puts.push_back(done);
  plan.records.push_back({.type = RecordType::kJournalPut, .partition = cut_index, .entry = done, .letter = {}});
}

void PartitionEngine::plan_message(std::uint32_t i, Offset high, WritePlan& plan, std::uint32_t cut_index) {
  const Entry& e = entries_[i];
  Facts& f = facts_[e.facts];
  const MessageEntry m = entry_of(e);
  const auto add = [&](RecordType type, const JournalEntry& entry) -> PlannedRecord& {
    plan.records.push_back({.type = type, .partition = cut_index, .entry = entry, .source = i, .letter = {}});
    return plan.records.back();
  };
  if (e.state == State::kFailed || (e.flags & kDecision)) {
    PlannedRecord& put = add(RecordType::kJournalPut, m);
    put.story = f.story;
    if (f.with_record) put.slot = e.slot;
    const std::uint64_t mark = fingerprint(put.entry);
    if (f.has_live)
      cut_->check.sum -= f.live;
    else
      ++cut_->check.count;
    cut_->check.sum += mark;
    cut_->puts.push_back({i, mark});
    return;
  }
  if (e.state == State::kDying && !mutant(Mutant::kLetterDropped)) {
    PlannedRecord& letter = add(RecordType::kLetter, m);
    letter.story = f.story;
    letter.slot = e.slot;
    letter.letter = {f.reason, f.form, f.lost};
  }
  if (f.emits) add(RecordType::kEmit, m).emit = emitted_[f.emitted()].emit;
  if ((e.record_flags & kReplayed) && !mutant(Mutant::kOutcomeDropped)) {
    PlannedRecord& outcome = add(RecordType::kOutcome, m);
    outcome.fate = e.state == State::kDying ? Fate::kReject : f.fate;
    outcome.slot = e.slot;
    outcome.story = f.story;
  }
  const bool repeats = (m.offset >= high && !mutant(Mutant::kNoDoneAboveHigh)) ||
                       (lane_open_at(m.lane, m.offset) && !mutant(Mutant::kNoDoneAboveFrom));
  const bool keep_entry = (mutant(Mutant::kPlainSuccessErasesEntry) && e.state == State::kSettling && !f.emits) ||
                          (mutant(Mutant::kNoDoneForOutcome) && (e.record_flags & kReplayed) != 0);
  if (repeats && !keep_entry) {
    add_done(m, f.has_live, f.live, plan, cut_index);
    cut_->erased.push_back(i);
  } else if (f.has_live) {
    add(RecordType::kJournalErase, m);
    --cut_->check.count;
    cut_->check.sum -= f.live;
    cut_->erased.push_back(i);
  }
  if (const auto at = obituaries_.find(e.offset); at != obituaries_.end()) {
    for (const Obituary& o : at->second) add(RecordType::kJournalErase, o);
    cut_->obituaries[e.offset] = at->second.size();
  }
}

// A broker may take less than our name and the counts alone need. It refuses that, and people are told.
std::size_t PartitionEngine::longest_metadata() const {
  return std::max(shared_.config.metadata_limit, least_metadata(shared_.config.writer.size()));
}

// The claim: the metadata as found, with our name. A crash after it finds the same state again.
void PartitionEngine::build_claim(WriteSerial serial, WritePlan& plan) {
  cut_->claim = true;
  cut_->low = low_;
  cut_->high = high_;
  CommitMetadata m = found_.metadata;
  if (found_.origin != MetadataOrigin::kOurs)
    m = CommitMetadata{.writer = {}, .serial = {}, .high = low_, .check = {}, .counters = {}, .heads = {}, .log = log_};
  // No check at all says that people have emptied the metadata; what was unreadable differs from every journal.
  if (found_.origin == MetadataOrigin::kDamaged || found_.origin == MetadataOrigin::kForeign) m.check = kNoJournal;
  if (mutant(Mutant::kClaimMendsCheck)) m.check = check_;
  m.writer = shared_.config.writer;
  m.serial = serial;
  m.unclean = unclean_;
  // Our name may be longer than the one found; hints are left out rather than the claim.
  MetadataBudget budget(
      [&] {
        CommitMetadata bare = m;
        bare.heads.clear();
        return bare;
      }(),
      low_, shared_.config.metadata_limit);
  for (const Head& h : m.heads)
    if (!budget.add(h)) {
      m.heads.clear();
      m.high = low_;
      m.check = kNoJournal;
      break;
    }
  plan.cuts.push_back({ref_, low_, encode_metadata(m, low_, longest_metadata())});
}

// From the lowest on, as many as the metadata holds: that is H. What begins below `floor` and does not fit is answered:
// it goes into the journal.
std::vector<PartitionEngine::HeadInCut> PartitionEngine::list_heads(const std::vector<HeadInCut>& heads, Offset floor,
                                                                    CommitMetadata& m) const {
  CommitMetadata widest = m;
  widest.writer.resize(std::max(shared_.config.writer.size(), shared_.config.writer_room), 'x');
  MetadataBudget budget(widest, cut_->low, shared_.config.metadata_limit);
  bool full = false;
  std::vector<HeadInCut> surplus;
  for (const HeadInCut& h : heads) {
    if (h.from >= window_.end()) break;
    if (h.in_journal) continue;
    const LaneState& l = lanes_[h.lane];
    const Head head{h.from, l.solo ? std::nullopt : std::optional(l.hash)};
    if (!full && budget.add(head)) {
      m.heads.push_back(head);
      continue;
    }
    full = true;
    if (h.from >= floor) {
      m.high = h.from;
      break;
    }
    if (!mutant(Mutant::kSurplusForgotten)) surplus.push_back(h);
  }
  // A bound can be another lane's message: what begins at H needs no listing.
  while (!m.heads.empty() && m.heads.back().from >= m.high) m.heads.pop_back();
  if (mutant(Mutant::kHighFromLiveState)) m.high = window_.end();
  return surplus;
}

bool PartitionEngine::build_cut(const std::vector<WriteItem>& items, WriteSerial serial, WritePlan& plan,
                                bool into_journal) {
  BARTLEBY_ASSERT(!cut_);
  if (phase_ == Phase::kClaiming) {
    if (into_journal) return false;
    cut_.emplace();
    build_claim(serial, plan);
    return true;
  }
  if (phase_ != Phase::kRunning && phase_ != Phase::kDraining && phase_ != Phase::kReleasing) return false;
  const std::size_t plan_records = plan.records.size();
  const auto index = static_cast<std::uint32_t>(plan.cuts.size());
  cut_.emplace();
  cut_->release = phase_ == Phase::kReleasing;
  cut_->check = check_;
  for (const WriteItem& item : items) {
    entries_[item.entry].flags |= kInWrite;
    if (item.decision) entries_[item.entry].flags |= kDecision;
    cut_->items.push_back(item.entry);
  }
  const Offset frontier = window_.end();
  // H never falls, and never stays behind by more than the window may hold.
  Offset floor = std::max(high_, Offset(frontier.v - static_cast<std::int64_t>(shared_.config.max_ahead)));
  if (cut_->release && !mutant(Mutant::kReleaseWithoutSurplus))
    floor = frontier;
  else if (mutant(Mutant::kHighMayFall))
    floor = Offset(0);
  std::vector<HeadInCut> heads;
  const Offset lowest_listed = collect_heads(heads, floor, cut_->release);
  cut_->low = std::min(frontier, lowest_listed);
  if (!heads.empty()) cut_->low = std::min(cut_->low, heads.front().from);
  if (mutant(Mutant::kCommitHighestDone)) cut_->low = frontier;
  if (mutant(Mutant::kCommitsOneTooFar)) {
    cut_->low = std::min(frontier, next(cut_->low));
    std::erase_if(heads, [this](const HeadInCut& h) { return h.from < cut_->low; });
  }
  BARTLEBY_ASSERT(cut_->low >= low_ || mutant(Mutant::kCommitHighestDone));

  CommitMetadata m;
  m.writer = cut_->release && !mutant(Mutant::kReleaseKeepsName) ? std::string() : shared_.config.writer;
  m.serial = serial;
  m.unclean = cut_->low > low_ ? 0 : unclean_;
  m.high = frontier;
  m.log = log_;
  m.check = JournalCheck{UINT64_MAX, UINT64_MAX};  // widest, so that what fits now fits with the real one
  m.counters = {base_.handled + window_.size() + items.size(), base_.skipped + window_.size() + items.size(),
                base_.dead + items.size()};
  const std::vector<HeadInCut> surplus = list_heads(heads, floor, m);
  cut_->high = m.high;
  for (const WriteItem& item : items) plan_message(item.entry, m.high, plan, index);
  journal_surplus(surplus, plan, index);
  erase_heads(plan, index);
  const bool rests = journal_rests() && !cut_->release && !emptied_;  // then what may go later goes when it works
  if (!rests) erase_done(plan, index);
  if (cut_->release) say_all_at_the_end(plan, index);
  erase_strays(rests, plan, index);

  const bool uses_journal = std::any_of(
      plan.records.begin() + static_cast<std::ptrdiff_t>(plan_records), plan.records.end(),
      [](const PlannedRecord& r) { return r.type == RecordType::kJournalPut || r.type == RecordType::kJournalErase; });
  const bool nothing_new =
      (items.empty() && !uses_journal && !dirty_ && !cut_->release) || (into_journal && !uses_journal);
  if (nothing_new || (uses_journal && journal_rests())) {
    plan.records.resize(plan_records);
    if (!nothing_new) return without_journal(items, serial, plan);
    revert_cut();
    return false;
  }
  m.check = cut_->check;
  m.counters = counters_in_cut(m.high);
  plan.cuts.push_back({ref_, cut_->low, encode_metadata(m, cut_->low, longest_metadata())});
  dirty_ = false;
  dirty_since_ = kNever;
  return true;
}

bool PartitionEngine::journal_rests() const {
  const auto at = shared_.destinations.find(journal_destination());
  return at != shared_.destinations.end() && at->second.suspended && !at->second.probing;
}

// The cut needs the journal, which takes nothing now. Verdicts that would be repeated without a `done` entry wait for
// it, and the rest is written. Where the cut itself needs it, all wait, and aside: there they keep nobody else from
// memory or from a place in the write.
bool PartitionEngine::without_journal(const std::vector<WriteItem>& items, WriteSerial serial, WritePlan& plan) {
  const std::vector<MessageEntry> done = cut_->done_puts;
  const bool last = cut_->release;
  revert_cut();
  if (last) return false;
  std::vector<WriteItem> rest;
  for (const WriteItem& item : items) {
    pending_.pop_front();  // `revert_cut` has put them there, in their order
    const auto is_its = [&](const MessageEntry& m) { return m.offset == entries_[item.entry].offset; };
    if (done.empty() || std::ranges::any_of(done, is_its))
      blocked_.push_back(item.entry);
    else
      rest.push_back(item);
  }
  if (pending_.empty()) items_since_ = kNever;
  if (done.empty()) waits_for_journal_ = true;
  return !rest.empty() && build_cut(rest, serial, plan, false);
}

// What this write puts anew must leave the strays with it, for a later write would erase the new entry, and so must
// what misleads. Returns how many these are.
std::size_t PartitionEngine::bring_forward() {
  std::vector<Stray> others;
  std::size_t now = 0;
  for (Stray& stray : strays_) {
    if (!replaced_in_cut(stray.entry) && !misleads(stray.entry))
      others.push_back(std::move(stray));
    else if (Stray& place = strays_[now++]; &place != &stray)
      place = std::move(stray);
  }
  std::ranges::move(others, strays_.begin() + static_cast<std::ptrdiff_t>(now));
  return now;
}

// Left where it is, the next owner would take it for the beginning of a lane, and repeat what the lane has behind it.
bool PartitionEngine::misleads(const JournalEntry& stray) const {
  if (const auto* h = std::get_if<HeadEntry>(&stray)) return h->from < cut_->high;
  const auto* m = std::get_if<MessageEntry>(&stray);
  return m != nullptr && !m->done && m->offset >= cut_->low && m->offset < cut_->high;
}

// This very write puts an entry under the same key: erasing the old one would take the new one with it.
bool PartitionEngine::replaced_in_cut(const JournalEntry& stray) const {
  if (const auto* h = std::get_if<HeadEntry>(&stray))
    return std::ranges::binary_search(cut_->head_puts, h->lane, {}, &HeadEntry::lane);
  const auto* m = std::get_if<MessageEntry>(&stray);
  if (m == nullptr) return false;
  return std::ranges::any_of(cut_->puts, [&](const auto& put) { return entries_[put.first].offset == m->offset; }) ||
         std::ranges::any_of(cut_->done_puts, [&](const MessageEntry& put) { return put.offset == m->offset; });
}

VerdictCounters PartitionEngine::counters_in_cut(Offset high) const {
  VerdictCounters c = base_;
  c.handled += cut_->extra.handled;
  c.skipped += cut_->extra.skipped;
  c.handled += window_.count(Mark::kHandled, window_.base(), high);
  c.skipped += window_.count(Mark::kSkipped, window_.base(), high);
  for (const std::uint32_t i : cut_->items) {
    const Entry& e = entries_[i];
    if (e.state == State::kDying && !(e.flags & kDecision))
      ++c.dead;
    else if (e.state == State::kSettling)
      ++(e.flags & kSkipped ? c.skipped : c.handled);
  }
  return c;
}

}  // namespace bartleby
