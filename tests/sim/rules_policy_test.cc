// Messages that leave their lane, and a policy that changes while they wait.
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

// Parked under hold; the next owner was told to bypass.
std::string hold_to_bypass(bool clean) {
  Rig rig;
  rig.engine.cases[0].max_attempts = 5;
  rig.produce_all({"k", "k", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  first.fails(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0); }));
  BARTLEBY_MUST(!rig.entry(0)->self);
  rig.wind(Duration(1000));
  if (clean)
    rig.stop(first);
  else
    rig.crash(first);

  rig.engine.key_policy = KeyPolicy::kBypass;
  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 0));
  BARTLEBY_MUST(second.at(0)->attempt == 2);
  BARTLEBY_MUST(second.running().size() == 1);  // its entry says that it holds its lane
  second.fails(0);
  BARTLEBY_MUST(rig.until_at(second, 1));  // it has left the lane, and the lane goes on
  BARTLEBY_MUST(rig.entry(0) != nullptr && rig.entry(0)->self && rig.entry(0)->attempts == 2);
  second.done(1);
  BARTLEBY_MUST(rig.until_at(second, 2));
  second.done(2);
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.low() == Offset(0) && rig.metadata().metadata.high == Offset(3));
  rig.crash(second);

  Worker& third = rig.start("c");
  BARTLEBY_MUST(rig.until_at(third, 0));
  BARTLEBY_MUST(third.at(0)->attempt == 3);
  third.done(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.order() == (std::vector<std::int64_t>{0, 0, 1, 2, 0}));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, APolicyChangedFromHoldToBypassKeepsTheOrderOfWhatIsParkedAndLosesNothing) {
  expect_rule([] { return hold_to_bypass(true); }, {Mutant::kPolicyDecidesSelf});
  expect_rule([] { return hold_to_bypass(false); }, {Mutant::kPolicyDecidesSelf});
}

// Parked under bypass, with followers of its key in the log; the next owner was told to hold.
std::string bypass_to_hold() {
  Rig rig;
  rig.engine.key_policy = KeyPolicy::kBypass;
  rig.engine.lane_messages = 0;
  rig.produce_all({"k", "k", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  first.fails(0);
  BARTLEBY_MUST(rig.until_at(first, 1));
  rig.crash(first);

  rig.engine.key_policy = KeyPolicy::kHold;
  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 1));  // not held by a message that is not in its lane
  BARTLEBY_MUST(second.at(0) == nullptr);
  second.done(1);
  BARTLEBY_MUST(rig.until_at(second, 2));
  second.done(2);
  BARTLEBY_MUST(rig.until_at(second, 0));
  BARTLEBY_MUST(second.at(0)->attempt == 2);
  second.done(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  rig.wind(Duration(20000));
  BARTLEBY_MUST(rig.order() == (std::vector<std::int64_t>{0, 1, 1, 2, 0}));
  return "";
}

TEST(Rules, APolicyChangedFromBypassToHoldLeavesWhatHasLeftItsLaneAlone) {
  expect_rule(bypass_to_hold, {Mutant::kPolicyDecidesSelf});
}

// The lane of a message that left it lies in the log from before that message on.
std::string self_in_a_lane_that_is_swept() {
  Rig rig;
  rig.engine.key_policy = KeyPolicy::kBypass;
  rig.engine.lane_messages = 1;
  rig.engine.cases[0].backoff = Schedule{{Duration(60000)}};
  rig.produce_all({"k", "k", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  Decision with_record;  // its end needs a write that the topic refuses for now, so its lane begins here
  with_record.emit.push_back({"out", Partition(0), std::nullopt, "0", {}});
  rig.cluster.stall("out", true);
  first.answer(0, with_record);
  BARTLEBY_MUST(rig.until_at(first, 1));
  first.fails(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(1) && rig.entry(1)->self; }));
  BARTLEBY_MUST(rig.until_at(first, 2));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.low() == Offset(0) && rig.metadata().metadata.high == Offset(3));
  rig.crash(first);
  rig.cluster.stall("out", false);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 0));
  second.done(0);
  BARTLEBY_MUST(rig.wind_until([&] { return !second.running().empty(); }));
  BARTLEBY_MUST(second.at(2) != nullptr && second.at(1) == nullptr);  // 1 is out, and waits for its time
  second.done(2);
  BARTLEBY_MUST(rig.until_at(second, 1));
  BARTLEBY_MUST(second.at(1)->attempt == 2);
  second.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.runs_of(1) == 2 && rig.journal().empty());
  return "";
}

