#include "cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>

#include "base/assert.h"

namespace bartleby::cli {
namespace {

std::atomic<bool> asked_to_stop{false};
std::atomic<int> read_end{-1};
std::atomic<int> write_end{-1};

extern "C" void note_signal(int) {
  asked_to_stop = true;
  const char byte = 0;
  // A full pipe has said it already.
  [[maybe_unused]] const auto written = ::write(write_end.load(), &byte, 1);
}

}  // namespace

Interrupt::Interrupt() {
  BARTLEBY_ASSERT(read_end < 0);
  int ends[2];
  BARTLEBY_ASSERT(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  asked_to_stop = false;
  read_end = ends[0];
  write_end = ends[1];
  struct sigaction action{};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, &old_int_);
  ::sigaction(SIGTERM, &action, &old_term_);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &old_int_, nullptr);
  ::sigaction(SIGTERM, &old_term_, nullptr);
  ::close(write_end.exchange(-1));
  ::close(read_end.exchange(-1));
  asked_to_stop = false;
}

bool Interrupt::asked() { return asked_to_stop; }

int Interrupt::descriptor() { return read_end; }

bool Interrupt::wait(Duration at_most) {
  pollfd waiting{.fd = read_end, .events = POLLIN, .revents = 0};
  ::poll(&waiting, 1, static_cast<int>(at_most.count()));
  return asked();
}

}  // namespace bartleby::cli
