// Whether a group begins, has begun, or had begun before its offsets went.
//
// For a worker before it joins; both block up to the broker's own limit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ports/broker.h"
#include "runtime/pump.h"

namespace bartleby {

// The group has a position on every one of the topics, as far as can be told without waiting for what is pending.
// False: it must be asked for.
bool has_begun(Broker& broker, const std::string& group, const std::vector<std::string>& topics);

// By topic of these offsets: whether its journal was ever written to.
std::map<std::string, bool> begun_before(Broker& broker, const std::map<std::string, SourceTopic>& sources,
                                         const std::vector<CommittedOffset>& offsets);

}  // namespace bartleby
