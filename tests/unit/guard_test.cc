// The outage guard: evidence, probes, closing, giving up.
#include "engine/guard.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

constexpr PartitionRef kRef{0, Epoch(1)};
constexpr Duration kForEver{1LL << 40};

Now at_ms(std::int64_t v) { return {Instant(Duration(v)), timestamp_ms(v)}; }

GuardConfig config() {
  GuardConfig c;
  c.of = 10;
  c.within = Duration(60000);
  c.probe = Duration(5000);
  c.hold_max = Duration(600000);
  c.letters = 2;
  return c;
}

// Lets `failures` different messages fail. Answers whether that opened it.
bool fail(OutageGuard& guard, std::int64_t first, int failures, Now now, Kind kind = Kind::kUnavailable,
          bool again = false) {
  bool opened = false;
  for (int i = 0; i < failures; ++i)
    opened = guard.failed(kind, kRef, Offset(first + i), again, now, kForEver) || opened;
  return opened;
}

void succeed(OutageGuard& guard, std::int64_t first, int count, Now now) {
  for (int i = 0; i < count; ++i) guard.succeeded(kRef, Offset(first + i), false, now.steady);
}

OutageGuard opened_guard(Now now = at_ms(0)) {
  OutageGuard guard(config());
  fail(guard, 0, 10, now);
  return guard;
}

TEST(Guard, OpensWhenEnoughDifferentMessagesFailWithOneKind) {
  OutageGuard guard(config());
  EXPECT_FALSE(fail(guard, 0, 9, at_ms(0)));
  EXPECT_TRUE(fail(guard, 9, 1, at_ms(1)));
  EXPECT_TRUE(guard.open());
  EXPECT_FALSE(fail(guard, 10, 5, at_ms(2))) << "it opens once";
}

TEST(Guard, AttemptsOfOneMessageAreOneMessage) {
  OutageGuard guard(config());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(fail(guard, 0, 1, at_ms(i)));
  EXPECT_FALSE(guard.open());
}

TEST(Guard, DifferentKindsAreNotOneOutage) {
  OutageGuard guard(config());
  fail(guard, 0, 4, at_ms(0), Kind::kTimeout);
  fail(guard, 4, 4, at_ms(0), Kind::kUnavailable);
  fail(guard, 8, 4, at_ms(0), Kind::kTransient);
  EXPECT_FALSE(guard.open());
}

TEST(Guard, FinalKindsAreNoOutage) {
  OutageGuard guard(config());
  fail(guard, 0, 100, at_ms(0), Kind::kPermanent);
  EXPECT_FALSE(guard.open());
}

TEST(Guard, FewFailuresAmongSuccessesAreNoOutage) {
  OutageGuard guard(config());
  for (int i = 0; i < 100; ++i) {
    fail(guard, i * 10, 1, at_ms(i));
    succeed(guard, i * 10 + 1, 2, at_ms(i));
  }
  EXPECT_FALSE(guard.open());
}

// A burst of which one in a hundred fails; then nothing comes but those, again and again.
TEST(Guard, ABurstThatIsOverIsNoOutageThoughItsRetriesFail) {
  OutageGuard guard(config());
  succeed(guard, 1000, 3000, at_ms(0));
  fail(guard, 0, 30, at_ms(500));
  for (const std::int64_t later : {3000, 9000, 39000})
    EXPECT_FALSE(fail(guard, 0, 30, at_ms(later), Kind::kUnavailable, true)) << later;
}

TEST(Guard, AnOutageIsSeenInAMomentAmongManyRetries) {
  OutageGuard guard(config());
  succeed(guard, 1000, 3000, at_ms(0));
  fail(guard, 0, 30, at_ms(500));
  fail(guard, 0, 30, at_ms(9000), Kind::kUnavailable, true);
  EXPECT_FALSE(fail(guard, 5000, 9, at_ms(9500)));
  EXPECT_TRUE(fail(guard, 5009, 2, at_ms(10500)));
}

