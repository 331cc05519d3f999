// bench: measures what docs/performance.md lists, prints a table and writes build/bench/results.json.
//
// With names as arguments only those are measured, and nothing is written.
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
      {"kafka_noop", kafka_noop},
      {"kafka_noop_pooled", kafka_noop_pooled},
      {"intake", intake},
      {"dlq_status", dlq_status},
      {"search", search},
      {"replay", replay},
      {"push", push},
      {"push_slow", push_slow},
      {"sim", sim},
  };
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  std::vector<Row> rows;
  for (const auto& [name, measure] : benches) {
    if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
    std::fprintf(stderr, "measuring %.*s\n", static_cast<int>(name.size()), name.data());
    if (std::optional<Row> row = measure()) rows.push_back(std::move(*row));
  }
  // One name for both distributions of keys: the worse of them counts.
  const auto uniform = std::ranges::find(rows, "engine_noop_uniform", &Row::name);
  const auto zipf = std::ranges::find(rows, "engine_noop_zipf", &Row::name);
  if (uniform != rows.end() && zipf != rows.end()) {
    Row worse = uniform->ours > zipf->ours ? *uniform : *zipf;
    worse.notes = {"the worse of uniform and zipf"};
    worse.name = "engine_noop";
    rows.insert(rows.begin(), std::move(worse));
  }
  std::fputs(table_of(rows).c_str(), stdout);
  if (!wanted.empty()) return 0;
  std::error_code failed;
  std::filesystem::create_directories("build/bench", failed);
  std::ofstream("build/bench/results.json") << json_of(rows);
  return 0;
}
