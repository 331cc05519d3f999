// Counters of interesting situations.
// Over enough seeds each must have happened, or the simulation is too tame.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bartleby::sim {

enum class Seen : std::uint8_t {
#define BARTLEBY_SEEN(id, text) id,
#include "tests/sim/coverage.inc"
#undef BARTLEBY_SEEN
  kCount,
};

inline constexpr std::array kSeenTexts = {
#define BARTLEBY_SEEN(id, text) std::string_view(text),
#include "tests/sim/coverage.inc"
#undef BARTLEBY_SEEN
};

struct Coverage {
  std::array<std::uint64_t, static_cast<std::size_t>(Seen::kCount)> counts{};

  void saw(Seen s, std::uint64_t n = 1) { counts[static_cast<std::size_t>(s)] += n; }
  void add(const Coverage& o) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += o.counts[i];
  }
};

}  // namespace bartleby::sim
