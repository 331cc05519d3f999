// Who ran when a process died, on a real log: what is written of them, and what is given up.
#include "wiring/undertaker.h"

#include <gtest/gtest.h>

#include "adapters/broker/embedded/embedded_broker.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

// Nobody answers.
class AwayBroker : public Broker {
 public:
  Result<std::unique_ptr<Member>> join(const GroupSpec&) override { return away(); }
  Result<std::vector<TopicSpec>> ensure_topics(const std::vector<TopicSpec>&) override { return away(); }
  Result<TopicSpec> describe(const std::string&) override { return away(); }
  Result<std::vector<CommittedOffset>> group_offsets(const std::string&, const std::vector<std::string>&) override {
    return away();
  }
  Result<void> commit_first(const std::string&, const std::vector<CommittedOffset>&) override { return away(); }
  Result<std::pair<Offset, Offset>> log_range(const TopicPartition&) override { return away(); }
  Result<std::vector<Written>> produce(const std::vector<Record>&) override { return away(); }
  Result<std::vector<Written>> produce_with(const std::vector<Record>&, const Cursor&) override { return away(); }
  Result<std::vector<TopicSpec>> topics() override { return away(); }
  Result<std::vector<LogRecord>> read(const TopicPartition&, Offset, std::size_t, std::size_t) override {
    return away();
  }

 private:
  static std::unexpected<Error> away() { return fail(ErrorCode::kUnavailable, "away"); }
};

class UndertakerTest : public testing::Test {
 protected:
  void SetUp() override {
    embedded::Options options;
    options.folder = folder_.path();
    auto broker = embedded::EmbeddedBroker::open(options).value();
    broker_ = broker.get();
    brokers_["main"] = std::move(broker);
    for (const char* name : {"orders.parked", "bills.parked", "kept.parked"}) {
      TopicSpec topic;
      topic.name = name;
      ASSERT_TRUE(broker_->ensure_topics({topic}));
    }
  }

  // A process that dies while these run, each in a partition of a journal.
  void die(const std::vector<std::pair<std::string, std::int32_t>>& running) {
    const auto recorder = FlightRecorder::open(file_, 1).value();
    for (const auto& [journal, partition] : running)
      ASSERT_NE(recorder->begin({journal, Partition(partition), Offset(7), timestamp_ms(1), 1, false}),
                FlightRecorder::kNoSlot);
  }

  std::int64_t entries(const std::string& journal) {
    return broker_->log_range({journal, Partition(0)}).value().second.v;
  }

  support::ScratchFolder folder_;
  const std::string file_ = folder_.path() + "/flight";
  Undertaker::Brokers brokers_;
  embedded::EmbeddedBroker* broker_ = nullptr;
  Log log_{LogFormat::kText, LogLevel::kError};
};

TEST_F(UndertakerTest, WhatIsRefusedForGoodKeepsNoOtherObituaryFromBeingWritten) {
  die({{"orders.parked", 0}, {"orders.parked", 5}, {"bills.parked", 0}, {"gone.parked", 0}, {"kept.parked", 0}});
  broker_->deny("bills.parked", true);
  const auto recorder = FlightRecorder::open(file_, 2).value();
  ASSERT_EQ(recorder->casualties().size(), 5U);
  testing::internal::CaptureStderr();
  {
    Undertaker undertaker(*recorder, brokers_, log_);
    auto buried = undertaker.buried();
    for (int tries = 0; !buried && tries < 60; ++tries) buried = undertaker.buried();
    EXPECT_TRUE(buried) << buried.error().message;
    EXPECT_TRUE(undertaker.over());
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(entries("orders.parked"), 1);
  EXPECT_EQ(entries("bills.parked"), 0);
  EXPECT_EQ(entries("kept.parked"), 1);
  for (const char* where : {"orders.parked partition=5", "bills.parked partition=0", "gone.parked partition=0"})
    EXPECT_NE(said.find(std::string("obituary_dropped journal=") + where), std::string::npos) << said;
  EXPECT_TRUE(FlightRecorder::open(file_, 3).value()->casualties().empty());
}

TEST_F(UndertakerTest, ABrokerThatIsAwayIsNotWaitedForWhereAnotherHasTheJournal) {
  brokers_["elsewhere"] = std::make_unique<AwayBroker>();  // asked before the other
  brokers_["nowhere"] = std::make_unique<AwayBroker>();    // and after it
  die({{"orders.parked", 0}});
  const auto recorder = FlightRecorder::open(file_, 2).value();
  Undertaker undertaker(*recorder, brokers_, log_);
  auto buried = undertaker.buried();
  for (int tries = 0; !buried && tries < 20; ++tries) buried = undertaker.buried();
  EXPECT_TRUE(buried) << buried.error().message;
  EXPECT_EQ(entries("orders.parked"), 1);
}

TEST_F(UndertakerTest, AJournalThatNobodyHasIsWaitedForWhileABrokerIsAway) {
  brokers_["elsewhere"] = std::make_unique<AwayBroker>();
  die({{"gone.parked", 0}});
  const auto recorder = FlightRecorder::open(file_, 2).value();
  Undertaker undertaker(*recorder, brokers_, log_);
  EXPECT_FALSE(undertaker.buried());
}

}  // namespace
}  // namespace bartleby
