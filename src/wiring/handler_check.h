// Whether a program has the handlers that its configuration names. Pure.
//
// What is missing is a mistake of the file like any other, with its place: `config check` and `serve` say the same.
#pragma once

#include <vector>

#include "wiring/config.h"
#include "wiring/handlers.h"

namespace bartleby {

// Empty where all are there, and for a process that runs no workers.
std::vector<Mistake> missing_handlers(const Config& config, const Handlers& handlers);

}  // namespace bartleby
