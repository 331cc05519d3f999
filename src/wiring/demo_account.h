// The account of a demo: what became of every message, from what the log, the office and the receiver say.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wiring/demo_receiver.h"

namespace bartleby {

struct DemoLetter {
  std::int64_t order = 0;
  bool resolved = false;
  bool replayed = false;
};

struct DemoAccount {
  std::int64_t wanted = 0;  // messages that should have been sent
  std::int64_t sent = 0, at_once = 0, after_retries = 0, dead = 0;
  std::int64_t replayed = 0, succeeded = 0, came_back = 0;
  std::int64_t lost = 0;
  std::int64_t keys = 0, in_order = 0;

  bool adds_up() const;
  std::string text() const;
};

// `sent`: the orders in the log, with their keys. A letter that the office calls resolved counts as lost if the
// receiver has never handled it.
DemoAccount demo_account(std::int64_t wanted, const std::map<std::int64_t, std::string>& sent,
                         const std::vector<DemoLetter>& letters, const std::vector<DemoAttempt>& attempts);

}  // namespace bartleby
