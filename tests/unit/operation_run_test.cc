// An operation as a state machine: what it asks for, when it stops by itself, and that a crash at any command sends
// nothing twice and leaves nothing out.
#include "office/operation_run.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/random.h"

namespace bartleby {
namespace {

// Store, broker and workers, as small as they can be; the machine between them may be dropped at any command.
class Played {
 public:
  explicit Played(std::int64_t letters, OperationKind kind = OperationKind::kReplay)
      : results_(static_cast<std::size_t>(letters), ItemResult::kPending) {
    seen_.answered = true;
    seen_.kind = kind;
    seen_.state = OperationState::kRunning;
    seen_.settings.rate = 0;
    seen_.settings.canary = 0;
    seen_.letters = letters;
    limits_.batch = 3;
    limits_.slice = 4;
  }

  enum class Fate { kNormal, kLostBefore, kLostAfter, kCrashBefore, kCrashAfter };

  // Until it has nothing to do now; `fate` is asked for every command.
  void run(const std::function<Fate()>& fate = [] { return Fate::kNormal; }) {
    std::optional<RunEvent> answer;
    for (;;) {
      const auto command = run_->step(std::exchange(answer, std::nullopt), now());
      if (!command) return;
      const Fate what = fate();
      const bool lost = what == Fate::kLostBefore || what == Fate::kLostAfter;
      if (what == Fate::kCrashBefore) return restart();
      answer = CommandDone{CommandDone::Result::kFailed, "lost"};
      if (what != Fate::kLostBefore) {
        RunEvent done = std::visit([&](const auto& c) { return carry_out(c); }, *command);
        if (!lost) answer = std::move(done);
      }
      if (what == Fate::kCrashAfter) return restart();
    }
  }
  void restart() { run_.emplace(limits_); }

  Now now() const { return {Instant(passed_), timestamp_ms(1'800'000'000'000) + passed_}; }
  void wait(Duration time) { passed_ += time; }
  void outcome(std::int64_t at, bool good) {
    ItemResult& result = results_[static_cast<std::size_t>(at)];
    if (result == ItemResult::kSent || result == ItemResult::kUnknown)
      result = good ? ItemResult::kSucceeded : ItemResult::kCameBack;
  }

  RunEvent carry_out(const Look&) {
    seen_.results = {};
    seen_.taken_to = seen_.cursor;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      ++seen_.results[static_cast<std::size_t>(results_[i])];
      if (results_[i] == ItemResult::kUnknown) seen_.taken_to = static_cast<std::int64_t>(i) + 1;
    }
    seen_.broker_at = broker_at_;
    return seen_;
  }
  RunEvent carry_out(const TakeLetters& c) {
    if (seen_.cursor != c.from || seen_.state != OperationState::kRunning) return CommandDone{};
    bool any = false;
    for (std::int64_t i = c.from; i < c.to; ++i) {
      ItemResult& result = results_[static_cast<std::size_t>(i)];
      if (result != ItemResult::kPending) continue;
      result = changed_.contains(i) ? ItemResult::kSkipped : ItemResult::kUnknown;
      any = any || result == ItemResult::kUnknown;
    }
    if (!any) seen_.cursor = c.to;
    return CommandDone{CommandDone::Result::kDone, ""};
  }
  RunEvent carry_out(const SendLetters& c) {
    if (broker_at_ > c.from) return CommandDone{};
    for (std::int64_t i = c.from; i < c.to; ++i)
      if (refused_.contains(i)) return CommandDone{CommandDone::Result::kRefused, "too large"};
    for (std::int64_t i = c.from; i < c.to; ++i)
      if (results_[static_cast<std::size_t>(i)] == ItemResult::kUnknown) sent_.push_back(i);
    broker_at_ = c.to;
    batches_.push_back(now().steady);
    return CommandDone{CommandDone::Result::kDone, ""};
  }
  RunEvent carry_out(const WriteDown& c) {
    if (seen_.cursor != c.from) return CommandDone{};
    for (std::int64_t i = c.from; i < c.to; ++i)
      if (ItemResult& result = results_[static_cast<std::size_t>(i)]; result == ItemResult::kUnknown)
        result = ItemResult::kSent;
    seen_.cursor = c.to;
    return CommandDone{CommandDone::Result::kDone, ""};
  }
  RunEvent carry_out(const GiveBack& c) {
    if (seen_.cursor != c.from || seen_.state == OperationState::kRunning) return CommandDone{};
    for (std::int64_t i = c.from; i < c.to; ++i)
      if (ItemResult& result = results_[static_cast<std::size_t>(i)]; result == ItemResult::kUnknown)
        result = seen_.state == OperationState::kCancelled ? ItemResult::kSkipped : ItemResult::kPending;
    return CommandDone{CommandDone::Result::kDone, ""};
  }
  RunEvent carry_out(const ReturnLetter& c) {
    if (seen_.cursor != c.at) return CommandDone{};
    results_[static_cast<std::size_t>(c.at)] = ItemResult::kSkipped;
    seen_.cursor = c.at + 1;
    return CommandDone{CommandDone::Result::kDone, ""};
  }
  RunEvent carry_out(const ChangeSlice& c) {
    if (seen_.cursor != c.from || seen_.state != OperationState::kRunning) return CommandDone{};
    for (std::int64_t i = c.from; i < c.to; ++i) {
      results_[static_cast<std::size_t>(i)] = ItemResult::kSucceeded;
      sent_.push_back(i);
    }
    seen_.cursor = c.to;
    return CommandDone{CommandDone::Result::kDone, ""};
  }
  RunEvent carry_out(const MoveOperation& c) {
    const auto to = next_state(seen_.state, c.cause);
    if (!to) return CommandDone{};
    seen_.state = *to;
    note_ = c.note;
    return CommandDone{CommandDone::Result::kDone, ""};
  }

