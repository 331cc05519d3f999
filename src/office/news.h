// What has happened in the office of this process since it started: for metrics, and for pages that follow it live.
//
// Any thread. Counts are kept for ever; of changes of issues the last `kMaxNews` are remembered, and who asks for older
// ones must look at the lists instead.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "office/take_in.h"

namespace bartleby {

class News {
 public:
  static constexpr std::size_t kMaxNews = 1000;
  static constexpr Duration kRemembered{5 * 60000};

  struct Taken {
    std::uint64_t stored = 0, came_back = 0;

    bool operator==(const Taken&) const = default;
  };
  struct Numbered {
    std::uint64_t number;  // from 1, in order
    IssueNews issue;
  };

  void heard(const std::string& dlq, const IntakeReport& report, Instant now);
  void changed(IssueNews issue);
  void drifted(std::uint64_t counters);

  std::map<std::string, Taken> taken_in() const;  // by dlq
  // Of the last minutes, by the second; what is older than `kRemembered` is not known any more.
  std::uint64_t taken_since(const std::string& dlq, Instant when) const;
  std::vector<Numbered> issues_after(std::uint64_t number) const;
  std::uint64_t last() const;
  std::uint64_t drift() const;  // counters that were wrong and were put right

 private:
  void add(IssueNews issue);  // under the mutex

  mutable std::mutex mutex_;
  std::map<std::string, Taken> taken_;
  std::map<std::string, std::deque<std::pair<Instant, std::uint64_t>>> lately_;  // by dlq, the oldest first
  std::deque<Numbered> issues_;
  std::uint64_t last_ = 0, drift_ = 0;
};

}  // namespace bartleby
