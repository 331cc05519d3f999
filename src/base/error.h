// Expected errors as values: `Result<T>` on ports, codecs and public calls.
//
// An `Error` answers what a caller asks: what happened (code), what to tell a person (message),
// whether trying again can help, and whether this instance is finished.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace bartleby {

enum class ErrorCode : std::uint8_t {
  kMalformed,  // bytes that do not say what they should
  kTooLarge,   // over a limit
  kNotFound,
  kUnsupported,  // a newer version wrote it, or somebody else
  kUnavailable,  // a component did not answer; trying again can help
  kFenced,       // somebody else has taken over
  kInvalid,      // a setting or an argument outside its range
};

struct Error {
  ErrorCode code;
  std::string message;
  bool retryable = false;
  bool fatal = false;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message), code == ErrorCode::kUnavailable, code == ErrorCode::kFenced});
}

}  // namespace bartleby
