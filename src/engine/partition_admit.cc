// Admission: a record from the live end of the log finds its lane, or is finished at once.
//
// The hard part is what does not come. A note is an entry of the journal whose record is still to be read. When reading
// passes its offset and the record was not there, the entry must end (`drop_notes`): the next owner would begin a lane
// at a message that does not exist, and repeat what the lane has behind it.
#include <algorithm>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {
namespace {

// Between two looks for something to evict when the last one found too little. A look walks all slow lanes: with many
// of them the pause is longer, and the looks stay a small part of the time.
constexpr Duration kEvictPause{5};
constexpr std::size_t kLanesPerPause = 5000;  // one more millisecond

}  // namespace

void PartitionEngine::admit(std::span<const RecordRef> records) {
  const bool plain = notes_.empty() && obituaries_.empty();
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RecordRef& r = records[i];
    if (i + kAhead < records.size()) table_.prefetch(records[i + kAhead].lane);
    if (r.offset < window_.end() || phase_ != Phase::kRunning) {  // read twice, or no longer wanted
      shared_.free_slot(r.slot);
      if (mutant(Mutant::kBufferedDroppedOnRebalance)) window_.skip_to(next(r.offset));
      continue;
    }
    if (!plain || (r.flags & (kKeyless | kSkip | kRefuse)) != 0 || !admit_plain(r)) admit_one(r);
  }
  if (!records.empty()) last_read_ = records.back().timestamp;
  dirty_ = true;
}

// The happy paths, without a look at what cannot be: a key with nothing open, one that is going well, and one that
// waits in the log anyway.
bool PartitionEngine::admit_plain(const RecordRef& r) {
  std::uint32_t lane = table_.find(r.lane);
  if (lane == kNone) {
    lane = open_lane(r.lane, false);
    const std::uint32_t e = new_entry(r);
    append(lane, e);
    window_.append(r.offset, Mark::kOpen, e);
    set_ready(lane);
    return true;
  }
  LaneState& l = lanes_[lane];
  if (l.in_pass) return false;
  if (spilled(l)) {
    window_.append(r.offset, Mark::kElsewhere, kNone);
    shared_.free_slot(r.slot);
    return true;
  }
  if (l.slow || l.current == kNone || !has_room(l, r.size)) return false;
  const std::uint32_t e = new_entry(r);
  append(lane, e);
  window_.append(r.offset, Mark::kOpen, e);
  return true;
}

void PartitionEngine::admit_one(const RecordRef& r) {
  drop_notes(window_.end(), r.offset, std::nullopt);
  const auto note = take_note(r.offset, r.timestamp);
  const MessageEntry* m = note ? &std::get<MessageEntry>(note->entry) : nullptr;
  const auto forget_bytes = [&] { shared_.free_slot(r.slot); };
  if (m != nullptr && m->done) {  // finished in an earlier life, beyond what the commit could say
    window_.append(r.offset, Mark::kElsewhere, kNone);
    forget_bytes();
    return;
  }
  if ((r.flags & kSkip) != 0 && m == nullptr) {
    window_.append(r.offset, Mark::kSkipped, kNone);
    forget_bytes();
    return;
  }
  const bool solo = (r.flags & kKeyless) != 0 || (m != nullptr && m->self);
  if (m != nullptr && m->self) self_offsets_.insert(r.offset);  // a sweep of its old lane must leave it alone
  std::uint32_t lane = solo ? kNone : table_.find(r.lane);
  if (lane == kNone) lane = open_lane(r.lane, solo);
  LaneState& l = lanes_[lane];

  if (l.in_pass && r.offset >= pass_end_) {  // its turn comes when the pass has brought what lies before it
    After& after = after_[lane];
    window_.append(r.offset, Mark::kElsewhere, kNone);
    if (note) notes_[r.offset] = *note;
    if (after.overflow == kNoOffset && after.records.size() < shared_.config.lane_messages &&
        after.bytes + r.size <= shared_.config.lane_bytes && !shared_.over_budget()) {
      after.records.push_back(r);
      after.bytes += r.size;
      shared_.bytes += r.size;
    } else {
      after.overflow = std::min(after.overflow, r.offset);
      forget_bytes();
    }
    return;
  }
  if (spilled(l) || !has_room(l, r.size)) {
    if (note) notes_[r.offset] = *note;
    window_.append(r.offset, Mark::kElsewhere, kNone);
    forget_bytes();
    if (!spilled(l)) {
      make_slow(lane);
      l.log_from = r.offset;
      place(lane);
    }
    return;
  }
  const std::uint32_t e = new_entry(r);
  append(lane, e);
  window_.append(r.offset, l.slow ? Mark::kElsewhere : Mark::kOpen, e);
  if (note) attach_note(lane, e, *note);
  if (lanes_[lane].current == e) advance(lane);
}

