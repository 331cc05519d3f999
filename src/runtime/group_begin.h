// Whether a group begins, has begun, or had begun before its offsets went; and where a time is in a log.
//
// For a worker before it joins; all of it blocks up to the broker's own limit.
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

// The first record in [from, to) at or after a time, or `to`.
Result<Offset> first_at(Broker& broker, const TopicPartition& tp, Offset from, Offset to, Timestamp time);

}  // namespace bartleby
