// When parked messages are due: a hierarchical timer wheel of four levels with 256 slots of 1 ms and up
// (49 days; what is due later waits in the last level and is looked at again).
//
// It only links numbers; the due time of a number is the owner's and is asked for through `due_of`. Adding
// and removing are constant time whatever is parked. Within one millisecond the order is that of adding.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/assert.h"
#include "base/time.h"
#include "engine/events.h"

namespace bartleby {

struct TimerLink {
  std::uint32_t prev = kNone;
  std::uint32_t next = kNone;
  std::uint16_t slot = 0xffff;  // level * 256 + place; 0xffff = not waiting
};

// `Nodes` gives TimerLink& link(i) and Instant due(i).
template <class Nodes>
class TimerWheel {
 public:
  explicit TimerWheel(Nodes& nodes) : nodes_(nodes) { clear(); }

  // Forgets everything without looking at the nodes, which may be gone.
  void clear() {
    heads_.fill(kNone);
    tails_.fill(kNone);
    bits_.fill(0);
    size_ = 0;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void add(std::uint32_t i, Instant now) {
    if (size_ == 0) at_ = ms(now);
    BARTLEBY_ASSERT(nodes_.link(i).slot == 0xffff);
    place(i);
    ++size_;
  }

  void remove(std::uint32_t i) {
    unlink(i);
    --size_;
  }

  // Takes out everything due at `now`, earliest millisecond first.
  template <class F>
  void advance(Instant now, F&& due) {
    const std::int64_t target = ms(now);
    while (size_ > 0 && at_ <= target) {
      const std::int64_t stop = next_stop();
      if (stop > target) break;
      at_ = stop;
      cascade();
      for (std::uint32_t i; (i = heads_[static_cast<std::size_t>(at_ & 255)]) != kNone;) {
        unlink(i);
        --size_;
        due(i);
      }
      ++at_;
    }
    if (at_ <= target) at_ = target + (size_ > 0 ? 0 : 1);
  }

  // Earliest time at which `advance` may have something to do; never late.
  Instant next_due() const { return size_ == 0 ? kNever : Instant(Duration(next_stop())); }

 private:
  static constexpr int kLevels = 4;

  void place(std::uint32_t i) {
    const std::int64_t due = std::max(ms(nodes_.due(i)), at_);
    const std::int64_t wait = due - at_;
    int level = 0;
    while (level < kLevels - 1 && wait >= (std::int64_t{1} << (8 * (level + 1)))) ++level;
    const std::int64_t longest = (std::int64_t{255} << (8 * (kLevels - 1)));
    const std::int64_t slot_time = level == kLevels - 1 ? std::min(due, at_ + longest) : due;
    const auto slot = static_cast<std::uint16_t>(level * 256 + ((slot_time >> (8 * level)) & 255));
    TimerLink& link = nodes_.link(i);
    link.slot = slot;
    link.next = kNone;
    link.prev = tails_[slot];
    if (heads_[slot] == kNone)
      heads_[slot] = i;
    else
      nodes_.link(tails_[slot]).next = i;
    tails_[slot] = i;
    if (heads_[slot] == i) link.prev = kNone;
    set(slot, true);
  }

  void unlink(std::uint32_t i) {
    TimerLink& link = nodes_.link(i);
    BARTLEBY_ASSERT(link.slot != 0xffff);
    if (link.prev == kNone)
      heads_[link.slot] = link.next;
    else
      nodes_.link(link.prev).next = link.next;
    if (link.next == kNone)
      tails_[link.slot] = link.prev;
    else
      nodes_.link(link.next).prev = link.prev;
    if (heads_[link.slot] == kNone) set(link.slot, false);
    link = TimerLink{};
  }

  // At a boundary of a level its slot is spread over the levels below.
  void cascade() {
    for (int level = kLevels - 1; level >= 1; --level) {
      if ((at_ & ((std::int64_t{1} << (8 * level)) - 1)) != 0) continue;
      const auto slot = static_cast<std::size_t>(level * 256 + ((at_ >> (8 * level)) & 255));
      std::uint32_t i = heads_[slot];
      heads_[slot] = tails_[slot] = kNone;
      set(slot, false);
      while (i != kNone) {
        const std::uint32_t next = nodes_.link(i).next;
        nodes_.link(i) = TimerLink{};
        place(i);
        i = next;
      }
    }
  }

  // The next millisecond >= at_ with a due slot or a slot to spread.
  std::int64_t next_stop() const {
    std::int64_t best = INT64_MAX;
    for (int level = 0; level < kLevels; ++level) {
      const int shift = 8 * level;
      const auto here = static_cast<int>((at_ >> shift) & 255);
      const bool boundary = (at_ & ((std::int64_t{1} << shift) - 1)) == 0;
      for (int step = boundary ? 0 : 1; step <= 256;) {
        const int place = (here + step) & 255;
        const std::uint64_t word = bits_[static_cast<std::size_t>(level * 4 + place / 64)] >> (place & 63);
        if (word == 0) {
          step += 64 - (place & 63);
          continue;
        }
        step += std::countr_zero(word);
        if (step > 256) break;
        best = std::min(best, ((at_ >> shift) + step) << shift);
        break;
      }
    }
    return best;
  }

  void set(std::size_t slot, bool on) {
    const std::uint64_t bit = std::uint64_t{1} << (slot & 63);
    if (on)
      bits_[slot / 64] |= bit;
    else
      bits_[slot / 64] &= ~bit;
  }

  Nodes& nodes_;
  std::int64_t at_ = 0;  // every slot before this has been emptied
  std::size_t size_ = 0;
  std::array<std::uint32_t, 256 * kLevels> heads_;
  std::array<std::uint32_t, 256 * kLevels> tails_;
  std::array<std::uint64_t, 4 * kLevels> bits_;
};

}  // namespace bartleby
