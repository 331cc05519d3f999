// Lanes by hash against a std::map.
#include "engine/lane_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace bartleby {
namespace {

struct TestLane {
  Lane hash;
  std::uint32_t chain = kNone;
};

TEST(LaneTable, FindsNothingInAnEmptyTable) {
  Slab<TestLane> lanes;
  const LaneTable<TestLane> table(lanes);
  EXPECT_EQ(table.find(Lane(0)), kNone);
}

TEST(LaneTable, KeepsLanesApartThatShareAPlace) {
  Slab<TestLane> lanes;
  LaneTable<TestLane> table(lanes);
  // Multiples of 64 stay multiples of 64 whatever odd number they are multiplied with: one chain.
  for (std::uint32_t k = 0; k < 50; ++k) {
    const std::uint32_t i = lanes.make();
    lanes[i].hash = Lane(k * 64 * 1024);
    table.insert(i);
  }
  for (std::uint32_t k = 0; k < 50; ++k) EXPECT_EQ(lanes[table.find(Lane(k * 64 * 1024))].hash, Lane(k * 64 * 1024));
  table.erase(table.find(Lane(25 * 64 * 1024)));
  EXPECT_EQ(table.find(Lane(25 * 64 * 1024)), kNone);
  EXPECT_NE(table.find(Lane(24 * 64 * 1024)), kNone);
  EXPECT_NE(table.find(Lane(26 * 64 * 1024)), kNone);
  EXPECT_EQ(table.size(), 49u);
}

TEST(LaneTable, AgreesWithAMapWhileItGrowsAndShrinks) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    Slab<TestLane> lanes;
    LaneTable<TestLane> table(lanes);
    std::map<std::uint32_t, std::uint32_t> model;  // hash, number
    for (int step = 0; step < 20000; ++step) {
      const auto hash = static_cast<std::uint32_t>(random.below(random.chance(50) ? 500 : UINT32_MAX));
      const auto at = model.find(hash);
      ASSERT_EQ(table.find(Lane(hash)), at == model.end() ? kNone : at->second) << "seed " << seed;
      if (at == model.end()) {
        const std::uint32_t i = lanes.make();
        lanes[i].hash = Lane(hash);
        table.insert(i);
        model[hash] = i;
      } else if (random.chance(60)) {
        table.erase(at->second);
        lanes.free(at->second);
        model.erase(at);
      }
      ASSERT_EQ(table.size(), model.size());
    }
    for (const auto& [hash, i] : model) ASSERT_EQ(table.find(Lane(hash)), i);
    table.clear();
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(table.find(Lane(model.begin()->first)), kNone);
  }
}

}  // namespace
}  // namespace bartleby