bool PartitionEngine::has_room(const LaneState& l, std::uint32_t size) const {
  if (l.count == 0) return true;
  if (l.count > shared_.config.lane_messages || l.bytes + size > shared_.config.lane_bytes) return false;
  return !(l.slow && shared_.over_budget());
}

// What the journal knows of the record at this offset. An entry counts only for the record it was written for.
std::optional<JournalItem> PartitionEngine::take_note(Offset offset, Timestamp timestamp) {
  if (notes_.empty()) return std::nullopt;
  const auto at = notes_.find(offset);
  if (at == notes_.end()) return std::nullopt;
  const JournalItem note = at->second;
  notes_.erase(at);
  const MessageEntry& m = std::get<MessageEntry>(note.entry);
  if (m.timestamp == timestamp || mutant(Mutant::kEntryTimestampIgnored)) {
    if (m.done) live_done_[offset] = m;
    return note;
  }
  shared_.free_story(note.story);
  add_stray(note.entry);
  ++shared_.counters.stale_entries;
  shared_.alarm(AlarmType::kStaleEntry, ref_, offset);
  return std::nullopt;
}

// Entries of messages that are no longer there: the log was read past them. They must go, or the next owner would take
// them for the beginning of their lane.
void PartitionEngine::drop_notes(Offset from, Offset to, std::optional<Lane> lane) {
  std::vector<JournalItem> kept;
  for (auto at = notes_.lower_bound(from); at != notes_.end() && at->first < to;) {
    const auto& m = std::get<MessageEntry>(at->second.entry);
    if (lane && (m.self || m.lane != lane)) {
      ++at;
      continue;
    }
    if (at->second.with_record && m.self && !m.done) {
      kept.push_back(at->second);
    } else {
      shared_.free_story(at->second.story);
      add_stray(at->second.entry);
    }
    at = notes_.erase(at);
    dirty_ = true;
  }
  for (const JournalItem& note : kept) open_kept(note);
}

// The log has lost it and the journal has its bytes: it waits for people as before.
void PartitionEngine::open_kept(const JournalItem& note) {
  const auto& m = std::get<MessageEntry>(note.entry);
  const std::uint32_t lane = open_lane(m.lane.value_or(Lane(0)), true);
  lanes_[lane].slow = true;
  const std::uint32_t e = new_entry({.offset = m.offset,
                                     .timestamp = m.timestamp,
                                     .lane = m.lane.value_or(Lane(0)),
                                     .flags = static_cast<std::uint8_t>(m.lane ? 0 : kKeyless)});
  append(lane, e);
  attach_note(lane, e, note);
  self_offsets_.insert(m.offset);
  advance(lane);
}

// Gives an entry its story back.
void PartitionEngine::attach_note(std::uint32_t lane, std::uint32_t entry, const JournalItem& note) {
  const MessageEntry& m = std::get<MessageEntry>(note.entry);
  make_slow(lane);
  const std::uint32_t i = facts_of(entry);
  Facts& f = facts_[i];
  f.attempts = static_cast<std::uint16_t>(std::min<std::uint32_t>(m.attempts, 65535));
  f.kind = m.kind;
  f.due = m.due;
  f.first_failure = m.first_failure;
  f.last_failure = m.last_failure;
  f.throttled_ms = static_cast<std::uint32_t>(std::clamp<std::int64_t>(m.throttled.count(), 0, UINT32_MAX));
  f.story = note.story;
  f.self = m.self;
  f.with_record = note.with_record;
  f.has_live = true;
  f.live = fingerprint(note.entry);
  if (m.dead) {
    f.decided = true;
    f.reason = *m.dead;
  }
  // The calendar may have jumped since: never wait longer than was meant when it failed.
  const Duration meant = std::max(Duration(0), m.due - m.last_failure);
  const Duration left = std::clamp(m.due - shared_.now.wall, Duration(0), meant);
  f.due_steady = shared_.now.steady + left;
  place(lane);
}

