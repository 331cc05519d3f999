// What must not become slower with the number of letters: looks at operations, plans for a hot key, forgetting.
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

}  // namespace
}  // namespace bartleby::contract
