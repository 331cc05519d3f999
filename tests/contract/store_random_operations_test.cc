// Random operations and crashes on every store; after every round the counts are those of the rows.
#include "base/random.h"
#include "tests/contract/rounds.h"
#include "tests/contract/store_operations.h"

namespace bartleby::contract {
namespace {

// Replays, requeues to one group, discards, restores, purges and single deletes, with processes that die before and
// after every write of the store and of the broker: each letter is sent once for each of its lives, in key order, and
// counts stay exact.
TEST_P(StoreOperations, RandomOperationsAndCrashesSendEachLetterOnceAndKeepCountsExact) {
  Random random(20261117);
  std::int64_t made = 0, crashes = 0, sent_in_all = 0, deletes = 0, requeued = 0;
  std::map<std::pair<std::string, std::uint32_t>, int> sent;
  std::map<TopicPartition, Offset> read_to;  // what the worker has handled
  const std::vector<std::string> groups = {"billing", "mail", "orders.audit"};
  const std::vector<std::string> topics = {"orders", "orders.replay.billing", "orders.replay.mail",
                                           "orders.replay.orders.audit"};
  readers_["orders"].clear();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    ensure(topics[i + 1], 2);
    readers_["orders"].push_back({groups[i], topics[i + 1]});
  }
  const auto of_group = [&](std::int64_t n, std::uint32_t replays = 0) {
    Arrival one = letter(n, replays);
    const std::string& group = groups[static_cast<std::size_t>(n / 3) % groups.size()];
    one.letter.shelf.group = one.letter.shelf.worker = group;
    if (replays > 0) one.letter.shelf.topic = "orders.replay." + group;
    return one;
  };
  std::string running;
  const int verify_every = std::max(10, rounds() / 100);  // the audit is read from its beginning
  // The worker: handles what is new, and a part of it dies again.
  const auto work = [&] {
    std::vector<Arrival> back;
    for (const std::string& topic : topics)
      for (const std::int32_t p : {0, 1}) {
        const TopicPartition tp{topic, Partition(p)};
        std::map<std::string, Offset> last;
        const auto records = cluster_.read(tp, read_to[tp], 1000, 1 << 30).value();
        for (const LogRecord& record : records) {
          read_to[tp] = next(record.offset);
          const auto mark = replay_mark(record, {kKey}, topic);
          ASSERT_TRUE(mark);
          ++(topic == topics[0] ? sent_in_all : requeued);
          ASSERT_EQ((++sent[{mark->letter, mark->replays}]), 1) << "sent twice: " << mark->letter;
          const std::int64_t n = std::stoll(record.value->substr(5));
          const bool dies = random.chance(30) && mark->replays < 4;
          answer(*mark, dies ? Verdict::kDead : Verdict::kApplied);
          if (dies) back.push_back(of_group(n, mark->replays));
          // Of one batch of the worker's reading: letters of a key and a group in the order of their first lives.
          // Lives of different operations may follow each other in any order.
          if (const auto before = last.find(*record.key + mark->operation + mark->group); before != last.end()) {
            ASSERT_LT(before->second, Offset(n)) << "out of order";
          }
          last[*record.key + mark->operation + mark->group] = Offset(n);
        }
      }
    take_in(std::move(back));
  };
  // What the route that deletes all dead jobs of a consumer does.
  const auto delete_all = [&](const std::string& group) {
    const auto done = change_letters(store(), kAnn, now_, [&](LetterChanges& changes) -> Result<void> {
      const Query query = parsed("group:" + group + " topic:orders state:open");
      const auto page = letter_page(changes.connection(), query, now_, std::nullopt, 500);
      if (!page) return std::unexpected(page.error());
      for (const StoredLetter& one : page->letters) {
        const auto changed = changes.change(one.seq, {.state = LetterState::kOpen}, LetterCause::kPurge);
        if (!changed) return std::unexpected(changed.error());
        deletes += changed->result == ChangeResult::kDone ? 1 : 0;
      }
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
  };
  for (int round = 0; round < rounds() && !HasFailure(); ++round) {
    clock_.passed += Duration(1000);
    now_ = clock_.now().wall;
    if (made < rounds() / 2 && random.chance(50)) {
      std::vector<Arrival> fresh;
      for (std::uint64_t i = random.below(8); i > 0; --i) fresh.push_back(of_group(made++));
      take_in(std::move(fresh));
    }
    const auto known = running.empty() ? std::optional<Operation>() : *operations().get(running);
    if (!known || known->ended_at) {
      OperationRequest r = request(static_cast<OperationKind>(random.chance(70) ? 0 : random.between(1, 3)));
      if (r.kind != OperationKind::kReplay || random.chance(50))
        r.query = parsed("key:customer-" + std::to_string(random.below(10)));
      if (r.kind == OperationKind::kReplay)
        r.settings.scope = random.chance(30) ? ReplayScope::kGroup : ReplayScope::kTopic;
      r.settings.canary = static_cast<std::uint32_t>(random.below(4));
      r.settings.halt = {50, 5};
      running = started(r).id;
    } else if (known->state == OperationState::kHalted || known->state == OperationState::kPaused) {
      ASSERT_TRUE(random.chance(70) ? operations().resume(running, kAnn) : operations().cancel(running, kAnn));
    } else if (random.chance(10)) {
      ASSERT_TRUE(random.chance(70) ? operations().pause(running, kAnn) : operations().cancel(running, kAnn));
    }
    if (made > 0 && random.chance(10)) {
      const ChangedLetter deleted = change(letter(random.between(0, made - 1)).letter.id, LetterCause::kPurge);
      deletes += deleted.result == ChangeResult::kDone ? 1 : 0;
    }
    if (random.chance(3)) delete_all(groups[random.below(groups.size())]);
    const auto maybe_die = [&](bool) {
      if (random.chance(12)) throw Crash{};
    };
    for (int lives = 0; lives < 3; ++lives) {
      DyingStore dying_store(store());
      DyingBroker dying_broker(cluster_);
      dying_store.at_write = dying_broker.at_write = maybe_die;
      try {
        RunnerOptions o{.key = kKey};
        o.limits.batch = random.between(1, 5);
        o.limits.slice = random.between(1, 5);
        OperationRunner runner(dying_broker, dying_store, log_, clock_, o);
        runner.run_until_idle();
        break;
      } catch (const Crash&) {
        ++crashes;
        if (random.chance(10)) reopen();
      }
    }
    work();
    for (const std::string& group : groups) {
      const std::string of =
          " WHERE consumerId = '" + consumer_of({"", "", "orders", group, "", Reason::kUnknown}) + "'";
      EXPECT_EQ(number("SELECT coalesce(sum(dead_count), 0) FROM dlq_summary" + of),
                number("SELECT count(*) FROM job" + of + " AND status = 1004"))
          << group;
    }
    if (round % verify_every == 0) expect_counts_are_exact();
  }
  // Without deaths what is in doubt is settled.
  OperationRunner(cluster_, store(), log_, clock_, {.key = kKey}).run_until_idle();
  work();
  expect_counts_are_exact();
  // Nothing of what was taken is missing: every letter that is on its way has been sent in this life.
  read([&](Connection& c) -> Result<void> {
    auto page = letter_page(c, parsed("state:replaying"), now_, std::nullopt, 500);
    if (!page) return std::unexpected(page.error());
    for (const StoredLetter& one : page->letters)
      EXPECT_EQ((sent[{one.id, one.replays + 1}]), 1) << "taken and not sent: " << one.id;
    return {};
  });
  EXPECT_GT(crashes, rounds() / 5);
  EXPECT_GT(sent_in_all, rounds() / 5);
  EXPECT_GT(requeued, rounds() / 20);
  EXPECT_GT(deletes, rounds() / 100);
}

}  // namespace
}  // namespace bartleby::contract