  RunLimits limits_;
  OperationSeen seen_;
  std::vector<ItemResult> results_;
  std::set<std::int64_t> changed_;  // since the plan
  std::set<std::int64_t> refused_;  // by the broker
  std::int64_t broker_at_ = 0;
  std::vector<std::int64_t> sent_;
  std::vector<Instant> batches_;
  std::string note_;
  Duration passed_{0};
  std::optional<OperationRun> run_{std::in_place, limits_};
};

std::vector<std::int64_t> numbers(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = from; i < to; ++i) all.push_back(i);
  return all;
}

}  // namespace

TEST(OperationRun, SendsEverythingInOrderAndEndsWhenAllIsKnown) {
  Played world(10);
  world.restart();
  world.run();
  EXPECT_EQ(world.sent_, numbers(0, 10));
  EXPECT_EQ(world.seen_.state, OperationState::kRunning);
  for (std::int64_t i = 0; i < 10; ++i) world.outcome(i, true);
  world.wait(Duration(1000));
  world.run();
  EXPECT_EQ(world.seen_.state, OperationState::kDone);
  EXPECT_EQ(world.note_, "");
  world.wait(Duration(1000));
  world.run();
  EXPECT_TRUE(world.run_->over());
}

TEST(OperationRun, AnEmptySelectionEndsAtOnce) {
  for (const auto kind : {OperationKind::kReplay, OperationKind::kDiscard}) {
    Played world(0, kind);
    world.run();
    EXPECT_EQ(world.seen_.state, OperationState::kDone);
  }
}

TEST(OperationRun, TheCanaryGoesAloneAndHaltsItAll) {
  Played world(40);
  world.seen_.settings.canary = 4;
  world.restart();
  world.run();
  EXPECT_EQ(world.sent_, numbers(0, 4));
  for (std::int64_t i = 0; i < 3; ++i) world.outcome(i, true);
  world.wait(Duration(1000));
  world.run();
  EXPECT_EQ(world.sent_.size(), 4U) << "one outcome is missing";
  world.outcome(3, false);
  world.wait(Duration(1000));
  world.run();
  EXPECT_EQ(world.seen_.state, OperationState::kHalted);
  EXPECT_EQ(world.note_, "1 of the first 4 came back, more than 5 %");
  EXPECT_EQ(world.sent_.size(), 4U);
  // Who resumes has seen it: it goes on until it is too much again.
  world.seen_.state = OperationState::kRunning;
  world.seen_.settings.known_before = 4;
  world.seen_.settings.came_back_before = 1;
  world.restart();
  world.run();
  EXPECT_EQ(world.sent_, numbers(0, 40));
}

