// What keeps letters from being taken in, as the runner of intake tells it: for as long as it lasts, and no longer.
#include "office/intake_runner.h"
#include "office/sql.h"
#include "ports/topic_ids.h"
#include "tests/contract/store_operations.h"

namespace bartleby::contract {
namespace {

class Troubled : public DyingBroker {
 public:
  using DyingBroker::DyingBroker;
  Result<std::pair<Offset, Offset>> log_range(const TopicPartition& tp) override {
    return error ? fail(*error, "so it is") : DyingBroker::log_range(tp);
  }
  Result<std::vector<TopicSpec>> topics() override {
    return silent ? fail(ErrorCode::kUnavailable, "nobody there") : DyingBroker::topics();
  }
  std::optional<ErrorCode> error;
  bool silent = false;
};

// A broker whose topics have ids.
class Named : public DyingBroker, public TopicIds {
 public:
  using DyingBroker::DyingBroker;
  Result<std::map<std::string, std::string>> topic_ids(const std::vector<std::string>& topics) override {
    if (silent) return fail(ErrorCode::kUnavailable, "nobody there");
    std::map<std::string, std::string> ids;
    for (const std::string& topic : topics) ids[topic] = id;
    return ids;
  }
  std::string id = "first";
  bool silent = false;
};

class FullStore : public Store {
 public:
  explicit FullStore(Store& inside) : inside_(inside) {}
  Result<void> write(const Work& work) override {
    return full ? fail(ErrorCode::kUnavailable, "the disk is full") : inside_.write(work);
  }
  Result<void> read(const Work& work) override { return inside_.read(work); }
  bool full = false;

 private:
  Store& inside_;
};

// An intake between the two.
class TroubledIntake {
 public:
  TroubledIntake(Broker& inside, Store& store, HandClock& clock, Log& log)
      : broker(inside), disk(store), clock_(clock), intake_(broker, disk, log, clock, options()) {
    run();
  }

  void run(Duration after = Duration(0)) {
    clock_.passed += after;
    intake_.run_until_idle();
  }
  std::string trouble() const {
    const auto trouble = intake_.counts().trouble;
    if (!trouble) return "none";
    return trouble->dlq + ": " + trouble->doing + ": " + trouble->error + " for " +
           std::to_string((clock_.now().wall - trouble->since).count()) + " ms";
  }

  static IntakeOptions options() {
    IntakeOptions options;
    options.cluster = "test";
    options.dlq_class = [](const std::string& topic) {
      return topic.ends_with(".dlq") ? std::optional(DlqClass::kNormal) : std::nullopt;
    };
    return options;
  }

  Troubled broker;
  FullStore disk;

 private:
  HandClock& clock_;
  IntakeRunner intake_;
};

TEST_P(StoreOperations, IntakeNamesAStoreThatTakesNothingUntilItTakesLettersAgain) {
  ensure("orders.dlq", 1);
  TroubledIntake intake(cluster_, store(), clock_, log_);
  EXPECT_EQ(intake.trouble(), "none");
  intake.disk.full = true;
  // A record that nobody can decode is a letter too.
  ASSERT_TRUE(cluster_.produce({{"orders.dlq", Partition(0), "k", "v", {}}}));
  intake.run(Duration(200));
  EXPECT_EQ(intake.trouble(), "orders.dlq: storing: the disk is full for 0 ms");
  intake.run(Duration(5000));  // the position and the record are read again, and well
  EXPECT_EQ(intake.trouble(), "orders.dlq: storing: the disk is full for 5000 ms");
  intake.disk.full = false;
  intake.run(Duration(30000));
  EXPECT_EQ(intake.trouble(), "none");
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 1);
}

TEST_P(StoreOperations, IntakeNamesABrokerThatDoesNotAnswerAndTellsWhatHasLastedLongest) {
  ensure("orders.dlq", 1);
  TroubledIntake intake(cluster_, store(), clock_, log_);
  intake.broker.error = ErrorCode::kUnavailable;
  intake.run(Duration(200));
  intake.broker.silent = true;
  intake.run(Duration(2000));
  EXPECT_EQ(intake.trouble(), "orders.dlq: reading: so it is for 2000 ms");
  intake.broker.error.reset();
  intake.run(Duration(30000));
  EXPECT_EQ(intake.trouble(), ": listing topics: nobody there for 30000 ms");
  intake.broker.silent = false;
  intake.run(Duration(2000));
  EXPECT_EQ(intake.trouble(), "none");
}

TEST_P(StoreOperations, IntakeSaysWhenLettersComeFromTooManyPlacesAndKeepsThem) {
  ensure("orders.dlq", 1);
  std::string logged;
  Log log(LogFormat::kText, LogLevel::kInfo, [&](std::string_view line) { logged += line; });
  IntakeOptions options = TroubledIntake::options();
  options.most_shelves = 2;
  IntakeRunner intake(cluster_, store(), log, clock_, std::move(options));
  for (const std::string topic : {"a", "b", "c", "d"})
    ASSERT_TRUE(cluster_.produce({{"orders.dlq",
                                   Partition(0),
                                   "k",
                                   R"({"original_topic":")" + topic +
                                       R"(","original_partition":0,"original_offset":1,"original_value":1,)"
                                       R"("error_details":{"message":"m"}})",
                                   {}}}));
  intake.run_until_idle();
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 4);
  EXPECT_NE(logged.find("too_many_shelves dlq=orders.dlq"), std::string::npos) << logged;
}

