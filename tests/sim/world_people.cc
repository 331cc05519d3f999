// What people do to the group: topics that grow, offsets that are moved, releases that change, orders and questions.
#include <algorithm>
#include <array>
#include <tuple>

#include "engine/start.h"
#include "tests/sim/world.h"

namespace bartleby::sim {
namespace {

const std::string kGroup = "g";
const std::string kSource = "src";

// The highest message that its journal says is done.
std::optional<Offset> last_done(const Watched& w) {
  std::optional<Offset> last;
  for (const auto& [key, e] : w.journal)
    if (const auto* m = std::get_if<MessageEntry>(&e.entry); m != nullptr && m->done && (!last || *last < m->offset))
      last = m->offset;
  return last;
}

}  // namespace

// An owner has said something of its own. A claim alone may hide that people moved the offset.
bool World::is_settled(const std::optional<CommittedOffset>& c) {
  if (!c) return false;
  const DecodedMetadata said = decode_metadata(as_version_1(c->metadata), *c->offset);
  return said.origin == MetadataOrigin::kOurs && said.metadata.check && said.metadata.check->count != UINT64_MAX;
}

void World::ensure_journal() {
  BARTLEBY_ASSERT(cluster_->ensure_topics({{.name = "src.parked.g",
                                            .partitions = partitions_,
                                            .compacted = true,
                                            .retention = {},
                                            .retention_bytes = {}}}));
}

// What a worker does before it subscribes: the journal gets missing partitions, and a group without any offset its
// start. False: not now.
bool World::before_joining() {
  ensure_journal();
  const auto offsets = cluster_->group_offsets(kGroup, {kSource});
  if (!offsets) return false;
  std::map<TopicPartition, StartRange> ranges;
  for (const CommittedOffset& o : *offsets) {
    const PartitionLog& log = cluster_->log(o.tp);
    StartRange range{log.start(), log.last_stable(), std::nullopt};
    for (const LogEntry& e : log.entries())
      if (!range.at_time && e.state == EntryState::kCommitted && e.record.timestamp >= start_time_)
        range.at_time = e.record.offset;
    ranges[o.tp] = range;
  }
  const auto first = first_offsets(*offsets, ranges, options_.start);
  if (first.empty()) return true;
  const bool answered = cluster_->commit_first(kGroup, first).has_value();
  const auto now = cluster_->committed(kGroup, first.front().tp);
  if (!now || !now->offset) return false;
  if (!answered) coverage_.saw(Seen::kFirstUnknown);
  for (const CommittedOffset& o : first) {
    Watched& w = checker_.at(o.tp);
    say("the group begins p" + std::to_string(o.tp.partition.v) + " at " + std::to_string(o.offset->v));
    w.low = *o.offset;
    for (auto& [offset, s] : w.stories) {
      if (offset >= w.low) break;
      if (!s.resolved()) coverage_.saw(Seen::kStartSkipped);
      s.dropped = true;
    }
  }
  return answered;
}

// Producers use it at once. The group notices a little later, and somebody may have to see to the journal first.
void World::add_partition() {
  if (partitions_ >= 4) return;
  const std::int32_t added = partitions_++;
  say("p" + std::to_string(added) + " is added");
  coverage_.saw(Seen::kPartitionAdded);
  checker_.at({kSource, Partition(added)}).added = true;
  if (random_.chance(60)) {
    ensure_journal();
  } else {
    coverage_.saw(Seen::kJournalMissing);
    scheduler_.after(Duration(random_.between(100, 15000)), [this] { ensure_journal(); });
  }
  cluster_->add_partitions(kSource, partitions_);
  for (std::uint64_t i = random_.below(4); i > 0; --i) {
    ++to_produce_;
    produce(added);
  }
}

// ---- offsets -------------------------------------------------------------------------------------------

// The group is stopped, its offset moved, the group started again: as people do it. Mostly to where a done entry would
// keep a message from running again.
void World::reset_offset() {
  for (auto& p : processes_) crash(*p, std::nullopt);
  auto& all = checker_.all();
  auto at = all.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(all.size())));
  const auto some_done = [](const auto& each) { return last_done(each.second).has_value(); };
  if (const auto other = std::ranges::find_if(all, some_done); other != all.end() && !some_done(*at)) at = other;
  down_until_ = scheduler_.now() + Duration(30000);
  scheduler_.after(Duration(29000), [this, tp = at->first] { move_offset(tp); });
}

