// A worker with handlers of this process on a real log: what it refuses to write, when it gives the process
// up, and what is said of it when it has stopped.
#include "runtime/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/counters/embedded/embedded_counters.h"
#include "runtime/heartbeats.h"
#include "runtime/in_process.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

class WorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    embedded::Options options;
    options.folder = folder_.path();
    broker_ = embedded::EmbeddedBroker::open(options).value();
  }

  void start(std::shared_ptr<Handler> handler, Worker::Broken broken = {}) {
    WorkerSpec spec;
    spec.name = spec.group = "billing";
    spec.cluster = "test";
    spec.instance = "billing-1";
    spec.topics = topics_;
    spec.journal = "notes.{topic}";
    spec.handlers = {std::move(handler)};
    spec.may_begin = may_begin_;
    worker_ = std::make_shared<Worker>(std::move(spec), *broker_, clock_, log_, std::move(broken));
    ASSERT_TRUE(await([&] { return broker_->describe("notes.orders").has_value(); }));
  }

  static bool await(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }

  support::ScratchFolder folder_;
  std::unique_ptr<embedded::EmbeddedBroker> broker_;
  SystemClock clock_;
  Log log_{LogFormat::kText, LogLevel::kError};
  std::vector<std::string> topics_{"orders"};
  std::function<Result<void>()> may_begin_;
  std::shared_ptr<Worker> worker_;
};

TEST_F(WorkerTest, WhatIsEmittedIntoAJournalIsRefusedAndNothingIsWrittenThere) {
  start(std::make_shared<PooledHandler>(
      InProcess{},
      [](const Message& message, Attempt&) {
        return done().emit({std::string(message.value()), std::nullopt, "m/0", "{}", {}});
      },
      1));
  for (const char* topic : {"notes.orders", "bartleby.outcomes", "others.parked.billing"}) {
    ASSERT_TRUE(broker_->produce({{"orders", std::nullopt, topic, topic, {}}}));
  }
  std::vector<ParkedMessage> parked;
  ASSERT_TRUE(await([&] {
    auto now = worker_->parked({}, 10);
    if (now) parked = std::move(*now);
    return parked.size() == 3;
  }));
  for (const ParkedMessage& message : parked) EXPECT_EQ(message.error.type, "EmitRefused");
  EXPECT_FALSE(broker_->describe("bartleby.outcomes"));
  EXPECT_FALSE(broker_->describe("others.parked.billing"));
}

// As in a rolling restart that adds a topic: while members are there, only they may commit for the group.
TEST_F(WorkerTest, OffsetsThatAreGoneAreToldOnceAndNotBeforeTheGroupHasBegunAnew) {
  TopicSpec source, journal;
  source.name = "orders";
  journal.name = "notes.orders";
  journal.compacted = true;
  ASSERT_TRUE(broker_->ensure_topics({source, journal}));
  ASSERT_TRUE(broker_->produce({{"notes.orders", Partition(0), "m/0", "{}", {}}}));
  auto other = broker_->join({"billing", {"orders"}, "billing-0"});
  ASSERT_TRUE(other);
  std::atomic<int> tries{0};
  may_begin_ = [&] { return ++tries, Result<void>(); };
  start(std::make_shared<PooledHandler>(InProcess{}, [](const Message&, Attempt&) { return done(); }, 1));
  ASSERT_TRUE(await([&] { return tries.load() > 2; }));
  EXPECT_EQ(worker_->alarms(AlarmType::kOffsetReset), 0U);
  (*other)->leave();
  ASSERT_TRUE(await([&] { return worker_->alarms(AlarmType::kOffsetReset) > 0; }));
  EXPECT_EQ(worker_->alarms(AlarmType::kOffsetReset), 1U);
}

// A rolling restart adds a topic: the older members do not read it, and nobody could begin it but by joining them.
TEST_F(WorkerTest, ATopicThatIsNewToARunningGroupBeginsAtItsLogsStartBesideItsOlderMembers) {
  for (const char* topic : {"orders", "refunds"}) {
    TopicSpec spec;
    spec.name = topic;
    ASSERT_TRUE(broker_->ensure_topics({spec}));
  }
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(broker_->produce({{"refunds", Partition(0), "k", "v", {}}}));
  broker_->delete_before({"refunds", Partition(0)}, Offset(1));
  ASSERT_TRUE(broker_->commit_first("billing", {{{"orders", Partition(0)}, Offset(0), ""}}));
  auto other = broker_->join({"billing", {"orders"}, "billing-0"});
  ASSERT_TRUE(other);
  topics_ = {"orders", "refunds"};
  std::atomic<int> handled{0};
  start(std::make_shared<PooledHandler>(
      InProcess{}, [&](const Message& message, Attempt&) { return handled += message.topic() == "refunds", done(); },
      1));
  ASSERT_TRUE(await([&] { return handled.load() == 2; }));
  EXPECT_EQ(worker_->alarms(AlarmType::kOffsetReset), 0U) << "none is missing";
}

