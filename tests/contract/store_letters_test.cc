// Letters in the store: taken in once, changed by the table, found by queries; counts exact all the way.
#include "office/audit_stretch.h"
#include "office/shelf_upkeep.h"
#include "office/sql.h"
#include "tests/contract/store_contract.h"

namespace bartleby::contract {
namespace {

std::vector<Arrival> some(std::int64_t from, std::int64_t to, Arrival (*make)(std::int64_t, std::uint32_t)) {
  std::vector<Arrival> letters;
  for (std::int64_t n = from; n < to; ++n) letters.push_back(make(n, 0));
  return letters;
}

TEST_P(StoreContract, ALetterComesBackAsItWasTakenIn) {
  Arrival one = letter(7);
  one.payload.value = std::string("\0\xff", 2) + std::string(5000, 'x');
  one.payload.headers = {{"b", "2"}, {"a", std::nullopt}, {"b", "2"}, {"\xff", "\xfe"}};
  one.payload.stack = "at a.b(c.java:12)";
  EXPECT_EQ(take_in({one}).stored, 1U);
  const StoredLetter stored = get(one.letter.id);
  StoredLetter wanted = one.letter;
  wanted.seq = stored.seq;
  wanted.issue = stored.issue;
  wanted.dlq.offset = Offset(0);
  wanted.arrived_at = wanted.changed_at = now_;
  EXPECT_EQ(stored, wanted);
  read([&](Connection& c) -> Result<void> {
    const auto payload = letter_payload(c, stored.seq);
    EXPECT_TRUE(payload && *payload && **payload == one.payload);
    return {};
  });
  EXPECT_EQ(text("SELECT id FROM job"), "0-7");
  EXPECT_EQ(text("SELECT consumerId FROM job"), "orders/billing");
  expect_counts_are_exact();
}

TEST_P(StoreContract, ABatchIsStoredOnceHoweverOftenItIsGiven) {
  TakeIn desk(store(), "test");
  const IntakeBatch batch{{"orders.dlq", Partition(0)}, std::nullopt, {Offset(1), Offset(1)}, 0, {letter(1)}};
  ASSERT_TRUE(desk.store(batch, now_));
  const auto again = desk.store(batch, now_);
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().retryable);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 1);
  EXPECT_EQ(desk.position(batch.dlq).value(), batch.after);
  // After a failure the desk goes on with what is stored.
  ASSERT_TRUE(desk.store({batch.dlq, batch.after, {Offset(2), Offset(2)}, 0, {letter(2)}}, now_));
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 2);
  expect_counts_are_exact();
}

// Says no to a transaction that has done everything.
class RefusingStore : public Store {
 public:
  explicit RefusingStore(Store& inside) : inside_(inside) {}

  Result<void> write(const Work& work) override {
    return inside_.write([&](Connection& connection) -> Result<void> {
      if (auto done = work(connection); !done) return done;
      return refuse ? fail(ErrorCode::kUnavailable, "no") : Result<void>();
    });
  }
  Result<void> read(const Work& work) override { return inside_.read(work); }

  bool refuse = true;

 private:
  Store& inside_;
};

TEST_P(StoreContract, AfterAFailedBatchNothingOfItIsRemembered) {
  RefusingStore refusing(store());
  TakeIn desk(refusing, "test");
  const IntakeBatch batch{{"orders.dlq", Partition(0)}, std::nullopt, {Offset(1), Offset(1)}, 0, {letter(1)}};
  ASSERT_FALSE(desk.store(batch, now_));
  refusing.refuse = false;
  const auto report = desk.store(batch, now_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->news.size(), 1U);
  EXPECT_EQ(get(letter(1).letter.id).shelf.worker, "billing");
  EXPECT_EQ(number("SELECT total FROM issues"), 1);
  expect_counts_are_exact();
}

TEST_P(StoreContract, TheSameLetterTwiceIsOneAndAnotherWithItsIdIsAnIncident) {
  Arrival other = letter(1);
  other.payload.value = "different";
  EXPECT_EQ(take_in({letter(1)}).stored, 1U);
  EXPECT_EQ(take_in({letter(1)}).duplicates, 1U);
  const IntakeReport report = take_in({other});
  EXPECT_EQ(report.incidents, 1U);
  EXPECT_EQ(report.stored, 1U) << "it is a new letter, and told as one";
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 2);
  expect_counts_are_exact();
}

