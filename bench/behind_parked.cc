// One million messages of one key behind a parked one, one million of others between them; against the same two
// million with nothing failing. Everything is handled in the end: the held messages are read again by sweeps.
#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "bench/benches.h"
#include "bench/heap.h"
#include "bench/records.h"
#include "bench/rig.h"

namespace bartleby::bench {
namespace {

constexpr std::size_t kEach = 1'000'000;
constexpr std::size_t kOtherKeys = 1'000'000;
constexpr Duration kParkedFor{10'000};  // longer than the rest of the log takes at 1 ms a batch

std::vector<RecordRef> mixed_log() {
  std::vector<RecordRef> log = uniform_log(2 * kEach, kOtherKeys);
  const Lane held = record(0, kOtherKeys).lane;
  for (std::size_t i = 0; i < log.size(); i += 2) log[i].lane = held;
  return log;
}

struct Result {
  double seconds = 0;       // all of it
  double live_seconds = 0;  // until the log was read once
  std::size_t peak = 0;     // bytes of heap above what was there before
  std::uint64_t sweeps = 0;
};

Result run(const std::vector<RecordRef>& log, bool failing) {
  const std::size_t before = heap_bytes();
  Rig rig(plain_config(), log, [=](const Run& r, const RunItem& item, Now) -> std::optional<Ending> {
    if (!failing || item.offset != Offset(0) || r.attempt > 1) return std::nullopt;
    return Ending{.fate = Fate::kRetry, .after = kParkedFor};
  });
  Result result;
  std::size_t turns = 0;
  const auto look = [&] {
    if (turns++ % 16 == 0) result.peak = std::max(result.peak, heap_bytes() - before);
  };
  const Stopwatch watch;
  while (rig.feed()) {
    rig.pass(Duration(1));
    look();
  }
  BARTLEBY_ASSERT(rig.rest() == 0);
  result.live_seconds = watch.seconds();
  while (rig.handled() < log.size()) {
    BARTLEBY_ASSERT(rig.sleep());
    rig.work();
    look();
  }
  result.seconds = watch.seconds();
  result.sweeps = rig.engine().counters().sweeps;
  rig.pass(Duration(1000));
  rig.work();
  BARTLEBY_ASSERT(rig.slots_out() == 0 && rig.committed() == Offset(static_cast<std::int64_t>(log.size())));
  return result;
}

}  // namespace

Row engine_behind_parked() {
  const std::vector<RecordRef> log = mixed_log();
  std::array<double, kRepeats> ours, peer, live, extra;
  std::uint64_t sweeps = 0;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    const Result plain = run(log, false);
    const Result parked = run(log, true);
    const auto millions = static_cast<double>(log.size()) / 1e6;
    ours[i] = millions / parked.seconds;
    peer[i] = millions / plain.seconds;
    live[i] = plain.live_seconds / parked.live_seconds;
    extra[i] = std::max(0.0, (static_cast<double>(parked.peak) - static_cast<double>(plain.peak)) / 1e6);
    sweeps = parked.sweeps;
  }
  const Figure mine = figure_of(ours);
  const double more = figure_of(extra).median;
  Row row{.name = "engine_behind_parked",
          .ours = mine.median,
          .peer = figure_of(peer).median,
          .peer_name = "the same messages with nothing failing",
          .unit = "million/s"};
  row.ratio = row.ours / *row.peer;
  row.goal = ">= 0.95 x, <= 64 MB more";
  row.met = *row.ratio >= 0.95 && more <= 64;
  row.spread = mine.spread;
  row.notes.push_back(text("%.1f MB more at the most; %llu sweeps in slices of %zu", more,
                           static_cast<unsigned long long>(sweeps), kBatch));
  row.notes.push_back(
      text("while the key is held, the log is read at %.2f x the speed of the peer", figure_of(live).median));
  return row;
}

}  // namespace bartleby::bench
