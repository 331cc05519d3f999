// Who waits at the gate, for whom, and how long.
#include "runtime/alone_gate.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace bartleby {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::chrono::milliseconds kAtOnce{0};

AloneGate::Time in(std::chrono::hours hours) { return std::chrono::steady_clock::now() + hours; }

TEST(AloneGate, WithoutSuspectsNobodyWaits) {
  AloneGate gate;
  EXPECT_FALSE(gate.begin(false, kPatience));
  EXPECT_FALSE(gate.begin(false, kPatience));
  gate.end(false);
  gate.end(false);
}

TEST(AloneGate, ASuspectIsAloneOnlyWhenNobodyRuns) {
  AloneGate gate;
  EXPECT_FALSE(gate.begin(false, kAtOnce));
  EXPECT_FALSE(gate.begin(true, kAtOnce));  // it has waited as long as it may
  gate.end(true);
  gate.end(false);
  EXPECT_TRUE(gate.begin(true, kAtOnce));
  gate.end(true);
}

TEST(AloneGate, AnOrdinaryRunWaitsForASuspectButNotForEver) {
  AloneGate gate;
  ASSERT_TRUE(gate.begin(true, kAtOnce));
  gate.begin(false, std::chrono::milliseconds(1));  // comes back though the suspect does not
  gate.end(false);
  auto waits = std::async(std::launch::async, [&] { gate.begin(false, kPatience); });
  gate.end(true);
  EXPECT_EQ(waits.wait_for(kPatience), std::future_status::ready);
}

TEST(AloneGate, WhoMustNotWaitBeginsWhenTheSuspectEndsOnItsThread) {
  AloneGate gate;
  std::thread::id began;
  gate.begin_later(true, [](bool alone) { EXPECT_TRUE(alone); });
  gate.begin_later(false, [&](bool) { began = std::this_thread::get_id(); });
  EXPECT_EQ(began, std::thread::id());
  gate.end(true);
  EXPECT_EQ(began, std::this_thread::get_id());
}

TEST(AloneGate, SuspectsThatMustNotWaitTakeTurnsAndTheOthersComeAfterThem) {
  AloneGate gate;
  std::string order;
  gate.begin_later(false, [&](bool) { order += "o"; });
  gate.begin_later(true, [&](bool alone) { order += alone ? "S" : "s"; });
  gate.begin_later(true, [&](bool alone) { order += alone ? "S" : "s"; });
  gate.begin_later(false, [&](bool) { order += "o"; });
  EXPECT_EQ(order, "o");
  gate.end(false);
  EXPECT_EQ(order, "oS");
  gate.end(true);
  EXPECT_EQ(order, "oSS");
  gate.end(true);
  EXPECT_EQ(order, "oSSo");
}

TEST(AloneGate, WhoHasWaitedLongEnoughBeginsBesideTheOthers) {
  AloneGate gate;
  int began = 0;
  gate.begin_later(false, [&](bool) { ++began; });
  gate.begin_later(true, [&](bool alone) { began += alone ? 100 : 1; });
  gate.begin_later(false, [&](bool) { ++began; });
  gate.tick();
  EXPECT_EQ(began, 1);
  gate.tick(in(std::chrono::hours(1)));
  EXPECT_EQ(began, 3);
}

}  // namespace
}  // namespace bartleby
