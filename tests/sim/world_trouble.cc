// What is produced, what goes wrong, and the end of all trouble.
#include <algorithm>

#include "tests/sim/colliding_keys.h"
#include "tests/sim/world.h"

namespace bartleby::sim {

void World::produce(std::optional<std::int32_t> partition) {
  if (produced_ >= to_produce_) return;
  const std::uint32_t id = ++produced_;
  Story s;
  s.id = id;
  if (!(options_.has(Fault::kNullKeys) && random_.chance(15)))
    s.key = options_.has(Fault::kCollision) ? std::string(kCollidingKeys[random_.below(options_.keys + 1)])
                                            : "k" + std::to_string(random_.below(options_.keys));
  if (s.key && random_.chance(3)) s.key = "";
  std::string text = std::to_string(id);
  text.insert(0, 8 - text.size(), '0');
  text.append(random_.below(random_.chance(5) ? 3000 : 60), 'x');
  s.value = text;
  s.skip = script_of(id).skip;
  s.case_id = script_of(id).case_id;
  s.replayed = script_of(id).replayed && !s.skip;
  if (!s.key && !partition)
    partition = static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(partitions_)));
  Record record{"src", partition ? std::optional(Partition(*partition)) : std::nullopt, s.key, s.value, {{"h", "v"}}};
  largest_ = std::max<std::uint64_t>(largest_, payload_size(record) + 64);
  const auto [tp, offset] = cluster_->append(record);
  s.offset = offset;
  s.timestamp = scheduler_.wall();
  checker_.produced(tp, std::move(s));
  // Some producers of the source are transactional: offsets without a record.
  if (random_.chance(5)) cluster_->append_gap(tp);
}

void World::plan_trouble() {
  Instant at = scheduler_.now();
  for (std::uint32_t i = 0; i < options_.messages; ++i) {
    at += Duration(random_.between(0, 2 * options_.span.count() / (3 * options_.messages)));
    scheduler_.at(at, [this] { produce(); });
  }
  const auto count = static_cast<std::uint32_t>(random_.between(3, 25));
  for (std::uint32_t i = 0; i < count; ++i)
    scheduler_.at(Instant(Duration(random_.between(0, options_.span.count() - 1))), [this] { trouble(); });
}

