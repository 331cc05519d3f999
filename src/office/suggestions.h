// What a query that is being written may go on with: fields, and the values that there are.
//
// A pure reading of the store, bounded: shelves, issues by the beginning of a type. Keys, headers and texts are not
// suggested; they are what messages say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ports/store.h"

namespace bartleby {

constexpr std::size_t kMaxSuggestions = 20;

struct Suggestion {
  std::string query;  // the whole query, with the last term completed
  std::string term;   // that term alone
  std::string about;  // one clause
};

// Of the last term of `query`; a query that ends with a blank begins a new one.
Result<std::vector<Suggestion>> suggestions(Connection& connection, std::string_view query);

}  // namespace bartleby
