// The simulation's command line: many seeds, one seed in detail, mutants.
//
//   sim --seeds N --from M         runs N seeds on all cores; exit 1 if one fails
//   sim --seed N [--trace]         one seed, with everything that happens
//   sim --seed N --minimise        turns faults off one by one while the failure stays
//   sim --mutants [--seeds N]      each mutant until a seed catches it; exit 1 if one survives
//   sim --mutant-seeds             each mutant with the seed recorded for it
//   sim --hash --seeds N           one hash over the traces of N seeds, to compare compilers
//   sim --office …                 the same of the office (all but --minimise): its own seeds, situations and mutants
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/mutants.h"
#include "office/mutants.h"
#include "tests/sim/mutant_seeds.h"
#include "tests/sim/office_world.h"
#include "tests/sim/world.h"

namespace bartleby::sim {
namespace {

// An assertion ends the process; it must not take the seed's number with it.
thread_local std::uint64_t seed_at_work = 0;
const char* mutant_at_work = nullptr;

extern "C" void say_seed(int) {
  const auto seed = static_cast<unsigned long long>(seed_at_work);
  if (mutant_at_work != nullptr) {
    std::printf("caught    %-28s seed %-6llu an assertion failed\n", mutant_at_work, seed);
    std::fflush(stdout);
    std::_Exit(0);
  }
  std::fprintf(stderr, "FAIL seed %llu: an assertion failed\n", seed);
  std::_Exit(1);
}

// Runs `work` in a process of its own, because a mutant may end it. True if it returned true, or an assertion ended it.
template <class F>
bool apart(const char* mutant, F&& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    mutant_at_work = mutant;
    const bool ok = work();
    std::fflush(stdout);
    std::_Exit(ok ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// What is simulated: a worker's engine, or the office.
struct Simulation {
  std::vector<std::string_view> situations;
  std::vector<std::pair<std::string_view, std::string_view>> mutants;  // name and text; the first is none
  std::uint64_t enough;                  // seeds in which every situation must have happened
  std::uint64_t searched;                // seeds in which a mutant must be caught
  void (*activate)(std::size_t mutant);  // in this thread
  RunResult (*run)(std::uint64_t seed, std::vector<std::uint64_t>& seen, bool trace);
};

template <class Situation, class Run>
RunResult counted(std::vector<std::uint64_t>& seen, Run&& run) {
  Situations<Situation> coverage;
  const RunResult r = run(coverage);
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += coverage.counts[i];
  return r;
}

Simulation worker_simulation() {
  Simulation s{{kSeenTexts.begin(), kSeenTexts.end()},
               {},
               2000,
               10000,
               [](std::size_t m) { active_mutant = static_cast<Mutant>(m); },
               [](std::uint64_t seed, std::vector<std::uint64_t>& seen, bool trace) {
                 return counted<Seen>(seen, [&](Coverage& c) { return run_seed(seed, {}, c, trace); });
               }};
  for (const MutantText& m : kMutantTexts) s.mutants.emplace_back(m.name, m.text);
  return s;
}

Simulation office_simulation() {
  Simulation s{{kOfficeSeenTexts.begin(), kOfficeSeenTexts.end()},
               {},
               1000,
               3000,
               [](std::size_t m) { active_office_mutant = static_cast<OfficeMutant>(m); },
               [](std::uint64_t seed, std::vector<std::uint64_t>& seen, bool trace) {
                 return counted<OfficeSeen>(seen, [&](OfficeCoverage& c) { return run_office_seed(seed, c, trace); });
               }};
  for (const OfficeMutantText& m : kOfficeMutantTexts) s.mutants.emplace_back(m.name, m.text);
  return s;
}

struct Arguments {
  Simulation simulation = worker_simulation();
  std::uint64_t seeds = 0;  // 0: as many as is usual
  std::uint64_t from = 1;
  std::uint64_t seed = 0;
  std::string mutant;
  bool trace = false, minimise = false, mutants = false, mutant_seeds = false, hash = false, coverage = false;
  bool office = false;
};

std::size_t mutant_named(const Arguments& a) {
  const auto& mutants = a.simulation.mutants;
  if (a.mutant.empty()) return 0;
  for (std::size_t i = 0; i < mutants.size(); ++i)
    if (mutants[i].first == a.mutant) return i;
  std::fprintf(stderr, "sim: no mutant is called '%s'; `sim --mutants` lists them\n", a.mutant.c_str());
  std::exit(2);
}

struct Sweep {
  std::vector<RunResult> failures;
  std::vector<std::uint64_t> seen;  // by situation
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;
  double seconds = 0;
  std::uint64_t first_failure = 0;
};

// Runs seeds on `threads` threads. With `stop_at_first` it ends at the first failure (lowest seed of those seen).
Sweep run_many(const Simulation& simulation, std::uint64_t from, std::uint64_t count, unsigned threads,
               std::size_t mutant, bool stop_at_first, bool progress) {
  Sweep all;
  all.seen.resize(simulation.situations.size());
  std::mutex lock;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(count));
  const auto work = [&] {
    simulation.activate(mutant);
    std::vector<std::uint64_t> seen(simulation.situations.size());
    while (!stop) {
      const std::uint64_t i = next++;
      if (i >= count) break;
      seed_at_work = from + i;
      const RunResult r = simulation.run(from + i, seen, false);
      hashes[i] = combine(r.hash, r.violation.empty() ? 0 : 1);
      const std::lock_guard guard(lock);
      all.steps += r.steps;
      if (!r.violation.empty()) {
        all.failures.push_back(r);
        if (stop_at_first) stop = true;
      }
      if (progress && (i + 1) % 5000 == 0)
        std::fprintf(stderr, "  %llu seeds, %zu failed\n", static_cast<unsigned long long>(i + 1), all.failures.size());
    }
    const std::lock_guard guard(lock);
    for (std::size_t i = 0; i < seen.size(); ++i) all.seen[i] += seen[i];
  };
  std::vector<std::jthread> pool;
  for (unsigned t = 0; t < threads; ++t) pool.emplace_back(work);
  pool.clear();
  for (const std::uint64_t h : hashes) all.hash = combine(all.hash, h);
  std::ranges::sort(all.failures, {}, &RunResult::seed);
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return all;
}

unsigned cores() { return std::max(1u, std::thread::hardware_concurrency()); }

int one_seed(const Arguments& a) {
  a.simulation.activate(mutant_named(a));
  if (!a.minimise) {
    std::vector<std::uint64_t> seen(a.simulation.situations.size());
    const RunResult r = a.simulation.run(a.seed, seen, a.trace);
    std::printf("seed %llu: %s (hash %016llx, %llu steps)\n", static_cast<unsigned long long>(a.seed),
                r.violation.empty() ? "all promises kept" : r.violation.c_str(),
                static_cast<unsigned long long>(r.hash), static_cast<unsigned long long>(r.steps));
    return r.violation.empty() ? 0 : 1;
  }
  Coverage coverage;
  std::vector<Fault> off;
  RunResult last = run_seed(a.seed, off, coverage, false);
  if (last.violation.empty()) {
    std::printf("seed %llu does not fail\n", static_cast<unsigned long long>(a.seed));
    return 0;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(Fault::kLastFault); ++i) {
    off.push_back(static_cast<Fault>(i));
    const RunResult r = run_seed(a.seed, off, coverage, false);
    if (r.violation.empty())
      off.pop_back();
    else
      last = r;
  }
  const Options least = draw_options(a.seed, off);
  std::printf("seed %llu still fails (%s) with only:", static_cast<unsigned long long>(a.seed), last.violation.c_str());
  for (std::size_t i = 0; i < least.on.size(); ++i)
    if (least.on[i]) std::printf(" %s", fault_name(static_cast<Fault>(i)).c_str());
  std::printf("\n");
  if (a.trace) run_seed(a.seed, off, coverage, true);
  return 1;
}

int many_seeds(const Arguments& a) {
  const Sweep s = run_many(a.simulation, a.from, a.seeds, cores(), mutant_named(a), false, true);
  const auto& texts = a.simulation.situations;
  for (std::size_t i = 0; i < std::min<std::size_t>(s.failures.size(), 20); ++i)
    std::printf("FAIL seed %llu: %s\n", static_cast<unsigned long long>(s.failures[i].seed),
                s.failures[i].violation.c_str());
  std::size_t unseen = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto length = static_cast<int>(texts[i].size());
    if (a.coverage) std::printf("%12llu  %.*s\n", static_cast<unsigned long long>(s.seen[i]), length, texts[i].data());
    if (s.seen[i] > 0) continue;
    ++unseen;
    if (a.seeds < a.simulation.enough) continue;  // too few to expect everything
    std::printf("FAIL never happened: %.*s\n", length, texts[i].data());
  }
  std::printf("%llu seeds from %llu, %zu failures, %zu of %zu situations seen, %.0f seeds/s\n",
              static_cast<unsigned long long>(a.seeds), static_cast<unsigned long long>(a.from), s.failures.size(),
              texts.size() - unseen, texts.size(), static_cast<double>(a.seeds) / s.seconds);
  return s.failures.empty() && (unseen == 0 || a.seeds < a.simulation.enough) ? 0 : 1;
}

int all_mutants(const Arguments& a) {
  const auto& mutants = a.simulation.mutants;
  int survivors = 0;
  for (std::size_t i = 1; i < mutants.size(); ++i) {
    const std::string name(mutants[i].first);
    if (!a.mutant.empty() && name != a.mutant) continue;
    const bool caught = apart(name.c_str(), [&] {
      const Sweep s = run_many(a.simulation, a.from, a.seeds, cores(), i, true, false);
      if (s.failures.empty()) return false;
      std::printf("caught    %-28s seed %-6llu %s\n", name.c_str(), static_cast<unsigned long long>(s.failures[0].seed),
                  s.failures[0].violation.c_str());
      return true;
    });
    if (caught) continue;
    ++survivors;
    std::printf("SURVIVED  %-28s %s\n", name.c_str(), std::string(mutants[i].second).c_str());
  }
  std::printf("%zu mutants, %d survived\n", mutants.size() - 1, survivors);
  return survivors == 0 ? 0 : 1;
}

int recorded_mutants(const Simulation& simulation) {
  int failed = 0;
  for (std::size_t i = 1; i < simulation.mutants.size(); ++i) {
    const std::string name(simulation.mutants[i].first);
    const std::uint64_t seed = recorded_seed(name);
    const bool caught =
        seed != 0 && apart("", [&] {
          if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen("/dev/null", "w", stderr) == nullptr)
            return false;
          simulation.activate(i);
          std::vector<std::uint64_t> seen(simulation.situations.size());
          return !simulation.run(seed, seen, false).violation.empty();
        });
    if (!caught) {
      ++failed;
      std::printf("FAIL %s seed %llu does not catch it any more; run `make mutants`\n", name.c_str(),
                  static_cast<unsigned long long>(seed));
    } else {
      std::printf("ok %s seed %llu\n", name.c_str(), static_cast<unsigned long long>(seed));
    }
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  std::signal(SIGABRT, say_seed);
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto number = [&]() -> std::uint64_t {
      if (i + 1 >= argc) {
        std::fprintf(stderr, "sim: %s needs a number\n", flag.c_str());
        std::exit(2);
      }
      const std::string text = argv[++i];
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size() || value == 0) {
        std::fprintf(stderr, "sim: %s needs a whole number from 1 on, not '%s'\n", flag.c_str(), text.c_str());
        std::exit(2);
      }
      return value;
    };
    if (flag == "--seeds")
      a.seeds = number();
    else if (flag == "--from")
      a.from = number();
    else if (flag == "--seed")
      a.seed = number();
    else if (flag == "--trace")
      a.trace = true;
    else if (flag == "--minimise")
      a.minimise = true;
    else if (flag == "--mutants")
      a.mutants = true;
    else if (flag == "--office")
      a.office = true, a.simulation = office_simulation();
    else if (flag == "--mutant-seeds")
      a.mutant_seeds = true;
    else if (flag == "--hash")
      a.hash = true;
    else if (flag == "--coverage")
      a.coverage = true;
    else if (flag == "--mutant" && i + 1 < argc)
      a.mutant = argv[++i];
    else {
      std::fprintf(stderr,
                   "usage: sim --seeds N --from M [--coverage] | --seed N [--trace] [--minimise] | --mutants | "
                   "--mutant-seeds | --hash --seeds N\n"
                   "       any of them with --mutant NAME; all but --minimise with --office\n");
      return 2;
    }
  }
  if (a.office && a.minimise) {
    std::fprintf(stderr,
                 "sim: --minimise is for seeds of a worker; the office's faults cannot be turned off one by one\n");
    return 2;
  }
  if (a.seeds == 0) a.seeds = a.mutants ? a.simulation.searched : 1000;
  if (a.mutants) return all_mutants(a);
  if (a.mutant_seeds) return recorded_mutants(a.simulation);
  if (a.hash) {
    std::printf("%016llx\n", static_cast<unsigned long long>(
                                 run_many(a.simulation, a.from, a.seeds, cores(), 0, false, false).hash));
    return 0;
  }
  return a.seed != 0 ? one_seed(a) : many_seeds(a);
}

}  // namespace bartleby::sim

int main(int argc, char** argv) { return bartleby::sim::main(argc, argv); }
