// Hash and random numbers are formats: lanes, journal checks and seeds depend on their bits.
#include <gtest/gtest.h>

#include <string>

#include "base/hash.h"
#include "base/random.h"
#include "codec/lane.h"

namespace bartleby {
namespace {

TEST(Hash, HasTheSameBitsForEver) {
  EXPECT_EQ(hash64(""), 0xdb11fe85de4aec06ULL);
  EXPECT_EQ(hash64("bartleby"), 0x295d942cdc839ce6ULL);
  EXPECT_EQ(hash64("I would prefer not to"), 0x5c1ece965fa75f23ULL);
  EXPECT_EQ(mix64(1), 0x5692161d100b05e5ULL);
  EXPECT_EQ(combine(1, 2), 0x1d0b14e4db018fedULL);
}

TEST(Hash, TellsApartTextsThatDifferOnlyInZeroBytes) {
  const std::string zeros(32, '\0');
  for (std::size_t a = 0; a <= zeros.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_NE(hash64(std::string_view(zeros).substr(0, a)), hash64(std::string_view(zeros).substr(0, b)));
}

TEST(Hash, ChangesWithEveryBitOfTheText) {
  std::string text = "twenty-one characters";
  const std::uint64_t before = hash64(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      text[i] = static_cast<char>(text[i] ^ (1 << bit));
      EXPECT_NE(hash64(text), before);
      text[i] = static_cast<char>(text[i] ^ (1 << bit));
    }
  }
}

TEST(Lane, IsTheUpperHalfOfTheKeysHash) {
  EXPECT_EQ(lane_of("").v, 0xdb11fe85U);
  EXPECT_EQ(lane_of("bartleby").v, 0x295d942cU);
}

TEST(Random, GivesTheNumbersOfSplitmix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

TEST(Random, StaysWithinItsBounds) {
  Random random(7);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t v = random.between(-2, 2);
    EXPECT_GE(v, -2);
    EXPECT_LE(v, 2);
    low = low || v == -2;
    high = high || v == 2;
    EXPECT_LT(random.below(3), 3U);
  }
  EXPECT_TRUE(low && high);
  EXPECT_EQ(random.below(0), 0U);
  EXPECT_FALSE(random.chance(0));
  EXPECT_TRUE(random.chance(100));
}

}  // namespace
}  // namespace bartleby
