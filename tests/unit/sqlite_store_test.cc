// office.db as a file: who may open it, and what is said when not.
#include "adapters/store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>

#include "adapters/sqlite/sqlite.h"
#include "adapters/store/sqlite/schema.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::sqlite_store {
namespace {

class SqliteStoreFile : public testing::Test {
 protected:
  Result<std::unique_ptr<SqliteStore>> open(std::int64_t max_pages = 0) {
    return SqliteStore::open({.folder = folder_.path(), .max_pages = max_pages});
  }
  sqlite::Database raw() { return sqlite::Database::open(path(), sqlite::Open::kReadWrite).value(); }
  std::string path() const { return folder_.path() + "/office.db"; }

  support::ScratchFolder folder_;
};

TEST_F(SqliteStoreFile, ANewFileGetsAllMigrations) {
  ASSERT_TRUE(open());
  EXPECT_EQ(raw().number("PRAGMA user_version").value(), static_cast<std::int64_t>(migrations().size()));
  ASSERT_TRUE(open()) << "a second time";
}

TEST_F(SqliteStoreFile, WhoeverFindsAllReadersBusyIsToldSoAfterAWhile) {
  const auto store = SqliteStore::open(
      {.folder = folder_.path(), .readers = 1, .reader_wait = std::chrono::milliseconds(1), .max_pages = 0});
  ASSERT_TRUE(store);
  const auto nothing = [](Connection&) { return Result<void>(); };
  Result<void> inner;
  ASSERT_TRUE((*store)->read([&](Connection&) -> Result<void> {
    inner = (*store)->read(nothing);
    return {};
  }));
  ASSERT_FALSE(inner);
  EXPECT_EQ(inner.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(inner.error().message, "office.db: all 1 connections that read were busy for 1 ms");
  EXPECT_TRUE((*store)->read(nothing)) << "it is free again";
}

// A file from before counts of results, and before consumers had ids of their own.
TEST_F(SqliteStoreFile, AFileOfTheFourthFormatIsCarriedOn) {
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(raw().exec(std::string(migrations()[i])));
  ASSERT_TRUE(
      raw().exec("PRAGMA user_version=4; PRAGMA application_id=1113682502;"
                 "INSERT INTO shelves VALUES(1, 'o.dlq', 'c', 'orders', 'billing', 'billing', 0, 'orders.billing'),"
                 " (2, 'o.dlq', 'c', 'orders', 'orders.billing', 'orders.billing', 0, 'orders.billing'),"
                 " (3, 'raw.dlq', 'c', '', '', '', 0, 'raw.dlq.raw.dlq');"
                 "INSERT INTO counters VALUES(1, 0, 2), (2, 0, 3), (2, 3, 9), (3, 0, 1);"
                 "INSERT INTO consumers VALUES('orders', 'billing', 'Billing', 'u', 't', '', '', '', 0, 0);"
                 "INSERT INTO dlq_summary VALUES('orders.billing', 'Billing', 'orders', 'Orders', 5, 7),"
                 " ('raw.dlq.raw.dlq', 'raw.dlq', 'raw.dlq', 'raw.dlq', 1, 7);"
                 "INSERT INTO operation_items(operation, position, letter, replays, version, result, changed_at)"
                 " VALUES(1, 0, 1, 0, 1, 3, 10), (1, 1, 2, 0, 1, 3, 30), (1, 2, 3, 0, 1, 0, 20)"));
  ASSERT_TRUE(open()) << open().error().message;
  sqlite::Database db = raw();
  EXPECT_EQ(db.text("SELECT group_concat(x, ' ') FROM (SELECT consumerId || '=' || dead_count AS x FROM dlq_summary"
                    " ORDER BY consumerId)")
                .value(),
            "orders.billing=3 orders/billing=2 raw.dlq/raw.dlq=1");
  EXPECT_EQ(db.text("SELECT channelName || consumerName FROM dlq_summary WHERE consumerId = 'orders.billing'").value(),
            "OrdersBilling")
      << "names that people gave stay";
  EXPECT_EQ(
      db.text("SELECT group_concat(result || ':' || items || ':' || changed_at, ' ') FROM operation_results").value(),
      "0:1:20 3:2:30");
}

TEST_F(SqliteStoreFile, ANewerFormatIsRefusedAndLeftAlone) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(raw().exec("PRAGMA user_version=99"));
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("format 99"), std::string::npos) << refused.error().message;
  EXPECT_EQ(raw().number("PRAGMA user_version").value(), 99);
}

TEST_F(SqliteStoreFile, AFileOfAnotherProgramIsRefused) {
  ASSERT_TRUE(raw().exec("CREATE TABLE theirs(x)"));
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another program"), std::string::npos) << refused.error().message;
}

TEST_F(SqliteStoreFile, OneProcessAtATime) {
  const auto first = open();
  ASSERT_TRUE(first);
  const auto second = open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kFenced);
}

TEST_F(SqliteStoreFile, AFullDiskIsSaidAndWritingGoesOnWhenThereIsRoom) {
  ASSERT_TRUE(open());
  const std::int64_t pages = raw().number("PRAGMA page_count").value();
  const std::string large(100000, 'x');
  const auto put = [&](Connection& c) -> Result<void> {
    auto statement = c.statement("INSERT INTO payloads(letter, life, stack, bytes) VALUES(1, 1, '', $1)");
    if (!statement) return std::unexpected(statement.error());
    Rows rows(**statement);
    rows << Blob{large};
    return rows.run();
  };
  {
    const auto full = open(pages + 2);
    ASSERT_TRUE(full);
    const auto refused = (*full)->write(put);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().retryable);
    EXPECT_NE(refused.error().message.find("full"), std::string::npos) << refused.error().message;
  }
  const auto roomy = open();
  ASSERT_TRUE(roomy);
  EXPECT_TRUE((*roomy)->write(put));
}

}  // namespace
}  // namespace bartleby::sqlite_store
