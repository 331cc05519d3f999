#include "runtime/held_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace bartleby {
namespace {

std::vector<LogRecord> some(std::int64_t from, std::size_t count, std::size_t bytes = 100) {
  std::vector<LogRecord> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].offset = Offset(from + static_cast<std::int64_t>(i));
    records[i].value = std::string(bytes, static_cast<char>('a' + i % 26));
  }
  return records;
}

TEST(HeldRecords, KeepsEveryRecordUntilItsSlotIsGivenBack) {
  HeldRecords held({});
  std::vector<std::uint32_t> slots;
  held.take(some(0, 10), slots);
  held.take(some(10, 10), slots);
  ASSERT_EQ(slots.size(), 20u);
  for (std::size_t i = 0; i < slots.size(); i += 2) held.free(slots[i]);
  EXPECT_EQ(held.size(), 10u);
  for (std::size_t i = 1; i < slots.size(); i += 2)
    EXPECT_EQ(held[slots[i]].offset, Offset(static_cast<std::int64_t>(i)));
}

TEST(HeldRecords, GivesTheMemoryOfASliceBackWithItsLastSlot) {
  std::vector<std::size_t> spared;
  HeldRecords held([&](std::vector<LogRecord> records) { spared.push_back(records.size()); });
  std::vector<std::uint32_t> slots;
  held.take(some(0, 3), slots);
  held.free(slots[0]);
  held.free(slots[2]);
  EXPECT_TRUE(spared.empty());
  held.free(slots[1]);
  EXPECT_EQ(spared, std::vector<std::size_t>{3});
  EXPECT_EQ(held.slice_bytes(), 0u);
}

TEST(HeldRecords, WhatIsKeptOutlivesItsSlotAndIsNotFilledAgain) {
  bool spared = false;
  HeldRecords held([&](std::vector<LogRecord>) { spared = true; });
  std::vector<std::uint32_t> slots;
  held.take(some(7, 1), slots);
  const std::shared_ptr<const LogRecord> kept = held.keep(slots[0]);
  held.free(slots[0]);
  EXPECT_FALSE(spared);
  EXPECT_EQ(kept->offset, Offset(7));
  EXPECT_EQ(*kept->value, std::string(100, 'a'));
}

TEST(HeldRecords, OneThatStaysDoesNotKeepItsNeighbours) {
  constexpr std::size_t kLimit = 100'000;
  HeldRecords held({}, kLimit);
  std::vector<std::uint32_t> all, slots;
  std::vector<std::uint32_t> staying;
  for (std::int64_t slice = 0; slice < 200; ++slice) {
    slots.clear();
    held.take(some(slice * 100, 100), slots);
    staying.push_back(slots[50]);
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (i != 50) held.free(slots[i]);
  }
  EXPECT_LT(held.slice_bytes(), 2 * kLimit);
  ASSERT_EQ(held.size(), staying.size());
  for (std::size_t i = 0; i < staying.size(); ++i) {
    EXPECT_EQ(held[staying[i]].offset, Offset(static_cast<std::int64_t>(i) * 100 + 50));
    EXPECT_EQ(*held[staying[i]].value, std::string(100, static_cast<char>('a' + 50 % 26)));
    held.free(staying[i]);
  }
  EXPECT_EQ(held.size(), 0u);
  EXPECT_EQ(held.slice_bytes(), 0u);
}

// A handler that takes its time, among many that do not.
TEST(HeldRecords, WhatIsKeptForLongDoesNotKeepTheNeighbours) {
  constexpr std::size_t kLimit = 100'000;
  std::vector<std::shared_ptr<const LogRecord>> kept;
  std::size_t most = 0;
  {
    HeldRecords held({}, kLimit);
    std::vector<std::uint32_t> slots;
    for (std::int64_t slice = 0; slice < 200; ++slice) {
      slots.clear();
      held.take(some(slice * 100, 100), slots);
      kept.push_back(held.keep(slots[50]));
      for (const std::uint32_t slot : slots) held.free(slot);
      most = std::max(most, held.bytes_in_memory());
    }
    EXPECT_LT(most, 2 * kLimit);
    EXPECT_GT(held.bytes_in_memory(), 0u) << "below the limit nothing is copied";
  }
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i]->offset, Offset(static_cast<std::int64_t>(i) * 100 + 50));
}

TEST(HeldRecords, WhatIsHeldForLongStaysWhereItIsWhileMostOfItsSliceDoes) {
  HeldRecords held({}, 1000);
  std::vector<std::uint32_t> slots;
  for (std::int64_t slice = 0; slice < 50; ++slice) held.take(some(slice * 10, 10), slots);
  const LogRecord* first = &held[slots.front()];
  held.take(some(500, 10), slots);
  EXPECT_EQ(first, &held[slots.front()]);
  for (const std::uint32_t slot : slots) held.free(slot);
  EXPECT_EQ(held.slice_bytes(), 0u);
}

TEST(HeldRecords, ASlotThatIsUsedAgainIsNotTakenForTheOldOne) {
  HeldRecords held({}, 2000);
  std::vector<std::uint32_t> slots;
  held.take(some(0, 10), slots);
  const std::uint32_t stays = slots[0];
  for (std::size_t i = 1; i < slots.size(); ++i) held.free(slots[i]);
  for (std::int64_t slice = 1; slice < 20; ++slice) {  // breaks the first one up, with its numbers in use again
    std::vector<std::uint32_t> more;
    held.take(some(slice * 10, 10), more);
    for (std::size_t i = 0; i < more.size(); ++i)
      EXPECT_EQ(held[more[i]].offset, Offset(slice * 10 + static_cast<std::int64_t>(i)));
    for (const std::uint32_t slot : more) held.free(slot);
  }
  EXPECT_EQ(held[stays].offset, Offset(0));
  held.free(stays);
}

}  // namespace
}  // namespace bartleby