TEST_P(StoreContract, ACopyOfALifeThatIsOverIsNoOtherLetter) {
  Arrival later = letter(1, 1);
  later.payload.headers.pop_back();  // a replay leaves out headers of dead letter queues
  take_in({letter(1)});
  EXPECT_EQ(take_in({later}).came_back, 1U);
  const IntakeReport report = take_in({letter(1), later});
  EXPECT_EQ(report.duplicates, 2U);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 1);
}

TEST_P(StoreContract, ALaterLifeOpensTheSameLetterFromEveryState) {
  take_in({letter(1), letter(2), letter(3), letter(4), letter(5)});
  change(letter(2).letter.id, LetterCause::kReplay);
  change(letter(3).letter.id, LetterCause::kDiscard);
  change(letter(4).letter.id, LetterCause::kReplay);
  change(letter(4).letter.id, LetterCause::kSucceeded);
  change(letter(5).letter.id, LetterCause::kArchive);
  for (std::int64_t n = 1; n <= 5; ++n) {
    EXPECT_EQ(take_in({letter(n, 1)}).came_back, 1U);
    const StoredLetter stored = get(letter(n, 1).letter.id);
    EXPECT_EQ(stored.id, letter(n).letter.id);
    EXPECT_EQ(stored.state, LetterState::kOpen);
    EXPECT_EQ(stored.replays, 1U);
    EXPECT_EQ(stored.job.offset, Offset(n));
    read([&](Connection& c) -> Result<void> {
      const auto lives = earlier_lives(c, stored.seq);
      EXPECT_TRUE(lives && lives->size() == 1 && lives->front().replays == 0);
      return {};
    });
    EXPECT_EQ(take_in({letter(n, 1)}).duplicates, 1U);
  }
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 5);
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE action = 'came_back'"), 5);
  expect_counts_are_exact();
}

// Letters that name topics which change do not use up what the others need, and leave nothing behind.
TEST_P(StoreContract, WhereThereAreTooManyShelvesLettersLieOnOneForTheRest) {
  const auto take = [&](std::vector<Arrival> letters, const std::string& dlq) {
    TakeIn desk(store(), "test", {}, {}, 3);
    const TopicPartition tp{dlq, Partition(0)};
    const auto before = desk.position(tp).value();
    const Offset at = before ? before->done_to : Offset(0);
    const Offset to(at.v + static_cast<std::int64_t>(letters.size()));
    for (Arrival& one : letters) one.letter.shelf.dlq = dlq;
    const auto report = desk.store({tp, before, {to, to}, 0, std::move(letters)}, now_);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : IntakeReport{};
  };
  std::vector<Arrival> many;
  for (std::int64_t n = 0; n < 10; ++n) {
    many.push_back(letter(n));
    many.back().letter.shelf.topic = "t" + std::to_string(n);
  }
  IntakeReport report = take(many, "noise.dlq");
  EXPECT_EQ(report.stored, 10U);
  EXPECT_EQ(report.overflowed, 7U);
  report = take({letter(20)}, "orders.dlq");
  EXPECT_EQ(report.stored, 1U) << "others go on";
  EXPECT_EQ(number("SELECT count(*) FROM shelves"), 5);
  EXPECT_EQ(text("SELECT consumerId || ' ' || dead_count FROM dlq_summary WHERE consumerName = 'other'"),
            "noise.dlq/other 7 orders.dlq/other 1");
  EXPECT_EQ(get(letter(9).letter.id).shelf.topic, "") << "no replay goes by it";
  expect_counts_are_exact();
  // One that is here keeps its shelf.
  change(letter(0).letter.id, LetterCause::kReplay);
  Arrival back = letter(0, 1);
  back.letter.shelf.reason = Reason::kRejected;
  EXPECT_EQ(take({back}, "noise.dlq").came_back, 1U);
  EXPECT_EQ(get(letter(0).letter.id).shelf.group, "billing");

  EXPECT_EQ(free_shelves(store(), {.slice = 2}).value().shelves, 0) << "all have letters";
  for (std::int64_t n = 1; n < 10; ++n) change(letter(n).letter.id, LetterCause::kPurge);
  const FreedShelves freed = free_shelves(store(), {.slice = 2}).value();
  EXPECT_EQ(freed.shelves, 3);
  EXPECT_EQ(freed.rows, 3);
  EXPECT_EQ(number("SELECT count(*) FROM dlq_summary"), 2);
  expect_counts_are_exact();
  EXPECT_EQ(take({letter(21)}, "orders.dlq").overflowed, 0U) << "there is room again";
  EXPECT_EQ(get(letter(21).letter.id).shelf.topic, "orders");
  expect_counts_are_exact();
}

