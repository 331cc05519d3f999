#include "cli/table.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 12;  // no column gives more

}  // namespace

std::string painted(const std::string& text, Colour colour, bool colours) {
  if (!colours || colour == Colour::kNone || text.empty()) return text;
  const char* code = "";
  switch (colour) {
    case Colour::kBold:
      code = "1";
      break;
    case Colour::kGood:
      code = "32";
      break;
    case Colour::kWarning:
      code = "33";
      break;
    case Colour::kBad:
      code = "31";
      break;
    case Colour::kFaint:
      code = "2";
      break;
    case Colour::kNone:
      break;
  }
  return "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
}

void Table::add(std::vector<Cell> row) {
  BARTLEBY_ASSERT(row.size() == columns_.size());
  for (std::size_t i = 0; i < row.size(); ++i) row[i].text = cut(shown(row[i].text), columns_[i].most);
  rows_.push_back(std::move(row));
}

std::string Table::text(std::size_t width, bool colours) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width_of(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, width_of(row[i].text));
    widths.push_back(widest);
  }
  const auto total = [&] { return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1)); };
  while (width > 0 && total() > width) {
    std::size_t& widest = *std::ranges::max_element(widths);
    if (widest <= kNarrowest) break;
    widest = std::max(kNarrowest, widest - std::min(widest, total() - width));
  }
  std::string out;
  const auto line = [&](std::size_t i, const std::string& text, Colour colour) {
    const std::string fitting = cut(text, widths[i]);
    const std::string padding(widths[i] - width_of(fitting), ' ');
    if (columns_[i].right) out += padding;
    out += painted(fitting, colour, colours);
    if (i + 1 == columns_.size()) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += '\n';
      return;
    }
    if (!columns_[i].right) out += padding;
    out.append(kGap, ' ');
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) line(i, columns_[i].title, Colour::kBold);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) line(i, row[i].text, row[i].colour);
  return out;
}

}  // namespace bartleby::cli
