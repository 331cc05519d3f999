// How many messages a worker on the embedded log gets through, against plain SQLite that reads the same rows of the
// same file: admission, key order, the handler's call and the commits are what the difference pays for.
#include "runtime/worker.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/sqlite/sqlite.h"
#include "base/clock.h"
#include "bench/benches.h"
#include "runtime/in_process.h"

namespace bartleby::bench {
namespace {

using Time = std::chrono::steady_clock;

constexpr const char* kFolder = "build/bench/embedded_worker";
constexpr std::size_t kMessages = 200'000;
constexpr std::size_t kKeys = 1'000;

bool fill() {
  std::filesystem::remove_all(kFolder);
  std::filesystem::create_directories(kFolder);
  embedded::Options options;
  options.folder = kFolder;
  auto broker = embedded::EmbeddedBroker::open(options);
  TopicSpec topic;
  topic.name = "t";
  topic.partitions = 4;
  if (!broker || !(*broker)->ensure_topics({topic})) return false;
  std::vector<Record> batch;
  for (std::size_t i = 0; i < kMessages; ++i) {
    batch.push_back({"t", std::nullopt, "customer-" + std::to_string(i % kKeys), std::string(200, 'v'), {}});
    if (batch.size() < 1000) continue;
    if (!(*broker)->produce(batch)) return false;
    batch.clear();
  }
  return true;
}

// Reads every row and looks at its bytes.
double plain() {
  auto db = sqlite::Database::open(std::string(kFolder) + "/log.db", sqlite::Open::kReadOnly);
  if (!db) return 0;
  auto rows = db->prepare("SELECT position, timestamp, key, value, headers FROM records ORDER BY position");
  if (!rows) return 0;
  std::size_t bytes = 0, count = 0;
  const auto began = Time::now();
  for (auto at = rows->step(); at && *at == sqlite::Step::kRow; at = rows->step()) {
    bytes += rows->bytes(2).size() + rows->bytes(3).size();
    ++count;
  }
  const double seconds = std::chrono::duration<double>(Time::now() - began).count();
  return bytes > 200 * kMessages ? static_cast<double>(count) / seconds : 0;
}

// A new group, from the beginning to the end of the topic; until the last message is handled.
double ours(bool pooled) {
  static int groups = 0;
  embedded::Options options;
  options.folder = kFolder;
  auto broker = embedded::EmbeddedBroker::open(options);
  if (!broker) return 0;
  const SystemClock clock;
  Log log(LogFormat::kText, LogLevel::kError, [](std::string_view) {});
  std::atomic<std::size_t> handled{0};
  const SyncHandler code = [&](const Message& m, Attempt&) {
    handled.fetch_add(m.value().empty() ? 0 : 1, std::memory_order_relaxed);
    return done();
  };
  WorkerSpec spec;
  spec.name = "w";
  spec.group = "g" + std::to_string(++groups);
  spec.cluster = "bench";
  spec.instance = "i";
  spec.topics = {"t"};
  if (pooled)
    spec.handlers.push_back(std::make_shared<PooledHandler>(InProcess{}, code, 16));
  else
    spec.handlers.push_back(std::make_shared<InlineHandler>(InProcess{}, code));
  const auto began = Time::now();
  double seconds = 0;
  {
    Worker worker(std::move(spec), **broker, clock, log);
    while (handled.load() < kMessages && Time::now() - began < std::chrono::minutes(2))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    seconds = std::chrono::duration<double>(Time::now() - began).count();
  }
  return static_cast<double>(handled.load()) / seconds;
}

Row measure(const char* name, bool pooled, double goal) {
  std::array<double, kRepeats> mine{}, theirs{};
  if (fill())
    for (std::size_t i = 0; i < kRepeats; ++i) {
      theirs[i] = plain();
      mine[i] = ours(pooled);
    }
  std::filesystem::remove_all(kFolder);
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  Row row{.name = name, .ours = figure.median, .peer = peer.median, .unit = "messages/s"};
  row.peer_name = "plain SQLite reading the same rows, one thread";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.goal = text(">= %.2f x", goal);
  row.met = row.ratio >= goal;
  row.spread = figure.spread;
  row.notes.push_back(text("%zu messages of 200 bytes, %zu keys, 4 partitions, %s; spread of the peer %.0f %%",
                           kMessages, kKeys, pooled ? "16 threads" : "handler on the worker's thread",
                           peer.spread * 100));
  return row;
}

}  // namespace

Row embedded_worker() { return measure("embedded_worker", false, 0.25); }
Row embedded_worker_pooled() { return measure("embedded_worker_pooled", true, 0.1); }

}  // namespace bartleby::bench
