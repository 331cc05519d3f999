// Failure kinds and letter reasons, with their names on the wire.
// A kind decides how to go on with a message; a reason says why it is a letter.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bartleby {

// Decides whether and how to retry.
enum class Kind : std::uint8_t {
  kTransient,
  kTimeout,
  kUnavailable,
  kThrottled,
  kConfig,
  kPermanent,
  kMalformed,
  kSecurity,
  kCrash,
};
constexpr std::array<std::string_view, 9> kKindNames = {"transient", "timeout",   "unavailable", "throttled", "config",
                                                        "permanent", "malformed", "security",    "crash"};
constexpr std::size_t kKinds = kKindNames.size();

// Never retried, and never held back by the outage guard.
constexpr bool is_final(Kind k) { return k == Kind::kPermanent || k == Kind::kMalformed || k == Kind::kSecurity; }

// Why a message became a letter.
enum class Reason : std::uint8_t {
  kExhausted,
  kRejected,
  kMalformed,
  kSecurity,
  kProcessCrash,
  kMaxHops,
  kGivenUp,
  kExpiring,
  kLostByRetention,
  kTooLarge,
  kUnknown,
};
constexpr std::array<std::string_view, 11> kReasonNames = {"EXHAUSTED",         "REJECTED",  "MALFORMED", "SECURITY",
                                                           "PROCESS_CRASH",     "MAX_HOPS",  "GIVEN_UP",  "EXPIRING",
                                                           "LOST_BY_RETENTION", "TOO_LARGE", "UNKNOWN"};

constexpr std::string_view name(Kind k) { return kKindNames[static_cast<std::size_t>(k)]; }
constexpr std::string_view name(Reason r) { return kReasonNames[static_cast<std::size_t>(r)]; }

constexpr std::optional<Kind> kind_named(std::string_view text) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    if (kKindNames[i] == text) return static_cast<Kind>(i);
  return std::nullopt;
}

constexpr std::optional<Reason> reason_named(std::string_view text) {
  for (std::size_t i = 0; i < kReasonNames.size(); ++i)
    if (kReasonNames[i] == text) return static_cast<Reason>(i);
  return std::nullopt;
}

// Of a message that becomes a letter without an attempt.
constexpr Kind kind_of_refusal(Reason r) {
  return r == Reason::kMalformed ? Kind::kMalformed : r == Reason::kSecurity ? Kind::kSecurity : Kind::kPermanent;
}

// What a handler said went wrong. Bounded by whoever makes it: message 1 kB, stack 500 characters.
struct ErrorText {
  std::string type;
  std::string message;
  std::string stack;

  bool operator==(const ErrorText&) const = default;
};

}  // namespace bartleby
