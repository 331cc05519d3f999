// From what was said to what holds: layers of a worker merged, defaults filled in, and the rules that look at more
// than one key (who reads whose letters, which names exist, what goes together).
#pragma once

#include "wiring/config_keys.h"
#include "wiring/config_node.h"

namespace bartleby {

// The whole configuration with every key that has a value, in the order of the table; `defaults` and `policies` are
// gone into the workers. A worker has `cases` only if it was given some; each of them is complete.
ConfigNode resolve(const ConfigNode& said, Mistakes& mistakes);

// Rules between keys of a resolved configuration.
void check_rules(const ConfigNode& resolved, Mistakes& mistakes);

}  // namespace bartleby