TEST_P(StoreOperations, ADlqThatWasMadeAnewAndIsAsLongAsBeforeIsTakenInFromItsBeginning) {
  ensure("orders.dlq", 1);
  std::string logged;
  Log log(LogFormat::kText, LogLevel::kInfo, [&](std::string_view line) { logged += line; });
  Named broker(cluster_);
  const auto intake = [&] { IntakeRunner(broker, store(), log, clock_, TroubledIntake::options()).run_until_idle(); };
  ASSERT_TRUE(cluster_.produce({{"orders.dlq", Partition(0), "k", "before", {}}}));
  intake();
  EXPECT_EQ(number("SELECT count(*) FROM cursors WHERE log_id = 'first' AND next = 1"), 1);
  cluster_.recreate("orders.dlq");
  scheduler_.run_for(Duration(1000));
  ASSERT_TRUE(cluster_.produce({{"orders.dlq", Partition(0), "k", "after", {}}}));
  intake();
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 1) << "nobody was told";
  EXPECT_EQ(logged.find("dlq_made_anew"), std::string::npos) << logged;
  broker.id = "second";
  intake();
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 2);
  EXPECT_EQ(number("SELECT count(*) FROM cursors WHERE log_id = 'second' AND next = 1"), 1);
  EXPECT_NE(logged.find("dlq_made_anew dlq=orders.dlq partition=0 taken_in_to=1"), std::string::npos) << logged;
}

TEST_P(StoreOperations, APositionFromABrokerWithoutIdsIsNoneInTheLogOfAnother) {
  std::string logged;
  Log log(LogFormat::kText, LogLevel::kInfo, [&](std::string_view line) { logged += line; });
  DyingBroker embedded(cluster_);
  Named kafka(cluster_);
  const auto send = [&](const std::string& value) {
    ASSERT_TRUE(cluster_.produce({{"orders.dlq", Partition(0), "k", value, {}}}));
  };
  const auto take_in = [&](Broker& broker) {
    IntakeRunner(broker, store(), log, clock_, TroubledIntake::options()).run_until_idle();
  };
  ensure("orders.dlq", 1);
  send("on the one");
  take_in(embedded);
  take_in(embedded);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 1);
  for (const auto& [broker, word] : {std::pair<Broker*, std::string>(&kafka, "on the other"), {&embedded, "back"}}) {
    cluster_.recreate("orders.dlq");
    scheduler_.run_for(Duration(1000));
    send(word + ", below the position");
    send(word + ", above it");
    EXPECT_EQ(logged.find("dlq_made_anew"), std::string::npos) << logged;
    take_in(*broker);
    EXPECT_NE(logged.find("dlq_made_anew dlq=orders.dlq partition=0"), std::string::npos) << logged;
    logged.clear();
  }
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 5);
}

// Before positions had one: whether it is of this log is not known, and what was purged must not come back.
TEST_P(StoreOperations, APositionThatIsKnownOfNoLogIsBelieved) {
  ensure("orders.dlq", 1);
  DyingBroker embedded(cluster_);
  Named kafka(cluster_);
  const auto take_in = [&](Broker& broker) {
    IntakeRunner(broker, store(), log_, clock_, TroubledIntake::options()).run_until_idle();
  };
  ASSERT_TRUE(cluster_.produce({{"orders.dlq", Partition(0), "k", "purged", {}}}));
  take_in(embedded);
  for (Broker* broker : {static_cast<Broker*>(&kafka), static_cast<Broker*>(&embedded)}) {
    EXPECT_TRUE(store().write([](Connection& connection) -> Result<void> {
      BARTLEBY_TRY(sql::execute(connection, "UPDATE cursors SET log_id = ''"));
      return sql::execute(connection, "UPDATE letters SET id = 'forgotten'");
    }));
    take_in(*broker);
    EXPECT_EQ(number("SELECT count(*) FROM letters"), 1);
    EXPECT_EQ(number("SELECT count(*) FROM cursors WHERE log_id = '' OR next <> 1"), 0);
  }
}

TEST_P(StoreOperations, NothingIsTakenInBeforeItIsKnownOfWhichLogItIs) {
  ensure("orders.dlq", 1);
  ASSERT_TRUE(cluster_.produce({{"orders.dlq", Partition(0), "k", "v", {}}}));
  Named broker(cluster_);
  broker.silent = true;
  IntakeRunner intake(broker, store(), log_, clock_, TroubledIntake::options());
  intake.run_until_idle();
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 0);
  ASSERT_TRUE(intake.counts().trouble);
  EXPECT_EQ(intake.counts().trouble->doing, "listing topics");
  broker.silent = false;
  clock_.passed += Duration(2000);
  intake.run_until_idle();
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 1);
}

TEST_P(StoreOperations, ATopicThatIsGoneIsNoTroubleForIntake) {
  ensure("orders.dlq", 1);
  TroubledIntake intake(cluster_, store(), clock_, log_);
  intake.broker.error = ErrorCode::kUnavailable;
  intake.run(Duration(200));
  EXPECT_EQ(intake.trouble(), "orders.dlq: reading: so it is for 0 ms");
  intake.broker.error = ErrorCode::kNotFound;
  intake.run(Duration(30000));
  EXPECT_EQ(intake.trouble(), "none");
}

}  // namespace
}  // namespace bartleby::contract