void World::move_offset(const TopicPartition& tp) {
  Watched& w = checker_.at(tp);
  const PartitionLog& log = cluster_->log(tp);
  const auto before = cluster_->committed(kGroup, tp);
  Offset to = log.start();
  std::string text;
  if (options_.has(Fault::kOffsetLost)) {
    cluster_->drop_offset(kGroup, tp);
  } else {
    const auto done = last_done(w);
    if (options_.has(Fault::kOpenTransaction)) {  // mostly people ask for the end of the log, whoever writes there
      cluster_->open_transaction(tp);
      scheduler_.after(Duration(random_.between(100, 40000)), [this] { end_transactions(); });
    }
    const Offset most = done && random_.chance(70) ? std::max(*done, log.start()) : log.high_watermark();
    to = Offset(random_.between(log.start().v, most.v));
    if (options_.has(Fault::kOpenTransaction) && random_.chance(50)) to = log.high_watermark();
    // A tool's text says nothing of the log, so a done entry of an earlier one with the time of another message counts.
    const std::uint64_t tool = is_settled(before) && !same_time_ ? random_.below(5) : 4;
    if (tool == 0) {
      text = "moved by a tool";
      foreign_ = true;
      coverage_.saw(Seen::kForeign);
    } else if (tool == 1 && before->offset != to) {
      text = before->metadata;  // beside another offset it says nothing
    }
    cluster_->set_offset(kGroup, tp, to, text);
  }
  if (to > log.last_stable()) coverage_.saw(Seen::kBeyondStable);
  say("operator resets p" + std::to_string(tp.partition.v) + " to " + std::to_string(to.v) + " " + text);
  if (before) coverage_.saw(*before->offset > to ? Seen::kResetBack : Seen::kResetForward);
  moved_ = tp;
  w.excused = true;
  w.high.reset();
  w.low = to;
  w.newer = is_version_2(text);
  for (auto& [offset, s] : w.stories) {
    s.dropped = offset < to || s.deleted;
    // An empty text is a wish: from here on everything again. (With another one the journal is still believed.)
    if (text.empty() && offset >= to && !s.deleted) s.applied = s.dead = false;
  }
}

// The topic is deleted and made again while the workers are down. The broker forgets its offsets with it; or a write
// that was late has brought them back, and the new topic has grown, mostly as long as the old one was, before anybody
// looks.
void World::recreate(bool keeps_offsets) {
  for (auto& p : processes_) crash(*p, std::nullopt);
  down_until_ = scheduler_.now() + Duration(30000);
  scheduler_.after(Duration(29000), [this, keeps_offsets] {
    cluster_->recreate(kSource);
    for (auto& [tp, w] : checker_.all()) {
      const auto was = cluster_->committed(kGroup, tp);
      const DecodedMetadata found =
          was ? decode_metadata(as_version_1(was->metadata), *was->offset) : DecodedMetadata{};
      w.excused = true;
      w.high.reset();
      w.low = Offset(0);
      w.stories.clear();
      // What people have moved since, or have never begun, does not say of which topic it is.
      if (keeps_offsets && found.origin == MetadataOrigin::kOurs) {
        grow(tp, found.metadata.high);
      } else {
        w.newer = false;
        cluster_->drop_offset(kGroup, tp);
      }
    }
    to_produce_ += 20;
    for (int i = 0; i < 20; ++i) produce();
  });
}

// Now, or when a journal calls something done, if that comes soon.
void World::regrow(int tries) {
  if (healed_) return;
  const bool done =
      std::ranges::any_of(checker_.all(), [](const auto& each) { return last_done(each.second).has_value(); });
  if (done || tries == 0) return recreate(true);
  scheduler_.after(Duration(250), [this, tries] { regrow(tries - 1); });
}

void World::grow(const TopicPartition& tp, Offset high) {
  constexpr std::int64_t kMost = 150;  // records
  const bool past = random_.chance(75);
  const std::int64_t to = past ? high.v + random_.between(0, 10) : random_.between(0, high.v);
  if (to > kMost) cluster_->jump(tp, to - kMost);
  const bool refilled = random_.chance(80);  // from where the old one came from, with the times of then
  while (cluster_->log(tp).high_watermark() < Offset(to)) {
    const Offset at = cluster_->log(tp).high_watermark();
    ++to_produce_;
    produce(tp.partition.v);
    if (refilled) take_time_of_done(tp, at);
  }
  if (past && high > Offset(0)) coverage_.saw(Seen::kRegrown);
  say("p" + std::to_string(tp.partition.v) + " is made anew and has grown to " + std::to_string(to));
}

