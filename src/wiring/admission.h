// What a worker's configuration says about each record before it has a lane: taken by a case, skipped because it is for
// others, or refused as MALFORMED because no case takes it.
// The function that comes back keeps the memory of its matcher: one thread calls it.
#pragma once

#include <functional>
#include <string>

#include "runtime/pump.h"
#include "wiring/config.h"

namespace bartleby {

std::function<Admission(const std::string& topic, const LogRecord& record)> admission_of(const WorkerConfig& worker);

// Which records are replays of this group's letters: signed with one of the keys, and meant for nobody else. To another
// group that reads the topic the same record is an ordinary message. Any thread.
// `stranger` is told of a record that has the header and is no such replay: of another group, or of a key that is not
// known here.
ReplayOf replays_of(const std::string& group, std::vector<OfficeKey> keys,
                    std::function<void(const std::string& topic, const LogRecord& record)> stranger = {});

}  // namespace bartleby
