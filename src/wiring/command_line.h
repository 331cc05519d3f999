// The whole command line of a program: the commands of src/cli, and those that need more than a server's API.
//
// `serve` runs the given handlers; `config` reads the file, the variables and nothing else. Both `bartleby` itself and
// a program with handlers of its own call this from their `main`.
#pragma once

#include "cli/cli.h"
#include "wiring/handlers.h"

namespace bartleby {

int run_command_line(int argc, char** argv, const Handlers& handlers);

}  // namespace bartleby
