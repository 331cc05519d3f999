// The common queries walk indexes: SQLite says so itself.
#include <gtest/gtest.h>

#include "adapters/sqlite/sqlite.h"
#include "adapters/store/sqlite/sqlite_connection.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "office/operation_row.h"
#include "office/query_sql.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

class QueryPlan : public testing::Test {
 protected:
  void SetUp() override {
    auto store = sqlite_store::SqliteStore::open({.folder = folder_.path()});
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    for (std::int64_t i = 1; i <= 3; ++i) {
      CountedShelf one;
      one.shelf.id = i;
      one.shelf.label = {"orders.dlq",      "test", "orders", "g" + std::to_string(i), "w" + std::to_string(i),
                         Reason::kExhausted};
      one.letters = {100000, 100000, 100000, 100000, 100000};
      facts_.shelves.push_back(one);
    }
    facts_.issues[{QueryField::kIssue, "iss_1"}] = {1};
    facts_.issues[{QueryField::kError, "TimeoutError"}] = {1, 2, 3};
  }

  std::string plan(const std::string& text, bool later_page) {
    const auto query = parse_query(text);
    EXPECT_TRUE(query) << text;
    const std::optional<LetterCursor> after =
        later_page ? std::optional(LetterCursor{timestamp_ms(1'700'000'000'000), 4711}) : std::nullopt;
    std::string steps;
    const auto done = store_->read([&](Connection& connection) -> Result<void> {
      const LetterSql sql = letter_sql(*query, facts_, connection.dialect(), after, 51);
      EXPECT_FALSE(sql.nothing) << text;
      auto statement = connection.prepare("EXPLAIN QUERY PLAN " + sql.text(0, later_page ? after : std::nullopt));
      if (!statement) return std::unexpected(statement.error());
      Rows rows(**statement);
      for (const SqlParameter& parameter : sql.parameters)
        if (const auto* words = std::get_if<std::string>(&parameter))
          rows << *words;
        else
          rows << Blob{std::get<SqlBytes>(parameter).bytes};
      for (auto row = rows.next(); row && *row; row = rows.next()) steps += rows.text(3) + "\n";
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
    return steps;
  }

  support::ScratchFolder folder_;
  std::unique_ptr<Store> store_;
  QueryFacts facts_{timestamp_ms(1'800'000'000'000), {}, {}};
};

TEST_F(QueryPlan, CommonQueriesDoNotScanTheLetters) {
  for (const char* query : {"",
                            "state:open",
                            "dlq:orders.dlq",
                            "dlq:orders.dlq state:open",
                            "worker:w1",
                            "group:g2 state:open since:24h",
                            "topic:orders",
                            "-worker:w1",
                            "reason:EXHAUSTED",
                            "key:customer-7",
                            "key:customer-7 state:open worker:w1",
                            "issue:iss_1",
                            "issue:iss_1 state:open",
                            "error:TimeoutError",
                            "error:TimeoutError dlq:orders.dlq since:24h",
                            "since:24h",
                            "before:24h",
                            "since:48h before:24h state:open",
                            "replays:>1",
                            "replays:1 dlq:orders.dlq",
                            "text:timeout",
                            "text:\"no answer\" dlq:orders.dlq",
                            "header.tenant:acme",
                            "since:24h timeout"})
    for (const bool later : {false, true}) {
      const std::string steps = plan(query, later);
      // The one index that may be walked whole holds replayed letters alone.
      for (std::size_t scan = steps.find("SCAN l"); scan != std::string::npos; scan = steps.find("SCAN l", scan + 1))
        EXPECT_TRUE(steps.substr(scan).starts_with("SCAN l USING INDEX letters_replayed")) << query << "\n" << steps;
      // Each run is in order as it comes; only the merge of a few pages may sort.
      EXPECT_EQ(steps.find("USE TEMP B-TREE FOR LAST"), std::string::npos) << query << "\n" << steps;
      // A search comes in order out of the full-text index: all matches of a word that all have are not sorted.
      if (steps.find("VIRTUAL TABLE") != std::string::npos) {
        EXPECT_EQ(steps.find("USE TEMP B-TREE"), std::string::npos) << query << "\n" << steps;
      }
    }
}

TEST_F(QueryPlan, ManyRunsAreSeveralStatementsAndNoneWalksAllLetters) {
  for (std::int64_t i = 4; i <= 200; ++i) {
    facts_.shelves.push_back(facts_.shelves[0]);
    facts_.shelves.back().shelf.id = i;
  }
  const auto query = parse_query("topic:orders");
  const auto done = store_->read([&](Connection& connection) -> Result<void> {
    const LetterSql sql = letter_sql(*query, facts_, connection.dialect(), std::nullopt, 51);
    EXPECT_EQ(sql.runs.size(), 1000U);
    EXPECT_EQ(sql.statements(), 16U);
    for (std::size_t i = 0; i < sql.statements(); ++i) {
      auto statement = connection.prepare("EXPLAIN QUERY PLAN " + sql.text(i, LetterCursor{timestamp_ms(5), 7}));
      if (!statement) return std::unexpected(statement.error());
      Rows rows(**statement);
      for (auto row = rows.next(); row && *row; row = rows.next())
        EXPECT_FALSE(rows.text(3).contains("letters_of_state")) << rows.text(3);
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
}

// Remembers what is asked of it.
class Noting : public Connection {
 public:
  explicit Noting(Connection& inside) : inside_(inside) {}
  Result<Statement*> statement(std::string_view sql) override {
    asked.emplace_back(sql);
    return inside_.statement(sql);
  }
  Result<std::unique_ptr<Statement>> prepare(std::string_view sql) override {
    asked.emplace_back(sql);
    return inside_.prepare(sql);
  }
  void limit_time(Duration limit) override { inside_.limit_time(limit); }
  std::int64_t changes() const override { return inside_.changes(); }
  const Dialect& dialect() const override { return inside_.dialect(); }

  std::vector<std::string> asked;

 private:
  Connection& inside_;
};

// What is asked once a second by each who watches, and at each look for work.
TEST_F(QueryPlan, LooksAtOperationsDoNotScanThem) {
  const auto done = store_->read([&](Connection& connection) -> Result<void> {
    Noting noting(connection);
    for (const std::optional<std::int64_t> before : {std::optional<std::int64_t>(), std::optional<std::int64_t>(7)}) {
      EXPECT_TRUE(operation_page(noting, {}, before, 10));
      EXPECT_TRUE(operation_page(noting, {OperationState::kRunning, OperationState::kCancelled}, before, 10));
    }
    EXPECT_TRUE(unfinished_operations(noting));
    EXPECT_TRUE(sending_replays(noting));
    EXPECT_EQ(noting.asked.size(), 9U);
    for (const std::string& text : noting.asked) {
      auto statement = connection.prepare("EXPLAIN QUERY PLAN " + text);
      if (!statement) return std::unexpected(statement.error());
      Rows rows(**statement);
      std::string steps;
      for (auto row = rows.next(); row && *row; row = rows.next()) steps += rows.text(3) + "\n";
      EXPECT_NE(steps, "") << text;
      // The one index that may be walked whole holds operations alone whose letters are being taken.
      for (std::size_t scan = steps.find("SCAN"); scan != std::string::npos; scan = steps.find("SCAN", scan + 1))
        EXPECT_TRUE(steps.substr(scan).starts_with("SCAN r USING INDEX operation_results_taken") ||
                    steps.substr(scan).starts_with("SCAN r USING COVERING INDEX operation_results_taken"))
            << text << "\n"
            << steps;
      EXPECT_EQ(steps.find("USE TEMP B-TREE"), std::string::npos) << text << "\n" << steps;
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
}

// The test can fail: a query that has no index does scan.
TEST_F(QueryPlan, AScanWouldBeSeen) {
  std::string steps;
  const auto done = store_->read([&](Connection& connection) -> Result<void> {
    auto statement = connection.prepare("EXPLAIN QUERY PLAN SELECT l.seq FROM letters l WHERE l.attempts = 3");
    if (!statement) return std::unexpected(statement.error());
    Rows rows(**statement);
    for (auto row = rows.next(); row && *row; row = rows.next()) steps += rows.text(3) + "\n";
    return {};
  });
  ASSERT_TRUE(done);
  EXPECT_NE(steps.find("SCAN l\n"), std::string::npos) << steps;
}

}  // namespace
}  // namespace bartleby