TEST_P(StoreContract, ALifeFromAPrivateLaneIsOfTheLanesTopic) {
  Arrival alone = letter(1, 1);  // its first life was purged
  alone.letter.shelf.topic = "orders.replay.billing";
  take_in({alone});
  EXPECT_EQ(get(alone.letter.id).shelf.topic, "orders");
  EXPECT_EQ(get(alone.letter.id).origin_topic, "orders.replay.billing") << "its offset is one of the lane";
  take_in({letter(3)});
  EXPECT_EQ(get(letter(3).letter.id).origin_topic, "");
  Arrival again = letter(3, 1);
  again.letter.shelf.topic = "orders.replay.billing";
  take_in({again});
  take_in({letter(3, 2)});
  read([&](Connection& connection) -> Result<void> {
    const auto lives = earlier_lives(connection, get(letter(3).letter.id).seq);
    EXPECT_TRUE(lives && lives->size() == 2);
    if (!lives || lives->size() != 2) return {};
    EXPECT_EQ(lives->at(0).origin_topic, "");
    EXPECT_EQ(lives->at(1).origin_topic, "orders.replay.billing");
    return {};
  });
  EXPECT_EQ(text("SELECT channelId FROM dlq_summary"), "orders");
  Arrival named = letter(2, 1);
  named.letter.shelf.topic = "x.replay.y";
  take_in({named});
  EXPECT_EQ(get(named.letter.id).shelf.topic, "x.replay.y") << "of another group: a topic like any";
}

TEST_P(StoreContract, ADeathFarInTheFutureIsNotBelieved) {
  Arrival odd = letter(1), near = letter(2);
  odd.letter.died_at = now_ + std::chrono::hours(24 * 365);
  near.letter.died_at = now_ + std::chrono::minutes(5);
  take_in({odd, near});
  EXPECT_EQ(get(odd.letter.id).died_at, now_);
  EXPECT_EQ(ids("").front(), near.letter.id);
}

TEST_P(StoreContract, TheSameMessageInAnotherGroupIsAnotherLetter) {
  Arrival other = letter(1, 1);
  other.letter.shelf.group = "shipping";
  take_in({letter(1)});
  EXPECT_EQ(take_in({other}).stored, 1U);
  EXPECT_EQ(count("group:shipping").value, 1);
}

TEST_P(StoreContract, AChangeComparesWhatWasSeen) {
  take_in({letter(1)});
  const std::string id = letter(1).letter.id;
  EXPECT_EQ(change("ltr_none", LetterCause::kDiscard).result, ChangeResult::kNotFound);
  EXPECT_EQ(change(id, LetterCause::kDiscard, {.version = 7}).result, ChangeResult::kStale);
  EXPECT_EQ(change(id, LetterCause::kDiscard, {.replays = 1}).result, ChangeResult::kStale);
  EXPECT_EQ(change(id, LetterCause::kDiscard, {.state = LetterState::kReplaying}).result, ChangeResult::kWrongState);
  EXPECT_EQ(change(id, LetterCause::kRestore).result, ChangeResult::kWrongState);
  EXPECT_EQ(number("SELECT count(*) FROM audit_log"), 0);
  const ChangedLetter done = change(id, LetterCause::kDiscard, {LetterState::kOpen, 0, 1}, {.undo_until = now_});
  EXPECT_EQ(done.result, ChangeResult::kDone);
  EXPECT_EQ(done.letter, get(id));
  EXPECT_EQ(done.letter.undo_until, now_);
  EXPECT_EQ(text("SELECT actor || ' ' || from_state || ' ' || to_state || ' ' || reason FROM audit_log"),
            "ann open discarded because");
  expect_counts_are_exact();
}

