// Queries: nothing crashes the parser, errors point into the text, and what it reads has one spelling that means it.
#include "codec/query.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bartleby;
  using namespace bartleby::fuzz;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto query = parse_query(text);
  if (!query) {
    require(!query.error().message.empty() && query.error().position <= size);
    return 0;
  }
  require(query->terms.size() <= kMaxQueryTerms);
  const std::string spelled = query_text(*query);
  // Quotes make it longer than what was read; only then may it be too long.
  if (spelled.size() > kMaxQuery) return 0;
  const auto again = parse_query(spelled);
  require(again.has_value() && *again == *query && query_text(*again) == spelled);
  return 0;
}
