// A worker, a dlq, the office and its operations on real files: letters die, are replayed, and end resolved, or come
// back and stop the replay.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "office/intake_runner.h"
#include "office/letters.h"
#include "office/operation_runner.h"
#include "office/operations.h"
#include "runtime/worker.h"
#include "tests/support/scratch_folder.h"
#include "wiring/admission.h"

namespace bartleby {
namespace {

const OfficeKey kKey{"o1", "0123456789abcdef0123456789abcdef"};
const Actor kAnn{"ann", "mended", ""};

// Rejects everything until it is mended, and then what it still must.
class Mendable : public Handler {
 public:
  void start(std::shared_ptr<AttemptIn> attempt, Answer answer) override {
    Decision decision;
    {
      const std::lock_guard lock(mutex_);
      if (rejects(*attempt->record->value)) {
        decision.fate = Fate::kReject;
        decision.error = {"Broken", "not mended yet", ""};
      } else {
        handled_.push_back(
            {*attempt->record->value, std::string(attempt->message_id()), attempt->replay_of.value_or("")});
      }
    }
    answer(std::move(decision));
  }
  bool in_process() const override { return false; }

  struct Handled {
    std::string value, message_id, letter;
  };
  std::vector<Handled> handled() {
    const std::lock_guard lock(mutex_);
    return handled_;
  }
  void mend(std::function<bool(const std::string&)> still_rejects) {
    const std::lock_guard lock(mutex_);
    rejects = std::move(still_rejects);
  }

 private:
  std::mutex mutex_;
  std::function<bool(const std::string&)> rejects = [](const std::string&) { return true; };
  std::vector<Handled> handled_;
};

class OfficeReplay : public testing::Test {
 protected:
  void SetUp() override {
    embedded::Options options;
    options.folder = folder_.path();
    broker_ = embedded::EmbeddedBroker::open(options).value();
    store_ = sqlite_store::SqliteStore::open({.folder = folder_.path()}).value();
    IntakeOptions wanted;
    wanted.cluster = "test";
    wanted.dlq_class = [](const std::string& topic) {
      return topic.ends_with(".dlq") ? std::optional(DlqClass::kNormal) : std::nullopt;
    };
    wanted.discover = wanted.limits.poll = Duration(5);
    intake_ = std::make_unique<IntakeRunner>(*broker_, *store_, log_, clock_, wanted);
    RunnerOptions running{.key = kKey};
    running.limits.poll = Duration(5);
    runner_ = std::make_unique<OperationRunner>(*broker_, *store_, log_, clock_, running);
    OperationsOptions o;
    o.readers = [this](const std::string& topic) { return topic == "orders" ? readers_ : std::vector<Reader>(); };
    o.new_id = [this] { return "op_" + std::to_string(++ids_); };
    operations_ = std::make_unique<Operations>(*store_, clock_, o);

    WorkerSpec spec;
    spec.name = spec.group = "billing";
    spec.cluster = "test";
    spec.instance = "billing-1";
    spec.topics = {"orders"};
    spec.new_topic_partitions = 2;
    spec.replay_topic = "{topic}.replay.{group}";
    spec.handlers = {handler_};
    spec.replay_of = replays_of("billing", {kKey});
    worker_ = std::make_unique<Worker>(std::move(spec), *broker_, clock_, log_);
    ASSERT_TRUE(await([&] { return broker_->describe("orders.replay.billing").has_value(); }));
  }

  // Everything that is due is done again and again until it holds; a test that waits in vain fails.
  bool await(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (std::chrono::steady_clock::now() < until) {
      intake_->run_until_idle();
      runner_->run_until_idle();
      if (holds()) return true;
      std::this_thread::yield();
    }
    return false;
  }
  std::int64_t letters(std::string_view query) {
    std::int64_t n = -1;
    const auto done = store_->read([&](Connection& c) -> Result<void> {
      n = count_letters(c, *parse_query(query), clock_.now().wall)->value;
      return {};
    });
    EXPECT_TRUE(done);
    return n;
  }
  void die(int count) {
    std::vector<Record> records;
    for (int n = 0; n < count; ++n)
      records.push_back({"orders", Partition(n % 2), "k" + std::to_string(n % 4), std::to_string(n), {{"h", "1"}}});
    ASSERT_TRUE(broker_->produce(records));
    ASSERT_TRUE(await([&] { return letters("state:open") == count; }));
  }
  Operation started(OperationSettings settings = {}) {
    OperationRequest request;
    request.query = Query{};
    request.settings = settings;
    request.settings.rate = 0;
    const Operation planned = operations_->plan(request, kAnn).value();
    EXPECT_EQ(operations_->start(planned.id, kAnn)->result, OperationChange::kDone);
    return planned;
  }
  Operation now(const Operation& operation) { return *operations_->get(operation.id).value(); }

