// A recording, fed to a fresh engine: does it answer every step as it did then?
//
// A mutant that is on counts. A file that no engine wrote may hold events that never come, and then an assertion of the
// engine ends the process; the reader itself takes its bytes for hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bartleby::sim {

struct Replay {
  std::uint64_t steps = 0;
  std::uint64_t events = 0;
  bool cut_off = false;   // the recorded process died before the last step was whole
  std::string different;  // empty: identical; else the first step that differs, in words, or why it cannot be read

  bool identical() const { return different.empty(); }
  std::string text() const;  // one line, or what differs
};

Replay replay(std::string_view recording);

}  // namespace bartleby::sim