// The workers are down, and brokers elect who had fallen behind: the newest records are gone. Others have their numbers
// by the time anybody looks, but fewer than there were: one that has grown past H again is the same to everybody.
void World::cut_log(int tries) {
  if (healed_) return;
  if (produced_ < to_produce_) {  // what comes later would make it grow
    if (tries > 0) scheduler_.after(Duration(250), [this, tries] { cut_log(tries - 1); });
    return;
  }
  for (auto& p : processes_) crash(*p, std::nullopt);
  down_until_ = scheduler_.now() + Duration(30000);
  scheduler_.after(Duration(29000), [this] {
    for (auto& [tp, w] : checker_.all()) {
      const auto was = cluster_->committed(kGroup, tp);
      if (!is_settled(was)) continue;
      const Offset high = decode_metadata(as_version_1(was->metadata), *was->offset).metadata.high;
      const PartitionLog& log = cluster_->log(tp);
      if (high <= log.start() || log.last_stable() < log.high_watermark()) continue;
      const Offset to(random_.between(log.start().v, high.v - 1));
      cluster_->cut_back(tp, to);
      w.excused = true;
      w.high.reset();
      w.low = log.start();
      w.newer = false;
      w.stories.erase(w.stories.lower_bound(to), w.stories.end());
      for (std::int64_t more = random_.between(0, std::min<std::int64_t>(high.v - to.v, 40));
           log.high_watermark().v + 3 < high.v && more > 0; --more) {
        ++to_produce_;
        produce(tp.partition.v);
      }
      if (log.high_watermark() > to) coverage_.saw(Seen::kLogCut);
      say("p" + std::to_string(tp.partition.v) + " is cut to " + std::to_string(to.v) + " and has grown to " +
          std::to_string(log.high_watermark().v));
    }
  });
}

// Another message has the number and the time of one that the journal calls done. (Deaths of the old one would count
// for it: it may become a letter sooner than it should. So would failures, where a journal can fall back to them.)
void World::take_time_of_done(const TopicPartition& tp, Offset at) {
  if (options_.has(Fault::kJournalCut)) return;
  Watched& w = checker_.at(tp);
  for (const auto& [key, decoded] : w.journal)
    if (const auto* o = std::get_if<Obituary>(&decoded.entry); o != nullptr && o->offset == at) return;
  for (const auto& [key, decoded] : w.journal) {
    const auto* m = std::get_if<MessageEntry>(&decoded.entry);
    if (m == nullptr || !m->done || m->offset != at) continue;
    cluster_->date(tp, at, m->timestamp);
    w.stories.at(at).timestamp = m->timestamp;
    same_time_ = true;
    coverage_.saw(Seen::kSameTime);
  }
}

// ---- releases ------------------------------------------------------------------------------------------

void World::change_release(Process& p) {
  p.next_release = static_cast<Release>(random_.below(3));
  if (random_.chance(50))
    stop(p);
  else
    crash(p, std::nullopt);
}

// The change ends, one way or the other: everybody is new, or the newer one is rolled back by the release before it,
// after which even older ones can go on. Whoever refused something is started anew.
void World::last_releases() {
  const bool versions = options_.has(Fault::kTwoVersions);
  if (!versions && !foreign_) return;
  const std::uint64_t end = random_.below(3);
  for (auto& p : processes_) {
    if (versions) p->next_release = end == 0 ? Release::kWritesNewer : Release::kReadsNewer;
    stop(*p);
  }
  if (versions && end == 2) scheduler_.after(Duration(30000), [this] { back_to_old(); });
}

void World::back_to_old() {
  const bool readable = std::ranges::all_of(checker_.all(), [this](const auto& each) {
    const auto c = cluster_->committed(kGroup, each.first);
    return c && !is_version_2(c->metadata);
  });
  if (!readable) {
    scheduler_.after(Duration(30000), [this] { back_to_old(); });
    return;
  }
  for (auto& p : processes_) {
    p->next_release = Release::kOld;
    stop(*p);
  }
}

