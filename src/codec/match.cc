#include "codec/match.h"

#include <algorithm>

namespace bartleby {

bool Matcher::holds(const Match& match) {
  const auto text = match.field == Match::Field::kJson ? fields_.json(match.name) : fields_.header(match.name);
  return text && std::ranges::any_of(match.in, [&](const std::string& wanted) { return wanted == *text; });
}

bool Matcher::matches(const Match& match, const LogRecord& record) {
  fields_.of(record);
  return holds(match);
}

std::optional<std::size_t> Matcher::first(const std::vector<std::optional<Match>>& cases, const LogRecord& record) {
  fields_.of(record);
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!cases[i] || holds(*cases[i])) return i;
  return std::nullopt;
}

}  // namespace bartleby
