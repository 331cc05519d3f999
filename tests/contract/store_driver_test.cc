// What a driver must do, whatever the office asks of it.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "office/sql.h"
#include "tests/contract/store_contract.h"

namespace bartleby::contract {
namespace {

constexpr std::string_view kPut = "INSERT INTO lock(lockId, holder, attainedAt, until) VALUES($1, $2, $3, $4)";

Result<void> put(Connection& c, std::string_view id, std::int64_t n = 0) {
  return sql::execute(c, kPut, id, "h", n, n);
}

TEST_P(StoreContract, WhatWasWrittenIsThereAfterItIsOpenedAgain) {
  write([](Connection& c) { return put(c, "a"); });
  reopen();
  EXPECT_EQ(text("SELECT lockId FROM lock"), "a");
}

TEST_P(StoreContract, AnErrorUndoesTheWholeTransaction) {
  const auto done = store().write([](Connection& c) -> Result<void> {
    if (auto first = put(c, "a"); !first) return first;
    return fail(ErrorCode::kInvalid, "no");
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "no");
  EXPECT_EQ(number("SELECT count(*) FROM lock"), 0);
  write([](Connection& c) { return put(c, "b"); });
  EXPECT_EQ(text("SELECT lockId FROM lock"), "b");
}

TEST_P(StoreContract, AnExceptionUndoesTheWholeTransactionAndPasses) {
  EXPECT_THROW(static_cast<void>(store().write([](Connection& c) -> Result<void> {
                 if (auto first = put(c, "a"); !first) return first;
                 throw std::runtime_error("gone");
               })),
               std::runtime_error);
  EXPECT_EQ(number("SELECT count(*) FROM lock"), 0);
  EXPECT_THROW(static_cast<void>(store().read([](Connection&) -> Result<void> { throw std::runtime_error("gone"); })),
               std::runtime_error);
  write([](Connection& c) { return put(c, "b"); });
  EXPECT_EQ(number("SELECT count(*) FROM lock"), 1);
}

TEST_P(StoreContract, AConstraintThatBreaksIsAnErrorThatNamesTheStatement) {
  const auto done = store().write([](Connection& c) -> Result<void> {
    if (auto first = put(c, "a"); !first) return first;
    return put(c, "a");
  });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("lock"), std::string::npos) << done.error().message;
  EXPECT_EQ(number("SELECT count(*) FROM lock"), 0);
}

TEST_P(StoreContract, ValuesComeBackAsTheyWere) {
  const std::string bytes("\0\xff\x01", 3);
  write([&](Connection& c) {
    return sql::execute(c, "INSERT INTO payloads(letter, life, stack, bytes) VALUES($1, $2, $3, $4)", INT64_MAX,
                        INT64_MIN, "grün", Blob{bytes});
  });
  read([&](Connection& c) {
    return sql::each(c, "SELECT letter, life, stack, bytes, NULL FROM payloads", [&](Rows& row) {
      EXPECT_EQ(row.integer(0), INT64_MAX);
      EXPECT_EQ(row.integer(1), INT64_MIN);
      EXPECT_EQ(row.view(2), "grün");
      EXPECT_EQ(row.view(3), bytes);
      EXPECT_TRUE(row.is_null(4));
      EXPECT_FALSE(row.is_null(3));
    });
  });
}

TEST_P(StoreContract, ParametersAreFoundByTheirNumber) {
  read([](Connection& c) -> Result<void> {
    auto row = sql::one(c, "SELECT $2 - $1 - $1", [](Rows& r) { return r.integer(0); }, 10, 100);
    if (!row) return std::unexpected(row.error());
    EXPECT_EQ(**row, 80);
    return {};
  });
}

TEST_P(StoreContract, ChangesCountsRowsOfTheLastStatement) {
  write([](Connection& c) -> Result<void> {
    for (const char* id : {"a", "b", "c"}) BARTLEBY_TRY(put(c, id, id[0]));
    BARTLEBY_TRY(sql::execute(c, "UPDATE lock SET until = 0 WHERE attainedAt >= $1", 'b'));
    EXPECT_EQ(c.changes(), 2);
    BARTLEBY_TRY(sql::execute(c, "UPDATE lock SET until = 0 WHERE attainedAt > $1", 'c'));
    EXPECT_EQ(c.changes(), 0);
    return {};
  });
}

TEST_P(StoreContract, NumbersAreGivenOutOnceAndAgainWhenTheyWereNotUsed) {
  std::int64_t first = 0, second = 0;
  write([&](Connection& c) -> Result<void> {
    first = sql::take_numbers(c, "letter", 5).value();
    return {};
  });
  EXPECT_FALSE(store().write([&](Connection& c) -> Result<void> {
    EXPECT_EQ(sql::take_numbers(c, "letter", 7).value(), first + 5);
    return fail(ErrorCode::kInvalid, "no");
  }));
  write([&](Connection& c) -> Result<void> {
    second = sql::take_numbers(c, "letter", 1).value();
    return {};
  });
  EXPECT_EQ(second, first + 5);
}

TEST_P(StoreContract, AReaderSeesOneStateWhileOthersWrite) {
  write([](Connection& c) { return put(c, "a"); });
  const auto counted = [](Connection& c) {
    return **sql::one(c, "SELECT count(*) FROM lock", [](Rows& r) { return r.integer(0); });
  };
  read([&](Connection& c) -> Result<void> {
    EXPECT_EQ(counted(c), 1);
    std::thread writer([&] { write([](Connection& other) { return put(other, "b"); }); });
    writer.join();
    EXPECT_EQ(counted(c), 1);
    return {};
  });
  EXPECT_EQ(number("SELECT count(*) FROM lock"), 2);
}

TEST_P(StoreContract, WritersOfManyThreadsComeOneAfterTheOther) {
  write([](Connection& c) { return put(c, "n", 0); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i)
        write([](Connection& c) -> Result<void> {
          const std::int64_t n = **sql::one(c, "SELECT until FROM lock", [](Rows& r) { return r.integer(0); });
          return sql::execute(c, "UPDATE lock SET until = $1", n + 1);
        });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(number("SELECT until FROM lock"), 100);
}

TEST_P(StoreContract, MoreReadersThanConnectionsTakeTurns) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) EXPECT_EQ(number("SELECT count(*) FROM letters"), 0);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace bartleby::contract
