// The bytes of messages by slot, for as long as the engine names the slot.
//
// Records stay in the slice that they came in, so that a slice costs one allocation however many it has; when the last
// slot of a slice is given back its memory goes to whoever can fill it again. A record that stays much longer than its
// neighbours would keep all of them: once the slices hold more than a limit, old ones of which little is still named
// are broken up, and what is named gets bytes of its own. So they hold the limit and a few times what is named, at
// most. What `keep` returns holds its slice too, and nothing can break that up: above the limit it is a copy.
// One thread; what `keep` returns may be held and dropped by any, and stays what it was.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/slab.h"
#include "model/record.h"

namespace bartleby {

class HeldRecords {
 public:
  using Spare = std::function<void(std::vector<LogRecord>)>;

  // `spare` gets the memory of slices that nobody needs any more; may be empty.
  explicit HeldRecords(Spare spare, std::size_t limit = kLimit) : spare_(std::move(spare)), limit_(limit) {}

  // Gives each record a slot, in their order; the slots are appended to `slots`.
  void take(std::vector<LogRecord> records, std::vector<std::uint32_t>& slots);
  void free(std::uint32_t slot);

  const LogRecord& operator[](std::uint32_t slot) const { return *slots_[slot].record; }
  // Longer than the slot lives.
  std::shared_ptr<const LogRecord> keep(std::uint32_t slot) const;
  std::size_t size() const { return slots_.size(); }
  std::size_t slice_bytes() const { return bytes_; }
  // With those that only what was kept still holds.
  std::size_t bytes_in_memory() const { return in_memory_->load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kLimit = std::size_t{8} << 20;
  static constexpr std::uint32_t kLittle = 4;  // a quarter
  static constexpr int kLooks = 4;             // for each slice that comes

  using Total = std::shared_ptr<std::atomic<std::size_t>>;

  struct Slot {
    const LogRecord* record = nullptr;
    std::uint32_t slice = kNone;
  };
  // The records of a slice, counted for as long as anybody holds them.
  struct Owned {
    Owned(std::vector<LogRecord> of, Total counted) : records(std::move(of)), total(std::move(counted)) {}
    ~Owned() { total->fetch_sub(bytes, std::memory_order_relaxed); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    std::vector<LogRecord> records;
    std::size_t bytes = 0;
    const Total total;
  };
  struct Slice {
    std::shared_ptr<const void> owner;
    std::vector<LogRecord>* records = nullptr;  // null: of one record that left its slice
    std::vector<std::uint32_t> slots;
    std::uint64_t number = 0;  // a slice's place in the slab is used again
    std::size_t bytes = 0;
    std::uint32_t live = 0;
  };
  struct Age {
    std::uint32_t slice;
    std::uint64_t number;
  };

  void look_at_old();
  void over(std::uint32_t slice);
  void break_up(std::uint32_t slice);

  const Spare spare_;
  const std::size_t limit_;
  Slab<Slot> slots_;
  Slab<Slice> slices_;
  std::deque<Age> ages_;  // the oldest first; some may be over
  std::uint64_t last_number_ = 0;
  std::size_t bytes_ = 0;                                                  // of slices that are whole
  const Total in_memory_ = std::make_shared<std::atomic<std::size_t>>(0);  // what is kept may outlive this object
};

}  // namespace bartleby
