// The query language of letters: `dlq:orders.dlq state:open -error:Timeout since:24h text:"connection reset"`.
//
//   dlq worker group topic key error reason issue state header.NAME since before replays text
//
// Terms are separated by blanks and all must hold; `-` before a term means not. A value with blanks stands in quotes
// (\" and \\ inside). A word without a field is text. `since:` and `before:` take a span (250ms 10s 5m 24h 30d) or a
// time (2025-01-15, 2025-01-15T10:30:00Z); `replays:` a number, or > >= < <= and one. Pure, bounded in length and
// terms; an error says what is wrong and at which character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace bartleby {

constexpr std::size_t kMaxQuery = 2000;  // bytes
constexpr std::size_t kMaxQueryTerms = 32;

enum class QueryField : std::uint8_t {
  kDlq,
  kWorker,
  kGroup,
  kTopic,
  kKey,
  kError,
  kReason,
  kIssue,
  kState,
  kHeader,
  kSince,
  kBefore,
  kReplays,
  kText,
};

enum class Compare : std::uint8_t { kEqual, kMore, kAtLeast, kLess, kAtMost };

struct QueryTerm {
  QueryField field = QueryField::kText;
  bool negated = false;
  std::string header;                 // of kHeader: its name
  std::string text;                   // of all others that are words
  Compare compare = Compare::kEqual;  // of kReplays
  std::int64_t number = 0;            // of kReplays
  std::optional<Duration> ago;        // of kSince and kBefore: one of the two
  std::optional<Timestamp> time;

  bool operator==(const QueryTerm&) const = default;
};

struct Query {
  std::vector<QueryTerm> terms;

  bool operator==(const Query&) const = default;
};

struct QueryError {
  std::size_t position;  // of the character, from 0
  std::string message;
};

std::expected<Query, QueryError> parse_query(std::string_view text);

// Whether it asks what keys, headers or values are: whoever may ask that often enough can read them.
bool looks_into_messages(const Query& query);

// The same query in one spelling; `parse_query` reads it back as the same.
std::string query_text(const Query& query);

}  // namespace bartleby
