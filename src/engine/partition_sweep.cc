// What lies only in the log: messages read again, one by one or by a sweep.
//
// A lane can be in memory or in the log. `log_from` says where the log begins; everything the lane has below it
// is in its list or finished. One sweep at a time passes over the log from the lowest such offset to the
// frontier as it stood when the pass began. From there on new messages of its lanes are kept aside (`after_`) and
// follow when the pass is over, so that a lane catches up however fast the topic grows. A lane that has no
// room left leaves the pass where it stands and comes back when it has.
#include <algorithm>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {
namespace {

constexpr std::size_t kReadsAtOnce = 16;
constexpr Duration kShortFor{7000};        // until the log is taken for another one,
constexpr std::uint32_t kShortReads = 50;  // and so often

}  // namespace

void PartitionEngine::start_pass() {
  if (sweeping_ || wanting_.empty() || phase_ != Phase::kRunning || shared_.now.steady < sweep_retry_at_) return;
  Sweep sweep{.ref = ref_, .serial = ++serial_, .from = kNoOffset, .to = window_.end(), .lanes = {}};
  for (const std::uint32_t lane : wanting_) {
    LaneState& l = lanes_[lane];
    if (!spilled(l)) continue;
    l.in_pass = true;
    pass_lanes_.push_back(lane);
    sweep.lanes.push_back(l.hash);
    sweep.from = std::min(sweep.from, l.log_from);
  }
  wanting_.clear();
  if (pass_lanes_.empty()) return;
  std::ranges::sort(sweep.lanes);
  sweeping_ = true;
  pass_lacked_ = false;
  sweep_serial_ = sweep.serial;
  pass_end_ = sweep.to;
  ++shared_.counters.sweeps;
  shared_.out->others.push_back(std::move(sweep));
}

void PartitionEngine::range_read(const ReadIn& in) {
  const auto drop = [&] {
    for (const RecordRef& r : in.records) shared_.free_slot(r.slot);
  };
  if (const auto read = reads_.find(in.serial); read != reads_.end()) {
    const ReadOnItsWay on_its_way = read->second;
    reads_.erase(read);
    shared_.reading -= on_its_way.size;
    message_read(on_its_way.entry, in);
    return;
  }
  if (!sweeping_ || in.serial != sweep_serial_) {
    ++shared_.counters.stale_replies;
    drop();
    return;
  }
  if (!in.answered) {
    for (const std::uint32_t lane : std::vector(pass_lanes_))
      if (lanes_[lane].in_pass) leave_pass(lane, lanes_[lane].log_from, true);
    drop();
    end_pass();
    sweep_retry_at_ = shared_.now.steady + kReadRetry;
    return;
  }
  Offset lowest = kNoOffset;
  for (const std::uint32_t lane : pass_lanes_)
    if (lanes_[lane].in_pass) lowest = std::min(lowest, lanes_[lane].log_from);
  lost_up_to(in.log_start, lowest);
  for (const RecordRef& r : in.records) sweep_one(r);
  if (in.end && in.next < pass_end_ && !mutant(Mutant::kShortSweepTaken)) {
    end_pass_at(in.next);
    read_ends_early(in);
    return;
  }
  if (in.end) short_since_ = kNever;
  const bool idle = std::ranges::none_of(pass_lanes_, [&](std::uint32_t lane) { return lanes_[lane].in_pass; });
  if (in.end || idle) {
    if (!in.end) shared_.out->others.push_back(CancelSweep{ref_, sweep_serial_});
    end_pass();
  }
}

// It ends before what was read already: whoever answers has fallen behind, and what lies beyond is not told.
void PartitionEngine::end_pass_at(Offset told) {
  for (const std::uint32_t lane : std::vector(pass_lanes_)) {
    const LaneState& l = lanes_[lane];
    if (!l.in_pass) continue;
    if (l.log_from < told) short_since_ = kNever;  // it gets on
    if (!notes_.empty() && l.log_from < told) drop_notes(l.log_from, told, l.hash);
    leave_pass(lane, std::max(l.log_from, told), true);
  }
  end_pass();
  sweep_retry_at_ = shared_.now.steady + kReadRetry;
}

// Once may be a replica that lags. For seconds, it is another log under the same name.
void PartitionEngine::read_ends_early(const ReadIn& in) {
  if (!short_for_long(kShortReads)) return;
  if (phase_ == Phase::kRunning) begin_anew_on_shorter(in.next);
}