TEST(Guard, RetriesAloneAreAnOutageWhereNothingElseWasSeen) {
  OutageGuard guard(config());
  EXPECT_FALSE(fail(guard, 0, 9, at_ms(0), Kind::kUnavailable, true));
  EXPECT_TRUE(fail(guard, 9, 1, at_ms(1), Kind::kUnavailable, true));
}

TEST(Guard, WhatLiesOutsideTheWindowDoesNotCount) {
  OutageGuard guard(config());
  fail(guard, 0, 9, at_ms(0));
  EXPECT_FALSE(fail(guard, 9, 1, at_ms(60001)));
  EXPECT_FALSE(guard.open());
}

TEST(Guard, ProbesOneAtATimeAndNotTooOften) {
  OutageGuard guard = opened_guard();
  EXPECT_FALSE(guard.may_probe(Instant(Duration(4999))));
  EXPECT_TRUE(guard.may_probe(Instant(Duration(5000))));
  guard.probe_started(Instant(Duration(5000)));
  EXPECT_FALSE(guard.may_probe(Instant(Duration(20000)))) << "one is on its way";
  fail(guard, 50, 1, at_ms(20000));
  EXPECT_TRUE(guard.may_probe(Instant(Duration(20000))));
  guard.probe_started(Instant(Duration(20000)));
  guard.probe_gone();
  EXPECT_FALSE(guard.may_probe(Instant(Duration(24999))));
  EXPECT_TRUE(guard.may_probe(Instant(Duration(25000))));
}

TEST(Guard, TwoSuccessesOfDifferentMessagesCloseIt) {
  OutageGuard guard = opened_guard();
  EXPECT_FALSE(guard.succeeded(kRef, Offset(0), true, Instant(Duration(5000))));
  EXPECT_FALSE(guard.succeeded(kRef, Offset(0), true, Instant(Duration(6000)))) << "the same message";
  EXPECT_TRUE(guard.open());
  EXPECT_TRUE(guard.succeeded(kRef, Offset(1), true, Instant(Duration(7000))));
  EXPECT_FALSE(guard.open());
  EXPECT_FALSE(fail(guard, 100, 9, at_ms(8000))) << "old failures are forgotten";
}

TEST(Guard, AFailureBetweenTwoSuccessesBeginsAnew) {
  OutageGuard guard = opened_guard();
  guard.succeeded(kRef, Offset(0), true, Instant(Duration(5000)));
  fail(guard, 1, 1, at_ms(10000));
  EXPECT_FALSE(guard.succeeded(kRef, Offset(2), true, Instant(Duration(15000))));
  EXPECT_TRUE(guard.open());
}

TEST(Guard, AFinalFailureBetweenTwoSuccessesDoesNot) {
  OutageGuard guard = opened_guard();
  guard.succeeded(kRef, Offset(0), true, Instant(Duration(5000)));
  fail(guard, 1, 1, at_ms(10000), Kind::kMalformed);
  EXPECT_TRUE(guard.succeeded(kRef, Offset(2), true, Instant(Duration(15000))));
}

TEST(Guard, GivesUpAfterItsLongestTimeAndStaysOffUntilAGoodWindow) {
  OutageGuard guard = opened_guard();
  EXPECT_FALSE(guard.tick(Instant(Duration(599999))));
  EXPECT_TRUE(guard.tick(Instant(Duration(600000))));
  EXPECT_FALSE(guard.open());
  EXPECT_FALSE(fail(guard, 100, 50, at_ms(610000))) << "still bad: it stays off";
  guard.tick(Instant(Duration(669999)));
  EXPECT_FALSE(fail(guard, 200, 50, at_ms(669999)));
  guard.tick(Instant(Duration(729999)));  // a window without failures
  EXPECT_TRUE(fail(guard, 300, 10, at_ms(730000)));
}

TEST(Guard, NeverHoldsLongerThanItsMessagesCanWait) {
  OutageGuard guard(config());
  for (int i = 0; i < 10; ++i) guard.failed(Kind::kTimeout, kRef, Offset(i), false, at_ms(0), Duration(20000));
  EXPECT_TRUE(guard.open());
  EXPECT_FALSE(guard.tick(Instant(Duration(19999))));
  EXPECT_TRUE(guard.tick(Instant(Duration(20000))));
}

