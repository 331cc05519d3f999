// Letters replayed per second on the embedded log, without a rate, against plain appends of the same messages to it.
#include <filesystem>
#include <string>
#include <vector>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "base/clock.h"
#include "bench/benches.h"
#include "bench/some_letters.h"
#include "office/operation_runner.h"
#include "office/operations.h"

namespace bartleby::bench {
namespace {

const std::string kFolder = "build/bench/replay";
constexpr std::int64_t kLetters = 20000;
constexpr std::size_t kSentAtOnce = 500;
const OfficeKey kKey{"o1", "0123456789abcdef0123456789abcdef"};

std::unique_ptr<embedded::EmbeddedBroker> broker_with_topic() {
  embedded::Options options;
  options.folder = kFolder;
  auto broker = embedded::EmbeddedBroker::open(options);
  TopicSpec topic;
  topic.name = "orders";
  return broker && (*broker)->ensure_topics({topic}) ? std::move(*broker) : nullptr;
}

// From the start of the operation to the last letter on disk: taken, signed, sent with the cursor, written down.
double replayed() {
  fresh(kFolder);
  const auto broker = broker_with_topic();
  auto store = sqlite_store::SqliteStore::open({.folder = kFolder});
  if (!broker || !store) return 0;
  std::vector<std::vector<LogRecord>> batches;
  for (std::int64_t n = 0; n < kLetters; n += kLettersAtOnce) batches.push_back(dlq_records(n));
  if (!take_in(**store, std::move(batches))) return 0;
  const SystemClock clock;
  Log log(LogFormat::kText, LogLevel::kError, [](std::string_view) {});
  OperationsOptions options;
  options.readers = [](const std::string&) { return std::vector<Reader>(); };
  options.new_id = [] { return std::string("op_bench"); };
  Operations operations(**store, clock, options);
  OperationRequest wanted;
  wanted.query = parse_query("").value();
  wanted.settings.rate = 0;
  wanted.settings.canary = 0;
  const auto planned = operations.plan(wanted, {"bench", "", ""});
  if (!planned || planned->letters != kLetters) return 0;
  RunnerOptions running;
  running.key = kKey;
  OperationRunner runner(*broker, **store, log, clock, running);
  const double seconds = seconds_of([&] {
    static_cast<void>(operations.start(planned->id, {"bench", "", ""}));
    runner.run_until_idle();
  });
  const auto after = operations.get(planned->id);
  if (!after || !*after || (*after)->with(ItemResult::kSent) != kLetters) return 0;
  return static_cast<double>(kLetters) / seconds;
}

double appended() {
  fresh(kFolder);
  const auto broker = broker_with_topic();
  if (!broker) return 0;
  std::vector<std::vector<Record>> batches(1);
  for (std::int64_t n = 0; n < kLetters; n += kLettersAtOnce)
    for (LogRecord& record : dlq_records(n)) {
      if (batches.back().size() == kSentAtOnce) batches.emplace_back();
      batches.back().push_back({"orders", Partition(0), std::move(record.key), std::move(record.value), {}});
    }
  bool good = true;
  const double seconds = seconds_of([&] {
    for (const auto& batch : batches) good &= broker->produce(batch).has_value();
  });
  return good ? static_cast<double>(kLetters) / seconds : 0;
}

}  // namespace

Row replay() {
  std::array<double, kRepeats> mine{}, theirs{};
  for (std::size_t i = 0; i < kRepeats; ++i) {
    theirs[i] = appended();
    mine[i] = replayed();
  }
  std::filesystem::remove_all(kFolder);
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  Row row{.name = "replay", .ours = figure.median, .peer = peer.median, .unit = "letters/s"};
  row.peer_name = "plain appends of the same messages to the embedded log, as many to a call";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.goal = ">= 0.5 x";
  row.met = row.ratio >= 0.5;
  row.spread = figure.spread;
  row.notes.push_back(text("%lld letters of 450 bytes, %zu to a write; spread of the peer %.0f %%",
                           static_cast<long long>(kLetters), kSentAtOnce, peer.spread * 100));
  return row;
}

}  // namespace bartleby::bench
