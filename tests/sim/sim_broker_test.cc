// What the simulated broker does beyond the contract: its clock, its faults, and that a seed is a run.
#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "codec/lane.h"
#include "codec/murmur2.h"
#include "tests/sim/colliding_keys.h"
#include "tests/sim/sim_member.h"

namespace bartleby::sim {
namespace {

TEST(Scheduler, RunsInTheOrderOfTimeAndMixesWhatIsDueAtOneInstant) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scheduler scheduler(seed);
    std::string order;
    scheduler.after(Duration(5), [&] { order += 'z'; });
    for (const char c : {'a', 'b', 'c'}) scheduler.after(Duration(1), [&order, c] { order += c; });
    while (scheduler.step()) {
    }
    EXPECT_EQ(order.back(), 'z');
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Scheduler, TheWallClockJumpsAndTheOtherDoesNot) {
  Scheduler scheduler(1);
  scheduler.run_for(Duration(10));
  const Timestamp before = scheduler.wall();
  scheduler.jump_wall(Duration(-3600000));
  EXPECT_EQ(scheduler.wall() - before, Duration(-3600000));
  EXPECT_EQ(scheduler.now(), Instant(Duration(10)));
}

TEST(CollidingKeys, EachPairHasOneLaneAndOnePartitionWhateverTheirNumber) {
  std::set<std::uint32_t> lanes;
  for (std::size_t i = 0; i < kCollidingKeys.size(); i += 2) {
    const std::string one(kCollidingKeys[i]);
    const std::string two(kCollidingKeys[i + 1]);
    EXPECT_NE(one, two);
    EXPECT_EQ(lane_of(one), lane_of(two));
    for (std::int32_t count = 1; count <= 4; ++count)
      EXPECT_EQ(partition_of_key(one, count), partition_of_key(two, count));
    lanes.insert(lane_of(one).v);
  }
  EXPECT_EQ(lanes.size(), kCollidingKeys.size() / 2);
}

TEST(SimGroup, OfTwoPendingOffsetsTheOneWrittenLaterWinsWhicheverEndsFirst) {
  Scheduler scheduler(1);
  const BrokerFaults faults;
  SimGroup group(scheduler, faults, {}, {}, {});
  const TopicPartition tp{"t", Partition(0)};
  group.add_pending(1, tp, Offset(5), "earlier");
  group.add_pending(2, tp, Offset(3), "later");
  group.finish(2, true);
  EXPECT_TRUE(group.pending(tp));
  group.finish(1, true);
  EXPECT_FALSE(group.pending(tp));
  EXPECT_EQ(group.committed(tp).metadata, "later");
}

TEST(PartitionLog, OldTombstonesGoWithTheSecondCompactionButTheLastOffsetStays) {
  Scheduler scheduler(1);
  PartitionLog log({"t", Partition(0)}, scheduler);
  log.append({"t", {}, "a", "1", {}}, 0);
  log.append({"t", {}, "a", std::nullopt, {}}, 0);
  log.compact();
  EXPECT_EQ(log.entries().size(), 1u);
  log.compact();
  EXPECT_EQ(log.entries().size(), 1u) << "it is the last one";
  log.append({"t", {}, "b", "1", {}}, 0);
  log.compact();
  ASSERT_EQ(log.entries().size(), 1u);
  EXPECT_EQ(log.entries()[0].record.offset, Offset(2));
  EXPECT_EQ(log.high_watermark(), Offset(3));
}

class Alone : public testing::Test {
 protected:
  Alone() : cluster(scheduler) {
    TopicSpec spec;
    spec.name = "t";
    cluster.ensure_topics({spec}).value();
    member = cluster.join_sim({"g", {"t"}, "host", Duration(10000)});
    member->on_ready([this] { take(); });
  }
  void take() {
    const std::size_t before = events.size();
    member->poll(events, Duration(0));
    for (std::size_t i = before; i < events.size(); ++i)
      if (const auto* given = std::get_if<PartitionAssigned>(&events[i])) ref = given->ref;
  }
  template <class Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    for (const BrokerEvent& event : events)
      if (const auto* e = std::get_if<Event>(&event)) found.push_back(*e);
    return found;
  }

  const TopicPartition tp{"t", Partition(0)};
  Scheduler scheduler{1};
  SimCluster cluster;
  std::unique_ptr<SimMember> member;
  std::vector<BrokerEvent> events;
  PartitionRef ref;
};

TEST_F(Alone, TheDriverIsToldWhenThereIsSomethingToPoll) {
  scheduler.run_for(Duration(1));
  ASSERT_EQ(all<PartitionAssigned>().size(), 1u);
  EXPECT_EQ(cluster.owner("g", tp), member.get());
}

