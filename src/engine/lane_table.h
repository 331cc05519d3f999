// Open lanes by hash.
// Chained through the lanes themselves: one table of 32-bit links, no allocation per lane.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/events.h"
#include "engine/slab.h"

namespace bartleby {

// `L` has `Lane hash` and `std::uint32_t chain`.
template <class L>
class LaneTable {
 public:
  explicit LaneTable(Slab<L>& lanes) : lanes_(lanes), heads_(64, kNone) {}

  std::uint32_t find(Lane hash) const {
    std::uint32_t i = heads_[place(hash)];
    while (i != kNone && lanes_[i].hash != hash) i = lanes_[i].chain;
    return i;
  }

  // The entry of a lane that is looked for soon.
  void prefetch(Lane hash) const { __builtin_prefetch(heads_.data() + place(hash)); }

  void insert(std::uint32_t lane) {
    // Short chains while the table fits the nearest cache, few bytes when it does not.
    if (++size_ > (heads_.size() < kSmall ? heads_.size() / 2 : heads_.size())) grow();
    link(lane);
  }

  void erase(std::uint32_t lane) {
    std::uint32_t* at = &heads_[place(lanes_[lane].hash)];
    while (*at != lane) at = &lanes_[*at].chain;
    *at = lanes_[lane].chain;
    --size_;
  }

  void clear() {
    heads_.assign(64, kNone);
    size_ = 0;
  }

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return heads_.capacity() * sizeof(std::uint32_t); }

 private:
  static constexpr std::size_t kSmall = 4096;

  std::size_t place(Lane hash) const { return (hash.v * 0x9e3779b1u) & (heads_.size() - 1); }

  void link(std::uint32_t lane) {
    std::uint32_t& head = heads_[place(lanes_[lane].hash)];
    lanes_[lane].chain = head;
    head = lane;
  }

  void grow() {
    const std::vector<std::uint32_t> old = std::exchange(heads_, std::vector<std::uint32_t>(heads_.size() * 2, kNone));
    for (std::uint32_t i : old)
      while (i != kNone) {
        const std::uint32_t following = lanes_[i].chain;
        link(i);
        i = following;
      }
  }

  Slab<L>& lanes_;
  std::vector<std::uint32_t> heads_;
  std::size_t size_ = 0;
};

}  // namespace bartleby
