#include "tests/sim/options.h"

#include <algorithm>
#include <array>

namespace bartleby::sim {
namespace {

constexpr std::array kNames = {"crash",
                               "crash-at-command",
                               "freeze",
                               "stop",
                               "rebalance",
                               "generation",
                               "late-assignment",
                               "not-done",
                               "reply-lost-done",
                               "reply-lost-not-done",
                               "late-request",
                               "read-fail",
                               "fence-fail",
                               "marker-delay",
                               "latency",
                               "dlq-denied",
                               "dlq-small",
                               "journal-denied",
                               "journal-frozen",
                               "emit-denied",
                               "dlq-stalled",
                               "poison",
                               "crash-poison",
                               "reject",
                               "throttle",
                               "slow",
                               "outage",
                               "emit",
                               "replay",
                               "skip",
                               "malformed",
                               "null-keys",
                               "journal-lost",
                               "retention",
                               "compaction",
                               "offset-reset",
                               "offset-lost",
                               "partition-added",
                               "recreated",
                               "clock-jump",
                               "tiny-metadata",
                               "tiny-lanes",
                               "tiny-bytes",
                               "tiny-writes",
                               "tiny-parked",
                               "tiny-ahead",
                               "bypass",
                               "policy-change",
                               "no-dead-letters",
                               "orders",
                               "collision",
                               "two-versions",
                               "stray-answers",
                               "crowd",
                               "settings",
                               "far-jump",
                               "metadata-refused",
                               "journal-cut",
                               "unrun",
                               "stale-end",
                               "large-emits",
                               "together",
                               "short-log",
                               "regrown",
                               "no-log-ids",
                               "log-cut",
                               "journal-compacted",
                               "produce-fail",
                               "open-transaction"};
static_assert(kNames.size() == static_cast<std::size_t>(Fault::kLastFault));

// Faults that break what most checks rest on; a seed has them seldom, or the checks would seldom bite.
bool rare(Fault f) {
  switch (f) {
    case Fault::kJournalLost:
    case Fault::kRetention:
    case Fault::kCompaction:
    case Fault::kOffsetReset:
    case Fault::kOffsetLost:
    case Fault::kPartitionAdded:
    case Fault::kRecreated:
    case Fault::kNoDeadLetters:
    case Fault::kPolicyChange:
    case Fault::kOrders:
    case Fault::kCollision:
    case Fault::kTwoVersions:
    case Fault::kCrowd:
      return true;
    default:
      return false;
  }
}

std::optional<GuardConfig> draw_guard(Random& r) {
  if (!r.chance(50)) return std::nullopt;
  GuardConfig g;
  g.of = static_cast<std::uint32_t>(r.between(3, 10));
  g.within = Duration(r.between(2000, 20000));
  g.probe = Duration(r.between(100, 3000));
  g.hold_max = Duration(r.between(5000, 60000));
  g.letters = static_cast<std::uint32_t>(r.between(0, 3));
  return g;
}

std::vector<RetryPolicy> draw_cases(Random& r) {
  std::vector<RetryPolicy> cases;
  for (int c = 0; c < 2; ++c) {
    RetryPolicy p;
    p.max_attempts = static_cast<std::uint32_t>(r.between(1, 4));
    switch (r.below(3)) {
      case 0:
        p.backoff = Schedule{{Duration(r.between(0, 1000)), Duration(r.between(100, 20000))}};
        break;
      case 1:
        p.backoff = Linear{Duration(r.between(1, 5000))};
        break;
      default:
        p.backoff = Exponential{Duration(r.between(1, 1000)), 2, Duration(r.between(1000, 30000))};
        break;
    }
    p.jitter_percent = r.chance(50) ? 20 : 0;
    p.max_retry_after = Duration(r.between(1000, 10000));
    p.max_crashes = static_cast<std::uint32_t>(r.between(1, 3));
    cases.push_back(p);
  }
  return cases;
}

}  // namespace

std::vector<RetryPolicy> Options::policies(std::uint16_t case_id) const {
  std::vector<RetryPolicy> all{engine.cases[case_id]};
  if (other) all.push_back(other->cases[case_id]);
  return all;
}

std::optional<GuardBounds> Options::guard_bounds() const {
  std::optional<GuardBounds> bounds;
  for (const std::optional<GuardConfig>& g : {engine.guard, other ? other->guard : std::nullopt}) {
    if (!g) continue;
    if (!bounds) bounds = GuardBounds{g->of, g->letters, g->within, g->within};
    bounds->of = std::min(bounds->of, g->of);
    bounds->letters = std::max(bounds->letters, g->letters);
    bounds->longest = std::max(bounds->longest, g->within);
    bounds->shortest = std::min(bounds->shortest, g->within);
  }
  return bounds;
}

std::string fault_name(Fault fault) { return kNames[static_cast<std::size_t>(fault)]; }

Options draw_options(std::uint64_t seed, const std::vector<Fault>& off) {
  Random r(seed * 0x9e3779b97f4a7c15ULL + 17);
  Options o;
  o.seed = seed;
  o.on.assign(static_cast<std::size_t>(Fault::kLastFault), false);
  for (std::size_t i = 0; i < static_cast<std::size_t>(Fault::kSettings); ++i) {
    const bool on = r.chance(rare(static_cast<Fault>(i)) ? 8 : 50);
    o.on[i] = on && std::ranges::find(off, static_cast<Fault>(i)) == off.end();
  }
  // What is kept is known by its journal entry alone: a world without journal cannot tell when it is finished.
  if (o.has(Fault::kJournalLost)) o.on[static_cast<std::size_t>(Fault::kNoDeadLetters)] = false;
  o.partitions = static_cast<std::uint32_t>(r.between(1, 3));
  o.instances = static_cast<std::uint32_t>(r.between(1, 3));
  o.messages = static_cast<std::uint32_t>(r.between(20, 90));
  o.keys = static_cast<std::uint32_t>(r.between(1, 8));
  o.span = Duration(r.between(10000, 60000));
  if (o.has(Fault::kRetention)) {  // by time, by size, or both
    const std::uint64_t which = r.below(3);
    if (which != 1) o.retention = Duration(r.between(20000, 120000));
    if (which != 0) o.retention_bytes = static_cast<std::uint64_t>(r.between(1500, 8000));
  }
  if (r.chance(40)) o.history = static_cast<std::uint32_t>(r.between(1, 12));
  if (r.chance(40)) o.start = r.chance(50) ? StartAt::kLatest : StartAt::kTime;
  o.one_host = r.chance(25);

  // Many messages of many keys in one partition, for what has no limit small enough to be reached otherwise.
  o.on[static_cast<std::size_t>(Fault::kCrowd)] = o.has(Fault::kCrowd) && r.chance(6);
  if (o.has(Fault::kCrowd)) {
    for (const Fault f : {Fault::kTinyParked, Fault::kTinyBytes, Fault::kTinyWrites, Fault::kTinyAhead,
                          Fault::kCollision, Fault::kCrashPoison})
      o.on[static_cast<std::size_t>(f)] = false;
    o.partitions = 1;
    o.messages = static_cast<std::uint32_t>(r.between(500, 900));
    o.keys = static_cast<std::uint32_t>(r.between(300, 900));
  }

  BrokerFaults& b = o.broker;
  b.latency_min = Duration(0);
  b.latency_max = Duration(o.has(Fault::kLatency) ? r.between(1, 300) : r.between(0, 5));
  b.marker_delay_max = Duration(o.has(Fault::kMarkerDelay) ? r.between(1, 2000) : 0);
  b.slice_min = 1;
  b.slice_max = static_cast<std::uint32_t>(r.between(1, 30));
  b.client_timeout = Duration(r.between(500, 5000));
  b.transaction_timeout = Duration(r.between(2000, 10000));
  b.rebalance_timeout = Duration(r.between(1000, 30000));
  b.stall_timeout = Duration(r.between(100, 3000));
  const auto rate = [&](Fault f, std::int64_t most) {
    return o.has(f) ? static_cast<std::uint32_t>(r.between(5, most)) : 0;
  };
  b.p_not_done = rate(Fault::kNotDone, 200);
  b.p_reply_lost_done = rate(Fault::kReplyLostDone, 120);
  b.p_reply_lost_not_done = rate(Fault::kReplyLostNotDone, 120);
  b.p_late_request = rate(Fault::kLateRequest, 120);
  b.p_generation_bump = rate(Fault::kGeneration, 100);
  b.p_read_fail = rate(Fault::kReadFail, 150);
  b.p_fence_fail = rate(Fault::kFenceFail, 300);
  b.p_other_id = o.has(Fault::kMarkerDelay) ? 150 : 0;

  EngineConfig& e = o.engine;
  e.seed = r.next();
  e.concurrency = static_cast<std::uint32_t>(r.between(1, 8));
  e.max_stretch = static_cast<std::uint32_t>(r.between(1, 4));
  e.drain = Duration(r.between(0, 3000));
  e.linger = Duration(r.between(0, 50));
  e.offsets_linger = Duration(r.between(1, 500));
  e.key_policy = o.has(Fault::kBypass) ? KeyPolicy::kBypass : KeyPolicy::kHold;
  e.dead_letters = !o.has(Fault::kNoDeadLetters);
  e.adopt = r.chance(50);
  e.max_message = 4096;
  e.max_bytes = o.has(Fault::kTinyBytes) ? static_cast<std::uint64_t>(r.between(400, 3000)) : 64u << 20;
  e.lane_messages = o.has(Fault::kTinyLanes) ? static_cast<std::uint32_t>(r.between(0, 3)) : 1000;
  e.max_queued = static_cast<std::uint32_t>(r.between(4, 60));
  e.max_parked = o.has(Fault::kTinyParked) ? static_cast<std::uint32_t>(r.between(1, 4)) : 100000;
  e.max_window = o.has(Fault::kTinyParked) && r.chance(50) ? r.between(10, 40) : 5000000;
  e.max_ahead = o.has(Fault::kTinyAhead) ? static_cast<std::uint32_t>(r.between(2, 20)) : 262144;
  e.write_records = o.has(Fault::kTinyWrites) ? static_cast<std::uint32_t>(r.between(1, 3)) : 2000;
  e.metadata_limit = o.has(Fault::kTinyMetadata) ? static_cast<std::size_t>(r.between(110, 145)) : kMaxMetadata;
  // No room for heads leaves done entries behind, which a moved offset must overrule.
  if ((o.has(Fault::kOffsetReset) || o.has(Fault::kOffsetLost)) && r.chance(80)) e.metadata_limit = 110;
  e.writer_room = 32;
  if (o.has(Fault::kCrowd)) {
    e.concurrency = 200;
    e.max_queued = 1000;
  }
  if (!e.dead_letters) {  // what is kept counts as parked, and would stop intake for good
    e.max_parked = 100000;
    e.max_window = 5000000;
  }
  e.guard = draw_guard(r);
  e.cases = draw_cases(r);
  // Drawn last: worlds without it are what they would be if it did not exist.
  const bool settings = r.chance(8);
  const auto turn = [&](Fault fault, bool on) {
    o.on[static_cast<std::size_t>(fault)] = on && std::ranges::find(off, fault) == off.end();
  };
  turn(Fault::kSettings, settings);
  if (o.has(Fault::kSettings)) {
    LiveSettings other(e);
    other.cases = draw_cases(r);
    other.guard = draw_guard(r);
    other.concurrency = static_cast<std::uint32_t>(r.between(1, 8));
    if (e.dead_letters && r.chance(50)) other.max_parked = static_cast<std::uint32_t>(r.between(1, 4));
    if (e.dead_letters && r.chance(50)) other.max_window = r.between(10, 40);
    o.other = std::move(other);
  }
  if (r.chance(3)) {  // waits of minutes
    e.cases[0].backoff = Schedule{{Duration(r.between(1000, 60000)), Duration(r.between(60000, 200000))}};
    o.heal = Duration(40000000);
  }
  // What is kept would stop intake for good on the other side of a jump.
  turn(Fault::kFarJump, r.chance(8) && e.dead_letters);
  turn(Fault::kMetadataRefused, r.chance(8) && !o.has(Fault::kTinyMetadata) && e.metadata_limit == kMaxMetadata);
  // That people moved an offset is erased from a journal which is as it was before.
  const bool moved = o.has(Fault::kOffsetReset) || o.has(Fault::kOffsetLost);
  turn(Fault::kJournalCut, r.chance(8) && e.dead_letters && !moved);
  turn(Fault::kUnrun, r.chance(30));
  turn(Fault::kStaleEnd, r.chance(20));
  turn(Fault::kLargeEmits, r.chance(30) && o.has(Fault::kEmit));
  if (o.has(Fault::kStaleEnd)) b.p_stale_end = static_cast<std::uint32_t>(r.between(20, 200));
  turn(Fault::kTogether, r.chance(50));
  turn(Fault::kShortLog, r.chance(15));
  turn(Fault::kRegrown, r.chance(12));
  turn(Fault::kLogCut,
       r.chance(8) && !o.has(Fault::kFarJump));  // one that is as long as it was is the same to everybody
  // Many have left memory and fall due one right after the other.
  if (o.has(Fault::kTinyBytes) && o.has(Fault::kBypass) && r.chance(50)) {
    e.cases[0].backoff = e.cases[1].backoff = Schedule{{Duration(r.between(500, 10000))}};
    e.max_bytes = static_cast<std::uint64_t>(r.between(200, 1000));
  }
  // No room for heads leaves done entries behind, which may be of another topic by then.
  if (o.has(Fault::kRegrown) && !o.has(Fault::kMetadataRefused) && r.chance(80)) e.metadata_limit = 110;
  turn(Fault::kNoLogIds, r.chance(8) && !o.has(Fault::kRegrown));  // then nobody can tell such a topic from the old one
  b.tells_log = !o.has(Fault::kNoLogIds);
  turn(Fault::kJournalCompacted, r.chance(30));
  turn(Fault::kProduceFail, r.chance(20));
  turn(Fault::kOpenTransaction, r.chance(o.has(Fault::kOffsetReset) ? 60 : 15) &&
                                    !o.has(Fault::kLogCut));  // it would make a cut log grow past H
  if (o.has(Fault::kTogether)) b.p_late_records = 400;
  if (o.has(Fault::kProduceFail)) b.p_produce_fail = b.p_first_fail = static_cast<std::uint32_t>(r.between(50, 500));
  return o;
}

}  // namespace bartleby::sim
