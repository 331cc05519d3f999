// Answers to requests with an `Idempotency-Key`, in the store (server/idempotency.h says what they are for).
//
// Inside transactions of the caller. Bounded in number and age: the oldest give way.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "ports/store.h"

namespace bartleby {

constexpr std::int64_t kMostAnswers = 10000;

struct KeptAnswer {
  std::string request;  // hash of what was asked
  int status = 0;
  std::string type, headers;  // content type; JSON object
  std::string body;           // packed
};

// Of those that are younger than `since`.
Result<std::optional<KeptAnswer>> find_answer(Connection& connection, std::string_view actor, std::string_view key,
                                              Timestamp since);
// Replaces what is there under this key. Those from before `since` go.
Result<void> keep_answer(Connection& connection, std::string_view actor, std::string_view key, const KeptAnswer& answer,
                         Timestamp now, Timestamp since);

}  // namespace bartleby
