#include "engine/slab.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace bartleby {
namespace {

TEST(Slab, UsesTheNumberFreedLastFirst) {
  Slab<int> slab;
  EXPECT_EQ(slab.make(), 0u);
  EXPECT_EQ(slab.make(), 1u);
  EXPECT_EQ(slab.make(), 2u);
  slab.free(0);
  slab.free(2);
  EXPECT_EQ(slab.size(), 1u);
  EXPECT_EQ(slab.make(), 2u);
  EXPECT_EQ(slab.make(), 0u);
  EXPECT_EQ(slab.make(), 3u);
  EXPECT_EQ(slab.capacity(), 4u);
}

TEST(Slab, WhatIsMadeAgainIsAsNew) {
  Slab<std::string> slab;
  const std::uint32_t i = slab.make();
  slab[i] = "old";
  slab.free(i);
  EXPECT_EQ(slab.make(), i);
  EXPECT_EQ(slab[i], "");
}

TEST(Slab, NumbersInUseKeepWhatTheyHold) {
  Random random(1);
  Slab<std::uint64_t> slab;
  std::map<std::uint32_t, std::uint64_t> model;
  for (int step = 0; step < 20000; ++step) {
    if (model.empty() || random.chance(55)) {
      const std::uint32_t i = slab.make();
      ASSERT_FALSE(model.contains(i)) << "in use";
      model[i] = slab[i] = random.next();
    } else {
      auto at = model.lower_bound(static_cast<std::uint32_t>(random.below(slab.capacity())));
      if (at == model.end()) at = model.begin();
      ASSERT_EQ(slab[at->first], at->second);
      slab.free(at->first);
      model.erase(at);
    }
    ASSERT_EQ(slab.size(), model.size());
  }
  for (const auto& [i, value] : model) EXPECT_EQ(slab[i], value);
}

TEST(SlabDeathTest, FreeingANumberThatWasNeverMadeIsABug) {
  Slab<int> slab;
  slab.make();
  EXPECT_DEATH(slab.free(5), "assertion failed");
}

}  // namespace
}  // namespace bartleby