TEST(Rules, ASweepLeavesOutWhatHasLeftItsLane) { expect_rule(self_in_a_lane_that_is_swept, {Mutant::kSweepRunsSelf}); }

// ---- lost on purpose -----------------------------------------------------------------------------------

TEST(Rules, WithoutDeadLettersAndToldToDropAnExhaustedMessageIsCountedAndGone) {
  Rig rig;
  rig.engine.dead_letters = false;
  rig.engine.drop = true;
  rig.produce_all({"k", "k"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.reject(0);
  ASSERT_TRUE(rig.until_at(worker, 1));
  worker.done(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
  EXPECT_TRUE(rig.letters.empty());
  EXPECT_EQ(worker.engine().counters().dropped, 1u);
  EXPECT_EQ(rig.metadata().metadata.counters.skipped, 1u);
}

// Dead letters are off, so it is kept; meanwhile retention takes it. Ordered to run a second time it was ready without
// its bytes, and the engine never came back. (Seed 243321.)
TEST(Rules, AKeptMessageThatRetentionTookIsLookedForAtEveryOrderAndKept) {
  Rig rig;
  rig.engine.dead_letters = false;
  rig.produce_all({"a", "b"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return worker.at_all({0, 1}); }));
  worker.done(1);
  worker.reject(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kExhaustedKept); }));
  rig.cluster.delete_before({"src", Partition(0)}, Offset(1));
  for (int i = 0; i < 3; ++i) {
    rig.alarms.clear();
    worker.order(ParkedOrder::What::kRunNow);
    rig.wind(Duration(2000));
    EXPECT_TRUE(rig.alarmed(AlarmType::kLostByRetention));
    EXPECT_TRUE(rig.alarmed(AlarmType::kExhaustedKept));
  }
  EXPECT_EQ(rig.runs_of(0), 1u);
  EXPECT_EQ(rig.low(), Offset(0));
  rig.stop(worker);
}

// Dead letters are off, so what retention is about to take goes into the journal with its bytes, and is run from there.
void expect_run_from_the_journal(bool another_owner) {
  Rig rig({.retention_bytes = 4000});
  rig.engine.dead_letters = false;
  rig.engine.cases[0].backoff = Schedule{{Duration(3600000)}};
  rig.produce("k", "the bytes");
  Worker* worker = &rig.start();
  ASSERT_TRUE(rig.until_at(*worker, 0));
  worker->fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  for (int i = 0; i < 45; ++i) rig.produce("other" + std::to_string(i));  // about 78 bytes each
  const auto finish_others = [&] {
    for (const Started& s : std::vector(worker->running()))
      if (s.offset != 0) worker->done(s.offset);
  };
  ASSERT_TRUE(rig.wind_until([&] { return finish_others(), rig.alarmed(AlarmType::kExhaustedKept); }));
  EXPECT_TRUE(rig.alarmed(AlarmType::kExpiring));
  ASSERT_TRUE(rig.wind_until([&] { return finish_others(), rig.metadata().metadata.high == Offset(46); }));
  rig.cluster.delete_before({"src", Partition(0)}, Offset(46));
  if (another_owner) {
    rig.crash(*worker);
    worker = &rig.start("b");
  }
  rig.alarms.clear();
  rig.wind(Duration(30000));
  EXPECT_FALSE(rig.alarmed(AlarmType::kLostByRetention));
  for (int i = 0; i < 2; ++i) {  // kept again after another failure, with its bytes
    worker->order(ParkedOrder::What::kRunNow);
    ASSERT_TRUE(rig.until_at(*worker, 0));
    EXPECT_EQ(worker->at(0)->record->value, "the bytes");
    EXPECT_EQ(worker->at(0)->record->key, "k");
    if (i == 0) worker->reject(0);
    rig.wind(Duration(2000));
  }
  worker->done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(46) && rig.journal().empty(); }));
  EXPECT_FALSE(rig.alarmed(AlarmType::kLostByRetention));
  rig.stop(*worker);
}

TEST(Rules, AMessageKeptWithItsBytesRunsFromThemWhenTheLogHasLostIt) { expect_run_from_the_journal(false); }
TEST(Rules, AMessageKeptWithItsBytesRunsFromThemAtItsNextOwnerToo) { expect_run_from_the_journal(true); }

