// Attempts: whose turn it is, what an outcome means, and how a message waits.
//
// The story of a failing message: kRunning → failed() → kFailed, and its item waits for a write → the write is
// answered → kParked with a timer → due → kQueued → kRunning … → die() → kDying → the letter is written → gone.
// `advance` is the one place that decides what the first undecided message of a lane does next.
#include <algorithm>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {
namespace {

constexpr std::uint32_t kMostAttempts = 65535;
constexpr Duration kLeastThrottle{100};  // who asks for no pause at all would be asked for ever

}  // namespace

void PartitionEngine::advance(std::uint32_t lane) {
  if (lanes_[lane].slow) pop_settled(lane);
  LaneState& l = lanes_[lane];
  while (l.current != kNone &&
         (entries_[l.current].state == State::kSettling || entries_[l.current].state == State::kFinished))
    l.current = entries_[l.current].next;
  if (spilled(l) && !l.in_pass &&
      (l.current == kNone || (l.count <= shared_.config.lane_messages / 4 && !shared_.over_budget() &&
                              entries_[l.current].state != State::kParked)))
    wanting_.insert(lane);
  if (l.current == kNone) {
    close_if_empty(lane);
    return;
  }
  const std::uint32_t i = l.current;
  if (entries_[i].state != State::kQueued || phase_ != Phase::kRunning || l.ready || l.suspect || l.running > 0) return;

  if (!(entries_[i].flags & kDoomed)) {
    const Entry& e = entries_[i];
    if (e.facts != kNone && facts_[e.facts].decided) {
      if (!shared_.config.dead_letters && !shared_.config.drop) {  // people decide
        if (!facts_[e.facts]
                 .self) {  // decided while there were dead letters: it leaves its lane now, and the journal must know
          entries_[i].flags |= kDoomed;
          facts_[e.facts].self = true;
          entries_[i].state = State::kFailed;
          add_pending(i);
          return;
        }
        entries_[i].state = State::kKept;
        ++kept_;
        release_bytes(entries_[i]);
        return;
      }
      entries_[i].flags |= kDoomed;
    } else if (e.record_flags & kRefuse) {
      doom(i, e.refuse_reason);
      facts_[entries_[i].facts].kind = kind_of_refusal(e.refuse_reason);
    } else if (unread(e) && deaths(e) >= fewest_crashes() && !mutant(Mutant::kCrashesOfFirstCase)) {
      // Which case it is, and so how many deaths are too many, its bytes will say.
    } else if (died_too_often(e)) {
      shared_.alarm(AlarmType::kCrashPoison, ref_, e.offset, deaths(e));
      doom(i, Reason::kProcessCrash);
      facts_[entries_[i].facts].kind = Kind::kCrash;
    } else if (e.facts != kNone && (facts_[e.facts].attempts > 0 || facts_[e.facts].throttled_ms > 0) && expiring(e)) {
      shared_.alarm(AlarmType::kExpiring, ref_, e.offset);
      doom(i, Reason::kExpiring);
    } else if (e.facts != kNone && facts_[e.facts].due_steady > shared_.now.steady) {
      park(i);
      return;
    }
  }
  const Entry& e = entries_[i];
  if (unread(e)) {
    fetch(i);
  } else if (e.flags & kDoomed) {
    die(i, facts_[e.facts].reason);
  } else if (must_run_alone(e)) {
    l.suspect = true;
    suspects_.push_back(lane);
  } else {
    set_ready(lane);
  }
}

// The next lane of a queue that can run. Meanwhile somebody's death may have become known, or memory was short.
std::uint32_t PartitionEngine::take_lane(std::deque<std::uint32_t>& queue) {
  while (!queue.empty()) {
    const std::uint32_t lane = queue.front();
    queue.pop_front();
    LaneState& l = lanes_[lane];
    if (&queue == &ready_)
      l.ready = false;
    else
      l.suspect = false;
    const Entry& e = entries_[l.current];
    const bool due = e.facts == kNone || facts_[e.facts].due_steady <= shared_.now.steady;
    const bool runs = l.running == 0 && e.state == State::kQueued && e.slot != kNone && due && !(e.flags & kDoomed);
    const bool may = &queue == &ready_ ? !must_run_alone(e) : !died_too_often(e);
    if (runs && may) return lane;
    advance(lane);
  }
  return kNone;
}

