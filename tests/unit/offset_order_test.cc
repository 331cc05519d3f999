// The order of lanes against a std::set.
#include "engine/offset_order.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "base/random.h"

namespace bartleby {
namespace {

using Pairs = std::vector<std::pair<std::int64_t, std::uint32_t>>;

Pairs walked(const OffsetOrder& order) {
  Pairs all;
  order.walk([&](Offset o, std::uint32_t id) {
    all.emplace_back(o.v, id);
    return true;
  });
  return all;
}

TEST(OffsetOrder, IsEmptyAtFirst) {
  const OffsetOrder order;
  EXPECT_TRUE(order.empty());
  EXPECT_TRUE(OffsetOrder::Cursor(order).at_end());
  EXPECT_TRUE(walked(order).empty());
}

TEST(OffsetOrder, OrdersByOffsetThenByNumber) {
  OffsetOrder order;
  order.insert(Offset(7), 1);
  order.insert(Offset(5), 9);
  order.insert(Offset(5), 2);
  order.insert(Offset(1LL << 40), 0);
  order.insert(Offset((1LL << 32) + 1), 4);
  order.insert(Offset(0xffffffffLL), 3);
  EXPECT_EQ(order.lowest(), Offset(5));
  EXPECT_EQ(walked(order), (Pairs{{5, 2}, {5, 9}, {7, 1}, {0xffffffffLL, 3}, {(1LL << 32) + 1, 4}, {1LL << 40, 0}}));
}

TEST(OffsetOrder, StopsTheWalkWhenTold) {
  OffsetOrder order;
  for (std::uint32_t i = 0; i < 1000; ++i) order.insert(Offset(i), i);
  std::size_t n = 0;
  order.walk([&](Offset, std::uint32_t) { return ++n < 300; });
  EXPECT_EQ(n, 300u);
}

void compare_with_set(std::uint64_t seed, std::int64_t range, bool clustered) {
  Random random(seed);
  OffsetOrder order;
  std::set<std::pair<std::int64_t, std::uint32_t>> model;
  for (int step = 0; step < 6000; ++step) {
    const bool growing = (step / 1500) % 2 == 0;
    if (model.empty() || random.chance(growing ? 80 : 25)) {
      const std::int64_t offset = clustered ? step / 10 : random.between(0, range);
      const auto id = static_cast<std::uint32_t>(random.below(50));
      if (model.emplace(offset, id).second) order.insert(Offset(offset), id);
    } else {
      auto at = model.lower_bound({random.between(0, range), 0});
      if (at == model.end() || random.chance(30)) at = model.begin();
      order.erase(Offset(at->first), at->second);
      model.erase(at);
    }
    ASSERT_EQ(order.size(), model.size());
    ASSERT_EQ(order.empty(), model.empty());
    if (!model.empty()) {
      ASSERT_EQ(order.lowest().v, model.begin()->first);
    }
    if (step % 500 != 0) continue;
    ASSERT_EQ(walked(order), Pairs(model.begin(), model.end())) << "seed " << seed << " step " << step;
    OffsetOrder::Cursor cursor(order);
    for (const auto& [offset, id] : model) {
      ASSERT_FALSE(cursor.at_end());
      ASSERT_EQ(cursor.offset().v, offset);
      ASSERT_EQ(cursor.id(), id);
      cursor.next();
    }
    ASSERT_TRUE(cursor.at_end());
  }
}

TEST(OffsetOrder, AgreesWithASet) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    compare_with_set(seed, 100, false);
    compare_with_set(seed, 1LL << 45, false);
    compare_with_set(seed, 600, true);
  }
}

TEST(OffsetOrder, CostsAFewBytesAPair) {
  OffsetOrder order;
  for (std::uint32_t i = 0; i < 100000; ++i) order.insert(Offset(i), i);
  EXPECT_LE(order.bytes() / order.size(), 48u);
  for (std::uint32_t i = 0; i < 100000; ++i) order.erase(Offset(i), i);
  EXPECT_TRUE(order.empty());
}

}  // namespace
}  // namespace bartleby