// ---- orders and questions ------------------------------------------------------------------------------

void World::give_orders(Process& p) {
  if (!p.pump || p.frozen) return;
  if (random_.chance(20)) {
    coverage_.saw(Seen::kPaused);
    p.pump->tell(PauseIn{true});
    in_process(p, Duration(random_.between(100, 10000)), [this](Process& owner) {
      owner.pump->tell(PauseIn{false});
      plan_turn(owner, scheduler_.now());
    });
    return;
  }
  ParkedOrder order{.what = random_.chance(60) ? ParkedOrder::What::kRunNow : ParkedOrder::What::kGiveUp,
                    .ref = {},
                    .offset = {},
                    .kind = {}};
  if (order.what == ParkedOrder::What::kRunNow) coverage_.saw(Seen::kRunNow);
  if (random_.chance(20)) order.kind = Kind::kTransient;
  const auto& mine = p.pump->engine().partitions();
  if (!mine.empty() && random_.chance(30)) {
    const PartitionEngine& chosen = *mine.begin()->second;
    order.ref = chosen.ref();
    if (random_.chance(50)) order.offset = chosen.committed();
  }
  p.pump->tell(order);
  plan_turn(p, scheduler_.now());
}

// Another retry policy, guard, concurrency and limits while it runs, or back to those of before.
void World::change_settings(Process& p) {
  p.other_settings = !p.other_settings;
  if (!p.pump) return;  // its next life has them
  coverage_.saw(Seen::kSettings);
  p.settings_changing = true;
  const LiveSettings settings = p.other_settings ? *options_.other : LiveSettings(options_.engine);
  p.pump->tell(SettingsIn{std::make_shared<const LiveSettings>(settings)});
  plan_turn(p, scheduler_.now());
}

// What people are told is held against what the world knows.
void World::ask_why() {
  for (auto& p : processes_) {
    if (!p->pump) continue;
    const Engine& engine = p->pump->engine();
    if (engine.running() < p->running.size()) return checker_.fail("a handler runs that the engine does not know");
    for (const Running& r : p->running)
      if (r.at == 0 && !r.left_behind && due_of(engine, r.run.token).value_or(Instant{}) > scheduler_.now())
        return checker_.fail("it runs and is said to be due later");
    const Now now{scheduler_.now(), scheduler_.wall()};
    for (const ParkedMessage& m : p->pump->parked({}, now, 1000)) {
      const PartitionEngine* owner = nullptr;
      for (const auto& [index, partition] : engine.partitions())
        if (*p->pump->where(partition->ref()) == m.tp) owner = partition.get();
      if (owner == nullptr || m.waiting.offset < owner->committed() || m.waiting.offset >= owner->frontier())
        return checker_.fail("a parked message that is finished, or was not read yet");
      ask_for(engine, *owner, m.waiting, now);
    }
    for (const auto& [index, partition] : engine.partitions()) ask_for(engine, *partition, *p);
  }
}

// Nobody stands still without a reason that people are told.
void World::look_for_standstill() {
  // A pass over a long log whose slices come late takes its time.
  const Duration still(options_.has(Fault::kCrowd) && options_.has(Fault::kLatency) ? 150000 : 20000);
  for (auto& p : processes_) {
    if (!p->pump || p->frozen || p->stopping) {
      p->standing.clear();
      continue;
    }
    for (const auto& [index, partition] : p->pump->engine().partitions()) {
      const PartitionRef ref = partition->ref();
      const Standing now{partition->phase(), partition->committed(), partition->frontier(), p->begun[ref],
                         scheduler_.now()};
      const auto [at, fresh] = p->standing.try_emplace(ref, now);
      Standing& last = at->second;
      if (fresh || std::tie(now.phase, now.low, now.frontier, now.begun) !=
                       std::tie(last.phase, last.low, last.frontier, last.begun)) {
        last = now;
        continue;
      }
      const auto why = explain(p->pump->engine(), ref, scheduler_.now());
      if (has_reason(*p, *partition, *why))
        last.since = now.since;
      else if (now.since - last.since >= still)
        checker_.fail("stands still without a reason: " + std::to_string(p->pump->where(ref)->partition.v) + ", " +
                      why->answer);
    }
  }
}

