// Lines from a file descriptor (standard input), without waiting for more than is asked.
//
// A line is at most 8 MB, what a server takes in one request; a longer one is an error. The end of the last line may be
// missing. Reading ends early when an `Interrupt` is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/time.h"

namespace bartleby::cli {

class LineInput {
 public:
  enum class Got : std::uint8_t { kLine, kNothingYet, kEnd, kTooLong, kFailed };

  explicit LineInput(int descriptor) : descriptor_(descriptor) {}

  // `patience` below zero: as long as it takes.
  Got next(std::string& line, Duration patience);

 private:
  const int descriptor_;
  std::string buffer_;
  std::size_t start_ = 0;
  bool ended_ = false;
};

// Everything there is, up to `most` bytes; false where it is more or cannot be read.
bool read_whole(int descriptor, std::size_t most, std::string& bytes);

}  // namespace bartleby::cli