void World::trouble() {
  ask_why();
  std::vector<Fault> can;
  for (const Fault f : {Fault::kCrash,         Fault::kCrashAtCommand,   Fault::kFreeze,         Fault::kStop,
                        Fault::kRebalance,     Fault::kGeneration,       Fault::kDlqDenied,      Fault::kJournalDenied,
                        Fault::kJournalFrozen, Fault::kEmitDenied,       Fault::kDlqStalled,     Fault::kOutage,
                        Fault::kJournalLost,   Fault::kRetention,        Fault::kCompaction,     Fault::kOffsetReset,
                        Fault::kOffsetLost,    Fault::kPartitionAdded,   Fault::kRecreated,      Fault::kClockJump,
                        Fault::kOrders,        Fault::kTwoVersions,      Fault::kStrayAnswers,   Fault::kSettings,
                        Fault::kFarJump,       Fault::kJournalCut,       Fault::kShortLog,       Fault::kRegrown,
                        Fault::kLogCut,        Fault::kJournalCompacted, Fault::kOpenTransaction})
    if (options_.has(f)) can.push_back(f);
  if (can.empty()) return;
  const Fault fault = can[random_.below(can.size())];
  Process& p = *processes_[random_.below(processes_.size())];
  mix(static_cast<std::uint64_t>(fault));
  say("trouble " + fault_name(fault));
  const auto for_a_while = [this](const std::string& topic, bool stall) {
    if (stall)
      cluster_->stall(topic, true);
    else
      cluster_->deny(topic, true);
    scheduler_.after(Duration(random_.between(100, 20000)), [this, topic, stall] {
      if (stall)
        cluster_->stall(topic, false);
      else
        cluster_->deny(topic, false);
    });
  };
  switch (fault) {
    case Fault::kCrash:
      crash(p, std::nullopt);
      break;
    case Fault::kCrashAtCommand:
      if (p.fragile) p.fragile->crash_in(static_cast<std::uint32_t>(random_.between(1, 12)));
      break;
    case Fault::kFreeze:
      if (!p.pump || p.frozen) break;
      coverage_.saw(Seen::kFreeze);
      p.frozen = true;
      cluster_->freeze(*p.member);
      scheduler_.after(Duration(random_.between(100, 20000)), [this, &p, incarnation = p.incarnation] {
        if (p.incarnation != incarnation || !p.pump) return;
        p.frozen = false;
        say("thaw i" + std::to_string(p.number));
        cluster_->thaw(*p.member);
        for (auto& task : std::exchange(p.thawing, {})) task();
      });
      break;
    case Fault::kStop:
      stop(p);
      break;
    case Fault::kRebalance:
      cluster_->rebalance("g", true);
      break;
    case Fault::kGeneration:
      cluster_->bump_generation("g");
      break;
    case Fault::kDlqDenied:
      for_a_while("src.dlq", false);
      break;
    case Fault::kDlqStalled:
      for_a_while("src.dlq", true);
      break;
    case Fault::kJournalDenied:
      for_a_while("src.parked.g", false);
      break;
    case Fault::kEmitDenied:
      for_a_while("out", random_.chance(50));
      break;
    case Fault::kOutage:
      outage_until_ = scheduler_.now() + Duration(random_.between(500, 20000));
      break;
    case Fault::kJournalLost:
      lose_journal();
      break;
    case Fault::kJournalCut:
      cut_journal();
      break;
    case Fault::kJournalCompacted:
      compact_journal();
      break;
    case Fault::kOpenTransaction:
      for (const auto& [tp, w] : checker_.all())
        if (random_.chance(60)) cluster_->open_transaction(tp);
      scheduler_.after(Duration(random_.between(100, 20000)), [this] { end_transactions(); });
      break;
    case Fault::kShortLog:
      cluster_->faults().short_reads = true;
      scheduler_.after(Duration(random_.between(6000, 12000)), [this] { cluster_->faults().short_reads = false; });
      break;
    case Fault::kRetention:
      retention();
      break;
    case Fault::kFarJump:
      for (const auto& [tp, w] : checker_.all())
        if (random_.chance(50)) cluster_->jump(tp, random_.between(1000, 1000000000));
      coverage_.saw(Seen::kFarJump);
      break;
    case Fault::kCompaction:
      for (auto& [tp, w] : checker_.all()) {
        cluster_->compact(tp);
        for (auto& [offset, s] : w.stories) {
          const auto& entries = cluster_->log(tp).entries();
          const bool there = std::ranges::any_of(entries, [&](const LogEntry& e) { return e.record.offset == offset; });
          if (!there) s.deleted = true;
          if (!there && !s.resolved()) s.gone = s.told = true;
        }
      }
      break;
    case Fault::kOffsetReset:
    case Fault::kOffsetLost:
      reset_offset();
      break;
    case Fault::kRecreated:
      recreate(false);
      break;
    case Fault::kRegrown:
      regrow(random_.chance(80) ? 80 : 0);
      break;
    case Fault::kLogCut:
      cut_log(80);
      break;
    case Fault::kClockJump:
      coverage_.saw(Seen::kClockJump);
      scheduler_.jump_wall(Duration(random_.between(-3600000, 3600000)));
      break;
    case Fault::kOrders:
      give_orders(p);
      break;
    case Fault::kSettings:
      change_settings(p);
      break;
    case Fault::kPartitionAdded:
      add_partition();
      break;
    case Fault::kTwoVersions:
      change_release(p);
      break;
    case Fault::kJournalFrozen:
      freeze_journal();
      break;
    case Fault::kStrayAnswers:
      stray_answers(p);
      break;
    default:
      break;
  }
}

// What the broker deleted can no longer be handled; whoever has not been through with it must say so.
void World::kill_gone(const TopicPartition& tp, Offset below) {
  for (auto& [offset, s] : checker_.at(tp).stories) {
    if (offset < below) s.deleted = true;
    if (offset < below && !s.applied && !s.dead && !s.skip) s.gone = true;
  }
}

void World::retention() {
  for (auto& [tp, w] : checker_.all()) {
    const PartitionLog& log = cluster_->log(tp);
    Offset below = log.start();
    if (options_.retention.count() > 0)
      for (const auto& [offset, s] : w.stories)
        if (scheduler_.wall() - s.timestamp > options_.retention) below = next(offset);
    std::uint64_t bytes = log.bytes();
    for (const LogEntry& entry : log.entries()) {
      if (options_.retention_bytes == 0 || bytes <= options_.retention_bytes) break;
      bytes -= stored_bytes(entry);
      below = std::max(below, next(entry.record.offset));
      coverage_.saw(Seen::kDeletedBySize);
    }
    cluster_->delete_before(tp, below);
    kill_gone(tp, log.start());  // an open transaction keeps what lies behind it
  }
}

// Between two writes: what one has put into the old journal would be lost without the checker knowing which it was.
// Nor may a write that nobody waits for any more have entries in it: the checker would go on believing in them.
bool World::journal_is_written() const {
  const auto writes = [](const auto& p) { return p->member && p->member->write_in_flight(); };
  return std::ranges::any_of(processes_, writes) || cluster_->pending("src.parked.g");
}

void World::lose_journal() {
  if (journal_is_written()) {
    scheduler_.after(Duration(10), [this] { lose_journal(); });
    return;
  }
  for (const auto& [tp, w] : checker_.all()) checker_.journal_now(tp, {});
  cluster_->recreate("src.parked.g");
}

