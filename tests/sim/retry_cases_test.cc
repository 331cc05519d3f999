// Each case has its own policy, each kind its own number of attempts: when the engine runs what again.
#include <gtest/gtest.h>

#include "tests/sim/bare_engine.h"
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

constexpr Now kStart{Instant(Duration(1000)), timestamp_ms(1'700'000'000'000)};

struct Timeline {
  std::vector<std::vector<std::int64_t>> runs;  // by message: ms since the start
  std::vector<std::uint32_t> letter_attempts;
};

// One message per outcome, all of which fail for ever.
Timeline failing(const EngineConfig& config, const std::vector<std::pair<std::uint16_t, Ending>>& messages) {
  BareLog log;
  for (std::size_t i = 0; i < messages.size(); ++i)
    log.records.push_back({.offset = Offset(static_cast<std::int64_t>(i)),
                           .timestamp = kStart.wall,
                           .lane = Lane(static_cast<std::uint32_t>(i)),
                           .slot = static_cast<std::uint32_t>(i),
                           .size = 10,
                           .case_id = messages[i].first});
  Timeline t;
  t.runs.resize(messages.size());
  t.letter_attempts.resize(messages.size());
  BareEngine e(config, log, kStart, [&](const bartleby::Run&, const RunItem& item, Now now) -> std::optional<Ending> {
    const auto i = static_cast<std::size_t>(item.offset.v);
    t.runs[i].push_back((now.steady - kStart.steady).count());
    return messages[i].second;
  });
  e.on_letter([&](const PlannedRecord& r, const std::string&) {
    const auto& m = std::get<MessageEntry>(r.entry);
    t.letter_attempts[static_cast<std::size_t>(m.offset.v)] = m.attempts;
  });
  e.work();
  e.feed();
  e.pass(Duration(100000));
  return t;
}

EngineConfig config_of(std::vector<RetryPolicy> cases) {
  EngineConfig c;
  c.writer = "w";
  c.guard.reset();
  c.linger = Duration(0);
  c.cases = std::move(cases);
  return c;
}

RetryPolicy policy(std::uint32_t attempts, decltype(RetryPolicy::backoff) backoff) {
  RetryPolicy p;
  p.max_attempts = attempts;
  p.backoff = std::move(backoff);
  return p;
}

using Times = std::vector<std::int64_t>;
const Ending kTransientFailure{.fate = Fate::kRetry, .after = {}};

TEST(RetryCases, EachCaseFollowsItsOwnPolicy) {
  const EngineConfig c =
      config_of({policy(3, Schedule{{Duration(1000), Duration(5000)}}), policy(4, Linear{Duration(2000)}),
                 policy(5, Exponential{.initial = Duration(1000), .max = Duration(3000)})});
  const Timeline t = failing(c, {{0, kTransientFailure}, {1, kTransientFailure}, {2, kTransientFailure}});
  EXPECT_EQ(t.runs[0], (Times{0, 1000, 6000}));
  EXPECT_EQ(t.runs[1], (Times{0, 2000, 6000, 12000}));
  EXPECT_EQ(t.runs[2], (Times{0, 1000, 3000, 6000, 9000}));
  EXPECT_EQ(t.letter_attempts, (std::vector<std::uint32_t>{3, 4, 5}));
}

TEST(RetryCases, EachKindHasItsOwnNumberOfAttempts) {
  RetryPolicy p = policy(3, Schedule{{Duration(1000)}});
  p.max_attempts_by_kind[static_cast<std::size_t>(Kind::kTimeout)] = 2;
  p.max_attempts_by_kind[static_cast<std::size_t>(Kind::kConfig)] = 1;
  const auto of_kind = [](Kind kind) { return Ending{.fate = Fate::kRetry, .kind = kind, .after = {}}; };
  const Timeline t = failing(config_of({p}), {{0, of_kind(Kind::kTransient)},
                                              {0, of_kind(Kind::kTimeout)},
                                              {0, of_kind(Kind::kConfig)},
                                              {0, of_kind(Kind::kSecurity)}});
  EXPECT_EQ(t.letter_attempts, (std::vector<std::uint32_t>{3, 2, 1, 1}));
}

TEST(RetryCases, TheOtherSideMayAskForMoreTimeButNotForLess) {
  RetryPolicy p = policy(2, Schedule{{Duration(5000)}});
  p.max_retry_after = Duration(20000);
  const auto after = [](std::int64_t wait) { return Ending{.fate = Fate::kRetry, .after = Duration(wait)}; };
  const Timeline t = failing(config_of({p}), {{0, after(100)}, {0, after(9000)}, {0, after(90000)}});
  EXPECT_EQ(t.runs[0], (Times{0, 5000}));
  EXPECT_EQ(t.runs[1], (Times{0, 9000}));
  EXPECT_EQ(t.runs[2], (Times{0, 20000}));
}

// Being throttled costs no attempt until the other side has asked for more time in all than it may.
TEST(RetryCases, ThrottlingUsesUpTimeBeforeAttempts) {
  RetryPolicy p = policy(2, Schedule{{Duration(1000)}});
  p.max_retry_after = Duration(10000);
  const Timeline t =
      failing(config_of({p}), {{0, {.fate = Fate::kRetry, .kind = Kind::kThrottled, .after = Duration(4000)}}});
  EXPECT_EQ(t.runs[0], (Times{0, 4000, 8000, 12000}));
  EXPECT_EQ(t.letter_attempts[0], 2u);
}

// A parked message that lies in the log only, where another record has its offset now, and no broker tells which log it
// is: it is another one, and is read from its beginning.
std::string another_record_at_its_offset() {
  BareLog log;
  log.records.push_back({.offset = Offset(0), .timestamp = kStart.wall, .lane = Lane(1), .slot = 0, .size = 10});
  std::vector<std::uint32_t> attempts;
  BareEngine first(config_of({policy(3, Schedule{{Duration(1000)}})}), log, kStart,
                   [](const bartleby::Run&, const RunItem&, Now) { return kTransientFailure; });
  first.work();
  first.feed();
  if (log.journal.size() != 1) return "it was not parked";
  log.records[0].timestamp += Duration(5);
  BareEngine second(config_of({policy(3, Schedule{{Duration(1000)}})}), log, kStart,
                    [&](const bartleby::Run& run, const RunItem&, Now) -> std::optional<Ending> {
                      attempts.push_back(run.attempt);
                      return std::nullopt;
                    });
  second.work();
  second.pass(Duration(5000));
  second.feed();
  second.pass(Duration(5000));
  if (attempts != std::vector<std::uint32_t>{1}) return "it did not begin anew";
  if (!log.journal.empty()) return "the entry of the other record is left";
  return log.offset == Offset(1) ? "" : "not committed";
}

TEST(Rules, AParkedMessageWhoseOffsetAnotherRecordHasBeginsAnew) {
  expect_rule(another_record_at_its_offset, {Mutant::kEntryTimestampIgnored});
}

}  // namespace
}  // namespace bartleby::sim
