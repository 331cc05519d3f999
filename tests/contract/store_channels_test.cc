// Channels, consumers and the messages that were broadcast, on every store.
#include "office/audit.h"
#include "office/channels.h"
#include "office/shelf_upkeep.h"
#include "office/sql.h"
#include "office/summary.h"
#include "tests/contract/store_operations.h"

namespace bartleby::contract {
namespace {

Channel channel(const std::string& id) {
  return {.id = id, .name = "Channel " + id, .token = token_hash("secret-" + id), .partitions = 2, .created_at = {}};
}

Consumer consumer(const std::string& of, const std::string& id) {
  Consumer c;
  c.channel = of;
  c.id = id;
  c.name = "Consumer " + id;
  c.url = "http://127.0.0.1:1/";
  c.token = "token-" + id;
  c.starts = "[3,4]";
  return c;
}

TEST_P(StoreOperations, AChannelIsKeptWithTheHashOfItsTokenAndChangedInPlace) {
  write([&](Connection& c) { return put_channel(c, channel("orders"), kAnn, now_); });
  Channel other = channel("orders");
  other.name = "Renamed";
  other.partitions = 9;
  write([&](Connection& c) { return put_channel(c, other, kAnn, now_ + Duration(5)); });
  write([&](Connection& c) { return put_channel(c, channel("mails"), kAnn, now_); });
  reopen();
  read([&](Connection& c) -> Result<void> {
    const auto found = find_channel(c, "orders");
    EXPECT_TRUE(found && *found);
    EXPECT_EQ((*found)->name, "Renamed");
    EXPECT_EQ((*found)->partitions, 2) << "a channel keeps its partitions";
    EXPECT_EQ((*found)->created_at, now_);
    EXPECT_TRUE(is_token("secret-orders", (*found)->token));
    EXPECT_FALSE(is_token("secret-mails", (*found)->token));
    EXPECT_FALSE(is_token("", (*found)->token));
    EXPECT_FALSE(find_channel(c, "nobody").value());
    const auto all = all_channels(c);
    EXPECT_EQ(all->size(), 2U);
    EXPECT_EQ(all->front().id, "mails");
    return {};
  });
  EXPECT_EQ(text("SELECT action || ':' || subject FROM audit_log ORDER BY seq"),
            "make-channel:orders change-channel:orders make-channel:mails");
}

TEST_P(StoreOperations, AConsumerHasARowInTheSummaryFromItsRegistrationToItsEnd) {
  write([&](Connection& c) { return put_channel(c, channel("orders"), kAnn, now_); });
  write([&](Connection& c) { return put_consumer(c, consumer("orders", "billing"), kAnn, now_); });
  EXPECT_EQ(text("SELECT consumerId || '|' || consumerName || '|' || channelName || '|' || dead_count"
                 " FROM dlq_summary"),
            "orders.billing|Consumer billing|Channel orders|0");
  // A letter of it, with the names people gave.
  Arrival dead = letter(1);
  dead.letter.shelf.group = dead.letter.shelf.worker = "orders.billing";
  take_in({dead});
  read([&](Connection& c) -> Result<void> {
    const auto status = dlq_status(c);
    EXPECT_EQ(status->size(), 1U);
    EXPECT_EQ(status->front().consumer_id, "billing");
    EXPECT_EQ(status->front().channel_name, "Channel orders");
    EXPECT_EQ(status->front().dead_count, 1);
    return {};
  });
  const auto remove = [&](std::string_view id) {
    Removed removed{};
    write([&](Connection& c) -> Result<void> {
      const auto gone = remove_consumer(c, "orders", id, kAnn, now_);
      if (!gone) return std::unexpected(gone.error());
      removed = *gone;
      return {};
    });
    return removed;
  };
  EXPECT_EQ(remove("nobody"), Removed::kNotFound);
  EXPECT_EQ(remove("billing"), Removed::kHasLetters);
  EXPECT_EQ(number("SELECT count(*) FROM consumers"), 1);
  change(dead.letter.id, LetterCause::kPurge);
  EXPECT_EQ(remove("billing"), Removed::kDone);
  EXPECT_EQ(number("SELECT count(*) FROM consumers"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM dlq_summary"), 0);
  expect_counts_are_exact();
}

TEST_P(StoreOperations, NamesOfChannelsAndConsumersAreInEveryRowOfTheSummary) {
  write([&](Connection& c) { return put_channel(c, channel("orders"), kAnn, now_); });
  for (const char* id : {"billing", "mail", "quiet"})
    write([&](Connection& c) { return put_consumer(c, consumer("orders", id), kAnn, now_); });
  const auto dead = [&](std::int64_t n, const std::string& group) {
    Arrival one = letter(n);
    one.letter.shelf.group = one.letter.shelf.worker = group;
    return one;
  };
  take_in({dead(1, "orders.billing"), dead(2, "orders.mail"), dead(3, "strangers")});
  const auto rows = [&] {
    return text("SELECT consumerName || '|' || channelName || '|' || dead_count FROM dlq_summary ORDER BY consumerId");
  };
  const std::string all =
      "Consumer billing|Channel orders|1 Consumer mail|Channel orders|1 Consumer quiet|Channel orders|0"
      " strangers|Channel orders|1";
  EXPECT_EQ(rows(), all);
  // Counted from nothing.
  write([](Connection& c) { return sql::execute(c, "DELETE FROM dlq_summary"); });
  EXPECT_TRUE(check_summary(store(), "a", now_, Duration(1)).value().bootstrapped);
  EXPECT_EQ(rows(), all);
  expect_counts_are_exact();
  // A row that was deleted comes back with its next letter, and names that somebody has changed with the next check.
  write([](Connection& c) { return sql::execute(c, "DELETE FROM dlq_summary WHERE consumerId = 'orders.quiet'"); });
  take_in({dead(4, "orders.quiet")});
  EXPECT_EQ(text("SELECT consumerName FROM dlq_summary WHERE consumerId = 'orders.quiet'"), "Consumer quiet");
  write([](Connection& c) { return sql::execute(c, "UPDATE dlq_summary SET consumerName = consumerId"); });
  now_ += Duration(10);
  EXPECT_EQ(check_summary(store(), "a", now_, Duration(1)).value().drift, 3);
  EXPECT_EQ(text("SELECT consumerName FROM dlq_summary WHERE consumerId = 'orders.mail'"), "Consumer mail");
  // Rows of registered consumers stay, whatever they count.
  for (const std::int64_t n : {1, 2, 3, 4}) change(dead(n, "").letter.id, LetterCause::kPurge);
  EXPECT_EQ(free_shelves(store()).value().rows, 1);
  EXPECT_EQ(number("SELECT count(*) FROM dlq_summary"), 3);
}

TEST_P(StoreOperations, AConsumerThatIsPutAgainKeepsWhereItBeganAndItsDead) {
  write([&](Connection& c) { return put_channel(c, channel("orders"), kAnn, now_); });
  write([&](Connection& c) { return put_consumer(c, consumer("orders", "billing"), kAnn, now_); });
  Arrival dead = letter(1);
  dead.letter.shelf.group = dead.letter.shelf.worker = "orders.billing";
  take_in({dead});
  Consumer other = consumer("orders", "billing");
  other.name = "Renamed";
  other.url = "https://pay.example/hook";
  other.retry = R"({"max_retries":2})";
  other.reject = "[400]";
  other.starts = "[0,0]";
  other.paused = true;
  write([&](Connection& c) { return put_consumer(c, other, kAnn, now_ + Duration(5)); });
  write([&](Connection& c) { return put_consumer(c, consumer("mails", "billing"), kAnn, now_); });
  reopen();
  read([&](Connection& c) -> Result<void> {
    const auto found = find_consumer(c, "orders", "billing");
    EXPECT_TRUE(found && *found);
    EXPECT_EQ((*found)->name, "Renamed");
    EXPECT_EQ((*found)->url, other.url);
    EXPECT_EQ((*found)->retry, other.retry);
    EXPECT_EQ((*found)->reject, other.reject);
    EXPECT_EQ((*found)->starts, "[3,4]");
    EXPECT_EQ((*found)->token, "token-billing");
    EXPECT_TRUE((*found)->paused);
    EXPECT_EQ((*found)->created_at, now_);
    EXPECT_EQ(consumers_of(c, "orders")->size(), 1U);
    EXPECT_EQ(consumers_of(c, "")->size(), 2U);
    EXPECT_FALSE(find_consumer(c, "mails", "nobody").value());
    return {};
  });
  EXPECT_EQ(text("SELECT consumerName || dead_count FROM dlq_summary WHERE consumerId = 'orders.billing'"), "Renamed1");
  expect_counts_are_exact();
}

TEST_P(StoreOperations, ChannelsAndConsumersAreBounded) {
  write([&](Connection& c) -> Result<void> {
    for (std::int64_t n = 0; n < kMostChannels; ++n)
      BARTLEBY_TRY(put_channel(c, channel("c" + std::to_string(n)), kAnn, now_));
    for (std::int64_t n = 0; n < kMostConsumers; ++n)
      BARTLEBY_TRY(put_consumer(c, consumer("c0", "k" + std::to_string(n)), kAnn, now_));
    return {};
  });
  const auto more = store().write([&](Connection& c) { return put_channel(c, channel("x"), kAnn, now_); });
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kTooLarge);
  const auto one = store().write([&](Connection& c) { return put_consumer(c, consumer("c0", "x"), kAnn, now_); });
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, ErrorCode::kTooLarge);
  write([&](Connection& c) { return put_channel(c, channel("c7"), kAnn, now_); });  // one that is there
  write([&](Connection& c) { return put_consumer(c, consumer("c0", "k7"), kAnn, now_); });
}

TEST_P(StoreOperations, AMessageIsKnownByItsIdFromBeforeItIsWritten) {
  const ChannelMessage message{"orders", "m1", std::string(32, '\2'), Partition(1), Offset(8), std::nullopt, "a/b"};
  const auto look = [&](std::string_view channel) {
    std::optional<ChannelMessage> out;
    read([&](Connection& c) -> Result<void> {
      auto found = find_message(c, channel, "m1");
      if (!found) return std::unexpected(found.error());
      out = std::move(*found);
      return {};
    });
    return out;
  };
  write([&](Connection& c) { return begin_message(c, message, now_); });
  reopen();
  ASSERT_TRUE(look("orders"));
  EXPECT_EQ(look("orders")->at, std::nullopt);
  EXPECT_EQ(look("orders")->hash, message.hash);
  EXPECT_EQ(look("orders")->partition, Partition(1));
  EXPECT_EQ(look("orders")->from, Offset(8));
  EXPECT_EQ(look("orders")->content_type, "a/b");
  EXPECT_FALSE(look("mails")) << "ids are a channel's own";
  write([&](Connection& c) { return place_message(c, "orders", "m1", Offset(9)); });
  EXPECT_EQ(look("orders")->at, Offset(9));
  ChannelMessage second = message;
  second.id = "m2";
  write([&](Connection& c) { return begin_message(c, second, now_ + kMessagesKept); });
  EXPECT_FALSE(look("orders")) << "forgotten after its time";
  EXPECT_EQ(number("SELECT count(*) FROM channel_messages"), 1);
}

TEST_P(StoreOperations, ANewConsumerBeginsAtTheEndOfItsChannelAndOneThatHasWorkedGoesOn) {
  ASSERT_TRUE(cluster_.produce({{"orders", Partition(1), "k", "v", {}}, {"orders", Partition(1), "k", "v", {}}}));
  EXPECT_EQ(begin_at_end(cluster_, "orders", "orders.billing", false).value(), "[0,2]");
  ASSERT_TRUE(cluster_.produce({{"orders", Partition(0), "k", "v", {}}}));
  EXPECT_EQ(begin_at_end(cluster_, "orders", "orders.billing", false).value(), "[0,2]")
      << "asked twice, it is the same";
  EXPECT_EQ(begin_at_end(cluster_, "orders", "orders.mail", false).value(), "[1,2]");
}

TEST_P(StoreOperations, AConsumerThatWasRemovedBeginsAnewAtTheEndOfItsChannel) {
  const std::string group = "orders.billing";
  ASSERT_TRUE(cluster_.commit_first(
      group, {{{"orders", Partition(0)}, Offset(0), "worked"}, {{"orders", Partition(1)}, Offset(0), "worked"}}));
  ASSERT_TRUE(cluster_.produce({{"orders", Partition(1), "k", "v", {}}}));
  EXPECT_EQ(begin_at_end(cluster_, "orders", group, false).value(), "") << "a store was lost: the group goes on";
  EXPECT_EQ(begin_at_end(cluster_, "orders", group, true).value(), "[0,1]");
  const auto offsets = cluster_.group_offsets(group, {"orders"});
  ASSERT_TRUE(offsets);
  for (const CommittedOffset& at : *offsets) {
    EXPECT_EQ(at.offset, Offset(at.tp.partition.v));
    EXPECT_EQ(at.metadata, "");
  }
  const auto removed = [&] {
    bool out = false;
    read([&](Connection& c) -> Result<void> {
      out = was_removed(c, consumer("orders", "billing")).value();
      return {};
    });
    return out;
  };
  write([&](Connection& c) { return put_channel(c, channel("orders"), kAnn, now_); });
  EXPECT_FALSE(removed()) << "it was never there";
  write([&](Connection& c) { return put_consumer(c, consumer("orders", "billing"), kAnn, now_); });
  EXPECT_FALSE(removed());
  write([&](Connection& c) -> Result<void> {
    EXPECT_EQ(remove_consumer(c, "orders", "billing", kAnn, now_).value(), Removed::kDone);
    // Its worker still runs, and somebody pauses it.
    return append_audit(c, {0, now_, "ann", "pause-worker", "orders.billing", "", "", "", "", ""});
  });
  EXPECT_TRUE(removed());
  write([&](Connection& c) { return put_consumer(c, consumer("orders", "billing"), kAnn, now_); });
  EXPECT_FALSE(removed());
}

TEST_P(StoreOperations, NoTwoConsumersHaveOneWorker) {
  write([&](Connection& c) { return put_consumer(c, consumer("a", "b.c"), kAnn, now_); });
  const auto second = store().write([&](Connection& c) { return put_consumer(c, consumer("a.b", "c"), kAnn, now_); });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kFenced);
  EXPECT_EQ(second.error().message, "the worker a.b.c is that of consumer a/b.c already");
  EXPECT_EQ(number("SELECT count(*) FROM consumers"), 1);
  write([&](Connection& c) { return put_consumer(c, consumer("a", "b.c"), kAnn, now_); });  // itself again
}

TEST_P(StoreOperations, AConsumerWhoseJobsWereSentAgainIsNotRemoved) {
  write([&](Connection& c) { return put_channel(c, channel("orders"), kAnn, now_); });
  write([&](Connection& c) { return put_consumer(c, consumer("orders", "billing"), kAnn, now_); });
  Arrival dead = letter(1);
  dead.letter.shelf.group = dead.letter.shelf.worker = "orders.billing";
  take_in({dead});
  change(dead.letter.id, LetterCause::kReplay);
  write([&](Connection& c) -> Result<void> {
    EXPECT_EQ(remove_consumer(c, "orders", "billing", kAnn, now_).value(), Removed::kReplaying);
    return {};
  });
  EXPECT_EQ(number("SELECT count(*) FROM consumers"), 1);
  change(dead.letter.id, LetterCause::kSucceeded);
  write([&](Connection& c) -> Result<void> {
    EXPECT_EQ(remove_consumer(c, "orders", "billing", kAnn, now_).value(), Removed::kDone);
    return {};
  });
}

TEST_P(StoreOperations, TheAuditSaysWhatChangedOfAConsumerWithoutSecrets) {
  write([&](Connection& c) { return put_channel(c, channel("orders"), kAnn, now_); });
  Consumer one = consumer("orders", "billing");
  write([&](Connection& c) { return put_consumer(c, one, kAnn, now_); });
  one.url = "https://ann:hunter2@pay.example/hook?key=hunter2";
  one.token = "another-hunter2";
  write([&](Connection& c) { return put_consumer(c, one, kAnn, now_); });
  EXPECT_EQ(text("SELECT detail FROM audit_log WHERE action = 'make-consumer'"), R"({"url":"http://127.0.0.1:1/"})");
  EXPECT_EQ(text("SELECT detail FROM audit_log WHERE action = 'change-consumer'"),
            R"({"url":"https://…@pay.example/hook?…","url_before":"http://127.0.0.1:1/","changed":"url token"})");
}

}  // namespace
}  // namespace bartleby::contract
