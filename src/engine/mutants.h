// Bugs on purpose, for the proof that the simulation would see them.
//
// Each is a real bug of another system or a rule of this engine left out. They are switched on one at a time,
// at run time, in test builds; elsewhere `mutant()` is a constant false and the compiler drops the branch.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bartleby {

enum class Mutant : std::uint8_t {
  kNoMutant,
#define BARTLEBY_MUTANT(id, text) id,
#include "engine/mutants.inc"
#undef BARTLEBY_MUTANT
  kMutantCount,
};

struct MutantText {
  std::string_view name;
  std::string_view text;
};

inline constexpr std::array kMutantTexts = {
    MutantText{"none", ""},
#define BARTLEBY_MUTANT(id, text) MutantText{std::string_view(#id).substr(1), text},
#include "engine/mutants.inc"
#undef BARTLEBY_MUTANT
};

#ifdef BARTLEBY_TESTING
inline thread_local Mutant active_mutant = Mutant::kNoMutant;
inline bool mutant(Mutant m) { return active_mutant == m; }
#else
constexpr bool mutant(Mutant) { return false; }
#endif

}  // namespace bartleby
