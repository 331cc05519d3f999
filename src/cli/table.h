// Rows in aligned columns, as text.
//
// Cells are made fit for a terminal and cut at the width of their column; where the whole is wider than the terminal,
// the column that may give most gives. The last column is not padded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bartleby::cli {

enum class Colour { kNone, kBold, kGood, kWarning, kBad, kFaint };
std::string painted(const std::string& text, Colour colour, bool colours);

struct Column {
  std::string title;
  std::size_t most = 40;  // characters; what is longer is cut
  bool right = false;     // numbers
};

struct Cell {
  std::string text;
  Colour colour = Colour::kNone;

  // NOLINTBEGIN(google-explicit-constructor): rows are written as lists of texts
  Cell(std::string t, Colour c = Colour::kNone) : text(std::move(t)), colour(c) {}
  Cell(const char* t) : text(t) {}
  // NOLINTEND(google-explicit-constructor)
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  // `width` 0: as wide as it gets.
  std::string text(std::size_t width = 0, bool colours = false) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace bartleby::cli