// The next owner cannot trust what it finds, and begins where the log does: the only copy must not be erased for that.
void expect_kept_in_the_journal(const std::function<void(Rig&)>& trouble) {
  Rig rig({.retention_bytes = 4000});
  rig.engine.dead_letters = false;
  rig.engine.cases[0].backoff = Schedule{{Duration(3600000)}};
  rig.produce("k", "the bytes");
  Worker& first = rig.start();
  ASSERT_TRUE(rig.until_at(first, 0));
  first.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  for (int i = 0; i < 45; ++i) rig.produce("other" + std::to_string(i));
  const auto finish_others = [&](Worker& worker) {
    for (const Started& s : std::vector(worker.running()))
      if (s.offset != 0) worker.done(s.offset);
  };
  ASSERT_TRUE(rig.wind_until([&] { return finish_others(first), rig.alarmed(AlarmType::kExhaustedKept); }));
  ASSERT_TRUE(rig.wind_until([&] { return finish_others(first), rig.metadata().metadata.high == Offset(46); }));
  rig.cluster.delete_before({"src", Partition(0)}, Offset(40));
  rig.crash(first);
  trouble(rig);
  Worker& second = rig.start("b");
  const auto taken_over = [&] { return finish_others(second), second.partition() != nullptr; };
  ASSERT_TRUE(rig.wind_until(taken_over));
  for (int i = 0; i < 30; ++i) {
    rig.wind(Duration(1000));
    finish_others(second);
  }
  second.order(ParkedOrder::What::kRunNow);
  ASSERT_TRUE(rig.until_at(second, 0));
  EXPECT_EQ(second.at(0)->record->value, "the bytes");
  second.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return finish_others(second), rig.low() >= Offset(42) && rig.journal().empty(); }));
  rig.stop(second);
}

TEST(Rules, AMessageKeptWithItsBytesOutlivesAJournalThatDiffers) {
  expect_kept_in_the_journal([](Rig& rig) { rig.write_journal(HeadEntry{Lane(7), Offset(41)}); });
}

TEST(Rules, AMessageKeptWithItsBytesOutlivesALogThatWasCutBelowHigh) {
  expect_kept_in_the_journal([](Rig& rig) { rig.cluster.cut_back({"src", Partition(0)}, Offset(42)); });
}

TEST(Rules, AMessageKeptWithItsBytesOutlivesAnOffsetThatIsGone) {
  expect_kept_in_the_journal([](Rig& rig) { rig.cluster.drop_offset("g", {"src", Partition(0)}); });
}

// ---- throttling, suspects ------------------------------------------------------------------------------

TEST(Rules, WhoAsksForNoPauseAtAllIsNotAskedForEver) {
  Rig rig;  // 3 attempts
  rig.engine.cases[0].max_retry_after = Duration(1000);
  rig.produce("k");
  Worker& worker = rig.start();
  Decision at_once;
  at_once.fate = Fate::kRetry;
  at_once.kind = Kind::kThrottled;
  at_once.after = Duration(0);
  const bool dead = rig.wind_until([&] {
    if (worker.at(0) != nullptr) worker.answer(0, at_once);
    return rig.letters.size() == 1;
  });
  EXPECT_TRUE(dead);
  EXPECT_EQ(rig.runs_of(0), 10u + 3u);  // ten times a tenth of a second, then every answer counts
}

TEST(Rules, AThrottledMessageLeavesItsLaneWhereThePolicySaysSo) {
  Rig rig;
  rig.engine.key_policy = KeyPolicy::kBypass;
  rig.produce_all({"k", "k"});
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  Decision later;
  later.fate = Fate::kRetry;
  later.kind = Kind::kThrottled;
  later.after = Duration(30000);
  worker.answer(0, later);
  ASSERT_TRUE(rig.wind_until([&] { return worker.at(1) != nullptr; }, Duration(5000)));
  worker.done(1);
  ASSERT_TRUE(rig.until_at(worker, 0));
  worker.done(0);
  EXPECT_TRUE(rig.wind_until([&] { return rig.low() == Offset(2); }));
}

// Handlers of two and a half seconds, one always at work: in a turn of one second there is never a quiet moment.
TEST(Rules, ASuspectGetsItsTurnThoughHandlersAreSlowAndWorkNeverEnds) {
  Rig rig;
  rig.engine.in_process = true;
  rig.engine.concurrency = 3;
  rig.produce("suspect");
  for (int i = 0; i < 300; ++i) rig.produce("k" + std::to_string(i));
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.until_at(worker, 0));
  rig.write_journal(Obituary{Offset(0), 100, worker.at(0)->record->timestamp, false, false});
  rig.wind(Duration(5000));
  worker.fails(0);
  const bool alone = rig.wind_until(
      [&] {
        for (const Started& s : std::vector(worker.running()))
          if (!s.alone && rig.scheduler.now() - s.at >= Duration(2500)) worker.done(s.offset);
        return worker.at(0) != nullptr && worker.at(0)->alone;
      },
      Duration(90000));
  EXPECT_TRUE(alone);
  EXPECT_EQ(worker.running().size(), 1u);
}