std::uint32_t PartitionEngine::dispatch(std::uint32_t room) {
  std::uint32_t started = 0;
  for (; started < room; ++started) {
    const std::uint32_t lane = take_lane(ready_);
    if (lane == kNone) break;
    run(lane, false, false);
  }
  return started;
}

bool PartitionEngine::dispatch_probe() {
  const std::uint32_t lane = take_lane(ready_);
  if (lane != kNone) run(lane, false, true);
  return lane != kNone;
}

bool PartitionEngine::run_suspect() {
  const std::uint32_t lane = take_lane(suspects_);
  if (lane != kNone) run(lane, true, false);
  return lane != kNone;
}

void PartitionEngine::run(std::uint32_t lane, bool alone, bool probe) {
  LaneState& l = lanes_[lane];
  const std::uint32_t first = l.current;
  BARTLEBY_ASSERT(first != kNone && entries_[first].state == State::kQueued && entries_[first].slot != kNone);
  Entry& e = entries_[first];
  e.serial = ++serial_;
  const auto first_item = static_cast<std::uint32_t>(shared_.out->items.size());
  const std::uint32_t attempt = e.facts == kNone ? 1u : facts_[e.facts].attempts + 1u;
  std::uint32_t count = 0;
  const std::uint32_t longest = alone || probe || e.facts != kNone ? 1 : shared_.config.max_stretch;
  const std::uint16_t case_id = e.case_id;
  for (std::uint32_t i = first; i != kNone && count < longest; i = entries_[i].next) {
    Entry& each = entries_[i];
    const bool fits = each.state == State::kQueued && each.slot != kNone && each.case_id == case_id &&
                      (i == first || (each.facts == kNone && !(each.record_flags & kRefuse) && !suspicious(each)));
    if (!fits) break;
    each.state = State::kRunning;
    RunItem& item = shared_.out->items.emplace_back();
    item.offset = each.offset;
    item.slot = each.slot;
    item.case_id = each.case_id;
    ++count;
  }
  l.running = static_cast<std::uint16_t>(count);
  ++shared_.running;
  ++runs_;
  Run& r = shared_.out->runs.emplace_back();
  r.token.ref = ref_;
  r.token.entry = first;
  r.token.serial = serial_;
  r.first = first_item;
  r.count = count;
  r.attempt = attempt;
  r.alone = alone;
  r.probe = probe;
}

void PartitionEngine::completed(const Completion& c) {
  const std::uint32_t first = c.token.entry;
  if (first >= entries_.capacity() || entries_[first].serial != c.token.serial ||
      entries_[first].state != State::kRunning) {
    ++shared_.counters.stale_replies;
    if (orphans_ > 0) {
      --orphans_;
      --shared_.running;
    }
    shared_.drop(c.last);
    return;
  }
  --shared_.running;
  --runs_;
  const std::uint32_t lane = entries_[first].lane;
  const std::uint32_t count = std::exchange(lanes_[lane].running, std::uint16_t{0});
  BARTLEBY_ASSERT(c.done + (c.last ? 1 : 0) <= count);
  std::uint32_t i = first;
  std::uint32_t n = 0;
  if (lanes_[lane].head == first && obituaries_.empty() && !shared_.guard.open()) n = finish_plainly(lane, c.done, i);
  for (; n < c.done; ++n) {
    const std::uint32_t following = entries_[i].next;
    if (shared_.guard.succeeded(ref_, entries_[i].offset, entries_[i].facts != kNone, shared_.now.steady))
      shared_.alarm(AlarmType::kGuardClosed, ref_, entries_[i].offset);
    finish(i, Fate::kDone);
    i = following;
  }
  // Back to the queue first: an outcome may move its entry out of the lane.
  std::uint32_t rest = i;
  for (std::uint32_t k = n; k < count; ++k, rest = entries_[rest].next) {
    entries_[rest].state = State::kQueued;
    entries_[rest].serial = 0;
  }
  if (i == kNone && !lanes_[lane].slow) {  // nothing else was waiting
    close_if_empty(lane);
    return;
  }
  if (c.last) {
    const Ending& o = *c.last;
    const bool success = o.fate == Fate::kDone || o.fate == Fate::kSkip || o.fate == Fate::kLogicalFailure;
    if (success) {
      if (shared_.guard.succeeded(ref_, entries_[i].offset, entries_[i].facts != kNone, shared_.now.steady))
        shared_.alarm(AlarmType::kGuardClosed, ref_, entries_[i].offset);
      shared_.free_story(o.story);
      if (o.emit != kNone) {
        Facts& f = facts_[facts_of(i)];
        f.emits = true;
        f.emitted() = emitted_.make();
        emitted_[f.emitted()] = {o.emit_bytes, o.emit, o.emit_topic, o.emit_records};
        shared_.bytes += o.emit_bytes;
        shared_.emitted += o.emit_bytes;
      }
      finish(i, o.fate);
    } else {
      shared_.free_emit(o.emit);
      failed(i, o);
    }
  }
  advance(lane);
}

