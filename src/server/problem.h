// What is wrong, in RFC 9457 problem details: the only form in which this server says no.
// The types are the contract with clients; each has its status. No input gives a 500.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/http.h"

namespace bartleby {

enum class ProblemType : std::uint8_t {
  kMalformed,
  kInvalidQuery,
  kUnauthenticated,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kConflict,
  kAmbiguousOffset,
  kWrongState,
  kGone,
  kStale,
  kTooLarge,
  kUnsupportedType,
  kInvalid,
  kIdempotencyReuse,
  kTooMany,
  kStoreUnavailable,
  kBrokerUnavailable,
  kInstanceUnreachable,
};

int status_of(ProblemType type);
std::string_view name(ProblemType type);

struct FieldError {
  std::string pointer;  // JSON pointer, or the name of a query parameter
  std::string detail;
};

Response problem(ProblemType type, std::string_view detail, const std::vector<FieldError>& errors = {});

// What of an error's message may leave the server: paths and statements of a store may not.
std::string told(const Error& error);

// An error of a port, as this server's callers see it.
Response problem(const Error& error);

// An error of the store: whatever it is, nothing that the caller has said is wrong. Its paths and statements go into
// the log, by the server.
Response store_problem(const Error& error);

// Adds what only the server knows.
void complete_problem(Response& response, const std::string& instance, const std::string& request_id);

}  // namespace bartleby