// ---- Settings that change while the worker runs

TEST(Rules, AChangedScheduleLeavesDueTimesAndCountsFromTheNextFailureOn) {
  Rig rig;  // 3 attempts, 10 s apart
  rig.produce("a");
  Worker& w = rig.start();
  ASSERT_TRUE(rig.until_at(w, 0));
  w.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  const Timestamp due = rig.entry(0)->due;
  rig.engine.cases[0].backoff = Schedule{{Duration(60000)}};
  rig.engine.cases[0].max_attempts = 4;
  w.change(rig.engine);
  rig.wind(Duration(5000));
  ASSERT_TRUE(rig.has_parked(0));
  EXPECT_EQ(rig.entry(0)->due, due);
  ASSERT_TRUE(rig.until_at(w, 0));
  EXPECT_LT(w.at(0)->at - rig.history.front().at, Duration(15000));
  const Instant second = w.at(0)->at;
  w.fails(0);
  ASSERT_TRUE(rig.until_at(w, 0));
  EXPECT_GE(w.at(0)->at - second, Duration(60000));
  w.fails(0);
  ASSERT_TRUE(rig.until_at(w, 0));
  EXPECT_EQ(w.at(0)->attempt, 4U);
  w.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.letters.size() == 1; }));
  EXPECT_EQ(rig.runs_of(0), 4U);
}

TEST(Rules, AMessageWithMoreFailuresThanTheNewLimitRunsOnceMoreAndThenDies) {
  Rig rig;
  rig.produce("a");
  Worker& w = rig.start();
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    ASSERT_TRUE(rig.until_at(w, 0));
    w.fails(0);
    ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0) && rig.entry(0)->attempts == attempt; }));
  }
  rig.engine.cases[0].max_attempts = 1;
  w.change(rig.engine);
  ASSERT_TRUE(rig.until_at(w, 0));
  w.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.letters.size() == 1; }));
  EXPECT_EQ(rig.runs_of(0), 3U);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(1); }));
}

TEST(Rules, LessConcurrencyTakesNothingFromWhoRunsAndStartsNobodyUntilThereIsRoom) {
  Rig rig;
  rig.engine.concurrency = 3;
  rig.produce_all({"a", "b", "c", "d"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return w.running().size() == 3; }));
  rig.engine.concurrency = 1;
  w.change(rig.engine);
  w.done(0);
  w.done(1);
  rig.wind(Duration(1000));
  EXPECT_EQ(w.running().size(), 1U);
  w.done(2);
  ASSERT_TRUE(rig.until_at(w, 3));
  w.done(3);
  ASSERT_TRUE(rig.wind_until([&] { return rig.low() == Offset(4); }));
}

TEST(Rules, AHigherLimitOfParkedMessagesOpensTheIntakeAgain) {
  Rig rig;
  rig.engine.max_parked = 1;
  rig.produce("a");
  Worker& w = rig.start();
  ASSERT_TRUE(rig.until_at(w, 0));
  w.fails(0);
  ASSERT_TRUE(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(100));
  rig.produce("b");
  rig.wind(Duration(1000));
  ASSERT_EQ(w.at(1), nullptr);
  rig.engine.max_parked = 10;
  w.change(rig.engine);
  ASSERT_TRUE(rig.wind_until([&] { return w.at(1) != nullptr; }, Duration(2000)));
}

TEST(Rules, AGuardThatIsTurnedOffWhileOpenLetsEverybodyGo) {
  Rig rig;
  rig.engine.guard = GuardConfig{};
  rig.engine.guard->of = 2;
  rig.engine.concurrency = 2;
  rig.produce_all({"a", "b", "c"});
  Worker& w = rig.start();
  ASSERT_TRUE(rig.wind_until([&] { return w.running().size() == 2; }));
  w.fails(0);
  w.fails(1);
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kGuardOpened); }));
  rig.engine.guard = std::nullopt;
  w.change(rig.engine);
  ASSERT_TRUE(rig.wind_until([&] { return rig.alarmed(AlarmType::kGuardClosed); }));
  EXPECT_FALSE(w.engine().guard().open());
  ASSERT_TRUE(rig.until_at(w, 2));
}

}  // namespace
}  // namespace bartleby::sim
