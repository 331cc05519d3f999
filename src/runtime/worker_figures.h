// What a worker counts while it works. Filled by the worker's thread and its handlers' threads, read by any.
//
// Relaxed atomics where messages pass; a lock only where something failed. Names that come from outside are bounded in
// number and length: the first ones have a count of their own, the rest share "other".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "codec/utf8.h"

namespace bartleby {

class NamedCounts {
 public:
  explicit NamedCounts(std::size_t most) : most_(most) {}

  void add(std::string_view given, std::uint64_t n) {
    const std::string name = given.empty() ? "unknown" : clean_utf8(given, {.bytes = kLongest});
    const std::lock_guard lock(mutex_);
    if (const auto at = counts_.find(name); at != counts_.end())
      at->second += n;
    else if (counts_.size() < most_)
      counts_.emplace(name, n);
    else
      other_ += n;
  }

  // By name; "other" is the last and always there.
  std::vector<std::pair<std::string, std::uint64_t>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, std::uint64_t>> out;
    std::uint64_t other = other_;
    for (const auto& [name, n] : counts_)
      if (name == "other")
        other += n;
      else
        out.emplace_back(name, n);
    out.emplace_back("other", other);
    return out;
  }

 private:
  static constexpr std::size_t kLongest = 120;

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::uint64_t other_ = 0;
};

struct WorkerFigures {
  // The dead letter topics are known from the start, and only they.
  explicit WorkerFigures(const std::vector<std::string>& dead_letter_topics) {
    for (const std::string& topic : dead_letter_topics) letters[topic] = 0;
  }

  static constexpr std::size_t kFates = 5;

  // Attempts, counted where they end.
  std::array<std::atomic<std::uint64_t>, kFates> by_fate{};
  Histogram attempt_time;
  NamedCounts retries{50};                   // by error type
  std::atomic<std::int64_t> last_end_ms{0};  // wall clock; 0 = none yet
  std::atomic<std::uint32_t> running{0};

  // Of the pump and the engine behind it.
  Histogram timer_lateness;                                                // from the due time to the attempt
  Histogram commit_time;                                                   // from a write to its answer
  std::map<std::string, std::atomic<std::uint64_t>, std::less<>> letters;  // by dead letter topic
  std::atomic<std::uint64_t> suspects{0};                                  // attempts that ran alone, under suspicion
  std::atomic<std::uint64_t> stale_replies{0};
  std::atomic<std::uint64_t> dropped{0};
};

}  // namespace bartleby
