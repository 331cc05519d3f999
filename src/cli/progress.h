// How far something has come, for a person who waits: one line on standard error, written over again and again.
// Where standard error is no terminal nothing is written. One thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "cli/json_value.h"

namespace bartleby::cli {

// `40 of 412 letters`, with the count of a page.
std::string so_far_text(std::int64_t done, const JsonValue& page, std::string_view thing);

class Progress {
 public:
  explicit Progress(std::ostream& err);  // told where it is a terminal
  Progress(std::ostream& err, bool told) : err_(err), told_(told) {}
  ~Progress() { tell(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // In place of what was told before; empty: nothing any more.
  void tell(const std::string& text);

 private:
  std::ostream& err_;
  const bool told_;
  bool there_ = false;  // a line that is to be written over
};

}  // namespace bartleby::cli