bool World::has_reason(const Process& p, const PartitionEngine& partition, const Explanation& why) const {
  if (partition.phase() != Phase::kRunning) return true;  // the step is named
  const bool runs =
      std::ranges::any_of(p.running, [&](const Running& r) { return r.run.token.ref == partition.ref(); });
  if (runs) return true;
  const auto said = [&](std::string_view text) { return why.answer.contains(text); };
  // An open guard tries one of those that are ready now and then.
  const Engine& engine = p.pump->engine();
  if (said("guard is open"))
    return scheduler_.now() - p.last_begun < Duration(10000) ||
           std::ranges::none_of(engine.partitions(), [](const auto& each) { return each.second->ready(); });
  if (said("takes no writes") || said("is paused") || said("Intake is stopped") || said("fills half")) return true;
  if (said("waits for memory")) return true;
  if (why.pinned_by.empty()) return why.frontier >= cluster_->log(*p.pump->where(partition.ref())).last_stable();
  const Pin& pin = why.pinned_by.front();
  if (pin.due_in) return *pin.due_in > Duration(0);
  if (engine.writing()) return true;
  return pin.state.contains("does not take") || pin.state.contains("does not answer") ||
         pin.state.starts_with("kept") || pin.state.starts_with("ready;") ||
         pin.state.starts_with("waiting to run alone") || pin.state.starts_with("waiting for memory");
}

// A message that waits is found by its offset, its kind and its key.
void World::ask_for(const Engine& engine, const PartitionEngine& owner, const WaitingMessage& m, Now now) {
  const auto names = [&](const std::vector<Pin>& pins) { return std::ranges::find(pins, m.offset, &Pin::offset); };
  const auto why = explain(engine, owner.ref(), m.offset, now.steady);
  if (!why || names(why->pinned_by) == why->pinned_by.end()) return checker_.fail("no explanation of one that waits");
  const Pin pin = *names(why->pinned_by);
  if (pin.attempt != m.attempts + (m.due ? 1 : 0)) return checker_.fail("explained with other attempts");
  if (pin.lane) {
    const auto lane = explain(engine, owner.ref(), *pin.lane, now.steady);
    if (!lane || lane->answer.empty()) return checker_.fail("a key without explanation though its message waits");
    if (owner.phase() == Phase::kRunning && lane->pinned_by.size() < 10 &&
        names(lane->pinned_by) == lane->pinned_by.end())
      return checker_.fail("a key's explanation leaves out a message that waits");
  }
  if (waiting_messages(engine, owner.ref(), now, m.offset, m.kind, 1).size() != 1)
    return checker_.fail("a message that waits is not found by offset and kind");
  const Kind other = m.kind == Kind::kTransient ? Kind::kPermanent : Kind::kTransient;
  if (!waiting_messages(engine, owner.ref(), now, m.offset, other, 1).empty())
    return checker_.fail("a message that waits is found by a kind that it has not");
}

void World::ask_for(const Engine& engine, const PartitionEngine& partition, const Process& p) {
  if (partition.held() > partition.in_memory() || partition.memory_bytes() == 0)
    return checker_.fail("more is held than is in memory");
  if (partition.phase() == Phase::kRunning && partition.frontier() < partition.high())
    return checker_.fail("the frontier is below H");
  const auto why = explain(engine, partition.ref(), scheduler_.now());
  if (!why || why->answer.empty()) return checker_.fail("no explanation");
  if (!why->pinned_by.empty() && why->pinned_by.front().offset < why->committed)
    return checker_.fail("explained by a message that is finished");
  for (const Running& r : p.running)
    if (partition.phase() == Phase::kRunning && r.run.token.ref == partition.ref() && !r.left_behind &&
        why->pinned_by.empty())
      return checker_.fail("nothing is said to hold the commit, though a handler runs");
  for (Offset o = why->committed; o <= why->frontier && o.v < why->committed.v + 5; o = next(o)) {
    const auto message = explain(engine, partition.ref(), o, scheduler_.now());
    if (!message || message->answer.empty()) return checker_.fail("no explanation");
  }
  const WaitingFigures figures = waiting_figures(engine, partition.ref());
  if (figures.held_keys > partition.parked() || figures.dying > partition.in_memory())
    return checker_.fail("more keys are held than messages are parked");
}

}  // namespace bartleby::sim