TEST_P(StoreContract, APurgedLetterIsGoneWithItsBytesAndItsWords) {
  take_in({letter(1), letter(2)});
  EXPECT_EQ(change(letter(1).letter.id, LetterCause::kPurge).result, ChangeResult::kDone);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 1);
  EXPECT_EQ(ids("text:answer"), std::vector{letter(2).letter.id});
  EXPECT_EQ(number("SELECT dead_count FROM dlq_summary"), 1);
  expect_counts_are_exact();
}

TEST_P(StoreContract, AnArchivedLetterComesBackWithItsBytes) {
  take_in({letter(1)});
  const std::string id = letter(1).letter.id;
  change(id, LetterCause::kArchive);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 0);
  const std::vector<LifeBytes> lives = {{0, letter(1).payload}};
  EXPECT_EQ(change(id, LetterCause::kRestore, {}, {.lives = &lives}).result, ChangeResult::kDone);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 1);
  const auto bare = change_letters(store(), {"ann", "", ""}, now_, [&](LetterChanges& changes) -> Result<void> {
    BARTLEBY_TRY(changes.change(id, {}, LetterCause::kArchive));
    BARTLEBY_TRY(changes.change(id, {}, LetterCause::kRestore));
    return {};
  });
  EXPECT_FALSE(bare);
  EXPECT_EQ(get(id).state, LetterState::kOpen);
}

TEST_P(StoreContract, QueriesFindWhatTheySay) {
  Arrival other = letter(20);
  other.letter.shelf.worker = other.letter.shelf.group = "shipping";
  other.letter.shelf.reason = Reason::kRejected;
  other.letter.error_type = "BadAddress";
  other.letter.error_message = "no such street: Höhenweg";
  other.letter.key = other.payload.key = "späti";
  other.payload.headers = {{"tenant", "globex corp"}};
  other.letter.died_at = now_ - std::chrono::hours(48);
  const std::string id = other.letter.id;
  take_in(some(0, 10, letter));
  take_in({other}, "other.dlq");
  const std::vector<std::string> only{id};
  for (const char* query :
       {"dlq:other.dlq", "worker:shipping", "group:shipping", "reason:REJECTED", "-dlq:orders.dlq", "error:BadAddress",
        "-error:TimeoutError", "key:späti", "text:street", "street", "text:\"such street\"",
        "header.tenant:\"globex corp\"", "before:24h", "dlq:other.dlq text:höhenweg",
        "state:open worker:shipping before:1h", "-key:customer-1 before:2h"})
    EXPECT_EQ(ids(query), only) << query;
  for (const char* query : {"dlq:none", "state:discarded", "text:\"street such\"", "worker:shipping since:1h",
                            "issue:iss_0000", "error:None", "replays:>0", "text:!!!", "header.tenant:initech",
                            "header.tenant:globex", "key:späti -worker:shipping", "topic:orders -topic:orders"})
    EXPECT_EQ(ids(query), std::vector<std::string>()) << query;
  EXPECT_EQ(ids("").size(), 11U);
  EXPECT_EQ(ids("topic:orders").size(), 11U);
  EXPECT_EQ(ids("text:acme").size(), 10U);
  EXPECT_EQ(ids("replays:0 since:2000-01-01").size(), 11U);
  EXPECT_EQ(ids("issue:" + text("SELECT id FROM issues WHERE error_type = 'BadAddress'")), only);
  EXPECT_TRUE(count("dlq:orders.dlq state:open").exact);
  EXPECT_EQ(count("dlq:orders.dlq state:open").value, 10);
  EXPECT_EQ(count("text:acme").value, 10);
}

