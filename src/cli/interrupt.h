// Ctrl-C and SIGTERM as a question: commands that go on until they are stopped ask it, and end in good order.
//
// The signals are caught from construction on and have their old meaning again afterwards. A second signal while the
// first is not yet obeyed ends the process at once. One at a time.
#pragma once

#include <csignal>

#include "base/time.h"

namespace bartleby::cli {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool asked();          // false where none exists
  static int descriptor();      // becomes readable when asked; -1 where none exists
  bool wait(Duration at_most);  // true: asked

 private:
  struct sigaction old_int_{};
  struct sigaction old_term_{};
};

}  // namespace bartleby::cli
