// The state in words. Every sentence is read off what the engine itself decides by, never off a copy of it: what
// people are told cannot differ from what happens.
//
// A message that waits is looked for through the lanes, not by its offset: a number of the slab that was freed keeps
// its last contents, and only what is linked in its lane is alive.
#include "engine/explain.h"

#include <algorithm>

namespace bartleby {
namespace {

constexpr std::size_t kPins = 10;

std::string in_words(Duration d) {
  const std::int64_t s = std::max<std::int64_t>(0, (d.count() + 999) / 1000);
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3600) return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  return std::to_string(s / 3600) + " h " + std::to_string(s % 3600 / 60) + " min";
}

std::string phase_text(Phase phase) {
  switch (phase) {
    case Phase::kReadStable:
    case Phase::kReadUnstable:
      return "is being taken over: waits for the committed offsets";
    case Phase::kFencing:
      return "is being taken over: shuts out the last writer, whose transaction is pending";
    case Phase::kReadLog:
      return "is being taken over: asks where the log begins and ends";
    case Phase::kReadJournal:
      return "is being taken over: reads the journal";
    case Phase::kClaiming:
      return "is being taken over: writes its claim";
    case Phase::kDraining:
    case Phase::kReleasing:
      return "is being handed over";
    case Phase::kRefused:
      return "was not started: its commit metadata is not ours, or of a newer version";
    case Phase::kRunning:
      break;
  }
  return "runs";
}

}  // namespace

// Knows the partition's inside; nothing else does.
class Explainer {
 public:
  Explainer(const Engine& engine, const PartitionEngine& p, Instant now) : engine_(engine), p_(p), now_(now) {}

  Pin pin(const Entry& e, const LaneState& l) const {
    Pin pin{.offset = e.offset, .lane = std::nullopt, .state = state_text(e), .kind = {}, .due_in = std::nullopt};
    if (!(e.record_flags & kKeyless)) pin.lane = l.hash;
    pin.slot = e.slot;
    pin.max_attempts = engine_.config().cases[e.case_id].max_attempts;
    if (e.facts == kNone) return pin;
    const Facts& f = p_.facts_[e.facts];
    pin.attempt = f.attempts + (e.state == State::kDying || e.state == State::kKept ? 0u : 1u);
    if (f.first_failure != Timestamp{}) pin.kind = f.kind;
    pin.max_attempts = engine_.config().cases[e.case_id].attempts_for(f.kind);
    pin.story = f.story;
    if (e.state == State::kParked) pin.due_in = std::max(Duration(0), f.due_steady - now_);
    return pin;
  }

  std::string state_text(const Entry& e) const {
    switch (e.state) {
      case State::kQueued:
        if (p_.lanes_[e.lane].suspect) return "waiting to run alone: it may have ended a process";
        return p_.lanes_[e.lane].current == kNone || &p_.entries_[p_.lanes_[e.lane].current] == &e ? ready_text()
                                                                                                   : "held";
      case State::kRunning:
        return "running";
      case State::kFetching:
        if (e.serial != 0) return "being read again from the log";
        return now_ < p_.fetch_retry_at_ ? "to be read again; its log does not answer, or ends before it"
                                         : "waiting for memory, to be read again from the log";
      case State::kFailed:
        return journal_rests() ? "failed; its journal does not take that down"
                               : "failed a moment ago; that is being written down";
      case State::kParked:
        return "parked";
      case State::kKept:
        return "kept: exhausted, and dead letters are off";
      case State::kDying:
        if (p_.shared_.suspended({DestinationType::kDlq, p_.dlq_})) return "dying; its dlq does not take letters";
        return journal_rests() ? "dying; its journal does not take that down" : "dying";
      case State::kSettling:
        if (p_.suspended_for(e)) return "succeeded; a topic that it writes to does not take records";
        return journal_rests() ? "succeeded; its journal does not take that down"
                               : "succeeded; what it leaves behind is not written yet";
      case State::kFinished:
        return "finished, behind one of its key that is not";
    }
    BARTLEBY_UNREACHABLE();
  }