TEST_P(StoreContract, PagesGiveEveryLetterOnceInTheOrderOfDeath) {
  std::vector<Arrival> letters = some(0, 60, letter);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    // Many die in the same millisecond; on several shelves and in several states.
    letters[i].letter.died_at = timestamp_ms(1'799'999'000'000 + static_cast<std::int64_t>(i) / 20);
    letters[i].letter.shelf.worker = "w" + std::to_string(i % 3);
  }
  take_in(letters);
  for (std::size_t i = 0; i < 60; i += 4) change(letters[i].letter.id, LetterCause::kDiscard);
  for (const char* query : {"", "topic:orders", "text:answer", "error:TimeoutError"}) {
    const std::vector<std::string> all = ids(query, 500);
    ASSERT_EQ(all.size(), 60U) << query;
    EXPECT_EQ(ids(query, 7), all) << query;
    EXPECT_EQ(all.front(), letters[59].letter.id) << query;
    EXPECT_EQ(all.back(), letters[0].letter.id) << query;
  }
  EXPECT_EQ(ids("state:discarded", 4).size(), 15U);
}

TEST_P(StoreContract, TheStatusListsConsumersByTheirOwnNames) {
  Arrival hook = letter(1);
  hook.letter.shelf.topic = "order-events";
  hook.letter.shelf.group = hook.letter.shelf.worker = "order-events.payment-service";
  take_in({letter(2), hook, letter(3)});
  change(letter(2).letter.id, LetterCause::kReplay);
  read([&](Connection& c) -> Result<void> {
    const auto status = dlq_status(c);
    if (!status) return std::unexpected(status.error());
    EXPECT_EQ(status->size(), 2U);
    const ConsumerStatus& first = status->front();
    EXPECT_EQ(first.channel_id, "order-events");
    EXPECT_EQ(first.consumer_id, "payment-service");
    EXPECT_EQ(first.dead_count, 1);
    EXPECT_EQ(status->back().channel_id, "orders");
    EXPECT_EQ(status->back().dead_count, 1);
    const auto dlqs = dlq_states(c);
    EXPECT_TRUE(dlqs && dlqs->size() == 1 && dlqs->front().letters[0] == 2 && dlqs->front().letters[1] == 1);
    const auto job = letter_of_job(c, "order-events.payment-service", {Partition(0), Offset(1)});
    EXPECT_TRUE(job && *job && (*job)->id == hook.letter.id);
    const auto at = letters_at(c, "orders.dlq", std::nullopt, Offset(2));
    EXPECT_TRUE(at && at->size() == 1 && at->front().id == letter(3).letter.id);
    return {};
  });
}

TEST_P(StoreContract, AnIssueIsNewThenResolvedThenRegressed) {
  const IntakeReport first = take_in({letter(1), letter(2)});
  ASSERT_EQ(first.news.size(), 1U);
  EXPECT_EQ(first.news[0].state, IssueState::kNew);
  const std::string id = first.news[0].id;
  const Actor ann{"ann", "", ""};
  EXPECT_TRUE(take_in({letter(3)}).news.empty());
  EXPECT_EQ(change_issue(store(), id, IssueCause::kReopen, ann, now_).value().result, IssueChange::kWrongState);
  const ChangedIssue resolved = change_issue(store(), id, IssueCause::kResolve, ann, now_).value();
  EXPECT_EQ(resolved.issue.state, IssueState::kResolved);
  EXPECT_EQ(resolved.issue.open, 3);
  EXPECT_EQ(change_issue(store(), id, IssueCause::kReopen, ann, now_, 1).value().result, IssueChange::kStale);
  const IntakeReport again = take_in({letter(4)});
  ASSERT_EQ(again.news.size(), 1U);
  EXPECT_EQ(again.news[0].state, IssueState::kRegressed);
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE action = 'regress' AND subject = '" + id + "'"), 1);
  change_issue(store(), id, IssueCause::kMute, ann, now_, {}, now_ + std::chrono::hours(1)).value();
  EXPECT_TRUE(take_in({letter(5)}).news.empty());
  EXPECT_TRUE(age_issues(store(), now_, 10).value().empty());
  EXPECT_TRUE(age_issues(store(), now_ + std::chrono::hours(1), 0).value().empty()) << "no more than are asked for";
  const auto aged = age_issues(store(), now_ + std::chrono::hours(1), 10).value();
  ASSERT_EQ(aged.size(), 1U);
  EXPECT_EQ(aged[0].id, id);
  EXPECT_EQ(aged[0].state, IssueState::kActive);
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE action = 'time' AND actor = 'office' AND subject = '" + id +
                   "' AND from_state = 'muted' AND to_state = 'active'"),
            1);
  read([&](Connection& c) -> Result<void> {
    const auto page = issue_page(c, {IssueState::kActive, IssueState::kNew}, std::nullopt, 10);
    EXPECT_TRUE(page && page->size() == 1 && page->front().total == 5);
    if (!page || page->empty()) return {};
    std::int64_t sum = 0;
    const auto trend = issue_trend(c, page->front().seq, now_);
    if (trend)
      for (const std::int64_t n : *trend) sum += n;
    EXPECT_EQ(sum, 5);
    return {};
  });
  expect_counts_are_exact();
}

