// Assertions that stay on in release builds.
//
// A broken invariant ends the process at once. At-least-once delivery makes that safe: what was not
// committed is read again. Expected errors never come here; they are `Result` values (base/error.h).
#pragma once

#include <cstdio>
#include <cstdlib>

namespace bartleby {

[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
  std::abort();
}

}  // namespace bartleby

#define BARTLEBY_ASSERT(condition) \
  (static_cast<bool>(condition) ? void() : ::bartleby::assertion_failed(#condition, __FILE__, __LINE__))
#define BARTLEBY_UNREACHABLE() ::bartleby::assertion_failed("unreachable", __FILE__, __LINE__)
