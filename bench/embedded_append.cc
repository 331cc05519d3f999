// How many records the embedded broker makes durable in a second, against plain SQLite with the same durability
// (write-ahead log, synchronous=FULL) and the same bytes, in the same run: one insert per transaction, and 256 of them.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/sqlite/sqlite.h"
#include "bench/benches.h"

namespace bartleby::bench {
namespace {

using Time = std::chrono::steady_clock;

constexpr const char* kFolder = "build/bench/embedded_append";
constexpr std::chrono::milliseconds kRun{1500};
constexpr std::size_t kBatch = 256;
const std::string kKey = "customer-4711";
const std::string kValue(200, 'v');

std::string fresh_folder() {
  std::filesystem::remove_all(kFolder);
  std::filesystem::create_directories(kFolder);
  return kFolder;
}

double rate(std::size_t records, Time::time_point began) {
  return static_cast<double>(records) / std::chrono::duration<double>(Time::now() - began).count();
}

// One connection: more would only wait for each other.
double plain(std::size_t per_transaction) {
  auto db = sqlite::Database::open(fresh_folder() + "/plain.db", sqlite::Open::kReadWrite);
  if (!db || !db->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                       "CREATE TABLE log(id INTEGER PRIMARY KEY, time INTEGER, key BLOB, value BLOB, headers BLOB)"))
    return 0;
  auto begin = db->prepare("BEGIN IMMEDIATE"), commit = db->prepare("COMMIT"),
       insert = db->prepare("INSERT INTO log(time, key, value, headers) VALUES(?,?,?,NULL)");
  std::size_t records = 0;
  const auto began = Time::now();
  while (Time::now() - began < kRun) {
    if (!begin->run()) return 0;
    for (std::size_t i = 0; i < per_transaction; ++i) {
      insert->bind(1, std::chrono::system_clock::now().time_since_epoch().count());
      insert->bind_blob(2, std::string_view(kKey));
      insert->bind_blob(3, std::string_view(kValue));
      if (!insert->run()) return 0;
    }
    if (!commit->run()) return 0;
    records += per_transaction;
  }
  return rate(records, began);
}

double ours(std::size_t producers, std::size_t per_call) {
  embedded::Options options;
  options.folder = fresh_folder();
  auto broker = embedded::EmbeddedBroker::open(options);
  TopicSpec topic;
  topic.name = "t";
  if (!broker || !(*broker)->ensure_topics({topic})) return 0;
  const std::vector<Record> records(per_call, Record{"t", Partition(0), kKey, kValue, {}});
  std::atomic<std::size_t> written{0};
  std::vector<std::thread> threads;
  const auto began = Time::now();
  for (std::size_t i = 0; i < producers; ++i)
    threads.emplace_back([&] {
      while (Time::now() - began < kRun)
        if ((*broker)->produce(records)) written += per_call;
    });
  for (std::thread& thread : threads) thread.join();
  return rate(written, began);
}

Row measure(const char* name, std::size_t producers, std::size_t per_call, std::size_t peer_batch, double goal) {
  std::array<double, kRepeats> mine{}, theirs{};
  for (std::size_t i = 0; i < kRepeats; ++i) {
    theirs[i] = plain(peer_batch);
    mine[i] = ours(producers, per_call);
  }
  std::filesystem::remove_all(kFolder);
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  Row row{.name = name, .ours = figure.median, .peer = peer.median, .unit = "records/s"};
  row.peer_name =
      text("plain SQLite, WAL, synchronous=FULL, %zu insert%s per transaction", peer_batch, peer_batch == 1 ? "" : "s");
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.goal = text(">= %.1f x", goal);
  row.met = row.ratio >= goal;
  row.spread = figure.spread;
  row.notes.push_back(text("%zu producer%s, %zu record%s per call, 200 bytes; spread of the peer %.0f %%", producers,
                           producers == 1 ? "" : "s", per_call, per_call == 1 ? "" : "s", peer.spread * 100));
  return row;
}

}  // namespace

Row embedded_append_1() { return measure("embedded_append_1", 1, 1, 1, 1.0); }
Row embedded_append_16() { return measure("embedded_append_16", 16, 1, 1, 1.0); }
Row embedded_append_256() { return measure("embedded_append_256", 256, 1, 1, 1.0); }
Row embedded_append_256_batched() { return measure("embedded_append_256_batched", 256, 1, kBatch, 0.5); }
Row embedded_append_1_batched() { return measure("embedded_append_1_batched", 1, kBatch, kBatch, 0.5); }

}  // namespace bartleby::bench
