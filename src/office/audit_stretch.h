// The audit, verified a stretch at a time: nobody waits for all lines of years.
//
// A line follows from the hash that is kept of the line before it. So stretches that are good one after the other are a
// good chain; the last of them is compared with the head.
#pragma once

#include <cstdint>
#include <optional>

#include "office/audit.h"

namespace bartleby {

struct AuditStretch {
  AuditVerdict verdict;              // `lines`: up to where it was looked, with those before `from`
  std::optional<std::int64_t> next;  // from where to go on; absent: that was all
};

// At most so many lines, from number `from` on.
Result<AuditStretch> verify_stretch(Connection& connection, std::int64_t from, std::int64_t most);

}  // namespace bartleby
