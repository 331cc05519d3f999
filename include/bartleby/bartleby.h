// Everything a handler's author needs.
// Tests of handlers include <bartleby/testing.h> besides.
#pragma once

#include <bartleby/message.h>
#include <bartleby/outcome.h>
#include <bartleby/program.h>
#include <bartleby/types.h>
