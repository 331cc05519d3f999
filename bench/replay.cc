// Letters replayed per second on the embedded log, without a rate, against plain appends of the same messages to it.
// Beside it: what a letter costs step by step, and what SQLite alone needs for the same rows.
#include <time.h>

#include <filesystem>
#include <string>
#include <vector>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/sqlite/sqlite.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "base/clock.h"
#include "bench/benches.h"
#include "bench/some_letters.h"
#include "office/operation_runner.h"
#include "office/operations.h"
#include "office/replay_batch.h"

namespace bartleby::bench {
namespace {

const std::string kFolder = "build/bench/replay";
constexpr std::int64_t kLetters = 20000;
constexpr std::int64_t kSentAtOnce = RunLimits{}.batch;
const OfficeKey kKey{"o1", "0123456789abcdef0123456789abcdef"};
const Actor kActor{"bench", "", ""};

// All threads of the process: the log has one of its own.
double processor_seconds() {
  struct timespec t = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::unique_ptr<embedded::EmbeddedBroker> broker_with_topic() {
  embedded::Options options;
  options.folder = kFolder;
  auto broker = embedded::EmbeddedBroker::open(options);
  TopicSpec topic;
  topic.name = "orders";
  return broker && (*broker)->ensure_topics({topic}) ? std::move(*broker) : nullptr;
}

// The messages that a replay sends, headers included, as many to a call.
std::vector<std::vector<Record>> messages() {
  const std::string id = "ltr_0123456789abcdefghijklmnop";
  std::vector<std::vector<Record>> batches(1);
  for (std::int64_t n = 0; n < kLetters; n += kLettersAtOnce)
    for (LogRecord& record : dlq_records(n)) {
      if (std::ssize(batches.back()) == kSentAtOnce) batches.emplace_back();
      const ReplayMark mark{"op_bench", id, id, 1, "billing-1", kNow};
      Headers headers = {{"tenant", "acme"}, {"content-type", "application/json"}};
      headers.emplace_back(std::string(kReplayHeader), replay_header(mark, kKey, "orders", record.value));
      batches.back().push_back(
          {"orders", Partition(0), std::move(record.key), std::move(record.value), std::move(headers)});
    }
  return batches;
}

// An empty log, a store that took the letters in, and a replay of all of them that was started.
struct Desk {
  std::unique_ptr<embedded::EmbeddedBroker> broker;
  std::unique_ptr<sqlite_store::SqliteStore> store;
  SystemClock clock;
  std::unique_ptr<Operations> operations;
  std::string id;

  bool open() {
    fresh(kFolder);
    broker = broker_with_topic();
    auto opened = sqlite_store::SqliteStore::open({.folder = kFolder});
    if (!broker || !opened) return false;
    store = std::move(*opened);
    std::vector<std::vector<LogRecord>> batches;
    for (std::int64_t n = 0; n < kLetters; n += kLettersAtOnce) batches.push_back(dlq_records(n));
    if (!take_in(*store, std::move(batches))) return false;
    OperationsOptions options;
    options.readers = [](const std::string&) { return std::vector<Reader>(); };
    options.new_id = [] { return std::string("op_bench"); };
    operations = std::make_unique<Operations>(*store, clock, options);
    OperationRequest wanted;
    wanted.query = parse_query("").value();
    wanted.settings.rate = 0;
    wanted.settings.canary = 0;
    const auto planned = operations->plan(wanted, kActor);
    if (!planned || planned->letters != kLetters) return false;
    id = planned->id;
    return operations->start(id, kActor).has_value();
  }
};

// To the last letter on disk: taken, signed, sent with the cursor, written down.
double replayed() {
  Desk desk;
  if (!desk.open()) return 0;
  Log log(LogFormat::kText, LogLevel::kError, [](std::string_view) {});
  RunnerOptions running;
  running.key = kKey;
  OperationRunner runner(*desk.broker, *desk.store, log, desk.clock, running);
  const double seconds = seconds_of([&] { runner.run_until_idle(); });
  const auto after = desk.operations->get(desk.id);
  if (!after || !*after || (*after)->with(ItemResult::kSent) != kLetters) return 0;
  return static_cast<double>(kLetters) / seconds;
}

// Microseconds of processor time per letter, by step.
struct Steps {
  double taken = 0, read = 0, sent = 0, written_down = 0;
};

template <class Work>
auto timed(double& total, Work&& work) {
  const double began = processor_seconds();
  auto result = work();
  total += (processor_seconds() - began) * 1e6 / static_cast<double>(kLetters);
  return result;
}

Steps step_by_step() {
  Desk desk;
  Steps steps;
  if (!desk.open()) return steps;
  const auto one = [](const std::string&) -> Result<std::int32_t> { return 1; };
  for (std::int64_t from = 0; from < kLetters;) {
    const std::int64_t to = std::min(from + kSentAtOnce, kLetters);
    const auto taken = timed(steps.taken, [&] { return take_letters(*desk.store, 1, from, to, kNow); });
    auto batch = timed(steps.read, [&] { return replay_batch(*desk.store, 1, from, to, kKey, one); });
    if (!taken || !batch) return {};
    const auto written = timed(steps.sent, [&] { return desk.broker->produce(batch->records); });
    if (!written) return {};
    std::map<std::int64_t, Written> places;
    for (std::size_t i = 0; i < batch->positions.size(); ++i) places[batch->positions[i]] = (*written)[i];
    const auto done =
        timed(steps.written_down, [&] { return write_down(*desk.store, 1, from, batch->to, places, kNow); });
    if (!done) return {};
    from = batch->to;
  }
  return steps;
}

// SQLite alone, and the appends: the rows that a replay changes and adds, one by one, with their indexes, in as many
// transactions and as durable. Nothing is read, compared, hashed, counted, unpacked or signed.
class PlainRows {
 public:
  bool open() {
    if (!desk_.open()) return false;
    desk_.operations.reset();
    desk_.store.reset();
    auto opened = sqlite::Database::open(kFolder + "/office.db", sqlite::Open::kReadWrite);
    if (!opened || !opened->exec("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-65536;"))
      return false;
    db_ = std::move(*opened);
    auto rows = db_.prepare(
        "SELECT l.seq, l.id FROM operation_items i JOIN letters l ON l.seq = i.letter"
        " WHERE i.operation = 1 ORDER BY i.position");
    if (!rows) return false;
    for (auto row = rows->step(); row && *row == sqlite::Step::kRow; row = rows->step())
      letters_.emplace_back(rows->integer(0), rows->bytes(1));
    return std::ssize(letters_) == kLetters && prepare();
  }

  bool run() {
    bool good = true;
    std::int64_t from = 0;
    for (const auto& batch : batches_) {
      const std::int64_t to = from + std::ssize(batch);
      good &= db_.exec("BEGIN IMMEDIATE").has_value();
      for (std::int64_t i = from; i < to; ++i) good &= take(i);
      good &= db_.exec("COMMIT").has_value() && desk_.broker->produce(batch).has_value();
      good &= db_.exec("BEGIN IMMEDIATE").has_value();
      for (std::int64_t i = from; i < to; ++i) good &= put(sent_, i);
      good &= db_.exec("COMMIT").has_value();
      from = to;
    }
    return good;
  }

 private:
  bool prepare() {
    const auto made = [&](sqlite::Statement& statement, std::string_view sql) {
      auto prepared = db_.prepare(sql);
      if (prepared) statement = std::move(*prepared);
      return prepared.has_value();
    };
    return made(state_, "UPDATE letters SET state = 1, version = 2, changed_at = 1, undo_until = NULL WHERE seq = ?") &&
           made(line_,
                "INSERT INTO audit_log VALUES(?, 1, 'bench', 'replay', ?, 'open', 'replaying', '', '',"
                " '{\"operation\":\"op_bench\"}', zeroblob(32))") &&
           made(taken_, "UPDATE operation_items SET result = 5, changed_at = 1 WHERE operation = 1 AND position = ?") &&
           made(sent_,
                "UPDATE operation_items SET result = 1, changed_at = 1, to_partition = 0, to_offset = ?1"
                " WHERE operation = 1 AND position = ?1");
  }
  static bool put(sqlite::Statement& statement, std::int64_t number) {
    statement.bind(1, number);
    return statement.run().has_value();
  }
  bool take(std::int64_t at) {
    const auto& [seq, id] = letters_[static_cast<std::size_t>(at)];
    line_.bind_text(2, id);
    return put(state_, seq) && put(line_, kFirstLine + at) && put(taken_, at);
  }

  static constexpr std::int64_t kFirstLine = 100;  // after those of the plan
  Desk desk_;
  sqlite::Database db_;
  sqlite::Statement state_, line_, taken_, sent_;
  std::vector<std::pair<std::int64_t, std::string>> letters_;
  const std::vector<std::vector<Record>> batches_ = messages();
};

// Letters per second, and microseconds of processor time for each.
struct Plain {
  std::array<double, kRepeats> rate{}, cost{};
};

void plain_rows(Plain& plain, std::size_t at) {
  PlainRows rows;
  if (!rows.open()) return;
  const double began = processor_seconds();
  bool good = false;
  const double seconds = seconds_of([&] { good = rows.run(); });
  if (!good) return;
  plain.rate[at] = static_cast<double>(kLetters) / seconds;
  plain.cost[at] = (processor_seconds() - began) * 1e6 / static_cast<double>(kLetters);
}

double appended() {
  fresh(kFolder);
  const auto broker = broker_with_topic();
  if (!broker) return 0;
  const auto batches = messages();
  bool good = true;
  const double seconds = seconds_of([&] {
    for (const auto& batch : batches) good &= broker->produce(batch).has_value();
  });
  return good ? static_cast<double>(kLetters) / seconds : 0;
}

}  // namespace

Row replay() {
  std::array<double, kRepeats> mine{}, theirs{};
  Plain plain;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    theirs[i] = appended();
    mine[i] = replayed();
    plain_rows(plain, i);
  }
  const Steps steps = step_by_step();
  std::filesystem::remove_all(kFolder);
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  Row row{.name = "replay", .ours = figure.median, .peer = peer.median, .unit = "letters/s"};
  row.peer_name = "plain appends of the same messages to the embedded log, as many to a call";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.goal = ">= 0.5 x";
  row.met = row.ratio >= 0.5;
  row.spread = figure.spread;
  row.notes.push_back(text("%lld letters of 450 bytes, %lld to a write; spread of the peer %.0f %%",
                           static_cast<long long>(kLetters), static_cast<long long>(kSentAtOnce), peer.spread * 100));
  row.notes.push_back(
      text("processor time per letter: taken %.1f, read and signed %.1f, sent %.1f, written down %.1f µs", steps.taken,
           steps.read, steps.sent, steps.written_down));
  const double rows = figure_of(plain.rate).median;
  row.notes.push_back(text(
      "SQLite alone, the same rows in as many transactions, and the appends: %.0f letters/s (ours is %.2f x), %.1f "
      "µs of processor time",
      rows, rows > 0 ? figure.median / rows : 0, figure_of(plain.cost).median));
  return row;
}

}  // namespace bartleby::bench
