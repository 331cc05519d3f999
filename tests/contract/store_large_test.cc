// What must not become slower with the number of letters: looks at operations, plans for a hot key, forgetting.
#include <thread>

#include "office/retention.h"
#include "tests/contract/store_operations.h"

namespace bartleby::contract {
namespace {

// Counts how often statements with some words are asked for.
class CountingStore : public Store {
 public:
  CountingStore(Store& inside, std::string_view words) : inside_(inside), words_(words) {}

  Result<void> write(const Work& work) override { return inside_.write(counted(work)); }
  Result<void> read(const Work& work) override { return inside_.read(counted(work)); }

  std::size_t found = 0;

 private:
  class Counting : public Connection {
   public:
    Counting(Connection& inside, CountingStore& store) : inside_(inside), store_(store) {}
    Result<Statement*> statement(std::string_view sql) override {
      if (sql.contains(store_.words_)) ++store_.found;
      return inside_.statement(sql);
    }
    Result<std::unique_ptr<Statement>> prepare(std::string_view sql) override {
      if (sql.contains(store_.words_)) ++store_.found;
      return inside_.prepare(sql);
    }
    void limit_time(Duration limit) override { inside_.limit_time(limit); }
    std::int64_t changes() const override { return inside_.changes(); }
    const Dialect& dialect() const override { return inside_.dialect(); }

   private:
    Connection& inside_;
    CountingStore& store_;
  };

  Work counted(const Work& work) {
    return [this, &work](Connection& connection) {
      Counting counting(connection, *this);
      return work(counting);
    };
  }