TEST_P(StoreContract, AChangedLineOfTheAuditIsFound) {
  take_in(some(0, 5, letter));
  for (std::int64_t n = 0; n < 5; ++n) change(letter(n).letter.id, LetterCause::kDiscard);
  const auto verdict = [&] {
    AuditVerdict found;
    read([&](Connection& c) -> Result<void> {
      found = verify_audit(c).value();
      return {};
    });
    return found;
  };
  EXPECT_TRUE(verdict().good);
  EXPECT_EQ(verdict().lines, 5);
  const auto damage = [&](std::string_view sql) { write([&](Connection& c) { return sql::execute(c, sql); }); };
  damage("UPDATE audit_log SET actor = 'bob' WHERE seq = 3");
  EXPECT_EQ(verdict().bad_line, 3);
  damage("UPDATE audit_log SET actor = 'ann' WHERE seq = 3");
  EXPECT_TRUE(verdict().good);
  damage("DELETE FROM audit_log WHERE seq = 5");
  EXPECT_EQ(verdict().bad_line, 5);
  damage("DELETE FROM audit_log WHERE seq = 2");
  EXPECT_FALSE(verdict().good);
}

TEST_P(StoreContract, TheAuditIsVerifiedInStretches) {
  take_in(some(0, 6, letter));
  for (std::int64_t n = 0; n < 6; ++n) change(letter(n).letter.id, LetterCause::kDiscard);
  // The numbers that it goes on from, and what it says at the end.
  const auto walk = [&] {
    std::vector<std::int64_t> from{1};
    AuditStretch found;
    do {
      read([&](Connection& c) -> Result<void> {
        found = verify_stretch(c, from.back(), 2).value();
        return {};
      });
      if (found.next) from.push_back(*found.next);
    } while (found.next);
    return std::pair(from, found.verdict);
  };
  EXPECT_EQ(walk().first, (std::vector<std::int64_t>{1, 3, 5, 7})) << "the last compares with the head";
  EXPECT_TRUE(walk().second.good);
  EXPECT_EQ(walk().second.lines, 6);
  const auto damage = [&](std::string_view sql) { write([&](Connection& c) { return sql::execute(c, sql); }); };
  damage("UPDATE audit_log SET actor = 'bob' WHERE seq = 4");
  EXPECT_EQ(walk().second.bad_line, 4);
  damage("UPDATE audit_log SET actor = 'ann' WHERE seq = 4");
  const auto second = [&] {
    AuditVerdict found;
    read([&](Connection& c) -> Result<void> {
      found = verify_stretch(c, 3, 2).value().verdict;
      return {};
    });
    return found;
  };
  EXPECT_TRUE(second().good);
  damage("UPDATE audit_log SET hash = x'00' WHERE seq = 2");
  EXPECT_EQ(second().bad_line, 3) << "a hash that was computed anew breaks the line after it";
  damage("DELETE FROM audit_log WHERE seq = 2");
  EXPECT_EQ(second().problem, "line 2 is missing");
}

}  // namespace
}  // namespace bartleby::contract
