// Lanes, their lists and their place in the order; entries and their bytes.
//
// A fast lane (all of it in memory, nothing failed) has no place in any order: the window knows its offsets, and a
// million of them cost nothing. A slow one has: in `listed_` where the journal has an entry of its first message, so
// that no cut needs to list it, else in `order_`. `place` puts it where it belongs after every change.
#include <algorithm>

#include "engine/partition.h"

namespace bartleby {
namespace {

constexpr Duration kForEver = std::chrono::hours(24 * 365 * 100);  // a retention of more is none

}  // namespace

PartitionEngine::PartitionEngine(PartitionRef ref, TopicTraits traits, std::uint32_t dlq, Shared& shared)
    : ref_(ref), traits_(traits), dlq_(dlq), shared_(shared), table_(lanes_), timers_(*this) {
  if (traits_.retention && *traits_.retention >= kForEver) traits_.retention.reset();
}

std::uint32_t PartitionEngine::open_lane(Lane hash, bool solo) {
  const std::uint32_t i = lanes_.make();
  lanes_[i].hash = hash;
  lanes_[i].solo = solo;
  if (!solo) table_.insert(i);
  return i;
}

// The first offset of the lane that is not settled.
Offset PartitionEngine::lane_from(const LaneState& l) const {
  return l.head != kNone ? entries_[l.head].offset : l.log_from;
}

// Puts a slow lane where its first unsettled offset says.
void PartitionEngine::place(std::uint32_t lane) {
  LaneState& l = lanes_[lane];
  if (!l.slow) return;
  const Offset from = lane_from(l);
  const bool listed = has_entry(l);
  if (from == l.key && listed == l.listed) return;
  if (l.key != kNoOffset) (l.listed ? listed_ : order_).erase(l.key, lane);
  if (from != kNoOffset) (listed ? listed_ : order_).insert(from, lane);
  l.key = from;
  l.listed = listed;
}

// The journal knows its first message, so that a cut need not say where it begins.
bool PartitionEngine::has_entry(const LaneState& l) const {
  if (l.head == kNone) return false;
  const std::uint32_t facts = entries_[l.head].facts;
  return facts != kNone && facts_[facts].has_live;
}

std::uint32_t PartitionEngine::lowest_slow() const {
  if (order_.empty() || (!listed_.empty() && listed_.lowest() < order_.lowest()))
    return OffsetOrder::Cursor(listed_).id();
  return OffsetOrder::Cursor(order_).id();
}

void PartitionEngine::make_slow(std::uint32_t lane) {
  LaneState& l = lanes_[lane];
  if (l.slow) return;
  l.slow = true;
  for (std::uint32_t e = l.head; e != kNone; e = entries_[e].next) window_.set(entries_[e].offset, Mark::kElsewhere);
  place(lane);
}

void PartitionEngine::close_if_empty(std::uint32_t lane) {
  LaneState& l = lanes_[lane];
  if (l.head != kNone || spilled(l) || l.in_pass) return;
  BARTLEBY_ASSERT(l.running == 0 && !l.ready && !l.suspect);
  place(lane);
  if (!l.solo) table_.erase(lane);
  if (!wanting_.empty()) wanting_.erase(lane);
  lanes_.free(lane);
}

void PartitionEngine::append(std::uint32_t lane, std::uint32_t entry) {
  LaneState& l = lanes_[lane];
  Entry& e = entries_[entry];
  BARTLEBY_ASSERT(l.tail == kNone || entries_[l.tail].offset < e.offset);
  e.lane = lane;
  e.next = kNone;
  if (l.tail == kNone)
    l.head = entry;
  else
    entries_[l.tail].next = entry;
  l.tail = entry;
  if (l.current == kNone) l.current = entry;
  ++l.count;
  if (e.slot != kNone) l.bytes += e.size;
  place(lane);
}

// Takes an entry out of the middle of its list; what stands before it is settled or nearly so, hence short.
void PartitionEngine::unlink(std::uint32_t entry) {
  Entry& e = entries_[entry];
  LaneState& l = lanes_[e.lane];
  std::uint32_t before = kNone;
  for (std::uint32_t i = l.head; i != entry; i = entries_[i].next) before = i;
  if (before == kNone)
    l.head = e.next;
  else
    entries_[before].next = e.next;
  if (l.tail == entry) l.tail = before;
  if (l.current == entry) l.current = e.next;
  --l.count;
  if (e.slot != kNone) l.bytes -= e.size;
  e.next = kNone;
  e.lane = kNone;
}

// The message leaves its lane: from now on it holds nobody and nobody holds it.
std::uint32_t PartitionEngine::move_to_solo(std::uint32_t entry) {
  const std::uint32_t old = entries_[entry].lane;
  if (lanes_[old].solo) return old;
  unlink(entry);
  place(old);
  const std::uint32_t solo = open_lane(lanes_[old].hash, true);
  lanes_[solo].slow = true;
  append(solo, entry);
  advance(old);
  return solo;
}

// Removes what is finished from the front of a slow lane.
void PartitionEngine::pop_settled(std::uint32_t lane) {
  LaneState& l = lanes_[lane];
  while (l.head != kNone && entries_[l.head].state == State::kFinished) {
    const std::uint32_t i = l.head;
    Entry& e = entries_[i];
    if (!(e.flags & kCounted)) count_plain(e, e.flags & kSkipped ? Fate::kSkip : Fate::kDone);
    if (l.current == i) l.current = e.next;
    l.head = e.next;
    if (l.head == kNone) l.tail = kNone;
    --l.count;
    if (e.slot != kNone) l.bytes -= e.size;
    free_entry(i);
  }
  place(lane);
}

void PartitionEngine::count_plain(const Entry& e, Fate fate) {
  const bool skip = fate == Fate::kSkip;
  dirty_ = true;
  if (window_.covers(e.offset))
    window_.set(e.offset, skip ? Mark::kSkipped : Mark::kHandled);
  else
    ++(skip ? base_.skipped : base_.handled);
}

// The messages behind `last_kept` that only wait stay in the log. (Behind a success that turned into a failure there
// are messages that ran, and some with a story of their own: these stay.)
void PartitionEngine::spill_after(std::uint32_t lane, std::uint32_t last_kept) {
  make_slow(lane);
  LaneState& l = lanes_[lane];
  for (std::uint32_t k = entries_[last_kept].next; k != kNone; k = entries_[k].next)
    if (entries_[k].state != State::kQueued || entries_[k].facts != kNone) last_kept = k;
  std::uint32_t i = entries_[last_kept].next;
  if (i == kNone) return;
  l.log_from = std::min(l.log_from, entries_[i].offset);
  entries_[last_kept].next = kNone;
  l.tail = last_kept;
  while (i != kNone) {
    const std::uint32_t following = entries_[i].next;
    Entry& e = entries_[i];
    BARTLEBY_ASSERT(e.state == State::kQueued && e.facts == kNone);
    if (l.current == i) l.current = kNone;
    --l.count;
    if (e.slot != kNone) l.bytes -= e.size;
    ++shared_.counters.evictions;
    free_entry(i);
    i = following;
  }
  place(lane);
}

void PartitionEngine::set_ready(std::uint32_t lane) {
  LaneState& l = lanes_[lane];
  if (l.ready) return;
  l.ready = true;
  ready_.push_back(lane);
}

// Another message of the lane than the one that was to run is the next.
void PartitionEngine::leave_queue(std::uint32_t lane) {
  LaneState& l = lanes_[lane];
  if (l.ready) std::erase(ready_, lane);
  if (l.suspect) std::erase(suspects_, lane);
  l.ready = l.suspect = false;
}

std::uint32_t PartitionEngine::new_entry(const RecordRef& r) {
  const std::uint32_t i = entries_.make();
  Entry& e = entries_[i];
  e.offset = r.offset;
  e.timestamp = r.timestamp;
  e.case_id = r.case_id;
  e.record_flags = r.flags;
  e.refuse_reason = r.reason;
  set_bytes(e, r.slot, r.size);
  return i;
}

void PartitionEngine::free_entry(std::uint32_t i) {
  Entry& e = entries_[i];
  free_bytes(e);
  drop_facts(e);
  e.serial = 0;
  entries_.free(i);
}

void PartitionEngine::set_bytes(Entry& e, std::uint32_t slot, std::uint32_t size) {
  e.slot = slot;
  e.size = size;
  if (slot != kNone) shared_.bytes += size;
}

void PartitionEngine::free_bytes(Entry& e) {
  if (e.flags & kReserve) {  // taken when the read began, so it may be there before the bytes
    e.flags &= static_cast<std::uint8_t>(~kReserve);
    --shared_.reserve_users;
  }
  if (e.slot == kNone) return;
  shared_.out->free_slots.push_back(e.slot);
  shared_.bytes -= e.size;
  e.slot = kNone;
}

// The message can be read again, or is not needed any more.
void PartitionEngine::release_bytes(Entry& e) {
  if (e.slot != kNone) lanes_[e.lane].bytes -= e.size;
  free_bytes(e);
}

std::uint32_t PartitionEngine::facts_of(std::uint32_t e) {
  if (entries_[e].facts == kNone) {
    const std::uint32_t f = facts_.make();
    facts_[f].entry = e;
    entries_[e].facts = f;
  }
  return entries_[e].facts;
}

void PartitionEngine::drop_facts(Entry& e) {
  if (e.facts == kNone) return;
  Facts& f = facts_[e.facts];
  if (f.timer.slot != 0xffff) timers_.remove(e.facts);
  shared_.free_story(f.story);
  if (f.emits) drop_emitted(f);
  facts_.free(e.facts);
  e.facts = kNone;
}

void PartitionEngine::drop_emitted(Facts& f) {
  shared_.bytes -= emitted_[f.emitted()].bytes;
  shared_.emitted -= emitted_[f.emitted()].bytes;
  shared_.out->free_emits.push_back(emitted_[f.emitted()].emit);
  emitted_.free(f.emitted());
  f.emitted() = kNone;
  f.emits = false;
}

std::size_t PartitionEngine::held() const {
  std::size_t n = 0;
  each_slow([&](std::uint32_t lane) {
    const LaneState& l = lanes_[lane];
    for (std::uint32_t e = l.head; e != kNone; e = entries_[e].next)
      n += entries_[e].state == State::kQueued && e != l.current ? 1u : 0u;
  });
  return n;
}

std::size_t PartitionEngine::memory_bytes() const {
  return entries_.bytes() + facts_.bytes() + lanes_.bytes() + emitted_.bytes() + table_.bytes() + order_.bytes() +
         listed_.bytes() + window_.bytes();
}

void Shared::suspend(DestinationId id, WriteSerial refused) {
  Destination& d = destinations[id];
  // However many records of a write it was: it has refused once.
  if (d.suspended && d.refused == refused) return;
  d.refused = refused;
  d.pause = std::clamp(d.pause * 2, Duration(1000), Duration(60000));
  d.suspended = true;
  d.probing = false;
  d.suspended_until = now.steady + d.pause;
}

void Shared::works(DestinationId id) { destinations.erase(id); }

}  // namespace bartleby
