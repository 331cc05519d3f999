// A query as SQL that walks indexes: a pure function of the query and of a few facts that are looked up before.
//
// Shelves, issues and states are resolved to numbers first; what is left are runs of an index, each in the order of
// death: some of them are one statement, and whoever reads merges the statements. A text search is one run of the
// full-text index, in the order of arrival. Headers are found by their words; whether one is that very header must be
// looked up. Numbers stand in the text, words and bytes are parameters.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codec/query.h"
#include "model/letter_state.h"
#include "office/shelves.h"

namespace bartleby {

constexpr std::size_t kMaxRuns = 64;  // of one statement

struct CountedShelf {
  Shelf shelf;
  std::array<std::int64_t, kLetterStates> letters{};
};

constexpr std::size_t kMaxIssuesOfType = 1000;  // that are looked up for an `error:` term

struct QueryFacts {
  Timestamp now;
  std::vector<CountedShelf> shelves;
  std::map<std::pair<QueryField, std::string>, std::vector<std::int64_t>> issues;  // of `issue:` and `error:` terms
};

// Where a page begins: after this letter.
struct LetterCursor {
  Timestamp died;  // not used by a text search
  std::int64_t seq = 0;

  bool operator==(const LetterCursor&) const = default;
};

struct SqlBytes {
  std::string bytes;
};
using SqlParameter = std::variant<std::string, SqlBytes>;

struct LetterSql {
  bool nothing = false;  // no letter can match: there is no statement
  bool by_text = false;  // ordered by arrival; one statement
  std::vector<SqlParameter> parameters;
  std::optional<std::int64_t> exact;                         // how many match in all, where counters say it
  std::vector<std::pair<std::string, std::string>> headers;  // that what is found must have, by name and value

  std::size_t statements() const { return nothing ? 0 : by_text ? 1 : (runs.size() + kMaxRuns - 1) / kMaxRuns; }
  // Answers with seq and died_at, in order, at most `limit`. `above`: only what comes before this one in the list.
  std::string text(std::size_t statement, const std::optional<LetterCursor>& above = {}) const;

  // ---- What it is made of
  std::vector<std::string> runs;
  std::string conditions, by_words;
  std::size_t limit = 0;
};

LetterSql letter_sql(const Query& query, const QueryFacts& facts, const Dialect& dialect,
                     const std::optional<LetterCursor>& after, std::size_t limit);

}  // namespace bartleby