  support::ScratchFolder folder_;
  std::unique_ptr<embedded::EmbeddedBroker> broker_;
  std::unique_ptr<Store> store_;
  SystemClock clock_;
  Log log_{LogFormat::kText, LogLevel::kError};
  std::shared_ptr<Mendable> handler_ = std::make_shared<Mendable>();
  std::vector<Reader> readers_{{"billing", "orders.replay.billing"}};
  int ids_ = 0;
  std::unique_ptr<IntakeRunner> intake_;
  std::unique_ptr<OperationRunner> runner_;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(OfficeReplay, LettersThatAreReplayedAfterTheHandlerIsMendedEndResolved) {
  die(20);
  handler_->mend([](const std::string&) { return false; });
  const Operation operation = started();
  ASSERT_TRUE(await([&] { return now(operation).state == OperationState::kDone; }));
  EXPECT_EQ(now(operation).with(ItemResult::kSucceeded), 20);
  EXPECT_EQ(letters("state:resolved"), 20);
  const auto handled = handler_->handled();
  ASSERT_EQ(handled.size(), 20U);
  std::map<std::int64_t, std::int64_t> last;
  for (const Mendable::Handled& one : handled) {
    const std::int64_t n = std::stoll(one.value);
    EXPECT_TRUE(one.letter.starts_with("ltr_"));
    EXPECT_TRUE(one.message_id.starts_with("msg_"));
    const auto before = last.find(n % 4);
    EXPECT_TRUE(before == last.end() || before->second < n) << "key order";
    last[n % 4] = n;
  }
  EXPECT_EQ(broker_->log_range({"orders", Partition(0)})->second, Offset(20))
      << "back to its topic: nobody else reads it";
}

TEST_F(OfficeReplay, ByThePrivateLaneWhereOthersReadTheTopicToo) {
  readers_.push_back({"audit", ""});
  die(6);
  handler_->mend([](const std::string& value) { return value == "3"; });
  OperationSettings settings;
  settings.canary = 0;
  const Operation operation = started(settings);
  ASSERT_TRUE(await([&] { return now(operation).state == OperationState::kDone && letters("state:open") == 1; }));
  EXPECT_EQ(letters("state:resolved"), 5);
  EXPECT_EQ(now(operation).with(ItemResult::kCameBack), 1);
  EXPECT_EQ(letters("replays:1"), 1) << "the same letter, one life later";
  EXPECT_EQ(letters("topic:orders"), 6);
  EXPECT_EQ(broker_->log_range({"orders", Partition(0)})->second, Offset(3)) << "the topic has nothing new";
  // Once more: the letter of the lane is replayed like any other.
  handler_->mend([](const std::string&) { return false; });
  const Operation again = started(settings);
  ASSERT_TRUE(await([&] { return now(again).state == OperationState::kDone; }));
  EXPECT_EQ(letters("state:resolved"), 6);
}

TEST_F(OfficeReplay, OneWhoseLettersComeBackHaltsItselfAndSaysWhy) {
  die(30);
  OperationSettings settings;
  settings.canary = 10;
  const Operation operation = started(settings);  // nothing is mended
  ASSERT_TRUE(await([&] { return now(operation).state == OperationState::kHalted; }));
  EXPECT_EQ(now(operation).note, "10 of the first 10 came back, more than 5 %");
  ASSERT_TRUE(await([&] { return letters("state:open") == 30; })) << "nothing is lost";
  EXPECT_EQ(letters("replays:1"), 10);
  EXPECT_EQ(now(operation).with(ItemResult::kPending), 20);
}

TEST_F(OfficeReplay, ATopicThatGrowsWhileItIsReadHasJournalDlqAndLaneGrowWithIt) {
  readers_.push_back({"audit", ""});
  die(2);
  TopicSpec more;
  more.name = "orders";
  more.partitions = 4;
  ASSERT_TRUE(broker_->ensure_topics({more}));
  ASSERT_TRUE(broker_->produce({{"orders", Partition(3), "k", "9", {}}}));
  ASSERT_TRUE(await([&] { return letters("state:open") == 3; }));
  for (const char* grown : {"orders.parked.billing", "orders.dlq", "orders.replay.billing"})
    EXPECT_EQ(broker_->describe(grown)->partitions, 4) << grown;
  handler_->mend([](const std::string&) { return false; });
  const Operation operation = started();
  ASSERT_TRUE(await([&] { return now(operation).state == OperationState::kDone; }));
  EXPECT_EQ(letters("state:resolved"), 3);
}

TEST_F(OfficeReplay, AForgedHeaderIsAnOrdinaryMessage) {
  handler_->mend([](const std::string&) { return false; });
  const ReplayMark mark{"op_9", "ltr_x", "msg_x", 1, "billing", timestamp_ms(1)};
  const OfficeKey forged{"o1", "another secret of thirty-two bytes"};
  ASSERT_TRUE(broker_->produce(
      {{"orders", Partition(0), "k", "v", {{"bartleby-replay", replay_header(mark, forged, "orders", "v")}}}}));
  ASSERT_TRUE(await([&] { return handler_->handled().size() == 1; }));
  EXPECT_EQ(handler_->handled().front().letter, "");
  EXPECT_NE(handler_->handled().front().message_id, "msg_x");
}

}  // namespace
}  // namespace bartleby
