// `bartleby demo`: a server of its own with a handler that fails on purpose, a thousand messages, dead letters and
// their replay, and one line of account at the end.
//
// Everything goes the way it goes for users: messages and orders through the HTTP API, the handler in a worker. Started
// again on the folder of a demo that was killed, it goes on where that one was.
#pragma once

#include "cli/cli.h"

namespace bartleby {

cli::Command demo_command();

}  // namespace bartleby
