// Counters of interesting situations, one list for each simulation.
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

enum class OfficeSeen : std::uint8_t {
#define BARTLEBY_SEEN(id, text) id,
#include "tests/sim/office_coverage.inc"
#undef BARTLEBY_SEEN
  kCount,
};

inline constexpr std::array kOfficeSeenTexts = {
#define BARTLEBY_SEEN(id, text) std::string_view(text),
#include "tests/sim/office_coverage.inc"
#undef BARTLEBY_SEEN
};

template <class Situation>
struct Situations {
  std::array<std::uint64_t, static_cast<std::size_t>(Situation::kCount)> counts{};

  void saw(Situation s, std::uint64_t n = 1) { counts[static_cast<std::size_t>(s)] += n; }
  void add(const Situations& o) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += o.counts[i];
  }
};

using Coverage = Situations<Seen>;
using OfficeCoverage = Situations<OfficeSeen>;

}  // namespace bartleby::sim
