// 100,000 parked messages, each of another key: how late they run again, and what they cost in memory.
#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "bench/benches.h"
#include "bench/heap.h"
#include "bench/records.h"
#include "bench/rig.h"

namespace bartleby::bench {
namespace {

constexpr std::size_t kParked = 100'000;
constexpr std::int64_t kFirstDue = 120'000;  // ms; by then all of them are parked
constexpr std::int64_t kSpread = 10'000;     // ms from the first due time to the last

std::vector<RecordRef> parked_log() {
  std::vector<RecordRef> log;
  for (std::size_t i = 0; i < kParked; ++i) log.push_back(record(static_cast<std::int64_t>(i), i));
  return log;
}

// Not in the order of offsets, as in life.
Instant due_of(Offset offset) {
  const auto i = static_cast<std::uint64_t>(offset.v) * 7919 % kParked;
  return Instant(Duration(kFirstDue + static_cast<std::int64_t>(i) * kSpread / static_cast<std::int64_t>(kParked)));
}

// Every message failing is what the outage guard exists to stop, so it is off here.
EngineConfig config() {
  EngineConfig c = plain_config();
  c.guard.reset();
  c.cases.front().max_retry_after = Duration(kFirstDue + kSpread);
  return c;
}

// Every message fails once and is parked, durably. Says how many seconds the engine worked on it.
double park_all(Rig& rig) {
  const Stopwatch watch;
  while (rig.feed()) rig.pass(Duration(1));
  while (rig.partition().parked() < kParked && rig.sleep()) rig.work();
  BARTLEBY_ASSERT(rig.partition().parked() == kParked && ms(rig.now().steady) < kFirstDue);
  return watch.seconds();
}

struct TimerRun {
  double p99 = 0;   // ms
  double max = 0;   // ms
  double cpu = 0;   // ns of work per due message, writes included
  double park = 0;  // ns of work per parked message, writes included
  double writes = 0;
};

// The clock goes on while the engine works and jumps to the next wakeup when it is idle: a delay contains the work.
TimerRun run_timers() {
  const std::vector<RecordRef> log = parked_log();
  std::vector<double> delays;
  delays.reserve(kParked);
  double idle = 0;  // ms of the clock that nobody worked
  double worked = 0;
  std::optional<Stopwatch> watch;
  const auto clock = [&] { return idle + worked + (watch ? watch->seconds() * 1e3 : 0); };
  Rig rig(config(), log, [&](const Run& run, const RunItem& item, Now now) -> std::optional<Ending> {
    const Instant due = due_of(item.offset);
    if (run.attempt == 1) return Ending{.fate = Fate::kRetry, .after = due - now.steady};
    delays.push_back(clock() - static_cast<double>(ms(due)));
    return std::nullopt;
  });
  TimerRun result;
  result.park = park_all(rig) * 1e9 / kParked;
  result.writes = static_cast<double>(rig.writes());
  idle = static_cast<double>(ms(rig.now().steady));
  while (delays.size() < kParked) {
    BARTLEBY_ASSERT(rig.sleep());
    idle = std::max(idle, static_cast<double>(ms(rig.now().steady)) - worked);
    rig.set_now(Instant(Duration(static_cast<std::int64_t>(idle + worked))));
    watch.emplace();
    rig.work();
    worked += watch->seconds() * 1e3;
    watch.reset();
  }
  std::ranges::sort(delays);
  result.p99 = delays[kParked * 99 / 100];
  result.max = delays.back();
  result.cpu = worked * 1e6 / kParked;
  result.writes = static_cast<double>(rig.writes()) - result.writes;
  return result;
}

}  // namespace

Row engine_timer() {
  std::array<double, kRepeats> p99, most, cpu, park, writes;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    const TimerRun run = run_timers();
    p99[i] = run.p99;
    most[i] = run.max;
    cpu[i] = run.cpu;
    park[i] = run.park;
    writes[i] = run.writes;
  }
  const Figure figure = figure_of(p99);
  Row row{.name = "engine_timer", .ours = figure.median, .peer = {}, .peer_name = "due time", .unit = "ms p99"};
  row.goal = "<= 20 ms p99";
  row.met = figure.median <= 20;
  row.spread = figure.spread;
  row.notes.push_back(text("largest delay %.2f ms; %zu due within %lld s", figure_of(most).median, kParked,
                           static_cast<long long>(kSpread / 1000)));
  row.notes.push_back(text("work per due message %.0f ns (%.0f writes included), per message that parks %.0f ns",
                           figure_of(cpu).median, figure_of(writes).median, figure_of(park).median));
  return row;
}

Row engine_parked_memory() {
  const std::vector<RecordRef> log = parked_log();
  std::array<double, kRepeats> bytes, counted;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    Rig rig(config(), log, [](const Run&, const RunItem& item, Now now) -> std::optional<Ending> {
      return Ending{.fate = Fate::kRetry, .after = due_of(item.offset) - now.steady};
    });
    const std::size_t before = heap_bytes();
    park_all(rig);
    bytes[i] = static_cast<double>(heap_bytes() - before) / kParked;
    counted[i] = static_cast<double>(rig.partition().memory_bytes()) / kParked;
  }
  const Figure figure = figure_of(bytes);
  Row row{.name = "engine_parked_memory", .ours = figure.median, .peer = {}, .peer_name = {}, .unit = "bytes"};
  row.goal = "<= 200 bytes + key";
  row.met = figure.median <= 200;
  row.spread = figure.spread;
  row.notes.push_back(text("memory_bytes() says %.1f; an entry has %zu bytes, its facts %zu, its lane %zu",
                           figure_of(counted).median, sizeof(Entry), sizeof(Facts), sizeof(LaneState)));
  return row;
}

}  // namespace bartleby::bench
