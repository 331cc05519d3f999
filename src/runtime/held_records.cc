#include "runtime/held_records.h"

#include <utility>

#include "base/assert.h"

namespace bartleby {

void HeldRecords::take(std::vector<LogRecord> records, std::vector<std::uint32_t>& slots) {
  if (records.empty()) return;
  const std::uint32_t number = slices_.make();
  Slice& slice = slices_[number];
  auto owned = std::make_shared<Owned>(std::move(records), in_memory_);
  slice.records = &owned->records;
  slice.number = ++last_number_;
  slice.live = static_cast<std::uint32_t>(slice.records->size());
  slice.slots.reserve(slice.live);
  for (const LogRecord& record : *slice.records) {
    const std::uint32_t slot = slots_.make();
    slots_[slot] = {&record, number};
    slice.slots.push_back(slot);
    slice.bytes += payload_size(record) + sizeof(LogRecord);
  }
  slots.insert(slots.end(), slice.slots.begin(), slice.slots.end());
  bytes_ += slice.bytes;
  owned->bytes = slice.bytes;
  in_memory_->fetch_add(slice.bytes, std::memory_order_relaxed);
  slice.owner = std::move(owned);
  look_at_old();
  ages_.push_back({number, slices_[number].number});
}

// More are looked at than come: what is over does not gather behind one that stays.
void HeldRecords::look_at_old() {
  for (int looked = 0; looked < kLooks && !ages_.empty(); ++looked) {
    const Age oldest = ages_.front();
    ages_.pop_front();
    const Slice& slice = slices_[oldest.slice];
    if (slice.number != oldest.number) continue;
    if (bytes_ > limit_ && slice.live <= slice.records->size() / kLittle)
      break_up(oldest.slice);
    else
      ages_.push_back(oldest);
  }
}

std::shared_ptr<const LogRecord> HeldRecords::keep(std::uint32_t slot) const {
  const Slot& s = slots_[slot];
  const Slice& slice = slices_[s.slice];
  if (slice.records != nullptr && bytes_in_memory() > limit_) return std::make_shared<const LogRecord>(*s.record);
  return {slice.owner, s.record};
}

void HeldRecords::free(std::uint32_t slot) {
  const std::uint32_t slice = slots_[slot].slice;
  slots_[slot] = {};
  slots_.free(slot);
  BARTLEBY_ASSERT(slices_[slice].live > 0);
  if (--slices_[slice].live == 0) over(slice);
}

void HeldRecords::over(std::uint32_t number) {
  Slice& slice = slices_[number];
  bytes_ -= slice.bytes;
  // A handler that was too slow may still be at one of them: then the last of these frees them all. The copy is what
  // makes its last look come before our next write: reading the count alone orders nothing.
  const std::shared_ptr<const void> copy = slice.owner;
  if (slice.records != nullptr && spare_ && copy.use_count() == 2) spare_(std::move(*slice.records));
  slice = {};
  slices_.free(number);
}

void HeldRecords::break_up(std::uint32_t number) {
  const std::vector<std::uint32_t> slots = std::move(slices_[number].slots);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const LogRecord& record = (*slices_[number].records)[i];
    if (slots_[slots[i]].record != &record) continue;  // given back, and perhaps used again
    auto own = std::make_shared<const LogRecord>(record);
    const std::uint32_t single = slices_.make();
    Slice& slice = slices_[single];
    slots_[slots[i]] = {own.get(), single};
    slice.owner = std::move(own);
    slice.number = ++last_number_;
    slice.live = 1;
    --slices_[number].live;
  }
  BARTLEBY_ASSERT(slices_[number].live == 0);
  over(number);
}

}  // namespace bartleby
