// Pairs of keys with one lane hash, found by trying two million names. Both keys of a pair also go to the same
// partition of one, two, three or four, so that they do meet. `CollidingKeys.…` (sim_broker_test.cc) checks all of
// this: when the hash of lanes changes with the metadata's version, the table must be looked for anew.
#pragma once

#include <array>
#include <string_view>

namespace bartleby::sim {

inline constexpr std::array<std::string_view, 10> kCollidingKeys = {
    "c490425", "c683677", "c570045", "c1492980", "c464712", "c572881", "c72320", "c294587", "c767456", "c1965056",
};

}  // namespace bartleby::sim