// The happy path: the first `n` messages of a lane went well and leave nothing behind. Stops at one that does; `i` is
// the next then.
std::uint32_t PartitionEngine::finish_plainly(std::uint32_t lane, std::uint32_t n, std::uint32_t& i) {
  LaneState& l = lanes_[lane];
  std::uint32_t done = 0;
  for (; done < n; ++done) {
    Entry& e = entries_[i];
    if (e.facts != kNone || e.flags != 0 || (e.record_flags & kReplayed) != 0) break;
    shared_.guard.succeeded(ref_, e.offset, false, shared_.now.steady);
    if (l.slow)
      count_plain(e, Fate::kDone);
    else
      window_.set(e.offset, Mark::kHandled);
    if (e.slot != kNone) {
      shared_.out->free_slots.push_back(e.slot);
      shared_.bytes -= e.size;
      l.bytes -= e.size;
    }
    e.serial = 0;
    const std::uint32_t following = e.next;
    entries_.free(i);
    i = following;
  }
  if (done == 0) return 0;
  dirty_ = true;
  l.head = l.current = i;
  if (i == kNone) l.tail = kNone;
  l.count -= done;
  if (l.slow) place(lane);
  return done;
}

// The handler is through with it. Leaves the lane open; the caller advances it.
void PartitionEngine::finish(std::uint32_t i, Fate fate) {
  Entry& e = entries_[i];
  const std::uint32_t lane = e.lane;
  e.serial = 0;
  if (fate == Fate::kSkip) e.flags |= kSkipped;
  const bool leaves_something =
      (e.facts != kNone && (facts_[e.facts].has_live || facts_[e.facts].emits || facts_[e.facts].putting)) ||
      (e.record_flags & kReplayed) != 0 || (!obituaries_.empty() && obituaries_.contains(e.offset));
  if (leaves_something) {
    facts_[facts_of(i)].fate = fate;
    settle(i);
    return;
  }
  dirty_ = true;
  LaneState& l = lanes_[lane];
  if (l.slow) {
    e.state = State::kFinished;
    release_bytes(e);
    drop_facts(e);
    return;
  }
  BARTLEBY_ASSERT(l.head == i);
  window_.set(e.offset, fate == Fate::kSkip ? Mark::kSkipped : Mark::kHandled);
  l.head = e.next;
  l.current = e.next;
  if (l.head == kNone) l.tail = kNone;
  --l.count;
  if (e.slot != kNone) l.bytes -= e.size;
  free_entry(i);
}

void PartitionEngine::settle(std::uint32_t i) {
  make_slow(entries_[i].lane);
  entries_[i].state = State::kSettling;
  // What it leaves behind does not need them, unless that is the outcome of a replay: its header names the letter.
  if ((entries_[i].record_flags & kReplayed) == 0) release_bytes(entries_[i]);
  add_pending(i);
}

