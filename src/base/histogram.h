// How often a span was how long: fixed buckets of relaxed atomics, filled by any thread and read by any other.
//
// A reading is not one instant: a span that is observed meanwhile may be in a bucket and not yet in the sum. The count
// is the sum of the buckets, so the two never disagree.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace bartleby {

class Histogram {
 public:
  static constexpr std::array<double, 14> kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                      0.25,  0.5,    1,     2.5,  5,     10,   30};

  // `n` spans of that length.
  void observe(Duration span, std::uint64_t n = 1) {
    const double seconds = static_cast<double>(span.count()) / 1000;
    std::size_t i = 0;
    while (i < kSeconds.size() && seconds > kSeconds[i]) ++i;
    buckets_[i].fetch_add(n, std::memory_order_relaxed);
    total_ms_.fetch_add(static_cast<std::uint64_t>(span.count()) * n, std::memory_order_relaxed);
  }

  struct Reading {
    std::array<std::uint64_t, kSeconds.size() + 1> buckets{};  // the last: longer than all
    double sum = 0;                                            // seconds
  };
  Reading read() const {
    Reading out;
    for (std::size_t i = 0; i < buckets_.size(); ++i) out.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    out.sum = static_cast<double>(total_ms_.load(std::memory_order_relaxed)) / 1000;
    return out;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kSeconds.size() + 1> buckets_{};
  std::atomic<std::uint64_t> total_ms_{0};
};

}  // namespace bartleby
