// How many rounds a test of random things has: 2,000, or what BARTLEBY_ROUNDS says; `make check` asks for 10,000.
// Any thread.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace bartleby::contract {

inline int rounds() {
  const char* wanted = std::getenv("BARTLEBY_ROUNDS");
  return wanted == nullptr ? 2000 : std::max(1, std::atoi(wanted));
}

}  // namespace bartleby::contract
