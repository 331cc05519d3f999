// The cache of counters and heartbeats of a process, made from the configuration.
//
// `open_counters` waits for nobody, or for a moment: a Redis that is away is looked for again and again, and the log
// says when it goes and when it is back. It fails only where the program was built without Redis.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "ports/counters.h"
#include "wiring/config.h"

namespace bartleby {

Result<std::unique_ptr<Counters>> open_counters(const Config& config, const Clock& clock, Log& log);

}  // namespace bartleby