// By time and by number: many may ask at once, or nobody for long. Answers to those that asked at once count as one.
bool PartitionEngine::short_for_long(std::uint32_t answers) {
  const Instant now = shared_.now.steady;
  if (short_since_ == kNever || now - short_last_ > kShortFor) {
    short_since_ = now;
    short_answers_ = 0;
  }
  if (short_answers_ == 0 || now - short_last_ >= kReadRetry) {
    short_last_ = now;
    ++short_answers_;
  }
  return short_answers_ >= answers && now - short_since_ >= kShortFor;
}

// Retention took what a lane still had to do. Which messages that were cannot be known any more; that it happened
// must be said.
void PartitionEngine::lost_up_to(Offset log_start, Offset first) {
  if (first >= log_start) return;
  const bool lower = first < lost_from_;  // one lane may begin below what was said of others
  const Offset from = lower ? first : std::max(first, lost_below_);
  if (from >= log_start) return;                         // that was said before
  if (lower || first > lost_below_) lost_from_ = first;  // of what lies between, nothing was said
  lost_below_ = std::max(lost_below_, log_start);
  shared_.alarm(AlarmType::kLostByRetention, ref_, from, static_cast<std::uint64_t>(log_start.v));
}

// One message of a lane that the pass serves. Everything of the lane before it has come already.
void PartitionEngine::sweep_one(const RecordRef& r) {
  const auto drop = [&] { shared_.free_slot(r.slot); };
  const std::uint32_t lane = (r.flags & kKeyless) ? kNone : table_.find(r.lane);
  if (lane == kNone || !lanes_[lane].in_pass || r.offset < lanes_[lane].log_from || r.offset >= pass_end_) {
    drop();
    return;
  }
  LaneState& l = lanes_[lane];
  if (!notes_.empty()) drop_notes(l.log_from, r.offset, l.hash);
  const auto done = live_done_.empty() ? live_done_.end() : live_done_.find(r.offset);
  const bool done_before = done != live_done_.end() && done->second.timestamp == r.timestamp;
  if ((done_before && !mutant(Mutant::kSweepRunsDone)) ||
      (!self_offsets_.empty() && self_offsets_.contains(r.offset) && !mutant(Mutant::kSweepRunsSelf))) {
    l.log_from = next(r.offset);
    place(lane);
    drop();
    return;
  }
  if (!has_room(l, r.size)) {
    leave_pass(lane, r.offset, false);
    drop();
    return;
  }
  bool reserve = false;
  if (!shared_.room_for(r.size)) {
    // A lane with something in hand can wait. One with nothing evicts what is held, or takes the reserve.
    if (l.current == kNone) evict_held(r.size);
    const bool room = l.current == kNone && shared_.room_for(r.size);
    reserve = l.current == kNone && !room && shared_.reserve_users == 0;
    if (!room && !reserve) {
      sweep_retry_at_ = shared_.now.steady + kReadRetry;
      lacks_room_ = pass_lacked_ = true;
      leave_pass(lane, r.offset, l.current == kNone);
      drop();
      return;
    }
  }
  const auto note = take_note(r.offset, r.timestamp);
  const MessageEntry* m = note ? &std::get<MessageEntry>(note->entry) : nullptr;
  l.log_from = next(r.offset);
  if ((m != nullptr && m->done) || ((r.flags & kSkip) != 0 && m == nullptr)) {
    dirty_ = true;
    place(lane);
    drop();
    return;
  }
  const std::uint32_t home = m != nullptr && m->self ? open_lane(r.lane, true) : lane;
  lanes_[home].slow = true;
  const std::uint32_t e = new_entry(r);
  if (reserve) {
    entries_[e].flags |= kReserve;
    ++shared_.reserve_users;
  }
  append(home, e);
  if (note) attach_note(home, e, *note);
  place(lane);
  if (lanes_[home].current == e) advance(home);
}

void PartitionEngine::leave_pass(std::uint32_t lane, Offset stopped_at, bool again) {
  LaneState& l = lanes_[lane];
  l.in_pass = false;
  l.log_from = stopped_at;
  if (const auto at = after_.find(lane); at != after_.end()) {  // these come after what is still in the log
    for (const RecordRef& r : at->second.records) {
      shared_.bytes -= r.size;
      shared_.free_slot(r.slot);
    }
    after_.erase(at);
  }
  place(lane);
  if (again) wanting_.insert(lane);
}

