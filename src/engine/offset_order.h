// Numbers in the order of their offsets: open lanes by where they begin.
//
// Sorted blocks of at most 256 pairs: small (12 bytes a pair), and cheap to walk from the lowest offset on,
// which is what every cut does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "model/ids.h"

namespace bartleby {

class OffsetOrder {
 public:
  void insert(Offset offset, std::uint32_t id) {
    const Item item{offset, id};
    ++size_;
    if (blocks_.empty() || (blocks_.back().size() == kBlock && blocks_.back().back() < item)) {
      blocks_.emplace_back().reserve(kBlock +
                                     1);  // mostly they come in ascending order: no half of a block stays empty
    }
    auto block = block_for(item);
    block->insert(std::lower_bound(block->begin(), block->end(), item), item);
    if (block->size() <= kBlock) return;
    std::vector<Item> upper(block->begin() + kBlock / 2, block->end());
    block->resize(kBlock / 2);
    blocks_.insert(block + 1, std::move(upper));
  }

  void erase(Offset offset, std::uint32_t id) {
    const Item item{offset, id};
    auto block = block_for(item);
    const auto at = std::lower_bound(block->begin(), block->end(), item);
    BARTLEBY_ASSERT(at != block->end() && *at == item);
    block->erase(at);
    --size_;
    if (block->empty()) blocks_.erase(block);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Offset lowest() const { return blocks_.front().front().offset(); }

  std::size_t bytes() const {
    std::size_t n = blocks_.capacity() * sizeof(blocks_[0]);
    for (const auto& b : blocks_) n += b.capacity() * sizeof(Item);
    return n;
  }

  // Calls f(offset, id) from the lowest offset on until it returns false.
  template <class F>
  void walk(F&& f) const {
    for (const auto& block : blocks_)
      for (const Item& item : block)
        if (!f(item.offset(), item.id)) return;
  }

  // A place in the walk that the caller moves himself.
  class Cursor {
   public:
    explicit Cursor(const OffsetOrder& order) : order_(order) {}
    bool at_end() const { return block_ == order_.blocks_.size(); }
    Offset offset() const { return order_.blocks_[block_][item_].offset(); }
    std::uint32_t id() const { return order_.blocks_[block_][item_].id; }
    void next() {
      if (++item_ < order_.blocks_[block_].size()) return;
      item_ = 0;
      ++block_;
    }

   private:
    const OffsetOrder& order_;
    std::size_t block_ = 0;
    std::size_t item_ = 0;
  };

 private:
  static constexpr std::size_t kBlock = 256;

  // The offset in two halves, so that a pair is 12 bytes and not 16.
  struct Item {
    std::uint32_t high = 0;
    std::uint32_t low = 0;
    std::uint32_t id = 0;

    Item() = default;
    Item(Offset o, std::uint32_t i)
        : high(static_cast<std::uint32_t>(static_cast<std::uint64_t>(o.v) >> 32)),
          low(static_cast<std::uint32_t>(o.v)),
          id(i) {}
    auto operator<=>(const Item&) const = default;
    Offset offset() const { return Offset(static_cast<std::int64_t>((std::uint64_t{high} << 32) | low)); }
  };

  std::vector<std::vector<Item>>::iterator block_for(const Item& item) {
    auto at = std::partition_point(blocks_.begin(), blocks_.end(),
                                   [&](const auto& b) { return !b.empty() && b.back() < item; });
    return at == blocks_.end() ? at - 1 : at;
  }

  std::vector<std::vector<Item>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace bartleby