void PartitionEngine::failed(std::uint32_t i, const Ending& o) {
  const RetryPolicy& policy = shared_.config.cases[entries_[i].case_id];
  const Kind kind = o.fate == Fate::kReject && !is_final(o.kind) ? Kind::kPermanent : o.kind;
  const Now now = shared_.now;
  if (!is_final(kind)) {
    Duration longest = shared_.config.guard ? shared_.config.guard->hold_max : Duration(0);
    if (traits_.retention)
      longest = std::min(longest, std::max(Duration(0), (entries_[i].timestamp + *traits_.retention - now.wall) / 2));
    if (size_between(entries_[i], log_end_, 5)) longest = Duration(0);
    const bool again = entries_[i].facts != kNone &&
                       (facts_[entries_[i].facts].attempts > 0 || facts_[entries_[i].facts].throttled_ms > 0);
    if (shared_.guard.failed(kind, ref_, entries_[i].offset, again, now, longest))
      shared_.alarm(AlarmType::kGuardOpened, ref_, entries_[i].offset);
  } else {
    shared_.guard.probe_gone();
  }
  if (shared_.guard.open() && !is_final(kind) && !mutant(Mutant::kOpenGuardCountsAttempts)) {
    shared_.free_story(o.story);
    return;  // nobody's fault: it goes back to the queue, no attempt counted
  }
  Facts& f = facts_[facts_of(i)];
  shared_.free_story(f.story);
  f.story = o.story;
  f.kind = kind;
  f.last_failure = f.attempts == 0 && f.throttled_ms == 0 ? now.wall : std::max(now.wall, f.first_failure);
  if (f.first_failure == Timestamp{}) f.first_failure = now.wall;
  const Duration asked = std::min(o.after.value_or(Duration(0)), policy.max_retry_after);
  if (kind == Kind::kThrottled) {
    const Duration wait = std::max(o.after ? asked : policy.delay(1, shared_.random), kLeastThrottle);
    if (Duration(f.throttled_ms) + wait <= policy.max_retry_after) {
      f.throttled_ms += static_cast<std::uint32_t>(wait.count());
      wait_for(i, wait);
      return;
    }
  }
  if (f.attempts < kMostAttempts) ++f.attempts;
  if (is_final(kind) ||
      f.attempts >= std::min(policy.attempts_for(kind), kMostAttempts) + (mutant(Mutant::kOneAttemptMore) ? 1 : 0)) {
    Reason reason = Reason::kExhausted;
    if (is_final(kind))
      reason = kind == Kind::kMalformed ? Reason::kMalformed : kind == Kind::kSecurity ? Reason::kSecurity : o.reason;
    doom(i, reason);
    if (entries_[i].slot != kNone)
      die(i, reason);
    else
      make_slow(entries_[i].lane);  // its bytes are read again first; `advance` sees to that
    return;
  }
  const Duration wait = std::max(policy.delay(f.attempts, shared_.random), asked);
  wait_for(i, wait);
}

// Its next attempt is `wait` away; first the journal must know.
void PartitionEngine::wait_for(std::uint32_t i, Duration wait) {
  Facts& f = facts_[entries_[i].facts];
  f.due = shared_.now.wall + wait;
  f.due_steady = shared_.now.steady + wait;
  if (shared_.config.key_policy == KeyPolicy::kBypass) f.self = true;
  make_slow(entries_[i].lane);
  entries_[i].state = State::kFailed;
  add_pending(i);
}

void PartitionEngine::doom(std::uint32_t i, Reason reason) {
  facts_[facts_of(i)].reason = reason;
  entries_[i].flags |= kDoomed;
}

void PartitionEngine::die(std::uint32_t i, Reason reason) {
  Facts& f = facts_[facts_of(i)];
  f.reason = reason;
  make_slow(entries_[i].lane);
  if (f.first_failure == Timestamp{}) f.first_failure = f.last_failure = shared_.now.wall;
  if (shared_.config.dead_letters) {
    entries_[i].state = State::kDying;
    add_pending(i);
    return;
  }
  if (shared_.config.drop) {
    ++shared_.counters.dropped;
    entries_[i].state = State::kSettling;
    f.fate = Fate::kSkip;
    entries_[i].flags |= kSkipped;
    add_pending(i);
    return;
  }
  f.self = true;
  f.with_record = f.with_record || (reason == Reason::kExpiring && entries_[i].slot != kNone);
  entries_[i].state = State::kFailed;
  add_pending(i);
}

