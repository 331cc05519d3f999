// The handlers of the simulated worker: what a message does is a function of the seed and its number.
#include <algorithm>

#include "tests/sim/world.h"

namespace bartleby::sim {
namespace {

std::uint32_t id_of(const LogRecord& record) {
  return static_cast<std::uint32_t>(std::stoul(record.value->substr(0, 8)));
}

}  // namespace

Script World::script_of(std::uint32_t id) const {
  Random r(options_.seed * 1000003 + id);
  Script s;
  s.case_id = static_cast<std::uint16_t>(r.below(2));
  s.takes = Duration(options_.has(Fault::kSlow) && r.chance(10) ? r.between(100, 20000) : r.between(0, 20));
  if (r.chance(25)) s.fails = static_cast<std::uint32_t>(r.between(1, 3));
  if (options_.has(Fault::kPoison) && r.chance(8)) s.fails = 1000;
  if (options_.has(Fault::kReject) && r.chance(5)) s.reject = true;
  if (options_.has(Fault::kEmit) && r.chance(25)) s.emit = true;
  if (options_.has(Fault::kSkip) && r.chance(15)) s.skip = true;
  if (options_.has(Fault::kMalformed) && r.chance(5)) s.malformed = true;
  if (options_.has(Fault::kReplay) && r.chance(10)) s.replayed = true;
  if (options_.has(Fault::kThrottle) && r.chance(10)) s.throttles = static_cast<std::uint32_t>(r.between(1, 6));
  if (options_.has(Fault::kCrashPoison) && r.chance(3))
    s.crashes = r.chance(50) ? 1000 : static_cast<std::uint32_t>(r.between(1, 4));
  constexpr std::array kinds = {Kind::kTransient, Kind::kTimeout, Kind::kUnavailable, Kind::kConfig};
  s.kind = kinds[r.below(kinds.size())];
  if (options_.has(Fault::kUnrun) && r.chance(10)) s.unrun = static_cast<std::uint32_t>(r.between(1, 3));
  s.emit_bytes = options_.has(Fault::kLargeEmits) ? r.below(400) : 0;
  return s;
}

Admission World::admit(const LogRecord& record) const {
  const Script s = script_of(id_of(record));
  Admission a;
  a.case_id = s.case_id;
  a.skip = s.skip;
  if (s.malformed && !s.skip) a.refuse = Reason::kMalformed;
  return a;
}

std::optional<ReplayMark> World::replay_of(const LogRecord& record) const {
  if (!record.value || record.value->size() < 8) return std::nullopt;  // retention took its bytes
  const std::uint32_t id = id_of(record);
  const Script s = script_of(id);
  if (!s.replayed || s.skip) return std::nullopt;
  const std::string name = std::to_string(id);
  return ReplayMark{.operation = "op", .letter = "ltr_" + name, .lineage = name, .replays = 1, .group = "g", .at = {}};
}

World::Running* World::find(Process& p, std::uint64_t number) {
  const auto at = std::ranges::find(p.running, number, &Running::number);
  return at == p.running.end() ? nullptr : &*at;
}

void World::begin(Process& p, const Run& run, std::span<const RunMessage> messages) {
  Running r{.run = run, .messages = {}, .tp = *messages[0].tp, .number = ++last_running_, .begun = scheduler_.now()};
  for (const RunMessage& m : messages) r.messages.push_back(m.keep());
  if (messages.size() > 1) coverage_.saw(Seen::kStretch);
  const PartitionEngine* partition = p.pump->engine().partition(run.token.ref);
  if (partition == nullptr || partition->handing_over())
    checker_.fail("a handler begins though its partition is being handed over");
  for (const Running& other : p.running) {
    if (other.run.alone) checker_.fail("somebody runs beside a suspect");
    const LogRecord& theirs = *other.messages[other.at];
    if (other.tp == r.tp && theirs.offset == r.messages[0]->offset && other.run.token.ref == run.token.ref &&
        !other.left_behind)
      checker_.fail("attempts of one message overlap");
  }
  ++p.begun[run.token.ref];
  p.last_begun = scheduler_.now();
  set_off(p, std::move(r));
}

// As the runner does it: not beside an attempt that was left behind at one of its messages.
void World::set_off(Process& p, Running r) {
  const auto is_at = [&](const Running& other) {
    return other.left_behind && other.tp == r.tp && std::ranges::any_of(r.messages, [&](const auto& m) {
             return m->offset == other.messages[other.at]->offset;
           });
  };
  if (std::ranges::any_of(p.running, is_at)) {
    coverage_.saw(Seen::kLeftBehind);
    p.waiting.push_back(std::move(r));
    return;
  }
  const std::uint64_t number = r.number;
  p.running.push_back(std::move(r));
  next_message(p, number);
}

void World::next_message(Process& p, std::uint64_t number) {
  Running& r = *find(p, number);
  const LogRecord& record = *r.messages[r.at];
  const std::uint32_t id = id_of(record);
  mix(id);
  say("run i" + std::to_string(p.number) + " p" + std::to_string(r.tp.partition.v) + ":" +
      std::to_string(record.offset.v) + " attempt " + std::to_string(r.run.attempt) + (r.run.alone ? " alone" : "") +
      (r.run.probe ? " probe" : ""));
  Start start{.tp = r.tp,
              .offset = record.offset,
              .attempt = r.at == 0 ? r.run.attempt : 1,
              .alone = r.run.alone,
              .probe = r.run.probe,
              .others = static_cast<std::uint32_t>(p.running.size() - 1),
              .guard_open = p.pump->engine().guard().open() && r.at == 0 && r.begun == scheduler_.now(),
              .handed_out = r.begun,
              .writer = p.member->transactional_id(),
              // What was handed out with others may begin after the drain is over and the last write is made.
              .owner = r.at == 0 && r.begun == scheduler_.now() && cluster_->owner("g", r.tp) == p.member.get()};
  if (Story* s = checker_.find(r.tp, record.offset); s != nullptr && s->timestamp == record.timestamp)
    checker_.started(start, scheduler_.both());
  const Script script = script_of(id);
  in_process(p, script.takes, [this, number](Process& owner) { end_message(owner, number); });
}

// What fails while the guard is open leaves no story, also in the turn in which the guard gives up.
bool World::uses_no_attempt(const Process& p) const {
  return p.pump && (p.pump->engine().guard().open() || p.guard_gave_up);
}

void World::end_message(Process& p, std::uint64_t number) {
  Running* found = find(p, number);
  if (found == nullptr) return;
  Running& r = *found;
  const LogRecord& record = *r.messages[r.at];
  const std::uint32_t id = id_of(record);
  const Script s = script_of(id);
  Story* story = checker_.find(r.tp, record.offset);
  if (story != nullptr && story->timestamp != record.timestamp) story = nullptr;
  const std::uint32_t attempt = r.at == 0 ? r.run.attempt : 1;
  if (crashed_[id] < s.crashes) {
    ++crashed_[id];
    crash(p, number);
    return;
  }
  if (unrun_[id] < s.unrun) {
    ++unrun_[id];
    coverage_.saw(r.run.probe ? Seen::kUnrunProbe : Seen::kUnrun);
    complete(p, number, r.at, std::nullopt);
    return;
  }
  const auto failing = [&](Kind kind, Fate fate) {
    Decision d;
    d.fate = fate;
    d.kind = kind;
    d.error = {"Error" + std::to_string(id % 3), "failed at " + std::to_string(++seq_), "frame one\nframe two"};
    return d;
  };
  if (throttled_[id] < s.throttles) {
    ++throttled_[id];
    coverage_.saw(Seen::kThrottled);
    Decision d = failing(Kind::kThrottled, Fate::kRetry);
    d.after = Duration(1000);
    if (story != nullptr) {
      story->errors.push_back(d.error);
      ++story->failures;
    }
    p.fail_times.push_back({id, scheduler_.now()});
    complete(p, number, r.at, std::move(d));
    if (story != nullptr && uses_no_attempt(p)) {
      --story->failures;
      story->errors.pop_back();
    }
    return;
  }
  const bool outage = scheduler_.now() < outage_until_;
  if (outage || s.reject || attempt <= s.fails) {
    Decision d = failing(outage     ? Kind::kUnavailable
                         : s.reject ? Kind::kPermanent
                                    : s.kind,
                         s.reject && !outage ? Fate::kReject : Fate::kRetry);
    const bool final = is_final(d.kind);
    const TopicPartition tp = r.tp;
    const PartitionRef ref = r.run.token.ref;
    const bool left_behind = r.left_behind;
    if (story != nullptr) {
      story->errors.push_back(d.error);
      ++story->failures;
    }
    p.fail_times.push_back({id, scheduler_.now()});
    complete(p, number, r.at, std::move(d));
    if (story != nullptr && uses_no_attempt(p) && !final) {
      --story->failures;
      story->errors.pop_back();
    } else if (story != nullptr && p.pump && checker_.strict(tp, p.member->transactional_id()) &&
               p.pump->where(ref) != nullptr && !left_behind) {
      story->failed_by = p.member->transactional_id();
      story->failed_in = ref.epoch;
      story->failed_seq = ++seq_;
      story->failed_attempt = attempt;
      story->passed_over = 0;
    }
    return;
  }
  if (story != nullptr) story->applied = true;
  if (s.emit) {
    Decision d;
    const std::string padding(s.emit_bytes, ' ');
    d.emit.push_back({"out", Partition(0), std::nullopt, std::to_string(id) + padding, {}});
    if (story != nullptr) story->emits = true;
    complete(p, number, r.at, std::move(d));
    return;
  }
  if (r.at + 1 < r.messages.size() && !random_.chance(10) && p.pump->where(r.run.token.ref) != nullptr &&
      !r.left_behind) {
    ++r.at;
    next_message(p, number);
    return;
  }
  complete(p, number, r.at + 1, std::nullopt);
}

// Hands the result over and lets the engine see it, at once or together with others that end soon. What fails is seen
// at once where there is a guard: whether it opens by this one is known then, and whether an attempt was used.
void World::complete(Process& p, std::uint64_t number, std::uint32_t done, std::optional<Decision> last) {
  const Running& r = *find(p, number);
  const Token token = r.run.token;
  const std::uint32_t through = done + (last && last->fate == Fate::kDone ? 1 : 0);
  for (std::uint32_t i = 0; i < through; ++i) {
    const std::uint32_t id = id_of(*r.messages[i]);
    p.successes_since_open.insert(id);
    p.successes_since_turn.insert(id);
  }
  if (checker_.strict(r.tp, p.member->transactional_id()) && p.pump->where(token.ref) != nullptr && !r.left_behind)
    for (std::uint32_t i = 0; i < through; ++i)
      if (Story* s = checker_.find(r.tp, r.messages[i]->offset)) {
        s->done_seq = ++seq_;
        s->done_by = p.member->transactional_id();
        s->done_in = token.ref.epoch;
      }
  std::erase_if(p.running, [&](const Running& each) { return each.number == number; });
  for (Running& one : std::exchange(p.waiting, {})) set_off(p, std::move(one));
  const bool judged = last && last->fate != Fate::kDone && options_.guard_bounds();
  if (p.pump->has_handled()) coverage_.saw(Seen::kTogether);
  p.pump->handled({token, done, std::move(last)});
  if (!judged && options_.has(Fault::kTogether) && random_.chance(60))
    plan_turn(p, scheduler_.now() + Duration(random_.between(0, 20)));
  else
    turn(p);
}

}  // namespace bartleby::sim
