// Dead letters whose topic has a retention: what is not taken in yet is foreseen, waited for, and counted when it goes.
#include <gtest/gtest.h>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "codec/letter.h"
#include "office/dlq_view.h"
#include "office/intake_runner.h"
#include "tests/support/played_clock.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

constexpr Duration kDay{std::chrono::hours(24)};

class OfficeClock : public Clock {
 public:
  explicit OfficeClock(std::shared_ptr<support::PlayedClock> played) : played_(std::move(played)) {}
  Now now() const override { return played_->now(); }
  std::chrono::microseconds real(Duration) const override { return {}; }

 private:
  std::shared_ptr<support::PlayedClock> played_;
};

// A store that takes no writes for a while.
class AbsentStore : public Store {
 public:
  explicit AbsentStore(Store& inside) : inside_(inside) {}
  Result<void> write(const Work& work) override {
    return away ? Result<void>(fail(ErrorCode::kUnavailable, "the disk is full")) : inside_.write(work);
  }
  Result<void> read(const Work& work) override { return inside_.read(work); }
  bool away = false;

 private:
  Store& inside_;
};

class OfficeExpiry : public testing::Test {
 protected:
  void SetUp() override {
    embedded::Options options;
    options.folder = folder_.path();
    options.clock = played_;
    broker_ = embedded::EmbeddedBroker::open(options).value();
    inside_ = sqlite_store::SqliteStore::open({.folder = folder_.path()}).value();
    store_ = std::make_unique<AbsentStore>(*inside_);
    TopicSpec topic;
    topic.name = dlq_.topic;
    topic.retention = 10 * kDay;
    ASSERT_TRUE(broker_->ensure_topics({topic}));
    IntakeOptions intake;
    intake.cluster = "test";
    intake.dlq_class = [](const std::string&) { return std::optional(DlqClass::kNormal); };
    intake.passed = [this](const TopicPartition& dlq, Offset to) { broker_->keep_from(dlq, to); };
    runner_ = std::make_unique<IntakeRunner>(*broker_, *store_, log_, clock_, std::move(intake));
  }

  void die(int letters) {
    for (int i = 0; i < letters; ++i) {
      LetterFacts facts;
      facts.cluster = "test";
      facts.topic = "orders";
      facts.offset = Offset(died_++);
      facts.group = facts.worker = "billing";
      const LogRecord message{facts.offset, facts.timestamp, "k", "v", {}};
      ASSERT_TRUE(broker_->produce(letter_records(facts, message, LetterForm::kWhole, {dlq_.topic, 1})));
    }
  }
  void pass(Duration time) {
    played_->advance(time);
    runner_->run_until_idle();
    ASSERT_TRUE(broker_->upkeep());
  }
  DlqView view() {
    auto views = dlq_views(*store_, *broker_, clock_.now().wall);
    EXPECT_TRUE(views && views->size() == 1);
    return views->front();
  }
  Offset log_start() { return broker_->log_range(dlq_).value().first; }

  const TopicPartition dlq_{"orders.dlq", Partition(0)};
  support::ScratchFolder folder_;
  std::shared_ptr<support::PlayedClock> played_ = std::make_shared<support::PlayedClock>();
  OfficeClock clock_{played_};
  Log log_{LogFormat::kText, LogLevel::kError};
  std::unique_ptr<embedded::EmbeddedBroker> broker_;
  std::unique_ptr<Store> inside_;
  std::unique_ptr<AbsentStore> store_;
  std::unique_ptr<IntakeRunner> runner_;
  std::int64_t died_ = 0;
};

TEST_F(OfficeExpiry, RetentionWaitsForWhatIsNotTakenIn) {
  die(3);
  const Timestamp first = clock_.now().wall;
  pass(Duration(1000));
  ASSERT_EQ(view().state.letters[0], 3);
  EXPECT_EQ(view().expiring, 0);
  ASSERT_TRUE(view().next_expiry);
  EXPECT_LE(*view().next_expiry, first + 10 * kDay);
  store_->away = true;
  die(2);
  pass(8 * kDay);
  EXPECT_EQ(view().expiring, 0) << "there are two days left";
  pass(kDay + kDay / 2);
  EXPECT_EQ(view().expiring, 2) << "and not the three that are taken in";
  pass(kDay);
  EXPECT_EQ(log_start(), Offset(3)) << "what is taken in goes in its time, and nothing else";
  EXPECT_EQ(view().expiring, 2);
  store_->away = false;
  pass(Duration(60000));
  EXPECT_EQ(view().state.letters[0], 5);
  EXPECT_EQ(view().expiring, 0);
  EXPECT_EQ(view().missed, 0);
  EXPECT_EQ(log_start(), Offset(5));
  EXPECT_FALSE(view().next_expiry) << "the log is empty";
}

TEST_F(OfficeExpiry, ButNotForEverAndWhatGoesUnseenIsCounted) {
  die(1);
  pass(Duration(1000));
  store_->away = true;
  die(2);
  pass(21 * kDay);
  EXPECT_EQ(log_start(), Offset(3));
  store_->away = false;
  die(1);
  pass(Duration(60000));
  EXPECT_EQ(view().state.letters[0], 2);
  EXPECT_EQ(view().missed, 2);
  EXPECT_EQ(runner_->counts().missed, 2U);
}

}  // namespace
}  // namespace bartleby
