// Whether the store works, as health says it: by a write and a read, once a second, without waiting for one that hangs.
#include "office/store_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "tests/contract/store_contract.h"

namespace bartleby::contract {
namespace {

// Fails, or holds whoever writes up, as it is told to.
class UnwellStore : public Store {
 public:
  explicit UnwellStore(Store& inside) : inside_(inside) {}

  Result<void> write(const Work& work) override {
    ++writes;
    if (hangs) {
      entered.count_down();
      released.wait();
    }
    if (full) return fail(ErrorCode::kUnavailable, "the disk is full");
    return inside_.write(work);
  }
  Result<void> read(const Work& work) override {
    if (unreadable) return fail(ErrorCode::kUnavailable, "no more files");
    return inside_.read(work);
  }

  std::atomic<int> writes = 0;
  std::atomic<bool> full = false, unreadable = false, hangs = false;
  std::latch entered{1}, released{1};

 private:
  Store& inside_;
};

class Wound : public Clock {
 public:
  explicit Wound(std::chrono::seconds patience) : patience_(patience) {}
  Now now() const override {
    const Duration passed(passed_.load());
    return {Instant(passed), timestamp_ms(1'800'000'000'000) + passed};
  }
  std::chrono::microseconds real(Duration) const override { return patience_; }
  void pass(Duration time) { passed_ += time.count(); }

 private:
  const std::chrono::seconds patience_;
  std::atomic<std::int64_t> passed_ = 1000;
};

struct Told {
  std::string lines;
  Log log{LogFormat::kText, LogLevel::kInfo, [this](std::string_view line) { lines += line; }};

  std::size_t times(std::string_view what) const {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = lines.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  }
};

TEST_P(StoreContract, AStoreThatWorksIsWrittenToAndSaysHowManyLettersAreOpen) {
  UnwellStore unwell(store());
  Wound clock(std::chrono::seconds(120));
  Told told;
  StoreCheck check(unwell, clock, told.log);
  EXPECT_EQ(check.ask().open, 0);
  take_in({letter(1), letter(2)});
  clock.pass(Duration(1000));
  const StoreLook look = check.ask();
  EXPECT_FALSE(look.failure);
  EXPECT_EQ(look.open, 2);
  EXPECT_EQ(look.waits, Duration(0));
  EXPECT_EQ(unwell.writes, 2);
  EXPECT_EQ(take_in({letter(3)}).stored, 1U) << "what was written changes nothing";
}

TEST_P(StoreContract, HoweverManyAskTheDiskIsAskedOnceASecond) {
  UnwellStore unwell(store());
  Wound clock(std::chrono::seconds(120));
  Told told;
  StoreCheck check(unwell, clock, told.log);
  for (int i = 0; i < 100; ++i) check.ask();
  EXPECT_EQ(unwell.writes, 1);
  clock.pass(Duration(999));
  check.ask();
  EXPECT_EQ(unwell.writes, 1);
  clock.pass(Duration(1));
  check.ask();
  EXPECT_EQ(unwell.writes, 2);
}

TEST_P(StoreContract, AStoreThatTakesNoWritesOrDoesNotAnswerIsToldOnceAndSoIsItsReturn) {
  UnwellStore unwell(store());
  Wound clock(std::chrono::seconds(120));
  Told told;
  StoreCheck check(unwell, clock, told.log);
  EXPECT_FALSE(check.ask().failure);
  for (int i = 0; i < 3; ++i) {
    unwell.full = true;
    clock.pass(Duration(1000));
    const StoreLook look = check.ask();
    ASSERT_TRUE(look.failure);
    EXPECT_EQ(look.failure->message, "the disk is full");
    EXPECT_EQ(look.open, 0) << "as it was";
  }
  unwell.full = false;
  unwell.unreadable = true;
  clock.pass(Duration(1000));
  EXPECT_EQ(check.ask().failure.value_or(Error{}).message, "no more files");
  unwell.unreadable = false;
  clock.pass(Duration(1000));
  EXPECT_FALSE(check.ask().failure);
  clock.pass(Duration(1000));
  check.ask();  // the line is written after the answer is given
  EXPECT_EQ(told.times("store_not_working"), 1U) << told.lines;
  EXPECT_EQ(told.times("store_works_again"), 1U) << told.lines;
}

TEST_P(StoreContract, WhoAsksDoesNotWaitForAStoreThatHangsAndIsToldHowLongItHas) {
  UnwellStore unwell(store());
  unwell.hangs = true;
  Wound hasty(std::chrono::seconds(0));
  Told told;
  StoreCheck check(unwell, hasty, told.log);
  EXPECT_FALSE(check.ask().open) << "nothing is known yet";
  unwell.entered.wait();
  hasty.pass(Duration(14000));
  const StoreLook look = check.ask();
  EXPECT_EQ(look.waits, Duration(14000));
  EXPECT_FALSE(look.failure);
  EXPECT_EQ(unwell.writes, 1) << "one look at a time";
  unwell.released.count_down();
  while (!check.ask().open) std::this_thread::yield();
  EXPECT_EQ(check.ask().waits, Duration(0));
}

}  // namespace
}  // namespace bartleby::contract
