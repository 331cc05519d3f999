// A thread that does what it is given, one after the other: for calls of librdkafka that block.
//
// Any thread may post. At its end it finishes the task it is at and drops the others; tasks have limits of their own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/thread_name.h"

namespace bartleby::kafka {

class TaskThread {
 public:
  TaskThread() : thread_([this](const std::stop_token& stopping) { work(stopping); }) {}

  void post(std::move_only_function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

  // Ends and joins it; posting afterwards does nothing.
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work(const std::stop_token& stopping) {
    name_thread("kafka calls");
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stopping, [this] { return !tasks_.empty(); }) && !stopping.stop_requested()) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::move_only_function<void()>> tasks_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace bartleby::kafka