TEST_F(WorkerTest, ADlqThatRefusesALetterIsNamedUntilItTakesIt) {
  start(std::make_shared<PooledHandler>(
      InProcess{}, [](const Message&, Attempt&) { return reject("Broken", "for good"); }, 1));
  ASSERT_TRUE(broker_->describe("orders.dlq"));
  broker_->deny("orders.dlq", true);
  ASSERT_TRUE(broker_->produce({{"orders", std::nullopt, "k", "v", {}}}));
  Result<WorkerStatus> status;
  ASSERT_TRUE(await([&] {
    status = worker_->status();
    return status && !status->refusing_dlqs.empty();
  }));
  EXPECT_EQ(status->refusing_dlqs, std::vector<std::string>{"orders.dlq"});
  EXPECT_EQ(status->dlq_pending, 1U);
  broker_->deny("orders.dlq", false);
  ASSERT_TRUE(await([&] {
    status = worker_->status();
    return status && status->refusing_dlqs.empty() && status->dlq_pending == 0;
  }));
}

// Says that a message which runs alone does not come back.
class Hanging : public Handler {
 public:
  void start(std::shared_ptr<AttemptIn>, Answer answer) override { answer({}); }
  bool in_process() const override { return true; }
  Overdue overdue(Instant, Duration) override { return {1, true}; }
  void mark_overdue(Instant, Duration) override { marked = true; }

  std::atomic<bool> marked = false;
};

TEST_F(WorkerTest, OneThatRunsAloneAndDoesNotComeBackIsMarkedAndEndsTheProcess) {
  const auto handler = std::make_shared<Hanging>();
  std::latch ended(1);
  start(handler, [&, told = false](const std::string& why) mutable {
    EXPECT_EQ(why, "worker billing: a handler that runs alone does not come back");
    EXPECT_TRUE(handler->marked);
    if (!std::exchange(told, true)) ended.count_down();
  });
  ended.wait();
}

// What the heartbeats of the worker say, and for how long that is kept.
class Heard : public EmbeddedCounters {
 public:
  Result<void> put_heartbeat(const Heartbeat& heartbeat, Duration ttl) override {
    said.emplace_back(name(heartbeat_from_text(heartbeat.text)->status), ttl);
    return {};
  }

  std::vector<std::pair<std::string, Duration>> said;
};

class HeartbeatsTest : public WorkerTest {
 protected:
  void SetUp() override {
    WorkerTest::SetUp();
    start(std::make_shared<PooledHandler>(InProcess{}, [](const Message&, Attempt&) { return done(); }, 1));
    HeartbeatOptions options;
    options.advertise = [] { return "http://127.0.0.1:1853"; };
    options.whose = [this] { return whose_; };
    heartbeats_ = std::make_unique<Heartbeats>(std::move(options), heard_, clock_, log_);
    whose_ = {worker_};
    heartbeats_->beat();
    worker_->stop();
    ASSERT_TRUE(await([&] { return worker_->stopped(); }));
  }

  void expect_last_words() {
    heartbeats_->beat();
    heartbeats_->beat();  // once is enough
    const std::vector<std::pair<std::string, Duration>> wanted = {{"RUNNING", Duration(30000)},
                                                                  {"SHUTTING_DOWN", Duration(60000)}};
    EXPECT_EQ(heard_.said, wanted);
  }

  Heard heard_;
  std::vector<std::shared_ptr<Worker>> whose_;
  std::unique_ptr<Heartbeats> heartbeats_;
};

TEST_F(HeartbeatsTest, OneThatStopsBetweenTwoBeatsIsSaidToStopByTheNext) { expect_last_words(); }

TEST_F(HeartbeatsTest, SoIsOneThatIsNotEvenListedAnyMore) {
  whose_.clear();
  expect_last_words();
}

}  // namespace
}  // namespace bartleby
