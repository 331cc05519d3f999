// From key to lane: a 32-bit hash, part of commit metadata version 1 and therefore fixed.
// Two keys with one hash share a lane and nothing else.
#pragma once

#include <string_view>

#include "base/hash.h"
#include "model/ids.h"

namespace bartleby {

inline Lane lane_of(std::string_view key) { return Lane(static_cast<std::uint32_t>(hash64(key) >> 32)); }

}  // namespace bartleby
