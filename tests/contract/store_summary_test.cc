// The lease, and the check that goes on behind the summary.
#include "base/log.h"
#include "office/chores.h"
#include "office/issues.h"
#include "office/lease.h"
#include "office/sql.h"
#include "office/summary.h"
#include "tests/contract/store_contract.h"

namespace bartleby::contract {
namespace {

constexpr Duration kMinute{60000};

TEST_P(StoreContract, ALeaseIsOfOneUntilItsTimeIsOver) {
  EXPECT_TRUE(take_lease(store(), "x", "a", now_, kMinute).value());
  EXPECT_FALSE(take_lease(store(), "x", "b", now_, kMinute).value());
  EXPECT_TRUE(take_lease(store(), "y", "b", now_, kMinute).value());
  EXPECT_TRUE(take_lease(store(), "x", "a", now_ + kMinute / 2, kMinute).value());
  EXPECT_FALSE(take_lease(store(), "x", "b", now_ + kMinute, kMinute).value());
  EXPECT_TRUE(take_lease(store(), "x", "b", now_ + kMinute * 3 / 2, kMinute).value());
  ASSERT_TRUE(release_lease(store(), "x", "a")) << "not its own any more";
  EXPECT_FALSE(take_lease(store(), "x", "a", now_ + kMinute * 3 / 2, kMinute).value());
  ASSERT_TRUE(release_lease(store(), "x", "b"));
  EXPECT_TRUE(take_lease(store(), "x", "a", now_ + kMinute * 3 / 2, kMinute).value());
}

TEST_P(StoreContract, TheCheckRepairsWhatSomebodyHasChangedAndSaysSo) {
  take_in({letter(1), letter(2), letter(3)});
  change(letter(3).letter.id, LetterCause::kDiscard);
  now_ += 11 * kMinute;
  const auto check = [&] { return check_summary(store(), "a", now_, 10 * kMinute).value(); };
  SummaryCheck first = check();
  EXPECT_FALSE(first.skipped);
  EXPECT_TRUE(first.compared);
  EXPECT_EQ(first.letters, 3);
  EXPECT_EQ(first.drift, 0);
  EXPECT_TRUE(check().skipped) << "done lately";

  now_ += 10 * kMinute;
  write([](Connection& c) { return sql::execute(c, "UPDATE dlq_summary SET dead_count = 9"); });
  EXPECT_EQ(check().drift, 1);
  expect_counts_are_exact();

  now_ += 10 * kMinute;
  write([](Connection& c) { return sql::execute(c, "UPDATE counters SET letters = 7"); });
  EXPECT_EQ(check().drift, 1);
  expect_counts_are_exact();
}

// A wrong figure would make every change of its letters fail: the store takes none that is negative.
TEST_P(StoreContract, TheCheckRepairsOpenLettersOfIssuesWithALineInTheAudit) {
  take_in({letter(1), letter(2), letter(3)});
  write([](Connection& c) { return sql::execute(c, "UPDATE issues SET open = 0"); });
  const auto purge = [&] {
    return change_letters(store(), {"ann", "", ""}, now_, [&](LetterChanges& changes) -> Result<void> {
      const auto changed = changes.change(letter(1).letter.id, {}, LetterCause::kPurge);
      if (!changed) return std::unexpected(changed.error());
      return {};
    });
  };
  EXPECT_FALSE(purge());
  now_ += 11 * kMinute;
  const auto check = [&] { return check_summary(store(), "a", now_, 10 * kMinute, {.slice = 2, .slices = 1}).value(); };
  EXPECT_FALSE(check().compared);
  now_ += 11 * kMinute;
  change(letter(3).letter.id, LetterCause::kReplay, {.version = 9});  // stale: nothing changes
  EXPECT_EQ(check().drift, 1);
  EXPECT_EQ(number("SELECT open FROM issues"), 3);
  EXPECT_EQ(text("SELECT subject || ' ' || detail FROM audit_log WHERE action = 'repair-counts'"),
            R"(counts {"counts":1})");
  EXPECT_TRUE(purge());
  expect_counts_are_exact();
  // What changes behind the walk is counted on.
  now_ += 11 * kMinute;
  EXPECT_FALSE(check().compared);
  change(letter(2).letter.id, LetterCause::kDiscard);
  take_in({letter(4)});
  now_ += 11 * kMinute;
  SummaryCheck last = check();
  for (int i = 0; i < 3 && !last.compared; ++i) now_ += 11 * kMinute, last = check();
  EXPECT_TRUE(last.compared);
  EXPECT_EQ(last.drift, 0);
  expect_counts_are_exact();
}

// Both statements of the seed, as it has them.
TEST_P(StoreContract, TheSeedsStatementsCountDeadJobsAndThoseSinceTheLastCheck) {
  constexpr std::string_view kBootstrap =
      "SELECT consumerId, COUNT(id)\nFROM job\nWHERE status = 1004\nGROUP BY consumerId";
  constexpr std::string_view kIncremental =
      "SELECT consumerId, COUNT(id)\nFROM job\nWHERE status = 1004 AND statusChangedAt > :last_checked_at\nGROUP BY"
      " consumerId";
  const auto counted = [&](std::string_view statement, bool since) {
    std::string found;
    read([&](Connection& c) -> Result<void> {
      const auto last = sql::one(c, "SELECT MAX(last_checked_at) FROM dlq_summary", [](Rows& r) { return r.text(0); });
      if (!last) return std::unexpected(last.error());
      const auto row = [&](Rows& r) { found += r.text(0) + " " + std::to_string(r.integer(1)); };
      return since ? sql::each(c, statement, row, last->value_or("")) : sql::each(c, statement, row);
    });
    return found;
  };
  take_in({letter(1), letter(2), letter(3)});
  now_ += 11 * kMinute;
  ASSERT_TRUE(check_summary(store(), "a", now_, 10 * kMinute).value().compared);
  EXPECT_EQ(counted(kBootstrap, false), "orders/billing 3");
  EXPECT_EQ(counted(kIncremental, true), "") << "nothing died since the check";
  now_ += kMinute;
  Arrival other = letter(4);  // the first of its consumer: its row is not a check
  other.letter.shelf.group = "mail";
  take_in({other, letter(5), letter(6)});
  EXPECT_EQ(counted(kIncremental, true), "orders/billing 2orders/mail 1");
}

TEST_P(StoreContract, AnEmptySummaryIsFilledOnce) {
  take_in({letter(1), letter(2)});
  write([](Connection& c) { return sql::execute(c, "DELETE FROM dlq_summary"); });
  write([](Connection& c) { return sql::execute(c, "DELETE FROM counters"); });
  const SummaryCheck first = check_summary(store(), "a", now_, 10 * kMinute).value();
  EXPECT_TRUE(first.bootstrapped);
  EXPECT_EQ(first.drift, 0) << "there was nothing to differ";
  expect_counts_are_exact();
  EXPECT_TRUE(check_summary(store(), "a", now_, 10 * kMinute).value().skipped);
  now_ += 10 * kMinute;
  EXPECT_FALSE(check_summary(store(), "a", now_, 10 * kMinute).value().bootstrapped) << "once";
}

TEST_P(StoreContract, WhereNoLetterIsOpenAnEmptySummaryIsRightAndNothingIsCountedAnew) {
  take_in({letter(1), letter(2)});
  for (const std::int64_t n : {1, 2}) change(letter(n).letter.id, LetterCause::kDiscard);
  write([](Connection& c) { return sql::execute(c, "DELETE FROM dlq_summary"); });  // as the last consumer goes
  for (int i = 0; i < 3; ++i, now_ += 10 * kMinute) {
    const SummaryCheck check = check_summary(store(), "a", now_, 10 * kMinute).value();
    EXPECT_FALSE(check.bootstrapped);
    EXPECT_EQ(check.drift, 0);
  }
  change(letter(1).letter.id, LetterCause::kRestore);
  expect_counts_are_exact();
}

TEST_P(StoreContract, AWalkOverManyRunsIsExactWhateverChangesMeanwhile) {
  for (std::int64_t n = 0; n < 20; ++n) take_in({letter(n)});
  const auto run = [&] {
    now_ += 10 * kMinute;
    const SummaryCheck check = check_summary(store(), "a", now_, 10 * kMinute, {.slice = 3, .slices = 2}).value();
    EXPECT_LE(check.letters, 6) << "bounded";
    expect_counts_are_exact();
    return check;
  };
  EXPECT_FALSE(run().compared);
  change(letter(1).letter.id, LetterCause::kDiscard);  // behind the walk
  change(letter(2).letter.id, LetterCause::kPurge);
  change(letter(15).letter.id, LetterCause::kPurge);  // before it
  expect_counts_are_exact();
  reopen();
  EXPECT_FALSE(run().compared);
  change(letter(1).letter.id, LetterCause::kRestore);
  change(letter(3).letter.id, LetterCause::kReplay);
  take_in({letter(3, 1), letter(20), letter(21)});  // one comes back on another life
  expect_counts_are_exact();
  SummaryCheck last;
  for (int i = 0; i < 5 && !last.compared; ++i) last = run();
  EXPECT_TRUE(last.compared);
  EXPECT_EQ(last.drift, 0);

  // What somebody does to the file is found by the next walk, and put right.
  write([](Connection& c) { return sql::execute(c, "UPDATE letters SET state = 3 WHERE seq IN (4, 19)"); });
  last = {};
  for (int i = 0; i < 5 && !last.compared; ++i) {
    now_ += 10 * kMinute;
    last = check_summary(store(), "a", now_, 10 * kMinute, {.slice = 3, .slices = 2}).value();
  }
  EXPECT_EQ(last.drift, 3) << "the shelf's counters, the consumer's summary and the issue";
  EXPECT_EQ(number("SELECT sum(dead_count) FROM dlq_summary"), number("SELECT count(*) FROM job WHERE status = 1004"));
}

TEST_P(StoreContract, WhileSomebodyElseChecksNobodyDoes) {
  ASSERT_TRUE(take_lease(store(), kSummaryLease, "b", now_, kMinute).value());
  EXPECT_TRUE(check_summary(store(), "a", now_, 10 * kMinute).value().skipped);
}

TEST_P(StoreContract, ChoresAgeIssuesAndCheckCountsWhenTheirTimesCome) {
  take_in({letter(1)});
  std::string said;
  Log log(LogFormat::kText, LogLevel::kInfo, [&](std::string_view line) { said += line; });
  News news;
  const SystemClock clock;
  int tidied = 0;
  const auto tidy = [&](Timestamp) {
    ++tidied;
    return RetentionReport{};
  };
  Chores chores(store(), news, log, clock, "a", tidy);
  const auto run = [&](Duration later) {
    now_ += later;
    chores.run_due({Instant(Duration(ms(now_))), now_});
  };
  const auto state = [&] { return number("SELECT state FROM issues"); };
  run(Duration(0));
  EXPECT_EQ(state(), static_cast<int>(IssueState::kNew));
  write([](Connection& c) { return sql::execute(c, "UPDATE dlq_summary SET dead_count = 9"); });
  run(5 * kMinute);
  EXPECT_EQ(news.drift(), 0U) << "not its time yet";
  run(6 * kMinute);
  EXPECT_EQ(news.drift(), 1U);
  EXPECT_NE(said.find("summary_drift"), std::string::npos) << said;
  expect_counts_are_exact();
  run(kIssueIsNewFor);
  EXPECT_EQ(state(), static_cast<int>(IssueState::kActive));
  EXPECT_EQ(news.drift(), 1U);
}

}  // namespace
}  // namespace bartleby::contract
