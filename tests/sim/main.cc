// The simulation's command line: many seeds, one seed in detail, mutants.
//
//   sim --seeds N --from M         runs N seeds on all cores; exit 1 if one fails
//   sim --seed N [--trace]         one seed, with everything that happens
//   sim --seed N --minimise        turns faults off one by one while the failure stays
//   sim --mutants [--seeds N]      each mutant until a seed catches it; exit 1 if one survives
//   sim --mutant-seeds             each mutant with the seed recorded for it
//   sim --hash --seeds N           one hash over the traces of N seeds, to compare compilers
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
#include "tests/sim/mutant_seeds.h"
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

struct Arguments {
  std::uint64_t seeds = 1000;
  std::uint64_t from = 1;
  std::uint64_t seed = 0;
  std::string mutant;
  bool trace = false, minimise = false, mutants = false, mutant_seeds = false, hash = false, coverage = false;
};

Mutant mutant_named(const std::string& name) {
  for (std::size_t i = 0; i < kMutantTexts.size(); ++i)
    if (kMutantTexts[i].name == name) return static_cast<Mutant>(i);
  std::fprintf(stderr, "sim: no mutant is called '%s'; `sim --mutants` lists them\n", name.c_str());
  std::exit(2);
}

struct Sweep {
  std::vector<RunResult> failures;
  Coverage coverage;
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;
  double seconds = 0;
  std::uint64_t first_failure = 0;
};

// Runs seeds on `threads` threads. With `stop_at_first` it ends at the first failure (lowest seed of those seen).
Sweep run_many(std::uint64_t from, std::uint64_t count, unsigned threads, Mutant mutant, bool stop_at_first,
               bool progress) {
  Sweep all;
  std::mutex lock;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(count));
  const auto work = [&] {
    active_mutant = mutant;
    Coverage coverage;
    while (!stop) {
      const std::uint64_t i = next++;
      if (i >= count) break;
      seed_at_work = from + i;
      const RunResult r = run_seed(from + i, {}, coverage, false);
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
    all.coverage.add(coverage);
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
  if (!a.mutant.empty()) active_mutant = mutant_named(a.mutant);
  Coverage coverage;
  if (!a.minimise) {
    const RunResult r = run_seed(a.seed, {}, coverage, a.trace);
    std::printf("seed %llu: %s (hash %016llx, %llu steps)\n", static_cast<unsigned long long>(a.seed),
                r.violation.empty() ? "all promises kept" : r.violation.c_str(),
                static_cast<unsigned long long>(r.hash), static_cast<unsigned long long>(r.steps));
    return r.violation.empty() ? 0 : 1;
  }
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
  const Sweep s =
      run_many(a.from, a.seeds, cores(), a.mutant.empty() ? Mutant::kNoMutant : mutant_named(a.mutant), false, true);
  for (std::size_t i = 0; i < std::min<std::size_t>(s.failures.size(), 20); ++i)
    std::printf("FAIL seed %llu: %s\n", static_cast<unsigned long long>(s.failures[i].seed),
                s.failures[i].violation.c_str());
  std::size_t unseen = 0;
  for (std::size_t i = 0; i < kSeenTexts.size(); ++i) {
    if (a.coverage)
      std::printf("%12llu  %.*s\n", static_cast<unsigned long long>(s.coverage.counts[i]),
                  static_cast<int>(kSeenTexts[i].size()), kSeenTexts[i].data());
    if (s.coverage.counts[i] > 0) continue;
    ++unseen;
    if (a.seeds < 2000) continue;  // too few to expect everything
    std::printf("FAIL never happened: %.*s\n", static_cast<int>(kSeenTexts[i].size()), kSeenTexts[i].data());
  }
  std::printf("%llu seeds from %llu, %zu failures, %zu of %zu situations seen, %.0f seeds/s\n",
              static_cast<unsigned long long>(a.seeds), static_cast<unsigned long long>(a.from), s.failures.size(),
              kSeenTexts.size() - unseen, kSeenTexts.size(), static_cast<double>(a.seeds) / s.seconds);
  return s.failures.empty() && (unseen == 0 || a.seeds < 2000) ? 0 : 1;
}

int all_mutants(const Arguments& a) {
  int survivors = 0;
  for (std::size_t i = 1; i < kMutantTexts.size(); ++i) {
    if (!a.mutant.empty() && kMutantTexts[i].name != a.mutant) continue;
    const std::string name(kMutantTexts[i].name);
    const bool caught = apart(name.c_str(), [&] {
      const Sweep s = run_many(a.from, a.seeds, cores(), static_cast<Mutant>(i), true, false);
      if (s.failures.empty()) return false;
      std::printf("caught    %-28s seed %-6llu %s\n", name.c_str(), static_cast<unsigned long long>(s.failures[0].seed),
                  s.failures[0].violation.c_str());
      return true;
    });
    if (caught) continue;
    ++survivors;
    std::printf("SURVIVED  %-28s %s\n", name.c_str(), std::string(kMutantTexts[i].text).c_str());
  }
  std::printf("%zu mutants, %d survived\n", kMutantTexts.size() - 1, survivors);
  return survivors == 0 ? 0 : 1;
}

int recorded_mutants() {
  int failed = 0;
  for (std::size_t i = 1; i < kMutantTexts.size(); ++i) {
    const std::string name(kMutantTexts[i].name);
    const std::uint64_t seed = recorded_seed(name);
    const bool caught =
        seed != 0 && apart("", [&] {
          if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen("/dev/null", "w", stderr) == nullptr)
            return false;
          active_mutant = static_cast<Mutant>(i);
          Coverage coverage;
          return !run_seed(seed, {}, coverage, false).violation.empty();
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
      a.mutants = true, a.seeds = a.seeds == 1000 ? 10000 : a.seeds;
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
                   "       any of them with --mutant NAME\n");
      return 2;
    }
  }
  if (a.mutants) return all_mutants(a);
  if (a.mutant_seeds) return recorded_mutants();
  if (a.hash) {
    std::printf("%016llx\n", static_cast<unsigned long long>(
                                 run_many(a.from, a.seeds, cores(), Mutant::kNoMutant, false, false).hash));
    return 0;
  }
  return a.seed != 0 ? one_seed(a) : many_seeds(a);
}

}  // namespace bartleby::sim

int main(int argc, char** argv) { return bartleby::sim::main(argc, argv); }
