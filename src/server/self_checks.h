// Is Bartleby itself well? Each check looks at one thing and says in one line what it found.
//
// Any thread; may wait for store and broker. Nothing is decided by it: health is what machines ask for (routes/health).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/services.h"

namespace bartleby {

enum class CheckResult : std::uint8_t { kOk, kWarn, kHalted, kFail };  // from the best to the worst
std::string_view name(CheckResult result);

struct SelfCheck {
  std::string name;
  CheckResult result = CheckResult::kOk;
  std::string detail;
};

std::vector<SelfCheck> self_checks(const Services& services);

}  // namespace bartleby
