// A rule of the engine as a scenario: it holds, and with the rule left out it does not.
//
// A scenario answers with what went wrong, empty for nothing. The mutants are the rule's absence: if one of
// them goes unnoticed, the scenario proves nothing and the test fails.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "tests/sim/rig.h"

namespace bartleby::sim {

using Scenario = std::function<std::string()>;

// Ends a scenario that has gone another way.
#define BARTLEBY_MUST(condition)                                                \
  do {                                                                          \
    if (!(condition)) return ::bartleby::sim::went_wrong(#condition, __LINE__); \
  } while (false)

inline void expect_rule(const Scenario& scenario, std::initializer_list<Mutant> without) {
  EXPECT_EQ(scenario(), "");
  for (const Mutant mutant : without) {
    const WithMutant off(mutant);
    EXPECT_NE(scenario(), "") << "not noticed: " << kMutantTexts[static_cast<std::size_t>(mutant)].text;
  }
}

}  // namespace bartleby::sim
