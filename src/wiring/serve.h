// `bartleby serve`: reads the configuration, starts an instance, and waits for signals.
//
// SIGTERM and SIGINT stop it cleanly, a second one at once; SIGHUP reads the configuration again. Exit status: 0
// after a clean stop, 1 when it could not start or a handler did not come back, 2 for a mistake in the command line
// or the configuration.
#pragma once

#include <span>
#include <string_view>

#include "wiring/handlers.h"

namespace bartleby {

int serve(std::span<const std::string_view> arguments, const Handlers& handlers);

}  // namespace bartleby