void PartitionEngine::add_pending(std::uint32_t i) {
  Entry& e = entries_[i];
  if (e.flags & kPending) return;
  e.flags |= kPending;
  if (mutant(Mutant::kEntryErasedBeforeVerdict)) {
    Facts& f = facts_[e.facts];
    if (e.state != State::kFailed && f.has_live) strays_.push_back({entry_of(e), f.live});
    f.has_live = f.has_live && e.state == State::kFailed;
    place(e.lane);
  }
  if (items_since_ == kNever) items_since_ = shared_.now.steady;
  pending_.push_back(i);
}

void PartitionEngine::park(std::uint32_t i) {
  entries_[i].state = State::kParked;
  if (entries_[i].flags & kReserve) release_bytes(entries_[i]);  // the reserve is for those that are due
  timers_.add(entries_[i].facts, shared_.now.steady);
}

// Its failure is in the journal; now it may wait, and its lane may know.
void PartitionEngine::parked_durably(std::uint32_t i) {
  const std::uint32_t f = entries_[i].facts;
  if (entries_[i].flags & kDoomed) {  // dead letters are off
    move_to_solo(i);
    facts_[f].decided = true;
    entries_[i].state = State::kKept;
    entries_[i].flags &= static_cast<std::uint8_t>(~kDoomed);
    ++kept_;
    release_bytes(entries_[i]);
    shared_.alarm(AlarmType::kExhaustedKept, ref_, entries_[i].offset);
    return;
  }
  entries_[i].state = State::kQueued;
  const std::uint32_t lane = facts_[f].self ? move_to_solo(i) : entries_[i].lane;
  advance(lane);
}

void PartitionEngine::due_timers() {
  timers_.advance(shared_.now.steady, [this](std::uint32_t f) {
    const std::uint32_t i = facts_[f].entry;
    entries_[i].state = State::kQueued;
    due_.push_back(entries_[i].lane);
  });
  for (const std::uint32_t lane : due_) advance(lane);
  due_.clear();
}

void PartitionEngine::order(const ParkedOrder& o) {
  // Nothing begins any more while it is handed over, but what is given up is given up: the next owner reads it.
  const bool gives_up = o.what == ParkedOrder::What::kGiveUp;
  if (phase_ != Phase::kRunning && !(phase_ == Phase::kDraining && gives_up)) return;
  std::vector<std::uint32_t> chosen;
  each_slow([&](std::uint32_t lane) {
    const std::uint32_t i = lanes_[lane].current;
    if (i == kNone) return;
    const Entry& e = entries_[i];
    // What is kept though it is exhausted was given up already, and its journal may have the only copy of it.
    const bool again = phase_ == Phase::kDraining && !shared_.config.dead_letters && !shared_.config.drop;
    const bool waits = e.state == State::kParked || (e.state == State::kKept && !again);
    if (waits && (!o.offset || *o.offset == e.offset) && (!o.kind || *o.kind == facts_[e.facts].kind))
      chosen.push_back(i);
  });
  for (const std::uint32_t i : chosen) {
    Facts& f = facts_[entries_[i].facts];
    if (entries_[i].state == State::kKept)
      --kept_;
    else
      timers_.remove(entries_[i].facts);
    entries_[i].state = State::kQueued;
    f.due_steady = shared_.now.steady;
    if (o.what == ParkedOrder::What::kRunNow)
      f.decided = f.lost = false;  // what retention took is looked for once more, or it would be ready without bytes
    else
      doom(i, Reason::kGivenUp);
    if (phase_ == Phase::kDraining)
      die(i, Reason::kGivenUp);
    else
      advance(entries_[i].lane);
  }
}

}  // namespace bartleby