TEST(OperationRun, HaltsInTheMiddleWhenTooManyComeBack) {
  Played world(200);
  world.seen_.settings.rate = 10;
  world.seen_.settings.halt = {10, 20};
  for (int i = 0; i < 1000 && world.seen_.state == OperationState::kRunning; ++i) {
    world.run();
    for (std::size_t at = 0; at < world.sent_.size(); ++at)
      world.outcome(static_cast<std::int64_t>(at), at < 18 || at % 2 == 0);
    world.wait(Duration(100));
  }
  EXPECT_EQ(world.seen_.state, OperationState::kHalted);
  EXPECT_EQ(world.note_, "3 of the first 24 came back, more than 10 %");
  EXPECT_LT(world.sent_.size(), 30U);
}

TEST(OperationRun, WhatComesBackAtTheEndIsSaid) {
  Played world(5);
  world.run();
  for (std::int64_t i = 0; i < 5; ++i) world.outcome(i, i == 0);
  world.wait(Duration(1000));
  world.run();
  EXPECT_EQ(world.seen_.state, OperationState::kDone);
  EXPECT_EQ(world.note_, "4 of 5 came back");
}

TEST(OperationRun, SentLettersThatNobodyAnswersForDoNotHoldItForEver) {
  Played world(2);
  world.run();
  world.seen_.last_result = world.now().wall;
  world.outcome(0, true);
  world.wait(std::chrono::minutes(59));
  world.run();
  EXPECT_EQ(world.seen_.state, OperationState::kRunning);
  world.wait(std::chrono::minutes(2));
  world.run();
  EXPECT_EQ(world.seen_.state, OperationState::kDone);
  EXPECT_EQ(world.note_, "1 sent letters have no outcome yet; it is noted when it comes");
}

TEST(OperationRun, ACanaryThatNobodyAnswersForHaltsItAndResumeGoesOn) {
  Played world(10);
  world.seen_.settings.canary = 3;
  world.run();
  world.seen_.last_result = world.now().wall;
  world.outcome(0, true);
  world.wait(std::chrono::minutes(59));
  world.run();
  EXPECT_EQ(world.seen_.state, OperationState::kRunning);
  EXPECT_EQ(world.sent_.size(), 3U);
  world.wait(std::chrono::minutes(2));
  world.run();
  EXPECT_EQ(world.seen_.state, OperationState::kHalted);
  EXPECT_EQ(world.note_, "2 of the first 3 have no outcome; resume goes on without waiting for them");
  world.seen_.state = OperationState::kRunning;
  world.seen_.settings.waiting_before = 2;
  world.restart();
  world.run();
  EXPECT_EQ(world.sent_.size(), 10U);
}

TEST(OperationRun, KeepsTheRate) {
  Played world(500);
  world.seen_.settings.rate = 50;
  world.limits_.batch = 500;
  world.restart();
  for (; world.sent_.size() < 500 && world.passed_ < std::chrono::minutes(1); world.wait(Duration(7))) world.run();
  ASSERT_EQ(world.sent_.size(), 500U);
  // 500 letters at 50 a second, the last batch at 9.9 s: within 5 %.
  EXPECT_GE(world.batches_.back(), Instant(Duration(9405)));
  EXPECT_LE(world.batches_.back(), Instant(Duration(10395)));
}

TEST(OperationRun, ARefusedLetterIsGivenBackAndTheOthersGo) {
  Played world(10);
  world.refused_ = {4, 9};
  world.run();
  EXPECT_EQ(world.sent_, (std::vector<std::int64_t>{0, 1, 2, 3, 5, 6, 7, 8}));
  EXPECT_EQ(world.results_[4], ItemResult::kSkipped);
  EXPECT_EQ(world.results_[9], ItemResult::kSkipped);
  EXPECT_EQ(world.seen_.cursor, 10);
}