  bool journal_rests() const { return p_.shared_.suspended(p_.journal_destination()); }

  // What begins next, and what it waits for.
  std::string ready_text() const {
    if (engine_.suspect_runs()) return "ready; one that may have ended a process runs alone";
    if (engine_.makes_way()) return "ready; one that may have ended a process is to run alone first";
    if (engine_.running() < engine_.config().concurrency) return "ready";
    return "ready; all handlers are busy: the worker runs " + std::to_string(engine_.config().concurrency) + " at once";
  }

  std::string sentence(const Pin& pin) const {
    std::string text = "offset " + std::to_string(pin.offset.v);
    if (pin.due_in)
      return text + " waits for attempt " + std::to_string(pin.attempt) + " of " + std::to_string(pin.max_attempts) +
             " in " + in_words(*pin.due_in);
    const bool has = pin.state.starts_with("failed") || pin.state.starts_with("succeeded");
    return text + (has ? " has " : " is ") + pin.state;
  }

  std::string hand_over() const {
    if ((p_.phase_ == Phase::kDraining && p_.runs_ > 0) || p_.waits_for_orphans()) return "waits for running handlers";
    if (engine_.in_doubt()) return "waits until it is known whether a write was done, of which there was no answer";
    if (p_.cut_) return "waits for the answer to a write";
    if (engine_.writing()) return "waits for the answer to a write of other partitions";
    return p_.phase_ == Phase::kReleasing ? "makes its last write" : "waits for what it has to write";
  }

  Explanation partition() const {
    Explanation x{.answer = {}, .pinned_by = {}, .committed = p_.low_, .high = p_.high_, .frontier = p_.window_.end()};
    if (p_.phase_ != Phase::kRunning) {
      const bool left_behind = p_.phase_ == Phase::kRefused && p_.handing_over();  // it was about to begin anew
      x.answer = "the partition " + phase_text(left_behind ? Phase::kDraining : p_.phase_);
      if (left_behind || p_.phase_ == Phase::kDraining || p_.phase_ == Phase::kReleasing)
        x.answer += ": " + hand_over();
      return x;
    }
    std::size_t room = kPins;
    const auto add = [&](Offset from, std::uint32_t lane) {
      const LaneState& l = p_.lanes_[lane];
      if (l.head != kNone)
        x.pinned_by.push_back(pin(p_.entries_[l.head], l));
      else
        x.pinned_by.push_back({.offset = from,
                               .lane = l.hash,
                               .state = p_.lacks_room_ ? "waiting for memory, to be read again from the log"
                                                       : "to be read again from the log",
                               .kind = {},
                               .due_in = std::nullopt});
      return x.pinned_by.size() < room;
    };
    p_.listed_.walk(add);
    room += x.pinned_by.size();
    p_.order_.walk(add);
    if (p_.window_.open() > 0) {
      const Offset o = p_.window_.next_open(Offset(p_.window_.base().v - 1));
      const Entry& e = p_.entries_[p_.window_.entry(o)];
      x.pinned_by.push_back(pin(e, p_.lanes_[e.lane]));
    }
    std::ranges::sort(x.pinned_by, {}, &Pin::offset);
    if (x.pinned_by.size() > kPins) x.pinned_by.erase(x.pinned_by.begin() + kPins, x.pinned_by.end());
    if (x.pinned_by.empty()) {
      x.answer = p_.waits_for_journal() ? "" : "nothing holds the commit: ";
      x.answer += "everything up to " + std::to_string(x.frontier.v) + " is finished";
    } else {
      x.answer =
          sentence(x.pinned_by.front()) + "; it holds the commit at " + std::to_string(x.pinned_by.front().offset.v);
    }
    if (p_.waits_for_journal())
      x.answer += ". Nothing is committed: its journal must let go of entries first, and takes nothing";
    x.answer += intake();
    return x;
  }

