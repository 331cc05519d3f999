// What makes two failures the same: kind, type, and the innermost frame of the stack or else the message without
// numbers and ids. A pure function with a version: a letter keeps the issue it was given.
#pragma once

#include <string>
#include <string_view>

#include "model/failure.h"

namespace bartleby {

struct Fingerprint {
  std::string issue;  // `iss_` + 16 hex
  std::string title;  // for people, at most 200 characters
};

Fingerprint fingerprint_of(Kind kind, const ErrorText& error);

// Runs of digits, and of 8 or more hexadecimal digits with dashes between, become `#`; blanks become one.
std::string normalised(std::string_view message);
// The line of the frame that failed, normalised; empty where no line looks like one.
std::string innermost_frame(std::string_view stack);

}  // namespace bartleby