  Store& inside_;
  const std::string_view words_;
};

TEST_P(StoreOperations, ALookAtAnOperationCountsNoItems) {
  letters(20);
  const Operation planned = started(request(OperationKind::kReplay));
  run(planned);
  expect_counts_are_exact();
  CountingStore counting(store(), "operation_items");
  Operations looked(counting, clock_, options());
  const Operation seen = *looked.get(planned.id).value();
  EXPECT_EQ(seen.with(ItemResult::kSent), 20);
  EXPECT_EQ(looked.list({}, std::nullopt, 10)->front().with(ItemResult::kSent), 20);
  EXPECT_EQ(counting.found, 0U) << "counts come from their table";
  ASSERT_TRUE(operations().cancel(planned.id, kAnn));
  answer_all(Verdict::kApplied);
  EXPECT_EQ((*operations().get(planned.id))->with(ItemResult::kSucceeded), 20);
  expect_counts_are_exact();
}

TEST_P(StoreOperations, APlanLooksForNewerMessagesOnceForEachKey) {
  std::vector<Arrival> all;
  for (std::int64_t n = 0; n < 300; ++n) {
    all.push_back(letter(n));
    const std::string key = n < 290 ? "hot" : "cold-" + std::to_string(n);
    all.back().payload.key = key;
    all.back().letter.key = key;
    all.back().letter.job.partition = Partition(0);
  }
  take_in(std::move(all));
  // The one at 150 was handled: those of its key before it come too late.
  change(letter(150).letter.id, LetterCause::kReplay);
  change(letter(150).letter.id, LetterCause::kSucceeded);
  CountingStore counting(store(), "max(l.job_offset)");
  const auto planned = Operations(counting, clock_, options()).plan(request(OperationKind::kReplay), kAnn);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->letters, 299);
  EXPECT_EQ(planned->report.order_conflicts, 150);
  EXPECT_EQ(counting.found, 11U) << "eleven keys";
  OperationsOptions few = options();
  few.limits.keys_looked_for = 5;
  const auto told = Operations(store(), clock_, few).plan(request(OperationKind::kReplay), kAnn);
  ASSERT_TRUE(told);
  ASSERT_EQ(told->report.warnings.size(), 1U);
  EXPECT_NE(told->report.warnings[0].find("looked for among the first"), std::string::npos);
}

TEST_P(StoreOperations, EndedOperationsAreForgottenInTimeUnlessTheyWait) {
  letters(30);
  const Operation discard = run(started(request(OperationKind::kDiscard, "key:customer-1")));
  const Operation replay = run(started(request(OperationKind::kReplay, "key:customer-2")));
  ASSERT_TRUE(operations().cancel(replay.id, kAnn));  // what was sent has no outcome yet
  const Operation open = plan(request(OperationKind::kDiscard, "key:customer-3"));
  clock_.passed += Duration(std::chrono::hours(24 * 91));
  now_ = clock_.now().wall;
  const auto forget = [&] { return forget_operations(store(), now_ - kKeepOperations, 100, 2, now_).value(); };
  EXPECT_EQ(forget(), 1U);
  EXPECT_FALSE(operations().get(discard.id).value());
  EXPECT_TRUE(operations().get(replay.id).value()) << "it waits for outcomes";
  EXPECT_TRUE(operations().get(open.id).value()) << "it has not ended";
  EXPECT_EQ(number("SELECT count(*) FROM operation_items WHERE operation = 1"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE subject = '" + discard.id + "' AND action = 'forget'"), 1);
  EXPECT_GT(number("SELECT count(*) FROM audit_log WHERE subject = '" + discard.id + "'"), 2) << "the audit stays";
  expect_counts_are_exact();
  answer_all(Verdict::kApplied);
  EXPECT_EQ(forget(), 1U);
  EXPECT_FALSE(operations().get(replay.id).value());
  expect_counts_are_exact();
}

// A large one goes in slices, and the counts are exact after each.
TEST_P(StoreOperations, ForgettingIsBoundedAndGoesOn) {
  letters(30);
  run(started(request(OperationKind::kDiscard)));
  clock_.passed += Duration(std::chrono::hours(24 * 91));
  now_ = clock_.now().wall;
  std::size_t forgotten = 0;
  int rounds = 0;
  for (; forgotten == 0 && rounds < 50; ++rounds) {
    forgotten = forget_operations(store(), now_ - kKeepOperations, 1, 4, now_).value();
    expect_counts_are_exact();
  }
  EXPECT_EQ(rounds, 9) << "eight slices of items, and the operation";
  EXPECT_EQ(number("SELECT count(*) FROM operations"), 0);
}

TEST_P(StoreOperations, SmallOperationsAreForgottenTogether) {
  letters(30);
  for (std::int64_t n = 0; n < 30; ++n) {
    OperationRequest one = of_ids({letter(n).letter.id});
    one.kind = OperationKind::kDiscard;
    run(started(one));
  }
  clock_.passed += Duration(std::chrono::hours(24 * 91));
  now_ = clock_.now().wall;
  EXPECT_EQ(forget_operations(store(), now_ - kKeepOperations, 1, 4, now_).value(), 30U) << "in one step";
  EXPECT_EQ(number("SELECT count(*) FROM operations"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM operation_items"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM operation_results"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE action = 'forget'"), 30) << "each with a line of its own";
  expect_counts_are_exact();
}

// Few rows in one transaction, however many of them there are.
TEST_P(StoreOperations, ForgettingTogetherIsBounded) {
  letters(20);
  for (int n = 0; n < 60; ++n) {
    const Operation plan_of_all = plan(request(OperationKind::kReplay));
    ASSERT_TRUE(operations().cancel(plan_of_all.id, kAnn));
  }
  clock_.passed += Duration(std::chrono::hours(24 * 91));
  now_ = clock_.now().wall;
  const auto forget = [&] { return forget_operations(store(), now_ - kKeepOperations, 1, 100, now_).value(); };
  EXPECT_EQ(forget(), 47U) << "a thousand rows: 20 items and their operation, 47 times";
  expect_counts_are_exact();
  EXPECT_EQ(forget(), 13U);
  EXPECT_EQ(forget(), 0U);
}

TEST_P(StoreOperations, OnePlanOfManyLettersIsMadeAtATimeAndOneOfAFewGoesBesideIt) {
  letters(5);
  OperationsOptions o = options();
  Operations* all = nullptr;
  std::optional<Result<Operation>> second, few;
  o.readers = [&](const std::string&) {
    if (second) return Readers();
    second.emplace(fail(ErrorCode::kInvalid, "not asked"));
    std::thread([&] {
      second = all->plan(request(OperationKind::kDiscard), kAnn);
      OperationRequest discard = of_ids({letter(1).letter.id});
      discard.kind = OperationKind::kDiscard;
      few = all->plan(discard, kAnn);
    }).join();
    return Readers();
  };
  Operations operations(store(), clock_, std::move(o));
  all = &operations;
  EXPECT_TRUE(operations.plan(request(OperationKind::kReplay), kAnn));
  ASSERT_TRUE(second && few);
  ASSERT_FALSE(*second);
  EXPECT_EQ(second->error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(second->error().message.starts_with("another plan")) << second->error().message;
  EXPECT_TRUE(*few);
  EXPECT_TRUE(operations.plan(request(OperationKind::kDiscard), kAnn)) << "the first is made";
}

TEST_P(StoreOperations, PlansThatNobodyStartedLoseTheirItemsInSlicesAndKeepTheirReport) {
  letters(9);
  const Operation cancelled = plan(request(OperationKind::kReplay));
  const Operation old = plan(request(OperationKind::kDiscard));
  OperationRequest slow = request(OperationKind::kReplay);
  slow.settings.canary = 2;
  const Operation begun = started(slow);
  run(begun);
  ASSERT_TRUE(operations().cancel(begun.id, kAnn));
  EXPECT_EQ(empty_plans(store(), 100, 4).value(), 0U) << "the others may still be started";
  ASSERT_TRUE(operations().cancel(cancelled.id, kAnn));
  ASSERT_TRUE(expire_plan(store(), clock_.now().wall + std::chrono::hours(25)).value());
  EXPECT_EQ(empty_plans(store(), 2, 4).value(), 0U) << "two slices of one of them";
  EXPECT_EQ(number("SELECT count(*) FROM operation_items"), 9 + 9 + 1);
  expect_counts_are_exact();
  EXPECT_EQ(empty_plans(store(), 100, 4).value(), 2U);
  EXPECT_EQ(number("SELECT count(*) FROM operation_items"), 9) << "of the one that was started";
  expect_counts_are_exact();
  for (const Operation& planned : {cancelled, old}) {
    const Operation is = *operations().get(planned.id).value();
    EXPECT_EQ(is.state, OperationState::kCancelled);
    EXPECT_EQ(is.letters, 9);
    EXPECT_EQ(is.report, planned.report);
  }
  EXPECT_EQ(empty_plans(store(), 100, 4).value(), 0U);
}

TEST_P(StoreContract, AQueryOfVeryManyRunsIsTheSameListAsOfFew) {
  std::vector<Arrival> all;
  for (std::int64_t n = 0; n < 150; ++n) {
    all.push_back(letter((n * 37) % 150));  // their deaths are in another order than their arrivals
    all.back().letter.shelf.worker = all.back().letter.shelf.group = "w" + std::to_string(n % 75);
  }
  take_in(std::move(all));
  for (std::int64_t n = 0; n < 150; n += 3) change(letter(n).letter.id, LetterCause::kDiscard);
  std::vector<std::string> wanted;
  for (std::int64_t n = 149; n >= 0; --n) wanted.push_back(letter(n).letter.id);
  EXPECT_EQ(ids("topic:orders", 7), wanted) << "more runs than one statement takes, in pages";
  EXPECT_EQ(ids("topic:orders", 500), wanted);
  EXPECT_EQ(ids("", 7), wanted);
  EXPECT_EQ(count("topic:orders since:9999d").value, 150);
}

TEST_P(StoreContract, AHeaderQueryFindsThatVeryHeader) {
  std::vector<Arrival> all;
  for (std::int64_t n = 0; n < 40; ++n) all.push_back(letter(n));
  all[1].payload.headers = {{"tenant", "acme corp"}};                   // more words
  all[2].payload.headers = {{"x", "tenant"}, {"acme", "y"}};            // across two headers
  all[3].payload.headers = {{"tenant", "ACME"}};                        // in another case
  all[4].payload.headers = {{"tenant", "globex"}, {"tenant", "acme"}};  // the second of two
  all[5].payload.headers = {{"tenant", std::nullopt}};
  take_in(std::move(all));
  const std::vector<std::string> found = ids("header.tenant:acme", 3);
  EXPECT_EQ(found.size(), 36U);
  for (const std::int64_t n : {1, 2, 3, 5})
    EXPECT_EQ(std::ranges::count(found, letter(n).letter.id), 0) << n << " has only its words";
  EXPECT_EQ(count("header.tenant:acme").value, 36);
  EXPECT_TRUE(count("header.tenant:acme").exact);
  EXPECT_EQ(ids("header.tenant:\"acme corp\"").size(), 1U);
  EXPECT_EQ(ids("header.tenant:acme header.trace:7").size(), 1U);
  EXPECT_EQ(ids("header.tenant:acme state:discarded").size(), 0U);
}

TEST_P(StoreContract, AQueryThatTakesTooLongEndsAndSaysSo) {
  std::vector<Arrival> all;
  for (std::int64_t n = 0; n < 600; ++n) all.push_back(letter(n));
  take_in(std::move(all));
  const auto look = [&](Duration limit) {
    return store().read([&](Connection& c) -> Result<void> {
      c.limit_time(limit);
      const auto page = letter_page(c, parsed("-key:none replays:<1 since:9999d"), now_, std::nullopt, 500);
      return page ? Result<void>() : std::unexpected(page.error());
    });
  };
  const auto refused = look(Duration(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge) << refused.error().message;
  EXPECT_TRUE(look(std::chrono::hours(1)));
  EXPECT_EQ(ids("state:open", 500).size(), 600U) << "the limit ended with the work";
}

TEST_P(StoreContract, TwoGroupsOfAChannelAreTwoConsumers) {
  Arrival plain = letter(1), of_channel = letter(2), again = letter(3);
  plain.letter.shelf.group = plain.letter.shelf.worker = "billing";
  of_channel.letter.shelf.group = of_channel.letter.shelf.worker = "orders.billing";
  again.letter.shelf.group = again.letter.shelf.worker = "orders.billing";
  take_in({plain});
  read([&](Connection& c) -> Result<void> {
    const auto rows = dlq_status(c);
    EXPECT_EQ(rows->size(), 1U);
    EXPECT_EQ(rows->front().consumer_id, "billing") << "alone it has its plain name";
    return {};
  });
  take_in({of_channel, again});
  read([&](Connection& c) -> Result<void> {
    const auto rows = dlq_status(c);
    EXPECT_EQ(rows->size(), 2U);
    EXPECT_EQ(rows->at(0).consumer_id + std::to_string(rows->at(0).dead_count), "billing2") << "the channel's own";
    EXPECT_EQ(rows->at(1).consumer_id + std::to_string(rows->at(1).dead_count), "/billing1");
    // Of the two groups' jobs at one place each finds its own.
    EXPECT_FALSE(letter_of_job(c, "orders.billing", plain.letter.job)->has_value());
    EXPECT_TRUE(letter_of_job(c, "orders.billing", of_channel.letter.job)->has_value());
    return {};
  });
  expect_counts_are_exact();
}

}  // namespace
}  // namespace bartleby::contract
