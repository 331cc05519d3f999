#include <gtest/gtest.h>

#include "adapters/broker/kafka/read_ahead.h"

namespace bartleby::kafka {
namespace {

constexpr std::uint64_t kMb = std::uint64_t{1} << 20;

TEST(KafkaReadAhead, TheBudgetIsDividedAmongThePartitions) {
  EXPECT_EQ(read_ahead_kb(64 * kMb, 16), 4096U);
  EXPECT_EQ(read_ahead_kb(64 * kMb, 64), 1024U);
  for (const std::uint64_t partitions : {8U, 12U, 100U, 128U})
    EXPECT_LE(read_ahead_kb(64 * kMb, partitions) * 1024 * partitions, 64 * kMb) << partitions;
}

TEST(KafkaReadAhead, NoPartitionHasLessThanItNeedsOrMoreThanItCanUse) {
  EXPECT_EQ(read_ahead_kb(64 * kMb, 1000), 512U);
  EXPECT_EQ(read_ahead_kb(2 * kMb, 12), 512U);
  EXPECT_EQ(read_ahead_kb(64 * kMb, 1), 8192U);
  EXPECT_EQ(read_ahead_kb(64 * kMb, 0), 8192U);  // nothing is known
}

}  // namespace
}  // namespace bartleby::kafka
