// The window of offsets against a map of marks.
#include "engine/window.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace bartleby {
namespace {

TEST(Window, GapsBelongToNobody) {
  Window w;
  w.reset(Offset(100));
  w.append(Offset(103), Mark::kOpen, 7);
  EXPECT_EQ(w.end(), Offset(104));
  EXPECT_EQ(w.open(), 1u);
  EXPECT_EQ(w.mark(Offset(101)), Mark::kElsewhere);
  EXPECT_EQ(w.first_open(), Offset(103));
  EXPECT_EQ(w.entry(Offset(103)), 7u);
  EXPECT_FALSE(w.covers(Offset(99)));
  EXPECT_FALSE(w.covers(Offset(104)));
}

TEST(Window, SkippingBackDoesNothing) {
  Window w;
  w.reset(Offset(10));
  w.skip_to(Offset(5));
  EXPECT_EQ(w.end(), Offset(10));
  w.skip_to(Offset(20));
  EXPECT_EQ(w.end(), Offset(20));
  EXPECT_EQ(w.first_open(), Offset(20));
}

TEST(Window, TrimsOnlyWhatIsSettled) {
  Window w;
  w.reset(Offset(0));
  for (std::int64_t o = 0; o < 10; ++o) w.append(Offset(o), Mark::kOpen, 0);
  for (std::int64_t o = 0; o < 4; ++o) w.set(Offset(o), Mark::kHandled);
  w.trim(Offset(8));
  EXPECT_EQ(w.base(), Offset(4)) << "the first open one stays";
  w.trim(Offset(2));
  EXPECT_EQ(w.base(), Offset(4)) << "it never goes back";
  w.set(Offset(1), Mark::kSkipped);  // forgotten: no matter
  EXPECT_EQ(w.open(), 6u);
}

TEST(Window, StaysSmallHoweverFarTheTopicGoes) {
  Window w;
  w.reset(Offset(0));
  for (std::int64_t o = 0; o < 1000000; ++o) {
    w.append(Offset(o), Mark::kOpen, 0);
    w.set(Offset(o), Mark::kHandled);
    if (o % 50 == 0) w.trim(Offset(o));
  }
  EXPECT_LE(w.bytes(), 4096u);
}

void compare_with_map(std::uint64_t seed) {
  Random random(seed);
  Window w;
  std::map<std::int64_t, Mark> model;
  std::set<std::int64_t> gaps;
  const std::int64_t start = random.between(0, 1000);
  std::int64_t base = start;
  std::int64_t end = start;
  w.reset(Offset(start));
  for (int step = 0; step < 1500; ++step) {
    const std::uint64_t what = random.below(10);
    if (what < 5) {
      const std::int64_t offset = end + (random.chance(10) ? random.between(0, 90) : 0);
      for (; end < offset; ++end) model[end] = Mark::kElsewhere, gaps.insert(end);
      const Mark mark = random.chance(70) ? Mark::kOpen : static_cast<Mark>(random.below(4));
      model[end++] = mark;
      w.append(Offset(offset), mark, static_cast<std::uint32_t>(offset));
    } else if (what < 9 && end > base) {
      const std::int64_t offset = random.chance(50)
                                      ? base + random.between(0, std::min<std::int64_t>(5, end - base - 1))
                                      : random.between(base, end - 1);
      if (gaps.contains(offset)) continue;
      const auto mark = static_cast<Mark>(random.between(1, 3));
      model[offset] = mark;
      w.set(Offset(offset), mark);
    } else {
      w.trim(Offset(random.between(base, end)));
      while (base < w.base().v) {
        ASSERT_NE(model[base], Mark::kOpen) << "forgot what is open; seed " << seed;
        model.erase(base++);
      }
    }
    std::int64_t first = end;
    std::size_t open = 0;
    for (const auto& [offset, mark] : model) {
      if (mark != Mark::kOpen) continue;
      first = std::min(first, offset);
      ++open;
    }
    ASSERT_EQ(w.first_open().v, first) << "seed " << seed << " step " << step;
    ASSERT_EQ(w.open(), open);
    ASSERT_EQ(w.end().v, end);
    if (step % 100 != 0) continue;
    std::size_t walked = 0;
    for (Offset o = w.first_open(); o < w.end(); o = w.next_open(o)) {
      ASSERT_EQ(model.at(o.v), Mark::kOpen);
      ASSERT_EQ(w.entry(o), static_cast<std::uint32_t>(o.v));
      ++walked;
    }
    ASSERT_EQ(walked, open);
    for (const Mark mark : {Mark::kHandled, Mark::kSkipped}) {
      const std::int64_t from = random.between(start, end);
      std::uint64_t n = 0;
      for (const auto& [offset, m] : model) n += offset >= from && m == mark ? 1u : 0u;
      ASSERT_EQ(w.count(mark, Offset(from), Offset(end + 5)), n);
    }
  }
}

TEST(Window, AgreesWithAMap) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) compare_with_map(seed);
}

}  // namespace
}  // namespace bartleby