  std::optional<Explanation> message(Offset offset) const {
    Explanation x = partition();
    for (std::uint32_t i = 0; i < p_.entries_.capacity(); ++i) {
      const Entry& e = p_.entries_[i];
      if (e.offset != offset || e.lane == kNone || !linked(i)) continue;
      const LaneState& l = p_.lanes_[e.lane];
      const Pin found = pin(e, l);
      x.answer = sentence(found);
      if (l.current != kNone && p_.entries_[l.current].offset < offset)
        x.answer += ", behind " + sentence(pin(p_.entries_[l.current], l));
      x.pinned_by = {found};
      return x;
    }
    x.pinned_by.clear();
    if (offset >= x.frontier)
      x.answer = "offset " + std::to_string(offset.v) + " has not been read yet; the frontier is " +
                 std::to_string(x.frontier.v);
    else
      x.answer =
          "offset " + std::to_string(offset.v) + " is finished, or lies in the log behind an open lane of its key";
    return x;
  }

  Explanation lane(Lane hash) const {
    Explanation x = partition();
    if (p_.phase_ != Phase::kRunning) return x;
    x.answer.clear();
    x.pinned_by.clear();
    std::size_t more = 0;
    bool in_log = false;
    const auto add = [&](std::uint32_t lane) {
      const LaneState& l = p_.lanes_[lane];
      in_log = in_log || p_.spilled(l);
      for (std::uint32_t i = l.head; i != kNone; i = p_.entries_[i].next) {
        const Entry& e = p_.entries_[i];
        if (e.state == State::kFinished || (e.record_flags & kKeyless)) continue;
        if (x.pinned_by.size() < kPins)
          x.pinned_by.push_back(pin(e, l));
        else
          ++more;
      }
    };
    if (const std::uint32_t i = p_.table_.find(hash); i != kNone) add(i);
    p_.each_slow([&](std::uint32_t lane) {  // those that have left their lane
      if (p_.lanes_[lane].solo && p_.lanes_[lane].hash == hash) add(lane);
    });
    std::ranges::sort(x.pinned_by, {}, &Pin::offset);
    if (x.pinned_by.empty() && !in_log) return x;
    x.answer = x.pinned_by.empty() ? "its messages are to be read again from the log" : sentence(x.pinned_by.front());
    if (const std::size_t others = x.pinned_by.size() + more; others > 1)
      x.answer += "; " + std::to_string(others - 1) + (others == 2 ? " message" : " messages") + " of its key after it";
    if (in_log && !x.pinned_by.empty()) x.answer += "; more may lie in the log";
    x.answer += intake();
    return x;
  }

  WaitingFigures figures() const {
    WaitingFigures f;
    p_.each_slow([&](std::uint32_t lane) {
      const LaneState& l = p_.lanes_[lane];
      // What has been decided lies before the current one.
      for (std::uint32_t i = l.head; i != kNone && i != l.current; i = p_.entries_[i].next)
        f.dying += p_.entries_[i].state == State::kDying ? 1u : 0u;
      if (l.current == kNone) return;
      const Entry& e = p_.entries_[l.current];
      f.dying += e.state == State::kDying ? 1u : 0u;
      const bool waits = e.state == State::kParked || e.state == State::kKept;
      f.held_keys += waits && (e.next != kNone || p_.spilled(l)) ? 1u : 0u;
    });
    return f;
  }

  std::optional<Instant> due(std::uint32_t entry) const {
    const Entry& e = p_.entries_[entry];
    return e.facts == kNone ? std::nullopt : std::optional(p_.facts_[e.facts].due_steady);
  }

