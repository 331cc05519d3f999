// What a handler says went wrong, as `application/problem+json` (RFC 9457) with a member `stack` of our own.
//
// Reading it never fails: what is missing or of another type is empty, and text that is no JSON object gives nothing.
#pragma once

#include <optional>
#include <string_view>

#include "model/failure.h"

namespace bartleby {

// type → type (`about:blank` says nothing and is left empty), `title: detail` → message, stack → stack.
std::optional<ErrorText> error_from_problem(std::string_view json);

}  // namespace bartleby
