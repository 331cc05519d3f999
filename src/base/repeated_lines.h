// Which of many lines are worth a line of the log: of those that are alike one a minute, with how many were left out.
//
// Alike are lines that differ in numbers alone: a client that cannot reach its server says so many times a second, with
// another count each time. Any thread. Remembers at most a hundred kinds of lines; when more come all are forgotten, so
// that a line is rather told twice than not at all.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace bartleby {

class RepeatedLines {
 public:
  static constexpr Duration kQuiet{60000};
  static constexpr std::size_t kKinds = 100;

  // Absent: not now. Else how many lines like this one were left out since the last that was told.
  std::optional<std::uint64_t> tell(std::string_view line, Instant now) {
    std::string kind(line);
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    const std::lock_guard lock(mutex_);
    auto at = told_.find(kind);
    if (at == told_.end()) {
      if (told_.size() >= kKinds) told_.clear();
      told_.emplace(std::move(kind), Told{now, 0});
      return 0;
    }
    if (now - at->second.last < kQuiet) {
      ++at->second.left_out;
      return std::nullopt;
    }
    at->second.last = now;
    return std::exchange(at->second.left_out, 0);
  }

 private:
  struct Told {
    Instant last;
    std::uint64_t left_out;
  };
  std::mutex mutex_;
  std::map<std::string, Told> told_;
};

}  // namespace bartleby