// What was erased since is there again, what was added is gone, and the commits know nothing of it.
void World::cut_journal() {
  if (journal_is_written()) {
    scheduler_.after(Duration(10), [this] { cut_journal(); });
    return;
  }
  for (const auto& [tp, w] : checker_.all()) {
    const TopicPartition journal{"src.parked.g", tp.partition};
    if (tp.partition.v >= cluster_->describe(journal.topic)->partitions) continue;
    const PartitionLog& log = cluster_->log(journal);
    if (log.start() == log.high_watermark()) continue;
    cluster_->cut_back(journal, Offset(random_.between(log.start().v, log.high_watermark().v - 1)));
    std::vector<LogRecord> left;
    for (const LogEntry& e : log.entries())
      if (e.state == EntryState::kCommitted) left.push_back(e.record);
    checker_.journal_now(tp, left);
    coverage_.saw(Seen::kJournalCut);
  }
}

// As a broker does by itself, at any time. What erases an entry stays for a day, and no world lasts that long.
void World::compact_journal() {
  for (const auto& [tp, w] : checker_.all()) {
    const TopicPartition journal{"src.parked.g", tp.partition};
    if (tp.partition.v >= cluster_->describe(journal.topic)->partitions) continue;
    const std::size_t before = cluster_->log(journal).entries().size();
    cluster_->compact(journal, false);
    if (cluster_->log(journal).entries().size() == before) continue;
    coverage_.saw(Seen::kJournalCompacted);
    for (const auto& p : processes_) {
      if (!p->pump) continue;
      for (const auto& [index, partition] : p->pump->engine().partitions())
        if (partition->phase() == Phase::kReadJournal && *p->pump->where(partition->ref()) == tp)
          coverage_.saw(Seen::kCompactedInRead);
    }
  }
}

void World::end_transactions() {
  for (const auto& [tp, w] : checker_.all()) cluster_->end_transactions(tp);
}

// Neither written nor read: what is asked of it ends with a time limit.
void World::freeze_journal() {
  coverage_.saw(Seen::kJournalFrozen);
  const auto set = [this](bool frozen) {
    cluster_->stall("src.parked.g", frozen);
    cluster_->silence("src.parked.g", frozen);
  };
  set(true);
  scheduler_.after(Duration(random_.between(100, 20000)), [set] { set(false); });
}

// What nobody asked for, or not in this life: the engine must know it by its epoch or its number. The pump lets none
// of it pass, so it is put behind the pump.
void World::stray_answers(Process& p) {
  if (!p.pump || p.frozen) return;
  static const std::vector<RecordRef> kNobodys(2);
  coverage_.saw(Seen::kStrayAnswers);
  const JournalItem obituary{Obituary{.offset = Offset(0), .incarnation = 1, .timestamp = Timestamp{}}, kNone};
  for (const auto& [index, partition] : p.pump->engine().partitions()) {
    const PartitionRef now = partition->ref();
    const PartitionRef before{index, Epoch(now.epoch.v + 1000000)};
    p.pump->tell(RecordsIn{before, kNobodys});
    p.pump->tell(ReadIn{before, 1, true, kNobodys, Offset(2), true});
    p.pump->tell(ReadIn{now, UINT32_MAX, true, kNobodys, Offset(2), true});
    p.pump->tell(OffsetsIn{before, Stability::kStable, true, Offset(0), {}});
    p.pump->tell(JournalIn{before, true, {obituary}, true});
    p.pump->tell(JournalIn{now, false, {}, true});
    p.pump->tell(LogIn{before, Offset(0), Offset(0)});
    p.pump->tell(LostIn{before});
    if (random_.chance(50)) {  // a replica that lags says so of a position that is in the log
      const PartitionLog& log = cluster_->log(*p.pump->where(now));
      if (partition->frontier() <= log.high_watermark() && partition->frontier() >= log.start())
        p.pump->tell(OutOfRangeIn{now, log.start(), log.high_watermark()});
    }
  }
  p.pump->tell(WriteIn{WriteSerial(UINT64_MAX), WriteResult::kDone, {}});
  p.pump->tell(ResolvedIn{WriteSerial(UINT64_MAX), true, {}});
  plan_turn(p, scheduler_.now());
}

void World::heal() {
  healed_ = true;
  say("healed");
  BrokerFaults& b = cluster_->faults();
  b.p_not_done = b.p_reply_lost_done = b.p_reply_lost_not_done = b.p_late_request = b.p_generation_bump = 0;
  b.short_reads = false;
  b.p_read_fail = b.p_stale_end = b.p_fence_fail = b.p_produce_fail = b.p_first_fail = 0;
  b.rebalance_timeout = Duration(60000);  // longer than any drain, as it must be
  for (const char* topic : {"src.dlq", "src.parked.g", "out"}) {
    cluster_->deny(topic, false);
    cluster_->stall(topic, false);
    cluster_->silence(topic, false);
  }
  ensure_journal();
  end_transactions();
  outage_until_ = scheduler_.now();
  while (produced_ < to_produce_) produce();
  for (auto& p : processes_) {
    if (p->fragile) p->fragile->crash_in(0);
    if (!p->frozen) continue;
    p->frozen = false;
    cluster_->thaw(*p->member);
    for (auto& task : std::exchange(p->thawing, {})) task();
  }
  last_releases();
}

}  // namespace bartleby::sim
