// Turns: what an engine does with the events of one step, and who begins next.
//
// The order within a step matters: events first, so that what begins knows all of them; then what ended; then the
// clock; then new handlers; then intake, which counts what these hold; the write last, which carries what all of it
// decided.
//
// Suspects and ordinary work take turns of a second, because a suspect runs alone in the process. Where no suspect
// could begin in its turn, because handlers of before were still at work, turns become twice as long, up to five
// minutes: with handlers that take longer than a turn there would never be a quiet moment (docs/decisions, 22).
#include "engine/engine.h"

#include <algorithm>

#include "engine/mutants.h"

namespace bartleby {
namespace {

constexpr Duration kShortestTurn{1000};
constexpr Duration kLongestTurn{300'000};

}  // namespace

Engine::Engine(EngineConfig config) : shared_(std::move(config), spare_) {
  BARTLEBY_ASSERT(!shared_.config.cases.empty());
}

void Engine::step(std::span<const Event> events, std::span<const Completion> completions, Now now, Commands& out) {
  shared_.now = now;
  shared_.out = &out;
  for (const Event& event : events) take(event);
  for (const Completion& c : completions) take(c);
  if (shared_.guard.tick(now.steady)) shared_.alarm(AlarmType::kGuardClosed, {}, Offset(0), 1);
  for (auto& [index, p] : partitions_) p->tick();
  dispatch();
  for (auto& [index, p] : partitions_) p->update_intake();
  release_ready();
  maybe_write();
  if (stopping_ && !stopped_ && partitions_.empty() && may_leave()) {
    stopped_ = true;
    out.others.push_back(Stopped{});
  }
  shared_.out = &spare_;
}

// What became of the last write is of no use to anybody any more, but an answer shows that nothing is on its way. It is
// not waited for longer than for the last write of a partition: a broker that is gone would be waited for for ever.
bool Engine::may_leave() {
  if (!inflight_) return true;
  if (leave_at_ == kNever) leave_at_ = shared_.now.steady + kLastWrite;
  return inflight_->unknown && shared_.now.steady >= leave_at_;
}

PartitionEngine* Engine::find(PartitionRef ref) {
  const auto at = partitions_.find(ref.index);
  if (at == partitions_.end()) return nullptr;
  if (at->second->ref() != ref && !mutant(Mutant::kStaleEpochAccepted)) return nullptr;
  return at->second.get();
}

const PartitionEngine* Engine::partition(PartitionRef ref) const {
  const auto at = partitions_.find(ref.index);
  return at == partitions_.end() || at->second->ref() != ref ? nullptr : at->second.get();
}

void Engine::take(const Event& event) {
  std::visit(
      [this](const auto& in) {
        using T = std::decay_t<decltype(in)>;
        if constexpr (std::is_same_v<T, StopIn>) {
          stopping_ = true;
          for (auto& [index, p] : partitions_) p->drain();
        } else if constexpr (std::is_same_v<T, PauseIn>) {
          paused_ = in.paused;
        } else if constexpr (std::is_same_v<T, SettingsIn>) {
          BARTLEBY_ASSERT(in.settings->cases.size() == shared_.config.cases.size());
          in.settings->apply_to(shared_.config);
          if (mutant(Mutant::kSettingsRunParked))
            take(ParkedOrder{.what = ParkedOrder::What::kRunNow, .ref = {}, .offset = {}, .kind = {}});
          if (shared_.guard.set(in.settings->guard)) shared_.alarm(AlarmType::kGuardClosed, {}, Offset(0));
        } else if constexpr (std::is_same_v<T, AssignedIn> || std::is_same_v<T, RevokedIn> ||
                             std::is_same_v<T, LostIn> || std::is_same_v<T, RecordsIn> || std::is_same_v<T, ReadIn> ||
                             std::is_same_v<T, WriteIn> || std::is_same_v<T, ResolvedIn> ||
                             std::is_same_v<T, ParkedOrder>) {
          take(in);
        } else {
          PartitionEngine* p = find(in.ref);
          if (p == nullptr) {
            ++shared_.counters.stale_replies;
            if constexpr (std::is_same_v<T, JournalIn>)
              for (const JournalItem& item : in.items) shared_.free_story(item.story);
          } else if constexpr (std::is_same_v<T, EndIn>) {
            p->end_reached(in.next);
          } else if constexpr (std::is_same_v<T, OutOfRangeIn>) {
            p->out_of_range(in);
          } else if constexpr (std::is_same_v<T, OffsetsIn>) {
            p->offsets_read(in);
          } else if constexpr (std::is_same_v<T, FencedIn>) {
            p->writer_fenced(in.answered);
          } else if constexpr (std::is_same_v<T, JournalIn>) {
            p->journal_read(in);
          } else if constexpr (std::is_same_v<T, LogIn>) {
            p->log_read(in);
          }
        }
      },
      event);
}

void Engine::take(const AssignedIn& in) {
  if (partitions_.contains(in.ref.index)) remove(partitions_.at(in.ref.index)->ref());
  auto p = std::make_unique<PartitionEngine>(in.ref, in.traits, in.dlq, shared_);
  PartitionEngine& made = *p;
  partitions_[in.ref.index] = std::move(p);
  made.begin();
  if (stopping_) made.drain();
}

void Engine::take(const RevokedIn& in) {
  if (PartitionEngine* p = find(in.ref))
    p->drain();
  else
    shared_.out->others.push_back(ReleasePartition{in.ref});
}

void Engine::take(const LostIn& in) {
  if (find(in.ref) != nullptr) remove(in.ref);
}

void Engine::drop_records(std::span<const RecordRef> records) {
  ++shared_.counters.stale_replies;
  for (const RecordRef& r : records) shared_.free_slot(r.slot);
}

void Engine::take(const RecordsIn& in) {
  if (PartitionEngine* p = find(in.ref))
    p->admit(in.records);
  else
    drop_records(in.records);
}

void Engine::take(const ReadIn& in) {
  if (PartitionEngine* p = find(in.ref))
    p->range_read(in);
  else
    drop_records(in.records);
}

void Engine::take(const Completion& in) {
  suspect_running_ = false;
  // Whatever became of it: one that nobody has run says nothing, but another may be tried.
  const bool unrun = in.done == 0 && !in.last;
  if (probe_ == in.token && !(unrun && mutant(Mutant::kUnrunProbeAwaited))) probe_over();
  if (PartitionEngine* p = find(in.token.ref)) {
    p->completed(in);
    return;
  }
  if (orphans_ > 0) {
    --orphans_;
    --shared_.running;
  }
  ++shared_.counters.stale_replies;
  shared_.drop(in.last);
}

void Engine::take(const ParkedOrder& in) {
  for (auto& [index, p] : partitions_)
    if (!in.ref || *in.ref == p->ref()) p->order(in);
}

void Engine::probe_over() {
  probe_.reset();
  shared_.guard.probe_gone();
}

void Engine::remove(PartitionRef ref) {
  const auto at = partitions_.find(ref.index);
  if (at == partitions_.end()) return;
  if (probe_ && probe_->ref == at->second->ref()) probe_over();
  shared_.guard.forget(at->second->ref());
  at->second->lost();
  orphans_ += at->second->runs();
  partitions_.erase(at);
}

// A partition that has said everything it had to say, or never said anything, is handed over.
void Engine::release_ready() {
  std::vector<PartitionRef> gone;
  for (auto& [index, p] : partitions_)
    if (p->phase() == Phase::kRefused && (p->handing_over() || stopping_) && !p->waits_for_orphans())
      gone.push_back(p->ref());
  for (const PartitionRef ref : gone) {
    remove(ref);
    shared_.out->others.push_back(ReleasePartition{ref});
  }
}

// ---- who runs ------------------------------------------------------------------------------------------

void Engine::dispatch() {
  if (paused_ || partitions_.empty() || writes_fail() || emits_wait()) return;
  const auto by_turn = [this](auto&& f) {  // every partition once, beginning with another one each time
    const auto n = static_cast<std::uint32_t>(partitions_.size());
    auto at = partitions_.begin();
    std::advance(at, turn_ % n);
    ++turn_;
    for (std::uint32_t k = 0; k < n; ++k) {
      if (!f(*at->second)) return;
      if (++at == partitions_.end()) at = partitions_.begin();
    }
  };
  if (suspect_running_) return;  // it runs alone
  if (shared_.guard.open() && !mutant(Mutant::kGuardDoesNotStop)) {
    if (!shared_.guard.may_probe(shared_.now.steady)) return;
    by_turn([this](PartitionEngine& p) {
      if (!p.dispatch_probe()) return true;
      shared_.guard.probe_started(shared_.now.steady);
      probe_ = shared_.out->runs.back().token;
      return false;
    });
    return;
  }
  if (suspects_turn()) {
    if (shared_.running > 0) return;
    by_turn([this](PartitionEngine& p) {
      suspect_running_ = p.run_suspect();
      return !suspect_running_;
    });
    if (suspect_running_) {
      suspect_ran_ = true;
      return;
    }
  }
  std::uint32_t room = shared_.config.concurrency > shared_.running ? shared_.config.concurrency - shared_.running : 0;
  if (room == 0) return;
  by_turn([&](PartitionEngine& p) {
    room -= p.dispatch(room);
    return room > 0;
  });
}

// Suspects and ordinary work take turns. A turn of the suspects in which none could run, because somebody was still at
// work, was too short: the next ones are longer, until handlers as slow as these have come to their end.
bool Engine::suspects_turn() {
  if (std::ranges::none_of(partitions_, [](const auto& p) { return p.second->has_suspects(); })) {
    turn_until_ = kNever;
    return false;
  }
  const Instant now = shared_.now.steady;
  if (turn_until_ == kNever) {
    theirs_ = suspect_ran_ = false;
    turn_length_ = kShortestTurn;
    turn_until_ = now + turn_length_;
  } else if (now >= turn_until_) {
    if (theirs_) turn_length_ = suspect_ran_ ? kShortestTurn : std::min(turn_length_ * 2, kLongestTurn);
    theirs_ = !theirs_;
    suspect_ran_ = false;
    turn_until_ = now + turn_length_;
  }
  if (theirs_) return true;
  return shared_.running == 0 && std::ranges::none_of(partitions_, [](const auto& p) { return p.second->ready(); });
}

Instant Engine::next_wakeup() const {
  Instant at = shared_.guard.next_event(shared_.now.steady);
  for (const auto& [index, p] : partitions_) {
    at = std::min(at, p->next_wakeup());
    Instant write = kNever;
    if (!inflight_ && p->wants_write(write)) at = std::min(at, std::max(write, write_not_before_));
    // The turn may be over and nobody allowed to begin (a pause, an open guard): then it is looked at again in a while.
    const bool ahead = turn_until_ != kNever && turn_until_ > shared_.now.steady;
    if (p->has_suspects()) at = std::min(at, ahead ? turn_until_ : shared_.now.steady + kShortestTurn);
  }
  if (inflight_ && inflight_->unknown) at = std::min(at, inflight_->resolve_at);
  if (inflight_ && inflight_->unknown && stopping_ && !stopped_) at = std::min(at, leave_at_);
  for (const auto& [id, d] : shared_.destinations)
    if (d.suspended && !inflight_) at = std::min(at, std::max(d.suspended_until, write_not_before_));
  return at;
}

}  // namespace bartleby
