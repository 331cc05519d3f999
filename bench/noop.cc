// The engine alone, with a handler that does nothing, against a bare loop over the same records.
#include "base/assert.h"
#include "bench/benches.h"
#include "bench/records.h"
#include "bench/rig.h"

namespace bartleby::bench {
namespace {

constexpr std::size_t kRecords = 2'000'000;
constexpr std::size_t kKeys = 1'000'000;

// What a consumer without retries, order or commits would do: look at each record.
double bare_loop(const std::vector<RecordRef>& log, std::uint64_t& checksum) {
  const Stopwatch watch;
  for (const RecordRef& r : log) {
    checksum += static_cast<std::uint64_t>(r.offset.v);
    asm volatile("" : "+r"(checksum));  // one message at a time
  }
  return watch.seconds() * 1e9 / static_cast<double>(log.size());
}

double engine(const std::vector<RecordRef>& log, std::uint64_t& checksum, std::uint64_t& writes) {
  Rig rig(plain_config(), log);
  const Stopwatch watch;
  while (rig.feed()) rig.pass(Duration(1));
  const double ns = watch.seconds() * 1e9 / static_cast<double>(log.size());
  rig.pass(Duration(1000));
  rig.work();
  BARTLEBY_ASSERT(rig.handled() == log.size() && rig.slots_out() == 0);
  BARTLEBY_ASSERT(rig.committed() == Offset(static_cast<std::int64_t>(log.size())));
  checksum = rig.checksum();
  writes = rig.writes();
  return ns;
}

Row compare(const char* name, const std::vector<RecordRef>& log) {
  std::array<double, kRepeats> ours;
  std::array<double, kRepeats> peer;
  std::uint64_t writes = 0;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    std::uint64_t seen = 0;
    std::uint64_t handled = 0;
    peer[i] = bare_loop(log, seen);
    ours[i] = engine(log, handled, writes);
    BARTLEBY_ASSERT(seen == handled);
  }
  const Figure mine = figure_of(ours);
  const Figure bare = figure_of(peer);
  Row row{.name = name, .ours = mine.median, .peer = bare.median, .peer_name = "bare loop over the same records"};
  row.unit = "ns/message";
  row.ratio = mine.median / bare.median;
  row.goal = "<= 100 ns/message";
  row.met = mine.median <= 100;
  row.spread = mine.spread;
  row.notes.push_back(text("%.1f million messages/s; %zu messages, %zu keys, %llu writes", 1e3 / mine.median,
                           log.size(), kKeys, static_cast<unsigned long long>(writes)));
  return row;
}

}  // namespace

Row engine_noop_uniform() { return compare("engine_noop_uniform", uniform_log(kRecords, kKeys)); }
Row engine_noop_zipf() { return compare("engine_noop_zipf", zipf_log(kRecords, kKeys)); }

}  // namespace bartleby::bench