TEST_F(Alone, AReaderOfARecreatedTopicIsOutOfRange) {
  for (int i = 0; i < 3; ++i) cluster.append({"t", {}, "k", "v", {}});
  scheduler.run_for(Duration(1));
  member->start(ref, Offset(0));
  scheduler.run_for(Duration(1));
  cluster.set_offset("g", tp, Offset(3));
  cluster.recreate("t");
  scheduler.run_for(Duration(1));
  ASSERT_EQ(all<PositionOutOfRange>().size(), 1u);
  EXPECT_EQ(all<PositionOutOfRange>()[0].log_end, Offset(0));
  EXPECT_EQ(cluster.committed("g", tp)->offset, Offset(3)) << "the group's offsets stay";
}

TEST_F(Alone, WhatWasBufferedIsHandedOutBeforeTheLoss) {
  cluster.append({"t", {}, "k", "v", {}});
  scheduler.run_for(Duration(1));
  member->start(ref, Offset(0));
  cluster.freeze(*member);
  scheduler.run_for(Duration(20000));
  EXPECT_EQ(cluster.owner("g", tp), nullptr);
  cluster.thaw(*member);
  scheduler.run_for(Duration(100));
  ASSERT_EQ(all<RecordsFetched>().size(), 1u);
  ASSERT_EQ(all<PartitionLost>().size(), 1u);
  EXPECT_EQ(all<PartitionAssigned>().size(), 2u) << "it joins again by itself";
}

TEST_F(Alone, AnOwnerWhoDoesNotReleaseIsExpelled) {
  scheduler.run_for(Duration(1));
  auto other = cluster.join_sim({"g", {"t"}, "other", Duration(10000)});
  while (cluster.owner("g", tp) == member.get() && scheduler.now() < Instant(Duration(300000))) {
    cluster.rebalance("g", true);
    scheduler.run_for(Duration(61000));
  }
  EXPECT_EQ(cluster.owner("g", tp), other.get());
  EXPECT_EQ(all<PartitionLost>().size(), 1u);
}

TEST_F(Alone, TheObserversSeeTheEndOfAWriteThenItsRecordsAndOffsets) {
  std::string seen;
  cluster.faults().marker_delay_max = Duration(50);
  cluster.on_write_committed([&](const std::string& id, const Write&) {
    EXPECT_EQ(id, member->transactional_id());
    seen += 'w';
  });
  cluster.on_record_visible([&](const TopicPartition&, const LogRecord&) { seen += 'r'; });
  cluster.on_offsets_applied([&](const std::string& group, const TopicPartition&, Offset, const std::string&) {
    EXPECT_EQ(group, "g");
    seen += 'o';
  });
  scheduler.run_for(Duration(1));
  member->write({WriteSerial(1), {{"t", {}, "k", "v", {}}}, {{ref, Offset(1), "m"}}});
  scheduler.run_for(Duration(100));
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen.front(), 'w');
}

// ---- A small chaos: three members write serials under every fault, and nothing may contradict the answers --

struct Chaos {
  explicit Chaos(std::uint64_t seed) : scheduler(seed), cluster(scheduler, faults()) {
    TopicSpec spec;
    spec.name = "t";
    spec.partitions = 3;
    cluster.ensure_topics({spec}).value();
    spec.name = "dlq";
    spec.partitions = 1;
    cluster.ensure_topics({spec}).value();
    cluster.on_write_committed([this](const std::string& id, const Write& write) {
      committed.insert(id + "#" + std::to_string(write.serial.v));
      note(write.serial.v);
    });
    cluster.on_offsets_applied([this](const std::string&, const TopicPartition&, Offset offset, const std::string& m) {
      EXPECT_TRUE(committed.contains(m)) << m;
      note(static_cast<std::uint64_t>(offset.v));
    });
    for (int i = 0; i < 3; ++i) add();
  }

  static BrokerFaults faults() {
    BrokerFaults f;
    f.latency_min = Duration(1);
    f.latency_max = Duration(30);
    f.marker_delay_max = Duration(60);
    f.slice_min = 1;
    f.slice_max = 5;
    f.p_not_done = f.p_reply_lost_done = f.p_reply_lost_not_done = f.p_late_request = 60;
    f.p_generation_bump = f.p_read_fail = f.p_fence_fail = 60;
    return f;
  }

  struct Actor {
    std::unique_ptr<SimMember> member;
    std::map<std::uint32_t, std::pair<Epoch, TopicPartition>> owned;
    std::uint64_t serial = 0;
    bool writing = false;
    bool failed = false;
  };

  void note(std::uint64_t value) { hash = combine(hash, value); }
  std::string name(const Actor& a) const { return a.member->transactional_id() + "#" + std::to_string(a.serial); }

