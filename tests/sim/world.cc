#include "tests/sim/world.h"

#include <algorithm>
#include <cstdio>

namespace bartleby::sim {
namespace {

const std::string kGroup = "g";
const std::string kSource = "src";

}  // namespace

World::World(const Options& options, Coverage& coverage, bool trace)
    : options_(options),
      coverage_(coverage),
      trace_(trace),
      scheduler_(options.seed),
      random_(options.seed ^ 0x5eed),
      cluster_(std::make_unique<SimCluster>(scheduler_, options.broker)),
      checker_(options_, coverage_),
      partitions_(static_cast<std::int32_t>(options.partitions)) {
  TopicSpec source{.name = kSource, .partitions = partitions_, .retention = {}, .retention_bytes = {}};
  TopicSpec journal{.name = "src.parked.g",
                    .partitions = source.partitions,
                    .compacted = true,
                    .retention = {},
                    .retention_bytes = {}};
  TopicSpec dlq{.name = "src.dlq", .partitions = 1, .retention = {}, .retention_bytes = {}};
  if (options_.has(Fault::kDlqSmall)) dlq.max_message = 1100;
  if (options_.has(Fault::kMetadataRefused))
    cluster_->faults().metadata_limit = static_cast<std::size_t>(random_.between(110, 140));
  TopicSpec out{.name = "out", .partitions = 1, .retention = {}, .retention_bytes = {}};
  TopicSpec outcomes{.name = "bartleby.outcomes", .partitions = 1, .retention = {}, .retention_bytes = {}};
  BARTLEBY_ASSERT(cluster_->ensure_topics({source, journal, dlq, out, outcomes}));
  for (std::int32_t p = 0; p < partitions_; ++p) checker_.at({kSource, Partition(p)});
  cluster_->on_write_committed([this](const std::string& writer, const Write& write) {
    const auto at = sent_.find({writer, write.serial.v});
    BARTLEBY_ASSERT(at != sent_.end());
    mix(write.serial.v);
    if (trace_) {
      std::string text = "commit " + writer + " #" + std::to_string(write.serial.v);
      for (std::size_t i = 0; i < write.offsets.size(); ++i) {
        const DecodedMetadata m = decode_metadata(as_version_1(write.offsets[i].metadata), write.offsets[i].offset);
        text += " p" + std::to_string(at->second.tps[i].partition.v) + " L" +
                std::to_string(write.offsets[i].offset.v) + " H" + std::to_string(m.metadata.high.v) +
                (is_version_2(write.offsets[i].metadata) ? " newer" : "") +
                (m.metadata.writer.empty() ? " released" : "") + " heads";
        for (const Head& h : m.metadata.heads)
          text += " " + std::to_string(h.from.v) + (h.lane ? "/" + std::to_string(h.lane->v) : "");
      }
      for (const Record& r : write.records)
        text += "\n      + " + r.topic + " " + r.key.value_or("-") + " " +
                (r.topic == "src.dlq" ? "letter" : r.value.value_or("erased"));
      say(text);
    }
    checker_.committed(writer, write, at->second, scheduler_.both());
    // What people moved must stay moved though its first owner dies as soon as it has claimed it.
    const auto moved = moved_ ? std::ranges::find(at->second.tps, *moved_) : at->second.tps.end();
    if (moved != at->second.tps.end() && random_.chance(50))
      scheduler_.after(Duration(random_.between(1, 200)), [this] {
        for (auto& p : processes_) crash(*p, std::nullopt);
      });
    if (moved != at->second.tps.end()) moved_.reset();
  });
  to_produce_ = options_.messages;
  for (std::uint32_t i = 0; i < options_.instances; ++i) {
    processes_.push_back(std::make_unique<Process>());
    processes_.back()->number = i;
  }
}

World::~World() {
  for (auto& p : processes_) {
    p->pump.reset();
    p->fragile.reset();
    p->member.reset();
  }
}

void World::say(const std::string& text) {
  if (trace_) std::printf("%8lld  %s\n", static_cast<long long>(ms(scheduler_.now())), text.c_str());
}

// ---- processes -----------------------------------------------------------------------------------------

void World::start(Process& p) {
  if (p.pump) return;
  if (scheduler_.now() < down_until_) {
    scheduler_.at(down_until_, [this, &p] { start(p); });
    return;
  }
  if (!before_joining()) {
    scheduler_.after(Duration(1000), [this, &p] { start(p); });
    return;
  }
  ++p.incarnation;
  // The deaths of the last life, before anything runs.
  for (const RecorderSlot& slot : p.recorder) {
    const JournalEntry obituary =
        Obituary{slot.offset, p.incarnation * 16 + p.number, slot.timestamp, slot.faulting, slot.alone};
    const Record record{"src.parked.g", slot.tp.partition, journal_key(obituary), journal_value(obituary, {}), {}};
    if (!write_obituary(record)) continue;
    coverage_.saw(Seen::kObituary);
    say("obituary " + *record.key + (slot.faulting ? " faulting" : "") + (slot.alone ? " alone" : ""));
  }
  p.recorder.clear();
  p.release = p.next_release;
  const std::string instance = options_.one_host ? "host" : "i" + std::to_string(p.number);
  p.member =
      cluster_->join_sim({.group = kGroup, .topics = {kSource}, .instance = instance, .session = Duration(6000)});
  p.fragile = std::make_unique<FragileMember>(*p.member, p.release, coverage_,
                                              [this, &p](const Write& w) { write_sent(p, w); });
  PumpConfig c;
  c.engine = options_.engine;
  c.engine.seed += p.incarnation * 7 + p.number;
  c.engine.adopt = c.engine.adopt || healed_;  // people have seen the alarm
  if (p.other_settings) options_.other->apply_to(c.engine);
  if (options_.has(Fault::kPolicyChange) && p.incarnation > 1)
    c.engine.key_policy = c.engine.key_policy == KeyPolicy::kHold ? KeyPolicy::kBypass : KeyPolicy::kHold;
  c.cluster = "sim";
  c.group = kGroup;
  c.worker = "w";
  c.instance = instance;
  SourceTopic topic;
  topic.journal = "src.parked.g";
  topic.dlq = {"src.dlq", 1, 400};
  if (options_.retention.count() > 0) topic.traits.retention = options_.retention;
  if (options_.retention_bytes > 0) topic.traits.retention_bytes = options_.retention_bytes;
  topic.traits.compacted = options_.has(Fault::kCompaction);
  c.topics[kSource] = topic;
  c.admit = [this](const std::string&, const LogRecord& r) { return admit(r); };
  c.replay_of = [this](const std::string&, const LogRecord& r) { return replay_of(r); };
  c.record = record_;
  p.pump = std::make_unique<Pump>(
      std::move(c), *p.fragile,
      [this, &p](const Run& run, std::span<const RunMessage> messages) { begin(p, run, messages); },
      [this, &p](const Alarm& a, const TopicPartition* tp) { alarm(p, a, tp); },
      [this, &p](PartitionRef ref) { handed_over(p, ref); });
  p.running.clear();
  p.waiting.clear();
  p.handing_over.clear();
  p.frozen = p.stopping = p.guard_was_open = p.settings_changing = false;
  p.wake = kNever;
  p.turn_planned = false;
  p.fail_times.clear();
  p.successes_since_open.clear();
  p.successes_since_turn.clear();
  p.exhausted_letters.clear();
  p.last = {};
  p.standing.clear();
  p.begun.clear();
  say("start i" + std::to_string(p.number) + " as " + p.member->transactional_id());
  p.member->on_ready([this, &p] { plan_turn(p, scheduler_.now()); });
  plan_turn(p, scheduler_.now());
}

// As the undertaker does: again until the broker says that it is there, so that it may be there twice. A topic that
// takes nothing is not waited for.
bool World::write_obituary(const Record& record) {
  constexpr int kTries = 20;
  const TopicPartition tp{record.topic, *record.partition};
  bool there = false;
  for (int i = 0; i < kTries; ++i) {
    const PartitionLog& log = cluster_->log(tp);
    const Offset before = log.high_watermark();
    const bool answered = cluster_->produce({record}).has_value();
    if (log.high_watermark() > before) {
      if (there) coverage_.saw(Seen::kObituaryTwice);
      there = true;
      checker_.produced_outside(record, scheduler_.both());
    }
    if (answered) break;
  }
  return there;
}

void World::crash(Process& p, std::optional<std::uint64_t> faulting_run) {
  if (!p.pump) return;
  say("crash i" + std::to_string(p.number));
  coverage_.saw(Seen::kCrash);
  if (p.member->write_in_flight()) coverage_.saw(Seen::kCrashInWrite);
  for (const Running& r : p.running) {
    const LogRecord& record = *r.messages[r.at];
    const bool culprit = faulting_run == r.number;
    // Most deaths are faults with a signal; the others leave no mark.
    const bool faulting = culprit && random_.chance(70);
    const bool alone = r.run.alone;
    p.recorder.push_back({r.tp, record.offset, record.timestamp, faulting, alone});
    checker_.process_died(r.tp, record.offset, faulting || alone);
  }
  cluster_->kill(*p.member);
  p.pump.reset();
  p.fragile.reset();
  p.member.reset();
  p.running.clear();
  p.thawing.clear();
  p.frozen = false;
  ++p.incarnation;
  last_crash_ = scheduler_.now();
  scheduler_.after(Duration(random_.between(10, healed_ ? 500 : 8000)), [this, &p] { start(p); });
}

void World::stop(Process& p) {
  if (!p.pump || p.frozen || p.stopping) return;
  say("stop i" + std::to_string(p.number));
  p.stopping = true;
  p.pump->tell(StopIn{});
  plan_turn(p, scheduler_.now());
}

// One turn at a time; an earlier wish moves it forward.
void World::plan_turn(Process& p, Instant when) {
  if (!p.pump || (p.turn_planned && p.wake <= when)) return;
  p.wake = when;
  p.turn_planned = true;
  scheduler_.at(when, [this, &p, incarnation = p.incarnation, when] {
    if (p.incarnation != incarnation || !p.pump || !p.turn_planned || p.wake != when) return;
    p.turn_planned = false;
    if (p.frozen)
      p.thawing.push_back([this, &p] { plan_turn(p, scheduler_.now()); });
    else
      turn(p);
  });
}

void World::turn(Process& p) {
  p.guard_gave_up = false;
  for (const std::uint32_t id : p.successes_since_turn) p.fail_times.push_back({id, scheduler_.now()});
  const Engine& engine = p.pump->engine();
  const std::uint64_t held = engine.bytes() - engine.emitted_bytes() + engine.bytes_being_read();
  const bool closed = !p.member->reading();
  try {
    p.pump->turn(scheduler_.both());
  } catch (const CrashNow&) {
    coverage_.saw(Seen::kCrashMidCommands);
    crash(p, std::nullopt);
    return;
  }
  watch_guard(p);
  for (const auto& [ref, tp] : p.pump->partitions())
    if (const PartitionEngine* e = p.pump->engine().partition(ref); e != nullptr && e->handing_over())
      p.handing_over.try_emplace(ref, scheduler_.now());
  const EngineCounters& c = p.pump->engine().counters();
  coverage_.saw(Seen::kSweep, c.sweeps - p.last.sweeps);
  coverage_.saw(Seen::kReadAgain, c.reads - p.last.reads);
  coverage_.saw(Seen::kEvicted, c.evictions - p.last.evictions);
  coverage_.saw(Seen::kStaleReply, c.stale_replies - p.last.stale_replies);
  coverage_.saw(Seen::kResolvedDone, c.resolved_done - p.last.resolved_done);
  coverage_.saw(Seen::kResolvedNot, c.resolved_not_done - p.last.resolved_not_done);
  p.last = c;
  if (p.pump->engine().writes_fail()) coverage_.saw(Seen::kWritesFail);
  if (p.pump->engine().emits_wait()) coverage_.saw(Seen::kEmitsWait);
  const EngineConfig& e = options_.engine;
  const std::uint64_t bytes = p.pump->engine().bytes();
  if (bytes > e.max_bytes + 90 * 1024) checker_.fail("more in memory than the budget and a fetch");
  // While nothing is read, the budget may be passed by the one message that is reserved for a due head. What was being
  // read had its room when it was asked for, and what is emitted meanwhile may take that.
  const std::uint64_t emitted = p.pump->engine().emitted_bytes();
  if (closed && bytes - emitted > std::max(held, e.max_bytes) + largest_)
    checker_.fail("more in memory than the reserve");
  // Who runs when that share is full may still emit.
  const std::uint64_t at_work =
      std::uint64_t{500} * std::max(e.concurrency, options_.other ? options_.other->concurrency : 0);
  if (emitted > e.max_bytes / 2 + at_work) checker_.fail("more emitted than its share of the memory");
  if (p.pump->failed()) {
    say("member failed i" + std::to_string(p.number));
    crash(p, std::nullopt);
    return;
  }
  if (p.pump->stopped()) {
    say("stopped i" + std::to_string(p.number));
    coverage_.saw(Seen::kCleanStop);
    if (p.pump->engine().writing() && !p.pump->engine().in_doubt()) checker_.fail("stopped with a write in flight");
    if (p.pump->slots_in_use() != 0) checker_.fail("messages left in memory after a stop");
    if (p.pump->stories_in_use() != 0) checker_.fail("stories left in memory after a stop");
    if (p.pump->emits_in_use() != 0 && p.running.empty()) checker_.fail("emitted records left in memory after a stop");
    p.member->leave();
    p.pump.reset();
    p.fragile.reset();
    p.member.reset();
    p.running.clear();
    p.recorder.clear();
    ++p.incarnation;
    if (!healed_ || !finished()) scheduler_.after(Duration(random_.between(10, 5000)), [this, &p] { start(p); });
    return;
  }
  const Instant next = p.pump->next_wakeup();
  if (next != kNever) plan_turn(p, std::max(next, scheduler_.now()));
}

void World::in_process(Process& p, Duration wait, std::function<void(Process&)> task) {
  scheduler_.after(wait, [&p, incarnation = p.incarnation, task = std::move(task)]() mutable {
    if (p.incarnation != incarnation || !p.pump) return;
    if (p.frozen)
      p.thawing.push_back([&p, incarnation, task = std::move(task)] {
        if (p.incarnation == incarnation && p.pump) task(p);
      });
    else
      task(p);
  });
}

// A handler that still runs would be told to nobody: the next owner runs its message again.
void World::handed_over(Process& p, PartitionRef ref) {
  // Else it begins anew, or is lost.
  const bool leaves = p.pump->where(ref) != nullptr && p.pump->engine().partition(ref) == nullptr;
  for (Running& r : p.running)
    if (r.run.token.ref == ref && !leaves) r.left_behind = true;
  const std::size_t gone = std::erase_if(p.waiting, [&](const Running& r) {
    if (r.run.token.ref == ref) p.pump->handled({r.run.token, 0, std::nullopt});
    return r.run.token.ref == ref;
  });
  if (gone > 0) plan_turn(p, scheduler_.now());
  // Lost, now or before: the engine does not know yet, or there is nothing any more to hand over.
  if (p.pump->where(ref) == nullptr || p.pump->engine().partition(ref) != nullptr) return;
  const auto since = p.handing_over.find(ref);
  const Instant began = since == p.handing_over.end() ? scheduler_.now() : since->second;
  const bool waited = scheduler_.now() - began >= p.pump->engine().config().drain;
  const auto runs = [&](const Running& r) { return r.run.token.ref == ref; };
  if (!waited && std::ranges::any_of(p.running, runs)) checker_.fail("handed over while a handler runs");
}

void World::write_sent(Process& p, const Write& w) {
  mix(static_cast<std::uint64_t>(ms(scheduler_.now())));
  for (const OffsetToCommit& o : w.offsets) {
    mix(static_cast<std::uint64_t>(o.offset.v));
    mix(hash64(o.metadata));
  }
  for (const Record& r : w.records) {
    mix(hash64(r.topic));
    mix(hash64(r.key.value_or("")));
    mix(hash64(r.value.value_or("")));
  }
  std::vector<TopicPartition> tps;
  for (const OffsetToCommit& o : w.offsets) tps.push_back(*p.pump->where(o.ref));
  sent_[{p.member->transactional_id(), w.serial.v}] = {std::move(tps), ++seq_, p.release};
  const OutageGuard& guard = p.pump->engine().guard();
  const auto bounds = options_.guard_bounds();
  if (!guard.open() || !bounds) return;
  if (!p.guard_was_open) p.exhausted_letters.clear();  // it opened in this very turn
  for (const Record& r : w.records) {
    if (r.topic != "src.dlq") continue;
    bool exhausted = false;
    std::uint32_t offset = 0;
    for (const auto& [name, value] : r.headers) {
      if (name == "bartleby-reason") exhausted = value == "EXHAUSTED";
      if (name == "bartleby-offset") offset = static_cast<std::uint32_t>(std::stoul(*value));
    }
    if (exhausted) p.exhausted_letters.insert(offset);
  }
  const auto windows = static_cast<std::uint64_t>((scheduler_.now() - guard.since()) / bounds->shortest) + 1;
  if (p.exhausted_letters.size() > windows * bounds->letters && !p.stopping)
    checker_.fail("too many letters while the guard is open");
}

void World::watch_guard(Process& p) {
  const bool open = p.pump->engine().guard().open();
  if (open && !p.guard_was_open) {
    coverage_.saw(Seen::kGuardOpened);
    std::set<std::uint32_t> different;
    const auto bounds = options_.guard_bounds();
    for (const auto& [id, at] : p.fail_times)
      if (scheduler_.now() - at <= bounds->longest) different.insert(id);
    // A refused emitted record is a failure that no handler saw.
    if (different.size() < bounds->of && !options_.has(Fault::kEmitDenied))
      checker_.fail("the guard opened on too few different messages");
    // The turn that opened it may have heard of successes after that: of a refused record the write tells first.
    p.successes_since_open = p.successes_since_turn;
    p.exhausted_letters.clear();
  }
  p.guard_was_open = open;
  p.settings_changing = false;
  p.successes_since_turn.clear();
}

void World::alarm(Process& p, const Alarm& a, const TopicPartition* tp) {
  if (trace_)
    say("alarm " + std::to_string(static_cast<int>(a.type)) + " i" + std::to_string(p.number) + " offset " +
        std::to_string(a.offset.v) + " " + std::to_string(a.number));
  switch (a.type) {
    case AlarmType::kGuardClosed:
      if (a.number == 1) {
        coverage_.saw(Seen::kGuardGaveUp);
        p.guard_gave_up = true;
      } else if (!p.settings_changing) {  // else people may have turned it off, and on again since
        coverage_.saw(Seen::kGuardClosed);
        if (p.successes_since_open.size() < 2) checker_.fail("the guard closed after one success");
      }
      break;
    case AlarmType::kLimitParked:
    case AlarmType::kLimitWindow:
      coverage_.saw(Seen::kLimit);
      break;
    case AlarmType::kMetadataRefused:
      coverage_.saw(Seen::kMetadataRefused);
      break;
    case AlarmType::kExhaustedKept:
      coverage_.saw(Seen::kKept);
      break;
    case AlarmType::kStaleEntry:
      coverage_.saw(Seen::kStaleEntry);
      break;
    case AlarmType::kTopicMadeAnew:
      coverage_.saw(Seen::kMadeAnew);
      if (tp != nullptr) checker_.told_of(*tp, Offset(0), kNoOffset);  // what it had and has not any more
      break;
    case AlarmType::kOffsetReset:
      coverage_.saw(Seen::kOffsetReset);
      if (tp == nullptr) break;
      if (const Watched& w = checker_.at(*tp);
          w.added && !w.begun && !w.excused && w.journal.empty() && cluster_->log(*tp).start() == Offset(0))
        checker_.fail("an added partition is called an incident");
      checker_.told_of(*tp, Offset(0), cluster_->log(*tp).start());
      // Told by a takeover it has not begun anew. (That the log is said to be shorter may be over by now.)
      if (const PartitionEngine* e = p.pump->engine().partition(a.ref);
          e == nullptr || e->phase() != Phase::kReadStable)
        break;
      coverage_.saw(Seen::kBeganAnew);
      checker_.began_anew(*tp);
      break;
    case AlarmType::kNewerMetadata:
      coverage_.saw(Seen::kNewerRefused);
      break;
    case AlarmType::kForeignMetadata:
      coverage_.saw(Seen::kForeign);
      break;
    case AlarmType::kDamagedMetadata:
      coverage_.saw(Seen::kDamaged);
      break;
    case AlarmType::kLostByRetention:
      if (tp != nullptr)
        checker_.told_of(*tp, a.offset, std::max(next(a.offset), Offset(static_cast<std::int64_t>(a.number))));
      break;
    default:
      break;
  }
}

}  // namespace bartleby::sim
