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

TEST(Window, FarJumpsCostNothingAndChangeNothing) {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    Window w;
    w.reset(Offset(5));
    std::map<std::int64_t, Mark> marks;  // of what was appended
    std::int64_t base = 5, end = 5;
    for (int step = 0; step < 300; ++step) {
      switch (random.below(5)) {
        case 0: {  // far
          const std::int64_t o = end + random.between(4000, 2000000000);
          w.append(Offset(o), Mark::kOpen, static_cast<std::uint32_t>(o & 0xffffff));
          marks[o] = Mark::kOpen;
          end = o + 1;
          break;
        }
        case 1:
        case 2: {
          const std::int64_t o = end + random.between(0, 3);
          const Mark mark = random.chance(70) ? Mark::kOpen : Mark::kElsewhere;
          w.append(Offset(o), mark, static_cast<std::uint32_t>(o & 0xffffff));
          marks[o] = mark;
          end = o + 1;
          break;
        }
        case 3: {  // one is settled
          std::vector<std::int64_t> open;
          for (const auto& [o, mark] : marks)
            if (mark == Mark::kOpen) open.push_back(o);
          if (open.empty()) break;
          const std::int64_t o = open[random.below(open.size())];
          w.set(Offset(o), Mark::kHandled);
          marks[o] = Mark::kHandled;
          break;
        }
        default: {
          if (random.chance(30)) {
            end += random.between(1, 1000000000);
            w.skip_to(Offset(end));
          }
          const std::int64_t to = base + random.between(0, std::max<std::int64_t>(1, end - base));
          w.trim(Offset(to));
          std::int64_t first = end;
          for (const auto& [o, mark] : marks)
            if (mark == Mark::kOpen) {
              first = o;
              break;
            }
          base = std::max(base, std::min({to, first, end}));
          marks.erase(marks.begin(), marks.lower_bound(base));
          break;
        }
      }
      ASSERT_EQ(w.base(), Offset(base));
      ASSERT_EQ(w.end(), Offset(end));
      std::uint64_t open = 0, handled = 0;
      Offset found = w.first_open();
      for (const auto& [o, mark] : marks) {
        ASSERT_EQ(w.mark(Offset(o)), mark);
        handled += mark == Mark::kHandled ? 1U : 0U;
        if (mark != Mark::kOpen) continue;
        ++open;
        ASSERT_EQ(w.entry(Offset(o)), static_cast<std::uint32_t>(o & 0xffffff));
        ASSERT_EQ(found, Offset(o));
        found = w.next_open(found);
      }
      ASSERT_EQ(found, Offset(end));
      ASSERT_EQ(w.open(), open);
      ASSERT_EQ(w.count(Mark::kHandled, Offset(base), Offset(end)), handled);
      ASSERT_LT(w.bytes(), 1U << 20);
    }
  }
}

}  // namespace
}  // namespace bartleby
