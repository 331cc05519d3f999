// For each mutant the first seed that caught it; `make mutants` finds them anew.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bartleby::sim {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 1> kRecordedSeeds = {{{"none", 0}}};

constexpr std::uint64_t recorded_seed(std::string_view mutant) {
  for (const auto& [name, seed] : kRecordedSeeds)
    if (name == mutant) return seed;
  return 0;
}

}  // namespace bartleby::sim
