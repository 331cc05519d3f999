// Random arrivals, changes and crashes; after every round the counts are those of the rows.
#include "base/random.h"
#include "office/sql.h"
#include "tests/contract/rounds.h"
#include "tests/contract/store_contract.h"

namespace bartleby::contract {
namespace {

struct Crash {};  // thrown in the middle of a transaction: nothing of the process is used after it

class CrashingConnection : public Connection {
 public:
  CrashingConnection(Connection& inside, std::size_t after) : inside_(inside), left_(after) {}

  Result<Statement*> statement(std::string_view sql) override {
    if (left_-- == 0) throw Crash{};
    return inside_.statement(sql);
  }
  Result<std::unique_ptr<Statement>> prepare(std::string_view sql) override { return inside_.prepare(sql); }
  void limit_time(Duration limit) override { inside_.limit_time(limit); }
  std::int64_t changes() const override { return inside_.changes(); }
  const Dialect& dialect() const override { return inside_.dialect(); }

 private:
  Connection& inside_;
  std::size_t left_;
};

// A store whose next transaction dies after so many statements; one that has fewer is committed, and its answer lost.
class CrashingStore : public Store {
 public:
  CrashingStore(Store& inside, std::size_t after) : inside_(inside), after_(after) {}

  Result<void> write(const Work& work) override {
    auto done = inside_.write([&](Connection& connection) {
      CrashingConnection crashing(connection, after_);
      return work(crashing);
    });
    throw Crash{};
  }
  Result<void> read(const Work& work) override { return inside_.read(work); }

 private:
  Store& inside_;
  const std::size_t after_;
};

TEST_P(StoreContract, CountsAreExactAfterRandomChangesAndCrashes) {
  Random random(20261116);
  const TopicPartition tp{"orders.dlq", Partition(0)};
  std::int64_t made = 0, crashes = 0, done = 0, refused = 0, came_back = 0;
  std::optional<TakeIn> desk;
  desk.emplace(store(), "test");

  const auto any_letter = [&] {
    // A new one; or a later life of one there was, or the same again.
    const bool fresh = made == 0 || random.chance(60);
    const std::int64_t n = fresh ? made++ : random.between(0, made - 1);
    Arrival one = letter(n, fresh ? 0 : static_cast<std::uint32_t>(random.below(3)));
    one.letter.shelf.worker = one.letter.shelf.group = "w" + std::to_string(n % 3);
    one.letter.error_type = "Error" + std::to_string(random.below(4));
    return one;
  };
  const auto take_some = [&](TakeIn& with) {
    const auto before = with.position(tp).value();
    Offset at = before ? before->done_to : Offset(0);
    std::vector<Arrival> letters;
    for (std::uint64_t i = random.below(6); i > 0; --i) {
      letters.push_back(any_letter());
      letters.back().letter.dlq = {Partition(0), at};
      at = next(at);
    }
    const auto report = with.store({tp, before, {at, at}, 0, std::move(letters)}, now_);
    ASSERT_TRUE(report) << report.error().message;
    came_back += static_cast<std::int64_t>(report->came_back);
  };
  const auto change_some = [&](Store& where) {
    const auto changed = change_letters(where, {"ann", "", ""}, now_, [&](LetterChanges& changes) -> Result<void> {
      for (std::uint64_t i = random.below(8); i > 0; --i) {
        const auto seq = random.between(1, std::max<std::int64_t>(1, made));
        const auto cause = static_cast<LetterCause>(random.below(kLetterCauseNames.size()));
        const std::vector<LifeBytes> lives = {{0, letter(1).payload}};
        const auto one = changes.change(seq, {}, cause, {.lives = &lives});
        if (!one) return std::unexpected(one.error());
        ++(one->result == ChangeResult::kDone ? done : refused);
      }
      return {};
    });
    ASSERT_TRUE(changed) << changed.error().message;
  };

  for (int round = 0; round < rounds() && !HasFailure(); ++round) {
    now_ += Duration(1000);
    const bool crash = random.chance(10);
    CrashingStore dying(store(), random.below(40));
    Store& where = crash ? static_cast<Store&>(dying) : store();
    try {
      if (random.chance(50)) {
        TakeIn doomed(where, "test");
        take_some(crash ? doomed : *desk);
      } else {
        change_some(where);
      }
    } catch (const Crash&) {
      ++crashes;
      desk.reset();
      reopen();
      desk.emplace(store(), "test");
    }
    EXPECT_EQ(number("SELECT coalesce(sum(dead_count), 0) FROM dlq_summary"),
              number("SELECT count(*) FROM job WHERE status = 1004"));
    if (round % 20 == 0 || crash) expect_counts_are_exact();
  }
  expect_counts_are_exact();
  // It went somewhere: otherwise it proves nothing.
  EXPECT_GT(crashes, rounds() / 20);
  EXPECT_GT(done, rounds() / 4);
  EXPECT_GT(refused, rounds() / 4);
  EXPECT_GT(came_back, rounds() / 20);
}

}  // namespace
}  // namespace bartleby::contract
