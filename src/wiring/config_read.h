// A resolved configuration, which has no mistakes, as plain structs.
// Cannot fail: every value has been held against the table of keys.
#pragma once

#include "wiring/config.h"

namespace bartleby {

Config read_config(ConfigNode resolved);

}  // namespace bartleby