void PartitionEngine::end_pass() {
  sweeping_ = false;
  lacks_room_ = pass_lacked_;
  for (const std::uint32_t lane : std::exchange(pass_lanes_, {})) {
    if (!lanes_[lane].in_pass) continue;
    LaneState& l = lanes_[lane];
    l.in_pass = false;
    if (!notes_.empty()) drop_notes(l.log_from, pass_end_, l.hash);
    l.log_from = kNoOffset;
    After after;
    if (const auto at = after_.find(lane); at != after_.end()) {
      after = std::move(at->second);
      after_.erase(at);
    }
    Offset overflow = after.overflow;
    for (std::size_t k = 0; k < after.records.size(); ++k) {
      const RecordRef& r = after.records[k];
      shared_.bytes -= r.size;
      if (overflow != kNoOffset && r.offset > overflow) {
        shared_.free_slot(r.slot);
        continue;
      }
      if (!has_room(lanes_[lane], r.size)) {
        overflow = std::min(overflow, r.offset);
        shared_.free_slot(r.slot);
        continue;
      }
      const auto note = take_note(r.offset, r.timestamp);
      const std::uint32_t e = new_entry(r);
      append(lane, e);
      if (note) attach_note(lane, e, *note);
    }
    lanes_[lane].log_from = overflow;
    place(lane);
    dirty_ = true;
    advance(lane);
  }
}

// ---- single messages ---------------------------------------------------------------------------------

void PartitionEngine::fetch(std::uint32_t i) {
  entries_[i].state = State::kFetching;
  room_queue_.push_back(i);
}

// A due head always gets room: what is held behind others goes back to the log, and one message is reserved. What is
// being read takes its room before it comes: many heads that are due at once would each find it free.
void PartitionEngine::serve_reads() {
  while (!room_queue_.empty() && reads_.size() < kReadsAtOnce && shared_.now.steady >= fetch_retry_at_) {
    const std::uint32_t i = room_queue_.front();
    Entry& e = entries_[i];
    const std::uint64_t size = read_size(e);
    if (!shared_.room_for(size)) {
      if (mutant(Mutant::kDueHeadGetsNoRoom)) return;
      evict_held(size);
      if (!shared_.room_for(size)) {
        if (shared_.reserve_users > 0) return;
        ++shared_.reserve_users;
        e.flags |= kReserve;
      }
    }
    room_queue_.pop_front();
    e.serial = ++serial_;
    const bool counts = (e.flags & kReserve) == 0 && !mutant(Mutant::kReadsNotCounted);
    reads_[e.serial] = {i, counts ? size : 0};
    shared_.reading += reads_[e.serial].size;
    ++shared_.counters.reads;
    const bool in_journal = e.facts != kNone && facts_[e.facts].with_record;
    shared_.out->others.push_back(ReadMessage{ref_, e.serial, e.offset, in_journal ? facts_[e.facts].story : kNone});
  }
}

// Sends back to the log what waits: the lanes due latest first, the messages held in them and then the parked one
// itself.
void PartitionEngine::evict_held(std::uint64_t wanted) {
  std::vector<std::pair<Instant, std::uint32_t>> lanes;
  ++shared_.counters.evict_walks;
  each_slow([&](std::uint32_t lane) {
    const LaneState& l = lanes_[lane];
    if (l.current == kNone || l.bytes == 0 || l.in_pass) return;
    const Entry& e = entries_[l.current];
    // One that waits for room itself may have messages behind it in memory: these must not keep it waiting.
    if (e.state == State::kParked || e.state == State::kFetching)
      lanes.push_back({e.facts == kNone ? shared_.now.steady : facts_[e.facts].due_steady, lane});
  });
  std::ranges::sort(lanes, std::greater<>());
  const std::uint64_t enough = std::max(wanted, shared_.config.max_bytes / 8);
  std::uint64_t freed = 0;
  for (const auto& [due, lane] : lanes) {
    if (freed >= enough) break;
    const std::uint64_t before = shared_.bytes;
    spill_after(lane, lanes_[lane].current);
    for (std::uint32_t i = lanes_[lane].current; i != kNone; i = entries_[i].next)
      if (entries_[i].state == State::kParked || entries_[i].state == State::kQueued) release_bytes(entries_[i]);
    freed += before - shared_.bytes;
  }
  if (freed < enough) evict_blocked(enough - freed);
}

