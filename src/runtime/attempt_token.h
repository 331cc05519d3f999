// Names of attempts: `at_` + 26 characters of base32, 130 bits from the system's generator.
// Whoever knows one may finish the attempt, so none can be guessed from others.
#pragma once

#include <string>

namespace bartleby {

std::string new_attempt_token();

}  // namespace bartleby
