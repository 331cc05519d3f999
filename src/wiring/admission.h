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

}  // namespace bartleby
