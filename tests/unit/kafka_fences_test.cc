#include <gtest/gtest.h>

#include <condition_variable>
#include <set>

#include "adapters/broker/kafka/fences.h"

namespace bartleby::kafka {
namespace {

// Fences that wait until the test lets them go on.
class Gate {
 public:
  bool pass(const std::string& writer) {
    std::unique_lock lock(mutex_);
    entered_.push_back(writer);
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    return writer != "away";
  }
  void tell(std::uint64_t request, bool answered) {
    const std::lock_guard lock(mutex_);
    told_[request] = answered;
    changed_.notify_all();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::vector<std::string> await_entered(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return entered_.size() >= count; });
    return entered_;
  }
  std::map<std::uint64_t, bool> await_told(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return told_.size() >= count; });
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::vector<std::string> entered_;
  std::map<std::uint64_t, bool> told_;
};

class KafkaFences : public testing::Test {
 protected:
  Gate gate_;
  Fences fences_{[this](const std::string& writer) { return gate_.pass(writer); },
                 [this](std::uint64_t request, bool answered) { gate_.tell(request, answered); }};
};

TEST_F(KafkaFences, OneWriterIsFencedOnceForAllWhoAsk) {
  for (std::uint64_t request = 1; request <= 12; ++request) fences_.ask(request, "dead");
  gate_.await_entered(1);
  fences_.ask(13, "dead");  // while it is under way
  gate_.open();
  EXPECT_EQ(gate_.await_told(13).size(), 13u);
  EXPECT_EQ(gate_.await_entered(1), std::vector<std::string>{"dead"});
  fences_.ask(14, "dead");  // it is over: whoever asks now wants another one
  EXPECT_EQ(gate_.await_told(14).size(), 14u);
  EXPECT_EQ(gate_.await_entered(2).size(), 2u);
}

TEST_F(KafkaFences, SeveralWritersAreFencedAtTheSameTimeUpToALimit) {
  for (std::uint64_t n = 0; n < Fences::kAtOnce + 2; ++n) fences_.ask(n, "dead" + std::to_string(n));
  const auto entered = gate_.await_entered(Fences::kAtOnce);
  EXPECT_EQ(std::set(entered.begin(), entered.end()).size(), Fences::kAtOnce) << "none of them has ended";
  gate_.open();
  EXPECT_EQ(gate_.await_told(Fences::kAtOnce + 2).size(), Fences::kAtOnce + 2);
}

TEST_F(KafkaFences, AFenceThatFailedIsToldToAllWhoWaitForIt) {
  fences_.ask(1, "away");
  fences_.ask(2, "away");
  gate_.open();
  const auto told = gate_.await_told(2);
  EXPECT_FALSE(told.at(1));
  EXPECT_FALSE(told.at(2));
}

}  // namespace
}  // namespace bartleby::kafka
