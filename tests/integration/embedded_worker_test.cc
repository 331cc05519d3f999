// A worker on the embedded broker: the engine and its pump, restarted in the middle, on a real file. What fails is
// tried again, what is rejected becomes a letter, and nothing is lost or repeated over a clean stop.
#include <gtest/gtest.h>

#include <map>

#include "adapters/broker/embedded/embedded_broker.h"
#include "runtime/pump.h"
#include "tests/support/played_clock.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::embedded {
namespace {

constexpr int kMessages = 600;

class EmbeddedWorker : public testing::Test {
 protected:
  EmbeddedWorker() { open(); }

  void open() {
    Options options;
    options.folder = folder_.path();
    options.clock = clock_;
    broker_ = std::move(*EmbeddedBroker::open(options));
    TopicSpec source, journal, dlq;
    source.name = "orders";
    journal.name = "orders.parked.g";
    dlq.name = "orders.dlq";
    source.partitions = journal.partitions = 2;
    journal.compacted = true;
    ASSERT_TRUE(broker_->ensure_topics({source, journal, dlq}).has_value());
  }

  // Runs a worker until `enough`, then stops it cleanly.
  void work(const std::function<bool()>& enough) {
    auto member = std::move(*broker_->join({"g", {"orders"}, "i", Duration(10000)}));
    PumpConfig config;
    config.cluster = "c";
    config.group = "g";
    config.worker = "w";
    config.instance = "i";
    SourceTopic topic;
    topic.journal = "orders.parked.g";
    topic.dlq = {"orders.dlq", 1, 100000};
    config.topics["orders"] = topic;
    std::vector<HandledRun> finished;
    Pump pump(
        std::move(config), *member,
        [&](const bartleby::Run& run, std::span<const RunMessage> messages) {
          finished.push_back(handle(run, messages));
        },
        [](const Alarm&, const TopicPartition*) {});
    bool stopping = false;
    for (int turns = 0; turns < 200000 && !pump.stopped(); ++turns) {
      if (!stopping && enough()) {
        stopping = true;
        pump.tell(StopIn{});
      }
      for (HandledRun& run : finished) pump.handled(std::move(run));
      const bool busy = !finished.empty();
      finished.clear();
      const Now now = clock_->now();
      const Duration left = pump.next_wakeup() - now.steady;
      pump.poll(busy ? Duration(0) : std::clamp(left, Duration(1), Duration(1000)));
      pump.turn(now);
      ASSERT_FALSE(pump.failed());
    }
    ASSERT_TRUE(pump.stopped());
    member->leave();
  }

  HandledRun handle(const bartleby::Run& run, std::span<const RunMessage> messages) {
    HandledRun done{run.token, 0, {}};
    for (const RunMessage& message : messages) {
      const int n = std::stoi(*message.record->value);
      const int attempt = ++attempts_[n];
      if (n % 50 == 7) {
        done.last.emplace().fate = Fate::kReject;
        return done;
      }
      if (n % 20 == 3 && attempt == 1) {
        done.last.emplace().fate = Fate::kRetry;
        return done;
      }
      ++handled_[n];
      ++done.done;
    }
    return done;
  }

  std::int64_t letters() { return broker_->log_range({"orders.dlq", Partition(0)})->second.v; }

  support::ScratchFolder folder_;
  std::shared_ptr<support::PlayedClock> clock_ = std::make_shared<support::PlayedClock>();
  std::unique_ptr<EmbeddedBroker> broker_;
  std::map<int, int> attempts_, handled_;
};

TEST_F(EmbeddedWorker, HandlesEverythingOnceOverACleanStop) {
  for (int i = 0; i < kMessages; ++i)
    ASSERT_TRUE(
        broker_->produce({{"orders", std::nullopt, "customer" + std::to_string(i % 90), std::to_string(i), {}}}));
  work([&] { return handled_.size() > kMessages / 3; });
  broker_.reset();
  open();
  work([&] { return static_cast<std::int64_t>(handled_.size()) + letters() == kMessages; });
  EXPECT_EQ(letters(), kMessages / 50);
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_EQ(handled_[i], i % 50 == 7 ? 0 : 1) << i;
    EXPECT_EQ(attempts_[i], i % 20 == 3 && i % 50 != 7 ? 2 : 1) << i;
  }
  const auto offsets = broker_->group_offsets("g", {"orders"});
  for (const CommittedOffset& o : *offsets) EXPECT_EQ(*o.offset, broker_->log_range(o.tp)->second);
}

}  // namespace
}  // namespace bartleby::embedded
