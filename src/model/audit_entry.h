// One line of the audit: who did what to which letter or issue, and why. Written once, never changed.
// Its place in the hash chain is `office/audit.h`; here is what it says.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace bartleby {

// Who asks for a change. `name` is a person's key, `local`, or a part of the program (`intake`).
struct Actor {
  std::string name;
  std::string reason;      // in the words of whoever asks; may be empty
  std::string request_id;  // empty: no request
};

struct AuditEntry {
  std::int64_t seq = 0;  // from 1, without gaps
  Timestamp at;
  std::string actor;
  std::string action;   // a cause of the state tables, or another verb
  std::string subject;  // letter, issue, operation or key by its id
  std::string from;     // states, where the action moves one
  std::string to;
  std::string reason;
  std::string request_id;
  std::string detail;  // what else there is to say, as JSON; may be empty

  bool operator==(const AuditEntry&) const = default;
};

}  // namespace bartleby
