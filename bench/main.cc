// bench: measures what docs/performance.md lists, prints a table, each row when it is known, and writes
// build/bench/results.json.
//
// With names as arguments only those are measured, and nothing is written.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <vector>

#include "bench/benches.h"

int main(int argc, char** argv) {
  using namespace bartleby::bench;
  const std::vector<std::pair<std::string_view, std::function<std::optional<Row>()>>> benches = {
      {"engine_noop_uniform", engine_noop_uniform},
      {"engine_noop_zipf", engine_noop_zipf},
      {"engine_timer", engine_timer},
      {"engine_parked_memory", engine_parked_memory},
      {"engine_behind_parked", engine_behind_parked},
      {"embedded_append_1", embedded_append_1},
      {"embedded_append_16", embedded_append_16},
      {"embedded_append_256", embedded_append_256},
      {"embedded_append_1_batched", embedded_append_1_batched},
      {"embedded_append_256_batched", embedded_append_256_batched},
      {"http_append", http_append},
      {"embedded_worker", embedded_worker},
      {"embedded_worker_pooled", embedded_worker_pooled},
      {"noop_uniform_100", noop_uniform_100},
      {"noop_zipf_100", noop_zipf_100},
      {"noop_uniform_1k", noop_uniform_1k},
      {"noop_zipf_1k", noop_zipf_1k},
      {"noop_pooled", noop_pooled},
      {"async_1ms", async_1ms},
      {"async_10ms", async_10ms},
      {"async_100ms", async_100ms},
      {"failing", failing},
      {"behind_parked", behind_parked},
      {"redis_down", redis_down},
      {"noop_parallel_consumer", noop_parallel_consumer},
      {"noop_spring_kafka", noop_spring_kafka},
      {"failing_parallel_consumer", failing_parallel_consumer},
      {"failing_spring_kafka", failing_spring_kafka},
      {"intake", intake},
      {"dlq_status", dlq_status},
      {"search", search},
      {"replay", replay},
      {"push", push},
      {"push_slow", push_slow},
      {"sim", sim},
  };
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  for (const std::string_view name : wanted)
    if (std::ranges::find(benches, name, [](const auto& bench) { return bench.first; }) == benches.end()) {
      std::fprintf(stderr, "bench: there is no %.*s. There are:\n", static_cast<int>(name.size()), name.data());
      for (const auto& bench : benches) std::fprintf(stderr, "  %s\n", bench.first.data());
      return 2;
    }
  const auto say = [](const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  };
  std::vector<Row> rows;
  say(heading());
  for (const auto& [name, measure] : benches) {
    if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
    if (::isatty(STDERR_FILENO) != 0)
      std::fprintf(stderr, "measuring %.*s ...\r", static_cast<int>(name.size()), name.data());
    if (std::optional<Row> row = measure()) {
      say(line_of(*row));
      rows.push_back(std::move(*row));
    }
  }
  // One name for both distributions of keys: the worse of them counts.
  const auto uniform = std::ranges::find(rows, "engine_noop_uniform", &Row::name);
  const auto zipf = std::ranges::find(rows, "engine_noop_zipf", &Row::name);
  if (uniform != rows.end() && zipf != rows.end()) {
    Row worse = uniform->ours > zipf->ours ? *uniform : *zipf;
    worse.notes = {"the worse of uniform and zipf"};
    worse.name = "engine_noop";
    say(line_of(worse));
    rows.insert(rows.begin(), std::move(worse));
  }
  // Likewise of the four on Kafka.
  std::vector<Row> noops;
  for (const Row& row : rows)
    if (row.name.starts_with("noop_uniform") || row.name.starts_with("noop_zipf")) noops.push_back(row);
  if (noops.size() == 4) {
    Row worst = *std::ranges::min_element(noops, {}, [](const Row& row) { return row.ratio.value_or(0); });
    worst.notes = {"the worst of " + std::to_string(noops.size()) + ": here " + worst.name};
    worst.name = "noop";
    say(line_of(worst));
    rows.push_back(std::move(worst));
  }
  say(notes_of(rows));
  if (!wanted.empty()) return 0;
  std::error_code failed;
  std::filesystem::create_directories("build/bench", failed);
  std::ofstream("build/bench/results.json") << json_of(rows);
  return 0;
}