  void add() {
    actors.push_back(std::make_unique<Actor>());
    Actor& a = *actors.back();
    a.member = cluster.join_sim({"g", {"t"}, "host", Duration(3000)});
    a.member->on_ready([this, &a] {
      std::vector<BrokerEvent> events;
      a.member->poll(events, Duration(0));
      for (const BrokerEvent& event : events) on(a, event);
    });
  }

  void on(Actor& a, const BrokerEvent& event) {
    note(event.index());
    if (const auto* given = std::get_if<PartitionAssigned>(&event)) {
      a.owned[given->ref.index] = {given->ref.epoch, given->tp};
      a.member->start(given->ref, Offset(0));
    } else if (const auto* revoked = std::get_if<PartitionRevoked>(&event)) {
      a.owned.erase(revoked->ref.index);
      a.member->release(revoked->ref);
    } else if (const auto* lost = std::get_if<PartitionLost>(&event)) {
      if (a.owned[lost->ref.index].first == lost->ref.epoch) a.owned.erase(lost->ref.index);
    } else if (const auto* answered = std::get_if<WriteAnswered>(&event)) {
      const bool was = committed.contains(name(a));
      if (answered->result == WriteResult::kDone || answered->result == WriteResult::kNotDone) {
        EXPECT_EQ(was, answered->result == WriteResult::kDone) << name(a);
      }
      if (answered->result == WriteResult::kUnknown) return a.member->resolve(answered->serial);
      if (answered->result == WriteResult::kNotDone) undone.insert(name(a));
      a.writing = false;
    } else if (const auto* resolved = std::get_if<WriteResolved>(&event)) {
      if (!resolved->answered) return a.member->resolve(resolved->serial);
      if (!committed.contains(name(a))) undone.insert(name(a));
      a.writing = false;
      ++resolutions;
    } else if (std::holds_alternative<MemberFailed>(event)) {
      a.failed = true;
    }
  }

  void act() {
    Random& random = scheduler.random();
    Actor& a = *actors[random.below(actors.size())];
    if (a.member->frozen()) {
      if (random.chance(10)) cluster.thaw(*a.member);
      return;
    }
    if (!a.member->alive()) return;
    const std::uint64_t what = random.below(1000);
    if (what < 5) return add();
    if (what < 8) return cluster.kill(*a.member);
    if (what < 15) return cluster.freeze(*a.member);
    if (what < 20) return cluster.rebalance("g", true);
    if (what < 23) return a.member->fence_writer(1, actors[random.below(actors.size())]->member->transactional_id());
    if (a.writing || a.owned.empty()) return;
    a.writing = true;
    ++a.serial;
    Write write{WriteSerial(a.serial), {{"dlq", {}, "k", name(a), {}}}, {}};
    for (const auto& [index, held] : a.owned)
      write.offsets.push_back({{index, held.first}, Offset(static_cast<std::int64_t>(a.serial)), name(a)});
    a.member->write(std::move(write));
  }

  void run(int acts) {
    for (int i = 0; i < acts; ++i) {
      scheduler.run_for(Duration(10));
      act();
    }
    scheduler.run_for(Duration(100000));
    std::multiset<std::string> letters;
    for (const LogEntry& entry : cluster.log({"dlq", Partition(0)}).entries()) {
      EXPECT_NE(entry.state, EntryState::kPending) << "every transaction ends";
      if (entry.state == EntryState::kCommitted) letters.insert(*entry.record.value);
    }
    EXPECT_EQ(letters, std::multiset<std::string>(committed.begin(), committed.end()));
    for (const std::string& write : undone) EXPECT_FALSE(committed.contains(write)) << write << " came late";
  }

  Scheduler scheduler;
  SimCluster cluster;
  std::vector<std::unique_ptr<Actor>> actors;
  std::set<std::string> committed;
  std::set<std::string> undone;
  std::uint64_t hash = 0;
  int resolutions = 0;
};

TEST(SimBroker, NoAnswerIsEverContradictedUnderChaos) {
  std::size_t done = 0;
  int resolutions = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chaos chaos(seed);
    chaos.run(1500);
    done += chaos.committed.size();
    resolutions += chaos.resolutions;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(done, 1000u);
  EXPECT_GT(resolutions, 100);
}

TEST(SimBroker, ASeedIsARun) {
  auto hash_of = [](std::uint64_t seed) {
    Chaos chaos(seed);
    chaos.run(600);
    return combine(chaos.hash, chaos.scheduler.steps());
  };
  EXPECT_EQ(hash_of(7), hash_of(7));
  EXPECT_NE(hash_of(7), hash_of(8));
}

}  // namespace
}  // namespace bartleby::sim
