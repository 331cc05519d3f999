// How fast the simulation is: its own word, from the last line it prints.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "bench/benches.h"

namespace bartleby::bench {
namespace {

constexpr const char* kProgram = "build/sim";
constexpr const char* kCommand = "build/sim --seeds 600 --from 1";

std::string last_line_of(const char* command) {
  struct Close {
    void operator()(std::FILE* f) const { pclose(f); }
  };
  const std::unique_ptr<std::FILE, Close> out(popen(command, "r"));
  std::array<char, 1000> line;
  std::string last;
  while (out && std::fgets(line.data(), line.size(), out.get()) != nullptr) last = line.data();
  return last;
}

// "N seeds from M, F failures, ..., X seeds/s"
std::optional<double> seeds_per_second(const std::string& line) {
  const std::size_t end = line.rfind(" seeds/s");
  if (end == std::string::npos || end == 0) return std::nullopt;
  const std::size_t begin = line.find_last_of(" ,", end - 1);
  return std::strtod(line.c_str() + (begin == std::string::npos ? 0 : begin + 1), nullptr);
}

}  // namespace

std::optional<Row> sim() {
  if (!std::filesystem::exists(kProgram)) {
    std::printf("sim: skipped, %s is not built\n", kProgram);
    return std::nullopt;
  }
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  std::array<double, kRepeats> rates;
  std::string line;
  for (double& rate : rates) {
    line = last_line_of(kCommand);
    const std::optional<double> found = seeds_per_second(line);
    if (!found) {
      std::printf("sim: skipped, no figure in: %s\n", line.c_str());
      return std::nullopt;
    }
    rate = *found / cores;
  }
  const Figure figure = figure_of(rates);
  Row row{.name = "sim", .ours = figure.median, .peer = {}, .peer_name = {}, .unit = "seeds/s/core"};
  row.goal = ">= 300 seeds/s/core";
  row.met = figure.median >= 300;
  row.spread = figure.spread;
  while (!line.empty() && line.back() == '\n') line.pop_back();
  row.notes.push_back(text("%s: %s", kCommand, line.c_str()));
  return row;
}

}  // namespace bartleby::bench
