// A sink from its configuration. Opening one reaches nobody: a server that is away is found out by writing.
// kUnsupported: this program was built without that kind of sink.
#pragma once

#include <memory>

#include "ports/sink.h"
#include "wiring/config.h"

namespace bartleby {

Result<std::unique_ptr<Sink>> open_sink(const SinkConfig& config);

// Before the process has threads: settings of libraries that only the environment has.
void prepare_sinks();

}  // namespace bartleby
