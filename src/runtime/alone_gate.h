// Who may run inside this process: everybody, or one message that is under suspicion and nobody beside it.
//
// One for all workers of the process, because a death is evidence against a message only if nothing else ran. Any
// thread. An ordinary run waits while a suspect runs or waits; a suspect waits until nobody runs, but not for ever:
// then it runs beside the others, and its death proves nothing. Waiting happens only while there are suspects.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace bartleby {

class AloneGate {
 public:
  // True: alone from now on until `end`.
  bool begin(bool suspect) {
    std::unique_lock lock(mutex_);
    if (!suspect) {
      quiet_.wait(lock, [this] { return suspects_ == 0; });
      ++running_;
      return false;
    }
    ++suspects_;
    const bool alone = quiet_.wait_for(lock, kLongestWait, [this] { return running_ == 0; });
    ++running_;
    return alone;
  }

  void end(bool suspect) {
    {
      const std::lock_guard lock(mutex_);
      --running_;
      if (suspect) --suspects_;
    }
    quiet_.notify_all();
  }

 private:
  static constexpr std::chrono::seconds kLongestWait{10};

  std::mutex mutex_;
  std::condition_variable quiet_;
  std::uint32_t running_ = 0;
  std::uint32_t suspects_ = 0;  // that run or wait
};

}  // namespace bartleby