TEST(OperationRun, ARefusedLetterIsFoundByHalves) {
  Played world(2000);
  world.limits_.batch = 1000;
  world.restart();
  world.refused_ = {617};
  world.run();
  EXPECT_EQ(world.sent_.size(), 1999U);
  EXPECT_EQ(world.results_[617], ItemResult::kSkipped);
  EXPECT_EQ(world.seen_.cursor, 2000);
  // Not a write for each of a thousand letters.
  EXPECT_LT(world.batches_.size(), 30U);
}

TEST(OperationRun, WhereAllAreRefusedEachIsTriedOnce) {
  Played world(64);
  world.limits_.batch = 64;
  world.restart();
  for (const std::int64_t at : numbers(0, 64)) world.refused_.insert(at);
  std::size_t commands = 0;
  world.run([&] {
    ++commands;
    return Played::Fate::kNormal;
  });
  EXPECT_EQ(world.results_, std::vector(64, ItemResult::kSkipped));
  // A look, a try, a look and a letter given back for each, and six halves.
  EXPECT_LT(commands, 64U * 4 + 20);
}

TEST(OperationRun, APauseSendsNothingMoreAndGivesBackWhatWasTaken) {
  Played world(10);
  // Paused by people while the machine is between taking and sending.
  const auto taken = world.carry_out(TakeLetters{0, 3});
  ASSERT_EQ(std::get<CommandDone>(taken).result, CommandDone::Result::kDone);
  world.seen_.state = OperationState::kPaused;
  world.run();
  EXPECT_TRUE(world.sent_.empty());
  EXPECT_EQ(world.seen_.cursor, 0);
  EXPECT_EQ(world.results_, std::vector(10, ItemResult::kPending));
  EXPECT_TRUE(world.run_->over());
  world.seen_.state = OperationState::kRunning;
  world.restart();
  world.run();
  EXPECT_EQ(world.sent_, numbers(0, 10));
}

TEST(OperationRun, ACrashOrALostAnswerAtAnyCommandSendsNothingTwice) {
  std::size_t crashes = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const std::int64_t letters = random.between(0, 40);
    const bool replay = random.chance(80);
    Played world(letters, replay ? OperationKind::kReplay : OperationKind::kPurge);
    world.seen_.settings.canary = static_cast<std::uint32_t>(random.below(8));
    world.seen_.settings.halt = {100, 20};
    world.limits_.batch = random.between(1, 6);
    world.restart();
    for (std::int64_t i = 0; i < letters; ++i) {
      if (random.chance(5)) world.changed_.insert(i);
      if (random.chance(5)) world.refused_.insert(i);
    }
    const auto fate = [&] {
      if (!random.chance(25)) return Played::Fate::kNormal;
      ++crashes;
      return static_cast<Played::Fate>(random.between(1, 4));
    };
    for (int round = 0; round < 2000 && world.seen_.state != OperationState::kDone; ++round) {
      world.run(round < 1000 ? std::function<Played::Fate()>(fate) : [] { return Played::Fate::kNormal; });
      for (const std::int64_t at : world.sent_)
        if (random.chance(50)) world.outcome(at, random.chance(80));
      if (world.seen_.state == OperationState::kRunning && random.chance(3)) {
        world.seen_.state = OperationState::kPaused;
      } else if (world.seen_.state == OperationState::kPaused) {
        world.seen_.state = OperationState::kRunning;
        if (world.run_->over()) world.restart();
      }
      world.wait(Duration(random.between(1, 40000)));
    }
    ASSERT_EQ(world.seen_.state, OperationState::kDone) << seed;
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < letters; ++i)
      if (!replay || (!world.changed_.contains(i) && !world.refused_.contains(i))) wanted.push_back(i);
    ASSERT_EQ(world.sent_, wanted) << seed;
  }
  EXPECT_GT(crashes, 1000U);
}

}  // namespace bartleby
