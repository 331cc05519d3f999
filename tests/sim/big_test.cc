// A million messages behind one; a hundred thousand parked that change hands.
#include <gtest/gtest.h>

#include "codec/journal.h"
#include "tests/sim/bare_engine.h"

namespace bartleby::sim {
namespace {

constexpr Now kStart{Instant(Duration(1000)), timestamp_ms(1'700'000'000'000)};

EngineConfig config(const char* writer) {
  EngineConfig c;
  c.writer = writer;
  c.guard.reset();
  c.cases[0].max_attempts = 100;
  return c;
}

RecordRef record(std::int64_t offset, std::uint32_t lane) {
  return {.offset = Offset(offset),
          .timestamp = timestamp_ms(1'600'000'000'000 + offset),
          .lane = Lane(lane),
          .slot = static_cast<std::uint32_t>(offset),
          .size = 200};
}

constexpr std::uint32_t kParkedLane = 7;

TEST(Big, AMillionMessagesBehindAParkedOneStayInTheLogWhileOthersFlowAndThenComeInOrder) {
  constexpr std::int64_t kEach = 1'000'000;
  BareLog log;
  log.records.reserve(2 * kEach);
  for (std::int64_t o = 0; o < 2 * kEach; ++o)
    log.records.push_back(record(o, o % 2 == 0 ? kParkedLane : static_cast<std::uint32_t>(1000 + o % 997)));

  EngineConfig c = config("w");
  c.cases[0].backoff = Schedule{{Duration(3600000)}};
  std::uint64_t others = 0;
  std::uint64_t behind = 0;
  std::int64_t last = -1;
  bool in_order = true;
  BareEngine e(c, log, kStart, [&](const bartleby::Run& run, const RunItem& item, Now) -> std::optional<Ending> {
    if (item.offset == Offset(0) && run.attempt == 1) return Ending{.fate = Fate::kRetry, .after = {}};
    if (item.offset.v % 2 == 1) {
      ++others;
      return std::nullopt;
    }
    ++behind;
    in_order = in_order && item.offset.v == last + (last < 0 ? 1 : 2);
    last = item.offset.v;
    return std::nullopt;
  });
  e.work();
  std::size_t most_memory = 0;
  std::size_t most_slots = 0;
  const auto measure = [&] {
    most_memory = std::max(most_memory, e.partition().memory_bytes());
    most_slots = std::max(most_slots, e.slots_out());
  };
  while (e.feed()) {
    e.pass(Duration(1));
    measure();
  }
  e.pass(Duration(1000));
  EXPECT_EQ(others, static_cast<std::uint64_t>(kEach)) << "others flow";
  EXPECT_EQ(behind, 0u);
  EXPECT_EQ(e.partition().parked(), 1u);
  EXPECT_EQ(log.journal.size(), 1u) << "one journal record";
  EXPECT_EQ(log.offset, Offset(0));
  EXPECT_EQ(decode_metadata(log.metadata, *log.offset).metadata.high, Offset(2 * kEach))
      << "and a commit that covers the rest";

  while (behind < static_cast<std::uint64_t>(kEach) && e.now().steady < kStart.steady + Duration(2 * 3600000)) {
    e.pass(behind == 0 ? Duration(3600000) : Duration(100));
    measure();
  }
  EXPECT_EQ(behind, static_cast<std::uint64_t>(kEach));
  EXPECT_TRUE(in_order);
  e.pass(Duration(2000));
  EXPECT_EQ(log.offset, Offset(2 * kEach));
  EXPECT_TRUE(log.journal.empty());
  EXPECT_EQ(e.slots_out(), 0u);
  EXPECT_LE(most_memory, std::size_t{8} << 20);
  EXPECT_LE(most_slots, 3000u) << "a lane keeps a thousand in memory, a slice has five hundred";
}

// What a handler saw of a message.
struct Seen {
  std::uint32_t failures = 0;
  Timestamp first;
  Timestamp last;
  std::string text;
};

TEST(Big, AHundredThousandParkedMessagesChangeHandsWithAttemptsDueTimesAndStoriesExact) {
  constexpr std::int64_t kCount = 100'000;
  BareLog log;
  for (std::int64_t o = 0; o < kCount; ++o)
    log.records.push_back(record(o, static_cast<std::uint32_t>(o * 2654435761LL)));
  std::vector<Seen> seen(kCount);
  EngineConfig c = config("first");
  c.max_parked = 2 * kCount;
  c.linger = Duration(500);  // few and large writes: each looks at every parked lane
  c.cases[0].backoff = Schedule{{Duration(10000), Duration(20000), Duration(60000)}};
  c.cases[0].jitter_percent = 50;
  const auto kind_of = [](Offset o) { return o.v % 2 == 0 ? Kind::kTransient : Kind::kTimeout; };
  {
    BareEngine* self = nullptr;
    BareEngine first(
        c, log, kStart, [&](const bartleby::Run& run, const RunItem& item, Now now) -> std::optional<Ending> {
          Seen& s = seen[static_cast<std::size_t>(item.offset.v)];
          EXPECT_EQ(run.attempt, s.failures + 1);
          if (++s.failures == 1) s.first = now.wall;
          s.last = now.wall;
          s.text = "failure " + std::to_string(s.failures) + " of " + std::to_string(item.offset.v);
          return Ending{.fate = Fate::kRetry, .kind = kind_of(item.offset), .after = {}, .story = self->story(s.text)};
        });
    self = &first;
    first.work();
    while (first.feed(2000)) first.pass(Duration(50));
    first.pass(Duration(20000));
    first.tell(PauseIn{true});  // so that nothing has failed without being written down
    first.pass(Duration(1000));
    EXPECT_EQ(first.stories_out(), static_cast<std::size_t>(kCount));
    EXPECT_LE(first.partition().memory_bytes() / kCount, 320u) << "vectors that have grown by doubling included";
  }
  ASSERT_EQ(log.journal.size(), static_cast<std::size_t>(kCount));
  std::vector<Timestamp> due(kCount);
  for (const auto& [key, value] : log.journal) {
    const auto decoded = decode_journal(key, value);
    const auto& m = std::get<MessageEntry>(decoded->entry);
    const Seen& s = seen[static_cast<std::size_t>(m.offset.v)];
    due[static_cast<std::size_t>(m.offset.v)] = m.due;
    const Duration waits = m.due - s.last;
    const std::int64_t step = s.failures == 1 ? 10000 : s.failures == 2 ? 20000 : 60000;
    ASSERT_TRUE(waits >= Duration(step / 2) && waits <= Duration(step * 3 / 2)) << key;
    ASSERT_EQ(m.attempts, s.failures) << key;
  }

  const Now taken{Instant(Duration(5)), kStart.wall + Duration(30000)};  // another machine: its steady clock is its own
  std::vector<std::uint32_t> runs(kCount), letters(kCount);
  std::size_t wrong_attempt = 0, wrong_time = 0, wrong_story = 0, wrong_facts = 0;
  c.writer = "second";
  c.concurrency = 1000000;
  BareEngine second(c, log, taken,
                    [&](const bartleby::Run& run, const RunItem& item, Now now) -> std::optional<Ending> {
                      const auto i = static_cast<std::size_t>(item.offset.v);
                      ++runs[i];
                      wrong_attempt += run.attempt != seen[i].failures + 1 ? 1u : 0u;
                      wrong_time += now.wall != std::max(due[i], taken.wall) ? 1u : 0u;
                      return std::nullopt;
                    });
  second.on_letter([&](const PlannedRecord& r, const std::string& text) {
    const auto& m = std::get<MessageEntry>(r.entry);
    const auto i = static_cast<std::size_t>(m.offset.v);
    ++letters[i];
    wrong_story += text != seen[i].text ? 1u : 0u;
    const bool right = m.attempts == seen[i].failures && m.first_failure == seen[i].first &&
                       m.last_failure == seen[i].last && m.kind == kind_of(m.offset) &&
                       r.letter.reason == Reason::kGivenUp && m.timestamp == log.records[i].timestamp;
    wrong_facts += right ? 0u : 1u;
  });
  second.work();
  const std::size_t parked = second.partition().parked();
  EXPECT_GT(parked, static_cast<std::size_t>(kCount) / 2);
  second.tell(ParkedOrder{.what = ParkedOrder::What::kGiveUp, .ref = {}, .offset = {}, .kind = Kind::kTimeout});
  second.pass(Duration(100000));
  std::size_t letters_in_all = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(runs[i] + letters[i], 1u) << i;
    letters_in_all += letters[i];
  }
  EXPECT_GT(letters_in_all, static_cast<std::size_t>(kCount) / 4);
  EXPECT_EQ(wrong_attempt, 0u);
  EXPECT_EQ(wrong_time, 0u);
  EXPECT_EQ(wrong_story, 0u);
  EXPECT_EQ(wrong_facts, 0u);
  EXPECT_EQ(log.offset, Offset(kCount));
  EXPECT_TRUE(log.journal.empty());
  EXPECT_EQ(second.stories_out(), 0u);
}

}  // namespace
}  // namespace bartleby::sim
