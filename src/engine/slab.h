// Entries by 32-bit number instead of by address: half the size of a pointer, and the same order in every
// run. Freed numbers are used again, last freed first. Growth is the only allocation, a sixteenth at a time: what is
// copied more often is little beside what doubling would leave empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "engine/events.h"

namespace bartleby {

template <class T>
class Slab {
 public:
  std::uint32_t make() {
    ++size_;
    if (free_.empty()) {
      if (items_.size() == items_.capacity()) items_.reserve(items_.size() + std::max(items_.size() / 16, kLeast));
      items_.emplace_back();
      return count_++;
    }
    const std::uint32_t i = free_.back();
    free_.pop_back();
    static const T kFresh{};  // copied from memory: made on the stack it would be read back before it is there
    items_.data()[i] = kFresh;
    return i;
  }

  void free(std::uint32_t i) {
    BARTLEBY_ASSERT(size_ > 0 && i < count_);
    --size_;
    free_.push_back(i);
  }

  // Checked against the count: a vector would work its size out anew at every access, by a division.
  T& operator[](std::uint32_t i) {
    BARTLEBY_ASSERT(i < count_);
    return items_.data()[i];
  }
  const T& operator[](std::uint32_t i) const {
    BARTLEBY_ASSERT(i < count_);
    return items_.data()[i];
  }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return items_.size(); }
  std::size_t bytes() const { return items_.capacity() * sizeof(T) + free_.capacity() * sizeof(std::uint32_t); }

 private:
  static constexpr std::size_t kLeast = 64;

  std::vector<T> items_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
  std::uint32_t count_ = 0;  // of items_
};

}  // namespace bartleby