TEST(Guard, DoesNotOpenWhenThereIsNoTimeToProbe) {
  OutageGuard guard(config());
  for (int i = 0; i < 10; ++i) guard.failed(Kind::kTimeout, kRef, Offset(i), false, at_ms(0), Duration(10));
  EXPECT_FALSE(guard.open());
}

TEST(Guard, LetsAFewLettersOfExhaustedMessagesPassPerWindow) {
  OutageGuard guard = opened_guard();
  EXPECT_TRUE(guard.may_write_letter());
  EXPECT_TRUE(guard.may_write_letter());
  EXPECT_FALSE(guard.may_write_letter());
  guard.tick(Instant(Duration(60000)));
  EXPECT_TRUE(guard.may_write_letter());
}

TEST(Guard, AClosedGuardHoldsNoLetterBack) {
  OutageGuard guard(config());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(guard.may_write_letter());
}

TEST(Guard, ForgetsThePartitionThatLeaves) {
  OutageGuard guard(config());
  fail(guard, 0, 9, at_ms(0));
  guard.forget(kRef);
  EXPECT_FALSE(fail(guard, 9, 9, at_ms(1)));
  EXPECT_TRUE(fail(guard, 18, 1, at_ms(2)));
}

TEST(Guard, IsOffWithoutSettings) {
  OutageGuard guard{std::nullopt};
  fail(guard, 0, 1000, at_ms(0));
  EXPECT_FALSE(guard.open());
  EXPECT_EQ(guard.next_event(Instant{}), kNever);
}

TEST(Guard, SaysWhenItWantsToBeAskedAgain) {
  OutageGuard guard = opened_guard();
  EXPECT_EQ(guard.next_event(Instant{}), Instant(Duration(5000)));
  EXPECT_EQ(guard.next_event(Instant(Duration(5000))), Instant(Duration(60000))) << "the letters' window";
}

// Where thousands of messages pass, an outage is seen after a moment, not after half a window.
TEST(Guard, JudgesByTheNewestMessagesAtAnyRate) {
  OutageGuard guard(config());
  for (int second = 0; second < 50; ++second) succeed(guard, second * 10000, 10000, at_ms(second * 1000));
  EXPECT_FALSE(fail(guard, 1000000, 5000, at_ms(50000)));
  EXPECT_TRUE(fail(guard, 1005000, 5000, at_ms(50900)));
}

// And a moment of failures among them is no outage.
TEST(Guard, AMomentOfFailuresAmongManySuccessesIsNoOutage) {
  OutageGuard guard(config());
  succeed(guard, 0, 10000, at_ms(1000));
  EXPECT_FALSE(fail(guard, 20000, 500, at_ms(1020)));
  EXPECT_FALSE(fail(guard, 21000, 20, at_ms(2001))) << "the first messages of the next second alone say nothing";
}

TEST(Guard, WhatWasSeenBeforeAPartitionLeftIsForgotten) {
  OutageGuard guard(config());
  for (int i = 0; i < 9; ++i) guard.failed(Kind::kUnavailable, {1, Epoch(2)}, Offset(i), false, at_ms(0), kForEver);
  guard.forget({1, Epoch(2)});
  EXPECT_FALSE(fail(guard, 100, 9, at_ms(1)));
  EXPECT_TRUE(fail(guard, 109, 1, at_ms(2)));
}

// However many different messages are asked for.
TEST(Guard, OpensAlsoWhenVeryManyMessagesAreAskedFor) {
  GuardConfig c = config();
  c.of = 5000;
  OutageGuard guard(c);
  EXPECT_FALSE(fail(guard, 0, 4999, at_ms(0)));
  EXPECT_TRUE(fail(guard, 4999, 1, at_ms(1)));
}

}  // namespace
}  // namespace bartleby