// What waits for a destination that refuses waits for as long as people take: it must not keep others from memory.
void PartitionEngine::evict_blocked(std::uint64_t wanted) {
  bool tries = true;  // the first letter keeps its bytes: it finds out whether the dlq takes letters again
  const std::uint64_t before = shared_.bytes;
  for (const std::uint32_t i : blocked_) {
    if (before - shared_.bytes >= wanted) return;
    Entry& e = entries_[i];
    if (e.slot == kNone || (e.state != State::kDying && e.state != State::kFailed)) continue;
    if (e.state == State::kDying && std::exchange(tries, false)) continue;
    if (facts_[e.facts].with_record || expiring(e)) continue;
    if (lanes_[e.lane].current == i && !lanes_[e.lane].in_pass) spill_after(e.lane, i);
    release_bytes(e);
  }
}

// A letter is to be written whose bytes went when memory was short.
void PartitionEngine::read_letter_again(std::uint32_t i) {
  Entry& e = entries_[i];
  e.flags &= static_cast<std::uint8_t>(~kPending);
  e.flags |= kDoomed;
  e.state = State::kQueued;
  advance(e.lane);
}

void PartitionEngine::message_read(std::uint32_t i, const ReadIn& in) {
  Entry& e = entries_[i];
  BARTLEBY_ASSERT(e.state == State::kFetching);
  e.serial = 0;
  const auto drop_from = [&](std::size_t k) {
    for (; k < in.records.size(); ++k) shared_.free_slot(in.records[k].slot);
  };
  const auto give_reserve_back = [&] {
    if (!(e.flags & kReserve)) return;
    e.flags &= static_cast<std::uint8_t>(~kReserve);
    --shared_.reserve_users;
  };
  const bool ends_early = in.answered && in.records.empty() && in.next <= e.offset && in.log_start <= e.offset;
  const bool there = in.answered && !in.records.empty() && in.records.front().offset == e.offset;
  const bool from_journal = e.facts != kNone && facts_[e.facts].with_record;  // which says nothing of the log
  const bool another = there && !from_journal && !(e.flags & kUnread) && in.records.front().timestamp != e.timestamp &&
                       !mutant(Mutant::kEntryTimestampIgnored);
  if (another && phase_ == Phase::kRunning) {  // the log is another one, whatever was committed of it
    drop_from(0);
    another_log_ = true;
    return restart();
  }
  // Who is handing over leaves that to the next owner, who reads it too.
  if (!in.answered || ends_early || another) {
    drop_from(0);
    give_reserve_back();
    room_queue_.push_back(i);
    fetch_retry_at_ = shared_.now.steady + kReadRetry;
    if (ends_early) read_ends_early(in);
    return;
  }
  short_since_ = kNever;
  const std::uint32_t lane = e.lane;
  e.state = State::kQueued;
  if (!there) {
    drop_from(0);
    give_reserve_back();
    const bool superseded = traits_.compacted && e.offset >= in.log_start;  // below, it was retention
    if (e.flags & kUnread) {  // nothing is known of it but its number: no letter could name it
      if (!superseded) shared_.alarm(AlarmType::kLostByRetention, ref_, e.offset);
      finish(i, Fate::kSkip);  // the write in flight may carry an entry for it, which must then be ended
      advance(lane);
      return;
    }
    Facts& f = facts_[facts_of(i)];
    if (f.with_record) {
      // The journal has its bytes, and only who reads the journal can have them: its entry must not be written anew.
      e.flags &= static_cast<std::uint8_t>(~kDoomed);
      f.decided = true;
      e.state = State::kKept;
      ++kept_;
      return;
    }
    f.lost = true;
    if (superseded) {  // a newer record of the key took its place: nothing to do any more
      f.fate = Fate::kSkip;
      e.flags |= kSkipped;
      settle(i);
    } else {
      shared_.alarm(AlarmType::kLostByRetention, ref_, e.offset);
      doom(i, Reason::kLostByRetention);
    }
    advance(lane);
    return;
  }
  const RecordRef& r = in.records.front();
  drop_from(1);
  if (e.flags & kUnread) {
    e.timestamp = r.timestamp;
    e.flags &= static_cast<std::uint8_t>(~kUnread);
  }
  e.case_id = r.case_id;
  e.record_flags = r.flags;
  e.refuse_reason = r.reason;
  set_bytes(e, r.slot, r.size);
  lanes_[lane].bytes += r.size;
  if (shared_.room_for(0)) give_reserve_back();  // it is smaller than it might have been, or there is room by now
  // `match` may have changed since it was admitted: what has a story then goes on, here as at admission.
  const bool has_story = e.facts != kNone && facts_[e.facts].has_live;
  if ((r.flags & kSkip) != 0 && !(e.flags & kDoomed) && !has_story) finish(i, Fate::kSkip);
  advance(lane);
}

}  // namespace bartleby
