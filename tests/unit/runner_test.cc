#include "runtime/runner.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

// Answers when the test says so.
class SlowHandler : public Handler {
 public:
  void start(std::shared_ptr<AttemptIn> attempt, Answer answer) override {
    started.push_back({std::move(attempt), std::move(answer)});
  }
  bool in_process() const override { return true; }

  std::vector<Start> started;
};

class RunnerTest : public ::testing::Test {
 protected:
  RunnerTest() {
    std::vector<LogRecord> records;
    for (const std::int64_t offset : {5, 6}) records.push_back({Offset(offset), Timestamp(Duration(1)), "k", "v", {}});
    held_.take(std::move(records), slots_);
  }

  void run(Epoch epoch, std::size_t first, std::size_t count = 1) {
    std::vector<RunMessage> messages;
    for (std::size_t i = first; i < first + count; ++i)
      messages.push_back({&tp_, &held_[slots_[i]], &held_, slots_[i], 0});
    bartleby::Run order{};
    order.token = {{0, epoch}, 1, 1};
    order.attempt = 1;
    runner_.run(1, order, messages);
  }
  void turn() {
    runner_.begin_turn(clock_.now());
    runner_.end_turn();
  }
  void answer(std::size_t i) {
    Handler::Start one = std::move(handler_->started[i]);
    one.answer(Decision{});
  }

  const TopicPartition tp_{"orders", Partition(0)};
  SystemClock clock_;
  WorkerFigures figures_{{}};
  std::shared_ptr<SlowHandler> handler_ = std::make_shared<SlowHandler>();
  std::vector<HandledRun> ended_;
  HeldRecords held_{{}};
  std::vector<std::uint32_t> slots_;
  Runner runner_{{"c", "w", "g", {handler_}, {RetryPolicy{}}, {}, {}, nullptr},
                 clock_,
                 figures_,
                 [this](std::uint64_t, HandledRun run) { ended_.push_back(std::move(run)); }};
};

TEST_F(RunnerTest, AMessageThatAnEarlierAssignmentIsStillAtWaitsForItsEnd) {
  run(Epoch(1), 0);
  ASSERT_EQ(handler_->started.size(), 1U);
  runner_.release({0, Epoch(1)});
  EXPECT_TRUE(handler_->started[0].attempt->cancelled);
  run(Epoch(2), 0);
  turn();
  EXPECT_EQ(handler_->started.size(), 1U) << "two attempts of one message at once";
  answer(0);
  turn();
  ASSERT_EQ(handler_->started.size(), 2U);
  answer(1);
  EXPECT_EQ(ended_.size(), 2U);
  EXPECT_TRUE(runner_.idle());
}

TEST_F(RunnerTest, AMessageOfAPartitionThatBeganAnewWaitsForItsEarlierLife) {
  run(Epoch(1), 0);
  runner_.release({0, Epoch(1)});
  run(Epoch(1), 0);
  turn();
  EXPECT_EQ(handler_->started.size(), 1U) << "two attempts of one message at once";
  answer(0);
  turn();
  ASSERT_EQ(handler_->started.size(), 2U);
  answer(1);
  EXPECT_TRUE(runner_.idle());
}

TEST_F(RunnerTest, AnotherMessageOfThatPartitionDoesNotWait) {
  run(Epoch(1), 0);
  runner_.release({0, Epoch(1)});
  run(Epoch(2), 1);
  EXPECT_EQ(handler_->started.size(), 2U);
  answer(0);
  answer(1);
}

TEST_F(RunnerTest, AStretchWaitsForEachOfItsMessages) {
  run(Epoch(1), 1);
  runner_.release({0, Epoch(1)});
  run(Epoch(2), 0, 2);
  EXPECT_EQ(handler_->started.size(), 1U);
  answer(0);
  turn();
  ASSERT_EQ(handler_->started.size(), 2U);
  answer(1);
  answer(2);
  EXPECT_TRUE(runner_.idle());
}

TEST_F(RunnerTest, WhatWaitsGoesBackWhenItsPartitionLeavesAgain) {
  run(Epoch(1), 0);
  runner_.release({0, Epoch(1)});
  run(Epoch(2), 0);
  runner_.release({0, Epoch(2)});
  EXPECT_EQ(ended_.size(), 1U);
  EXPECT_FALSE(runner_.idle());
  answer(0);
  EXPECT_TRUE(runner_.idle());
  turn();
  EXPECT_EQ(handler_->started.size(), 1U);
}

}  // namespace
}  // namespace bartleby
