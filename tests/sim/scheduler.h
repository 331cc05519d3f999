// Virtual time: one thread, one queue, one seed.
//
// Tasks run in the order of (time, a random number drawn when they were added, sequence), so that what is
// due at one instant runs in an order that differs between seeds and never between runs of one seed. The
// clocks move only here: `now` never jumps, `wall` is `now` plus an offset that the driver may change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/random.h"
#include "base/time.h"

namespace bartleby::sim {

class Scheduler {
 public:
  using Task = std::move_only_function<void()>;

  explicit Scheduler(std::uint64_t seed) : random_(seed), ties_(seed ^ 0x746965735f5f5f5fULL) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Instant now() const { return now_; }
  Timestamp wall() const { return Timestamp(wall_offset_ + now_.time_since_epoch()); }
  Now both() const { return {now_, wall()}; }
  void jump_wall(Duration by) { wall_offset_ += by; }

  Random& random() { return random_; }

  // A time in the past counts as now.
  void at(Instant time, Task task) {
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(tasks_.size());
      tasks_.push_back(std::move(task));
    } else {
      slot = free_.back();
      free_.pop_back();
      tasks_[slot] = std::move(task);
    }
    heap_.push_back({std::max(time, now_), ties_.next(), sequence_++, slot});
    std::push_heap(heap_.begin(), heap_.end());
  }
  void after(Duration wait, Task task) { at(now_ + wait, std::move(task)); }

  // Runs the next task; false if there is none.
  bool step() {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end());
    const Due due = heap_.back();
    heap_.pop_back();
    now_ = due.time;
    ++steps_;
    // Taken out first: the task may add others, which may move the vector or reuse the slot.
    Task task = std::move(tasks_[due.slot]);
    tasks_[due.slot] = nullptr;
    free_.push_back(due.slot);
    task();
    return true;
  }

  // Runs the next task if it is due by `limit`; otherwise moves the clock to `limit` and answers false.
  bool step_until(Instant limit) {
    if (!heap_.empty() && heap_.front().time <= limit) return step();
    now_ = std::max(now_, limit);
    return false;
  }

  void run_until(Instant limit) {
    while (step_until(limit)) {
    }
  }
  void run_for(Duration span) { run_until(now_ + span); }

  std::optional<Instant> next_time() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().time;
  }
  std::size_t pending() const { return heap_.size(); }
  std::uint64_t steps() const { return steps_; }

 private:
  struct Due {
    Instant time;
    std::uint64_t tie;
    std::uint64_t sequence;
    std::uint32_t slot;

    // Reversed: the standard heap keeps the greatest in front, and the earliest is wanted there.
    bool operator<(const Due& o) const {
      if (time != o.time) return time > o.time;
      if (tie != o.tie) return tie > o.tie;
      return sequence > o.sequence;
    }
  };

  Instant now_{Duration(0)};
  Duration wall_offset_{1'700'000'000'000};
  Random random_;
  Random ties_;
  std::uint64_t sequence_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Due> heap_;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> free_;
};

}  // namespace bartleby::sim
