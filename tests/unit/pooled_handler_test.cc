// The handler pool: who runs what, who is woken, and what happens to the rest when it ends.
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <set>

#include "runtime/in_process.h"
#include "tests/support/attempts.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

using test::make_attempt;
using test::Outcomes;
using test::text_of;

constexpr auto kPatience = std::chrono::seconds(60);

TEST(PooledHandler, AStretchStaysOnItsThread) {
  std::vector<std::thread::id> ran_on;
  PooledHandler pool(
      {},
      [&](const Message&, Attempt&) {
        ran_on.push_back(std::this_thread::get_id());  // one at a time: each begins in the answer before it
        return done();
      },
      4);
  std::promise<void> end;
  std::function<void(int)> run = [&](int left) {
    pool.start(make_attempt(), [&run, &end, left](const Decision&) {
      if (left == 0) return end.set_value();
      run(left - 1);
    });
  };
  run(99);
  ASSERT_EQ(end.get_future().wait_for(kPatience), std::future_status::ready);
  ASSERT_EQ(ran_on.size(), 100U);
  EXPECT_EQ(std::set(ran_on.begin(), ran_on.end()).size(), 1U);
}

TEST(PooledHandler, AllThreadsAreWokenForWorkThatBlocks) {
  std::latch all(4);
  PooledHandler pool(
      {},
      [&](const Message&, Attempt&) {
        all.arrive_and_wait();  // comes back only if all four are in here at once
        return done();
      },
      4);
  Outcomes outcomes;
  for (int i = 0; i < 4; ++i) pool.start(make_attempt(), outcomes.answer(i));
  ASSERT_TRUE(outcomes.wait(4, kPatience));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(text_of(outcomes.of(i)), "done");
}

TEST(PooledHandler, AllThreadsAreWokenForWhatBeginsTogether) {
  std::latch all(4);
  PooledHandler pool(
      {},
      [&](const Message&, Attempt&) {
        all.arrive_and_wait();
        return done();
      },
      4);
  ASSERT_TRUE(pool.queues());
  Outcomes outcomes;
  std::vector<Handler::Start> starts;
  for (int i = 0; i < 4; ++i) starts.push_back({make_attempt(), outcomes.answer(i)});
  pool.start_all(starts);
  EXPECT_TRUE(starts.empty());
  ASSERT_TRUE(outcomes.wait(4, kPatience));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(text_of(outcomes.of(i)), "done");
}

TEST(PooledHandler, AThreadWithoutWorkKeepsNoPlaceInTheFlightRecorder) {
  const support::ScratchFolder folder;
  const auto recorder = FlightRecorder::open(folder.path() + "/flight", 1);
  ASSERT_TRUE(recorder);
  InProcess where;
  where.recorder = recorder->get();
  std::latch all(4);
  PooledHandler pool(
      where,
      [&](const Message&, Attempt&) {
        all.arrive_and_wait();  // each thread has had a place
        return done();
      },
      4);
  Outcomes outcomes;
  for (int i = 0; i < 4; ++i) pool.start(make_attempt(), outcomes.answer(i));
  ASSERT_TRUE(outcomes.wait(4, kPatience));
  const auto free_places = [&] {
    std::vector<std::uint32_t> claimed;
    for (std::uint32_t slot = (*recorder)->claim(); slot != FlightRecorder::kNoSlot; slot = (*recorder)->claim())
      claimed.push_back(slot);
    for (const std::uint32_t slot : claimed) (*recorder)->end(slot);
    return claimed.size();
  };
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (free_places() < FlightRecorder::kSlots && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(free_places(), FlightRecorder::kSlots);
}

TEST(PooledHandler, ManyFromSeveralThreadsAreAnsweredOnceEach) {
  std::atomic<int> ran = 0;
  Outcomes outcomes;
  PooledHandler pool({}, [&](const Message&, Attempt&) { return ++ran, done(); }, 3);
  {
    std::vector<std::jthread> producers;
    for (int p = 0; p < 4; ++p)
      producers.emplace_back([&, p] {
        for (int i = 0; i < 1000; ++i) pool.start(make_attempt(), outcomes.answer(p * 1000 + i));
      });
  }
  ASSERT_TRUE(outcomes.wait(4000, kPatience));
  EXPECT_EQ(ran, 4000);
  EXPECT_EQ(outcomes.answers(), 4000U);
}

TEST(PooledHandler, WhatDoesNotRunYetWhenItEndsIsAnsweredUnrun) {
  std::latch inside(1), go(1);
  std::atomic<int> ran = 0;
  auto pool = std::make_unique<PooledHandler>(
      InProcess{},
      [&](const Message&, Attempt&) {
        ++ran;
        inside.count_down();
        go.wait();
        return done();
      },
      1);
  Outcomes outcomes;
  // The first begins another one from inside its answer, as a stretch does; by then the pool is ending.
  pool->start(make_attempt(), [&, start = pool.get(), first = outcomes.answer(0)](Decision d) mutable {
    first(std::move(d));
    start->start(make_attempt(), outcomes.answer(2));
  });
  inside.wait();
  pool->start(make_attempt(), outcomes.answer(1));
  std::jthread ends([&] { pool.reset(); });
  while (outcomes.answers() < 1) std::this_thread::yield();  // the one that waited
  go.count_down();
  ASSERT_TRUE(outcomes.wait(3, kPatience));
  ends.join();
  EXPECT_EQ(text_of(outcomes.of(0)), "done");
  EXPECT_TRUE(outcomes.of(1).unrun);
  EXPECT_TRUE(outcomes.of(2).unrun);
  EXPECT_EQ(ran, 1);
}

TEST(PooledHandler, OneThatRunsAloneAndIsOverdueIsToldApartFromTheOthers) {
  std::latch inside(2), go(1);
  PooledHandler pool(
      {},
      [&](const Message&, Attempt&) {
        inside.count_down();
        go.wait();
        return done();
      },
      8);
  Outcomes outcomes;
  const auto ordinary = make_attempt(), alone = make_attempt(test::plain_record(), Duration(1000000));
  alone->alone = true;
  pool.start(ordinary, outcomes.answer(0));
  pool.start(alone, outcomes.answer(1));
  inside.wait();
  EXPECT_EQ(pool.overdue(ordinary->deadline, Duration(0)).late, 1U);
  EXPECT_FALSE(pool.overdue(ordinary->deadline, Duration(0)).alone);
  EXPECT_TRUE(pool.overdue(alone->deadline, Duration(0)).alone);
  go.count_down();
  ASSERT_TRUE(outcomes.wait(2, kPatience));
}

TEST(PooledHandler, TheIdOfAMessageIsMadeWhenItIsAskedFor) {
  auto attempt = make_attempt();
  attempt->id.clear();
  attempt->configured_key.clear();
  static std::atomic<int> made;
  made = 0;
  attempt->id_of = [](const AttemptIn&) { return ++made, std::string("msg_late"); };
  EXPECT_EQ(made, 0);
  EXPECT_EQ(attempt->idempotency_key(), "msg_late");
  EXPECT_EQ(attempt->message_id(), "msg_late");
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace bartleby
