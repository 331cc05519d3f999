#include "cli/line_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/interrupt.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kLongest = std::size_t{8} << 20;
constexpr std::size_t kChunk = std::size_t{64} * 1024;

}  // namespace

LineInput::Got LineInput::next(std::string& line, Duration patience) {
  std::size_t looked = start_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', looked);
    if (end != std::string::npos) {
      line.assign(buffer_, start_, end - start_);
      start_ = end + 1;
      return Got::kLine;
    }
    if (ended_) {
      if (start_ == buffer_.size()) return Got::kEnd;
      line.assign(buffer_, start_);
      start_ = buffer_.size();
      return Got::kLine;
    }
    buffer_.erase(0, start_);
    start_ = 0;
    looked = buffer_.size();
    if (buffer_.size() > kLongest) return Got::kTooLong;
    std::array<pollfd, 2> waiting{pollfd{.fd = descriptor_, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = Interrupt::descriptor(), .events = POLLIN, .revents = 0}};
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(patience.count()));
    if (Interrupt::asked()) return Got::kEnd;
    if (ready == 0) return Got::kNothingYet;
    if (ready < 0 && errno == EINTR) continue;
    const std::size_t old = buffer_.size();
    buffer_.resize(old + kChunk);
    const ssize_t got = ::read(descriptor_, buffer_.data() + old, kChunk);
    buffer_.resize(old + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno != EINTR && errno != EAGAIN) return Got::kFailed;
    if (got == 0) ended_ = true;
  }
}

bool read_whole(int descriptor, std::size_t most, std::string& bytes) {
  std::array<char, kChunk> chunk{};
  for (;;) {
    const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
    if (got == 0) return true;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || bytes.size() + static_cast<std::size_t>(got) > most) return false;
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace bartleby::cli