  std::vector<WaitingMessage> waiting(Now now, std::optional<Offset> offset, std::optional<Kind> kind,
                                      std::size_t limit) const {
    std::vector<WaitingMessage> found;
    p_.each_slow([&](std::uint32_t lane) {
      const std::uint32_t i = p_.lanes_[lane].current;
      if (i == kNone) return;
      const Entry& e = p_.entries_[i];
      if (e.state != State::kParked && e.state != State::kKept) return;
      const Facts& f = p_.facts_[e.facts];
      if ((offset && *offset != e.offset) || (kind && *kind != f.kind)) return;
      WaitingMessage w{.offset = e.offset,
                       .timestamp = e.timestamp,
                       .slot = e.slot,
                       .story = f.story,
                       .attempts = f.attempts,
                       .max_attempts = engine_.config().cases[e.case_id].attempts_for(f.kind),
                       .kind = f.kind,
                       .first_failure = f.first_failure,
                       .last_failure = f.last_failure,
                       .due = std::nullopt};
      if (e.state == State::kParked) w.due = now.wall + std::max(Duration(0), f.due_steady - now.steady);
      found.push_back(w);
    });
    std::ranges::sort(found, {}, &WaitingMessage::offset);
    if (found.size() > limit) found.resize(limit);
    return found;
  }

 private:
  // Numbers of freed entries keep their last contents; only what is in its lane's list is alive.
  bool linked(std::uint32_t entry) const {
    for (std::uint32_t i = p_.lanes_[p_.entries_[entry].lane].head; i != kNone; i = p_.entries_[i].next)
      if (i == entry) return true;
    return false;
  }

  std::string intake() const {
    if (engine_.writes_fail()) return ". The broker takes no writes: nothing new begins until it does";
    if (engine_.guard().open())
      return ". The outage guard is open since " + in_words(now_ - engine_.guard().since()) + ": one probe at a time";
    if (engine_.paused()) return ". The worker is paused";
    if (engine_.emits_wait())
      return ". What handlers emitted is not written yet and fills half of max_bytes: nothing new begins until it is";
    if (p_.intake_open_ || !p_.intake_known_) return "";
    if (p_.at_limit_ && p_.waiting() >= engine_.config().max_parked) {
      const std::size_t refused = p_.waiting() - p_.parked();
      std::string text = ". Intake is stopped: " + std::to_string(p_.parked()) + " messages are parked";
      if (refused > 0) text += " and " + std::to_string(refused) + " wait for a topic that takes nothing";
      return text + ", the limit";
    }
    if (p_.at_limit_)
      return ". Intake is stopped: the commit is too far behind the frontier, or half of the topic's retention is over";
    if (engine_.bytes() >= engine_.config().max_bytes - engine_.config().max_bytes / 4)
      return ". Intake waits for memory";
    return ". Intake waits for handlers";
  }

  const Engine& engine_;
  const PartitionEngine& p_;
  Instant now_;
};

std::vector<WaitingMessage> waiting_messages(const Engine& engine, PartitionRef ref, Now now,
                                             std::optional<Offset> offset, std::optional<Kind> kind,
                                             std::size_t limit) {
  const PartitionEngine* p = engine.partition(ref);
  if (p == nullptr) return {};
  return Explainer(engine, *p, now.steady).waiting(now, offset, kind, limit);
}

std::optional<Explanation> explain(const Engine& engine, PartitionRef ref, Instant now) {
  const PartitionEngine* p = engine.partition(ref);
  if (p == nullptr) return std::nullopt;
  return Explainer(engine, *p, now).partition();
}

std::optional<Explanation> explain(const Engine& engine, PartitionRef ref, Offset offset, Instant now) {
  const PartitionEngine* p = engine.partition(ref);
  if (p == nullptr) return std::nullopt;
  return Explainer(engine, *p, now).message(offset);
}

std::optional<Explanation> explain(const Engine& engine, PartitionRef ref, Lane lane, Instant now) {
  const PartitionEngine* p = engine.partition(ref);
  if (p == nullptr) return std::nullopt;
  return Explainer(engine, *p, now).lane(lane);
}

WaitingFigures waiting_figures(const Engine& engine, PartitionRef ref) {
  const PartitionEngine* p = engine.partition(ref);
  return p == nullptr ? WaitingFigures{} : Explainer(engine, *p, Instant{}).figures();
}

std::optional<Instant> due_of(const Engine& engine, const Token& token) {
  const PartitionEngine* p = engine.partition(token.ref);
  return p == nullptr ? std::nullopt : Explainer(engine, *p, Instant{}).due(token.entry);
}

}  // namespace bartleby
