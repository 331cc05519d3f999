#include "codec/murmur2.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

// The vectors of Kafka's own test (UtilsTest.testMurmur2).
TEST(Murmur2, AgreesWithKafka) {
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("21")), -973932308);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("foobar")), -790332482);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("a-little-bit-long-string")), -985981536);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("a-little-bit-longer-string")), -1486304829);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8")), -58897971);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("abc")), 479470107);
}

TEST(Murmur2, ClearsTheSignBeforeItDivides) {
  EXPECT_EQ(partition_of_key("foobar", 1), 0);
  EXPECT_EQ(partition_of_key("foobar", 1000), static_cast<std::int32_t>((-790332482 & 0x7fffffff) % 1000));
}

}  // namespace
}  // namespace bartleby
