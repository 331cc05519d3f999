// Bugs on purpose in the office, for the proof that its simulation would see them.
//
// Each is a rule of intake, of operations or of the counters left out. They are switched on one at a time, at run
// time, in test builds; elsewhere `office_mutant()` is a constant false and the compiler drops the branch.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bartleby {

enum class OfficeMutant : std::uint8_t {
  kNoMutant,
#define BARTLEBY_OFFICE_MUTANT(id, text) id,
#include "office/mutants.inc"
#undef BARTLEBY_OFFICE_MUTANT
};

struct OfficeMutantText {
  std::string_view name;
  std::string_view text;
};

inline constexpr std::array kOfficeMutantTexts = {
    OfficeMutantText{"none", ""},
#define BARTLEBY_OFFICE_MUTANT(id, text) OfficeMutantText{std::string_view(#id).substr(1), text},
#include "office/mutants.inc"
#undef BARTLEBY_OFFICE_MUTANT
};

#ifdef BARTLEBY_TESTING
inline thread_local OfficeMutant active_office_mutant = OfficeMutant::kNoMutant;
inline bool office_mutant(OfficeMutant m) { return active_office_mutant == m; }
#else
constexpr bool office_mutant(OfficeMutant) { return false; }
#endif

}  // namespace bartleby