void PartitionEngine::end_reached(Offset next) {
  if (phase_ != Phase::kRunning || next <= window_.end()) return;
  drop_notes(window_.end(), next, std::nullopt);
  window_.skip_to(next);
  dirty_ = true;
}

// The position to read from does not exist. The records in between are gone, and that is said; where the log is
// shorter than what was committed, the topic is another one and is read from its start.
void PartitionEngine::out_of_range(const OutOfRangeIn& in) {
  if (phase_ != Phase::kRunning) return;
  log_start_ = in.log_start;
  log_end_ = in.log_end;
  const Offset frontier = window_.end();
  if (frontier < in.log_start) {
    shared_.alarm(AlarmType::kOffsetReset, ref_, frontier, static_cast<std::uint64_t>(in.log_start.v - frontier.v));
    drop_notes(window_.end(), in.log_start, std::nullopt);
    window_.skip_to(in.log_start);
    dirty_ = true;
    shared_.out->others.push_back(StartReading{ref_, in.log_start});
  } else if (frontier > in.log_end) {
    // It may have grown past H again before it is asked for: that it was cut below is known now, and only now.
    if (in.log_end < high_ && !mutant(Mutant::kCutLogBelieved)) another_log_ = true;
    begin_anew_on_shorter(in.log_end);
  } else {
    shared_.out->others.push_back(StartReading{ref_, frontier});
  }
}

void PartitionEngine::begin_anew_on_shorter(Offset log_end) {
  const Offset frontier = window_.end();
  shared_.alarm(AlarmType::kOffsetReset, ref_, frontier, static_cast<std::uint64_t>(frontier.v - log_end.v));
  restart();
}

void PartitionEngine::update_intake() {
  const EngineConfig& c = shared_.config;
  bool limit = false;
  if (phase_ == Phase::kRunning) {
    const Offset lowest = any_slow() ? std::min(window_.first_open(), lanes_[lowest_slow()].key) : window_.first_open();
    const bool many = waiting() >= c.max_parked;
    // Where nothing can be committed, what is finished counts too: all of it would come again.
    const Offset behind = waits_for_journal() ? std::min(lowest, high_) : lowest;
    const bool far = window_.end().v - behind.v >= c.max_window || (half_over_ && any_slow());
    if (!shared_.room_for(c.max_bytes / 4) && shared_.now.steady >= evict_again_) {
      evict_held(shared_.bytes + shared_.reading - (c.max_bytes - c.max_bytes / 4));
      if (!shared_.room_for(c.max_bytes / 4))
        evict_again_ =
            shared_.now.steady + kEvictPause + Duration(static_cast<std::int64_t>(slow_lanes() / kLanesPerPause));
    }
    limit = many || far;
    if (limit && !at_limit_)
      shared_.alarm(many ? AlarmType::kLimitParked : AlarmType::kLimitWindow, ref_, lowest,
                    many ? waiting() : static_cast<std::uint64_t>(window_.end().v - behind.v));
  }
  at_limit_ = limit;
  const std::uint64_t bytes_limit = intake_open_ ? c.max_bytes : c.max_bytes - c.max_bytes / 4;
  const std::uint64_t queue_limit = intake_open_ ? c.max_queued : c.max_queued - c.max_queued / 4;
  const bool open = phase_ == Phase::kRunning && !limit && shared_.bytes + shared_.reading < bytes_limit &&
                    window_.open() < queue_limit;
  if (intake_known_ && open == intake_open_) return;
  intake_known_ = true;
  intake_open_ = open;
  shared_.out->others.push_back(SetIntake{ref_, open});
}

}  // namespace bartleby
