// Fences of writers: calls that block for a second each, of a few writers at once, and of one writer only once.
//
// Any thread may ask. A dead owner of many partitions is fenced for each of them: who asks while that is under way
// shares its answer, which is true of the moment it is told. `fence` is called by threads of its own and blocks up to a
// limit; `tell` is called by them too. At its end it finishes what is under way and drops the rest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/broker/kafka/task_thread.h"

namespace bartleby::kafka {

class Fences {
 public:
  static constexpr std::size_t kAtOnce = 4;

  using Fence = std::function<bool(const std::string& transactional_id)>;
  using Tell = std::function<void(std::uint64_t request, bool answered)>;
  Fences(Fence fence, Tell tell) : fence_(std::move(fence)), tell_(std::move(tell)) {}

  void ask(std::uint64_t request, const std::string& transactional_id) {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = asked_.try_emplace(transactional_id);
    at->second.push_back(request);
    if (fresh) threads_[next_++ % kAtOnce].post([this, transactional_id] { carry_out(transactional_id); });
  }

  // Ends and joins its threads; asking afterwards does nothing.
  void stop() {
    for (TaskThread& thread : threads_) thread.stop();
  }

 private:
  void carry_out(const std::string& transactional_id) {
    const bool answered = fence_(transactional_id);
    std::vector<std::uint64_t> requests;
    {
      const std::lock_guard lock(mutex_);
      requests = std::move(asked_.extract(transactional_id).mapped());
    }
    for (const std::uint64_t request : requests) tell_(request, answered);
  }

  const Fence fence_;
  const Tell tell_;
  std::mutex mutex_;  // of the next block
  std::map<std::string, std::vector<std::uint64_t>> asked_;
  std::size_t next_ = 0;
  std::array<TaskThread, kAtOnce> threads_;  // last: they use the others
};

}  // namespace bartleby::kafka
