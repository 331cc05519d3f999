#include "engine/start.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

const TopicPartition kZero{"orders", Partition(0)};
const TopicPartition kOne{"orders", Partition(1)};
const std::map<TopicPartition, StartRange> kRanges = {{kZero, {Offset(5), Offset(50), Offset(20)}},
                                                      {kOne, {Offset(0), Offset(7), std::nullopt}}};

std::vector<CommittedOffset> begin(std::optional<Offset> zero, std::optional<Offset> one, StartAt start) {
  return first_offsets({{kZero, zero, ""}, {kOne, one, ""}}, kRanges, start);
}

TEST(Start, AGroupWithoutOffsetsBeginsOnAllPartitionsTogether) {
  const auto first = begin({}, {}, StartAt::kEarliest);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].offset, Offset(5));
  EXPECT_EQ(first[1].offset, Offset(0));
}

TEST(Start, LatestIsTheEndOfEachPartition) {
  const auto first = begin({}, {}, StartAt::kLatest);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].offset, Offset(50));
  EXPECT_EQ(first[1].offset, Offset(7));
}

TEST(Start, ATimeBeyondTheLastRecordIsTheEnd) {
  const auto first = begin({}, {}, StartAt::kTime);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].offset, Offset(20));
  EXPECT_EQ(first[1].offset, Offset(7));
}

TEST(Start, AnAddedPartitionIsNotSkippedToTheEnd) { EXPECT_TRUE(begin(Offset(9), {}, StartAt::kLatest).empty()); }

TEST(Start, TopicsBeginApart) {
  const TopicPartition other{"other", Partition(0)};
  auto ranges = kRanges;
  ranges[other] = {Offset(3), Offset(4), {}};
  const auto first = first_offsets({{kZero, Offset(9), ""}, {other, {}, ""}}, ranges, StartAt::kEarliest);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].tp, other);
  EXPECT_EQ(first[0].offset, Offset(3));
}

}  // namespace
}  // namespace bartleby
