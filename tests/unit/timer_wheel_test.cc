// The wheel against a sorted list of everything that waits.
#include "engine/timer_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"

namespace bartleby {
namespace {

Instant at_ms(std::int64_t v) { return Instant(Duration(v)); }

struct Nodes {
  std::vector<TimerLink> links;
  std::vector<Instant> dues;

  explicit Nodes(std::size_t n) : links(n), dues(n) {}
  TimerLink& link(std::uint32_t i) { return links[i]; }
  Instant due(std::uint32_t i) const { return dues[i]; }
};

std::vector<std::uint32_t> advance(TimerWheel<Nodes>& wheel, Instant now) {
  std::vector<std::uint32_t> due;
  wheel.advance(now, [&](std::uint32_t i) { due.push_back(i); });
  return due;
}

TEST(TimerWheel, GivesOutWhatIsDueAndNothingElse) {
  Nodes nodes(3);
  TimerWheel<Nodes> wheel(nodes);
  nodes.dues = {at_ms(100), at_ms(50), at_ms(101)};
  for (std::uint32_t i = 0; i < 3; ++i) wheel.add(i, at_ms(0));
  EXPECT_EQ(advance(wheel, at_ms(49)), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(advance(wheel, at_ms(100)), (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(wheel.size(), 1u);
  EXPECT_EQ(advance(wheel, at_ms(101)), (std::vector<std::uint32_t>{2}));
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.next_due(), kNever);
}

TEST(TimerWheel, WithinOneMillisecondTheOrderIsThatOfAdding) {
  Nodes nodes(100);
  TimerWheel<Nodes> wheel(nodes);
  for (std::uint32_t i = 0; i < 100; ++i) {
    nodes.dues[i] = at_ms(70000);
    wheel.add(i, at_ms(5));
  }
  const std::vector<std::uint32_t> due = advance(wheel, at_ms(70000));
  ASSERT_EQ(due.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(due));
}

// Once a millisecond has been handed out, whatever is added for it comes with the next one.
TEST(TimerWheel, WhatIsDueAlreadyComesWithTheNextMillisecond) {
  Nodes nodes(2);
  TimerWheel<Nodes> wheel(nodes);
  nodes.dues = {at_ms(100), at_ms(40)};
  wheel.add(0, at_ms(0));
  advance(wheel, at_ms(99));
  advance(wheel, at_ms(100));
  nodes.dues[0] = at_ms(900);
  wheel.add(0, at_ms(100));
  advance(wheel, at_ms(200));
  wheel.add(1, at_ms(200));
  EXPECT_LE(wheel.next_due(), at_ms(201));
  EXPECT_EQ(advance(wheel, at_ms(201)), (std::vector<std::uint32_t>{1}));
}

TEST(TimerWheel, WhatIsDueAlreadyComesAtOnceInAnEmptyWheel) {
  Nodes nodes(1);
  TimerWheel<Nodes> wheel(nodes);
  nodes.dues[0] = at_ms(10);
  wheel.add(0, at_ms(5000));
  EXPECT_LE(wheel.next_due(), at_ms(5000));
  EXPECT_EQ(advance(wheel, at_ms(5000)).size(), 1u);
}

TEST(TimerWheel, WaitsLongerThanItsLastLevelReaches) {
  Nodes nodes(1);
  TimerWheel<Nodes> wheel(nodes);
  const std::int64_t year = 365LL * 24 * 3600 * 1000;
  nodes.dues[0] = at_ms(year);
  wheel.add(0, at_ms(0));
  EXPECT_TRUE(advance(wheel, at_ms(year - 1)).empty());
  EXPECT_EQ(advance(wheel, at_ms(year)).size(), 1u);
}

TEST(TimerWheel, ForgetsEverythingWhenCleared) {
  Nodes nodes(2);
  TimerWheel<Nodes> wheel(nodes);
  nodes.dues = {at_ms(10), at_ms(100000)};
  wheel.add(0, at_ms(0));
  wheel.add(1, at_ms(0));
  wheel.clear();
  EXPECT_TRUE(wheel.empty());
  EXPECT_TRUE(advance(wheel, at_ms(1000000)).empty());
}

// Random adding, removing and passing of time, against a multimap.
void compare_with_model(std::uint64_t seed, std::int64_t longest, std::int64_t stride) {
  constexpr std::uint32_t kNodes = 300;
  Random random(seed);
  Nodes nodes(kNodes);
  TimerWheel<Nodes> wheel(nodes);
  std::multimap<Instant, std::uint32_t> model;  // equal dues keep the order of adding
  std::vector<bool> waiting(kNodes);
  Instant now = at_ms(random.between(0, 1LL << 40));
  for (int step = 0; step < 4000; ++step) {
    const auto i = static_cast<std::uint32_t>(random.below(kNodes));
    const std::uint64_t what = random.below(10);
    if (what < 6 && !waiting[i]) {
      nodes.dues[i] = now + Duration(random.between(1, longest));
      wheel.add(i, now);
      model.emplace(nodes.dues[i], i);
      waiting[i] = true;
    } else if (what < 8 && waiting[i]) {
      wheel.remove(i);
      std::erase_if(model, [i](const auto& each) { return each.second == i; });
      waiting[i] = false;
    } else {
      ASSERT_TRUE(model.empty() || wheel.next_due() <= model.begin()->first) << "late; seed " << seed;
      now += Duration(random.between(0, stride));
      std::size_t count = 0;
      while (!model.empty() && model.begin()->first <= now) {
        waiting[model.begin()->second] = false;
        model.erase(model.begin());
        ++count;
      }
      const std::vector<std::uint32_t> due = advance(wheel, now);
      for (const std::uint32_t d : due) {
        ASSERT_LE(nodes.dues[d], now) << "early; seed " << seed;
        ASSERT_FALSE(waiting[d]) << "not waiting; seed " << seed;
      }
      ASSERT_EQ(due.size(), count) << "seed " << seed << " step " << step;
    }
    ASSERT_EQ(wheel.size(), model.size());
  }
}

TEST(TimerWheel, AgreesWithASortedListForShortAndLongWaits) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    compare_with_model(seed, 300, 40);
    compare_with_model(seed, 70000, 3000);
    compare_with_model(seed, 20000000, 1000000);
    compare_with_model(seed, 1LL << 36, 1LL << 33);
  }
}

// Milliseconds come in their order, whichever level they waited in.
TEST(TimerWheel, GivesEarlierMillisecondsFirst) {
  Random random(5);
  constexpr std::uint32_t kNodes = 2000;
  Nodes nodes(kNodes);
  TimerWheel<Nodes> wheel(nodes);
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    nodes.dues[i] = at_ms(12345 + random.between(0, 20000000));
    wheel.add(i, at_ms(12345));
  }
  Instant before{};
  for (const std::uint32_t i : advance(wheel, at_ms(30000000))) {
    EXPECT_GE(nodes.dues[i], before);
    before = nodes.dues[i];
  }
  EXPECT_TRUE(wheel.empty());
}

}  // namespace
}  // namespace bartleby
