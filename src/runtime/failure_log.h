// The line `attempt_failed`: which message, which attempt of how many, and what kind of failure.
//
// Any thread. At most ten lines in ten seconds for a worker, so that an outage does not fill the disk; the next line
// says how many were left out. The error's own text is not in it: it may hold what the message held, and is shown with
// the parked message and the letter, where rules hide what they name.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/time.h"
#include "model/outcome.h"

namespace bartleby {

class FailureLog {
 public:
  static constexpr Duration kWindow{10000};
  static constexpr int kLines = 10;  // within it

  FailureLog(std::string worker, Log& log) : worker_(std::move(worker)), log_(log) {}

  void tell(const TopicPartition& tp, Offset offset, std::uint32_t attempt, std::uint32_t max, const Decision& decision,
            Instant now) {
    std::uint64_t left_out = 0;
    {
      const std::lock_guard lock(mutex_);
      if (lines_ == 0 || now - began_ >= kWindow) {
        began_ = now;
        lines_ = 0;
      }
      if (lines_ == kLines) {
        ++left_out_;
        return;
      }
      ++lines_;
      left_out = std::exchange(left_out_, 0);
    }
    log_.info("attempt_failed", {{"worker", worker_},
                                 {"topic", tp.topic},
                                 {"partition", tp.partition.v},
                                 {"offset", offset.v},
                                 {"attempt", attempt},
                                 {"of", max},
                                 {"kind", name(decision.kind)},
                                 {"type", decision.error.type},
                                 {"left_out", left_out}});
  }

 private:
  const std::string worker_;
  Log& log_;
  std::mutex mutex_;
  Instant began_{};
  int lines_ = 0;  // since then
  std::uint64_t left_out_ = 0;
};

}  // namespace bartleby
