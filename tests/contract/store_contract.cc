#include "tests/contract/store_contract.h"

#include "office/sql.h"

namespace bartleby::contract {

Query parsed(std::string_view text) {
  auto query = parse_query(text);
  EXPECT_TRUE(query) << text << ": " << query.error().message;
  return query ? *query : Query{};
}

std::int64_t StoreContract::number(std::string_view sql) {
  std::int64_t found = -1;
  read([&](Connection& c) -> Result<void> {
    auto row = sql::one(c, sql, [](Rows& r) { return r.integer(0); });
    if (!row) return std::unexpected(row.error());
    if (*row) found = **row;
    return {};
  });
  return found;
}

std::string StoreContract::text(std::string_view sql) {
  std::string found;
  read([&](Connection& c) -> Result<void> {
    return sql::each(c, sql, [&](Rows& r) { found += (found.empty() ? "" : " ") + r.text(0); });
  });
  return found;
}

Arrival StoreContract::letter(std::int64_t n, std::uint32_t replays) {
  Letter l;
  LetterFacts first;
  first.cluster = "test";
  first.topic = "orders";
  first.offset = Offset(n);
  first.timestamp = timestamp_ms(1'700'000'000'000 + n);
  LetterFacts& facts = l.facts;
  facts = first;
  if (replays > 0) {
    facts.lineage = message_id(first);
    facts.offset = Offset(1000000 + n * 100 + replays);
  }
  facts.replays = replays;
  facts.group = "billing";
  facts.worker = "billing";
  facts.instance = "billing-1";
  facts.reason = Reason::kExhausted;
  facts.kind = Kind::kTimeout;
  facts.attempts = 3;
  facts.first_failure = timestamp_ms(1'799'999'000'000 + n);
  facts.last_failure = timestamp_ms(1'799'999'500'000 + n);
  facts.error = {"TimeoutError", "no answer after 30s", ""};
  l.id = letter_id(facts);
  l.lineage = message_id(facts);
  l.record = {facts.offset,
              facts.timestamp,
              "customer-" + std::to_string(n % 10),
              "{\"n\":" + std::to_string(n) + "}",
              {{"tenant", "acme"}, {"trace", std::to_string(n)}}};
  return arrival_of({"orders.dlq", Partition(0)}, Offset(n), facts.timestamp, std::move(l));
}

IntakeReport StoreContract::take_in(std::vector<Arrival> letters, const std::string& dlq) {
  TakeIn desk(*store_, "test");
  const TopicPartition tp{dlq, Partition(0)};
  const auto before = desk.position(tp);
  EXPECT_TRUE(before) << before.error().message;
  Offset at = *before ? (*before)->done_to : Offset(0);
  for (Arrival& one : letters) {
    one.letter.shelf.dlq = dlq;
    one.letter.dlq = {Partition(0), at};
    at = next(at);
  }
  const auto report = desk.store({tp, *before, {at, at}, 0, std::move(letters)}, now_);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : IntakeReport{};
}

ChangedLetter StoreContract::change(const std::string& id, LetterCause cause, const Seen& seen,
                                    const ChangeOptions& options) {
  ChangedLetter changed;
  const auto done =
      change_letters(*store_, {"ann", "because", "r1"}, now_, [&](LetterChanges& changes) -> Result<void> {
        auto one = changes.change(id, seen, cause, options);
        if (!one) return std::unexpected(one.error());
        changed = std::move(*one);
        return {};
      });
  EXPECT_TRUE(done) << done.error().message;
  return changed;
}

std::vector<std::string> StoreContract::ids(std::string_view query, std::size_t limit) {
  std::vector<std::string> found;
  std::optional<LetterCursor> after;
  do {
    read([&](Connection& c) -> Result<void> {
      auto page = letter_page(c, parsed(query), now_, after, limit);
      if (!page) return std::unexpected(page.error());
      for (const StoredLetter& l : page->letters) found.push_back(l.id);
      after = page->next;
      return {};
    });
  } while (after);
  return found;
}

LetterCount StoreContract::count(std::string_view query) {
  LetterCount counted;
  read([&](Connection& c) -> Result<void> {
    auto n = count_letters(c, parsed(query), now_);
    if (!n) return std::unexpected(n.error());
    counted = *n;
    return {};
  });
  return counted;
}

StoredLetter StoreContract::get(const std::string& id) {
  StoredLetter found;
  read([&](Connection& c) -> Result<void> {
    auto row = letter_row(c, std::string_view(id));
    if (!row) return std::unexpected(row.error());
    EXPECT_TRUE(row->has_value()) << id;
    if (*row) found = (*row)->letter;
    return {};
  });
  return found;
}

void StoreContract::expect_counts_are_exact() {
  EXPECT_EQ(
      number(
          "SELECT count(*) FROM (SELECT consumerId, count(id) AS n FROM job WHERE status = 1004"
          " GROUP BY consumerId) AS j"
          " LEFT JOIN dlq_summary d ON d.consumerId = j.consumerId WHERE d.dead_count IS NULL OR d.dead_count <> j.n"),
      0);
  EXPECT_EQ(number("SELECT coalesce(sum(dead_count), 0) FROM dlq_summary"),
            number("SELECT count(*) FROM job WHERE status = 1004"));
  EXPECT_EQ(number("SELECT count(*) FROM dlq_summary WHERE dead_count < 0"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM counters c WHERE c.letters <>"
                   " (SELECT count(*) FROM letters l WHERE l.shelf = c.shelf AND l.state = c.state)"),
            0);
  EXPECT_EQ(number("SELECT coalesce(sum(letters), 0) FROM counters"), number("SELECT count(*) FROM letters"));
  EXPECT_EQ(number("SELECT count(*) FROM issues i WHERE i.open <>"
                   " (SELECT count(*) FROM letters l WHERE l.issue = i.seq AND l.state = 0)"),
            0);
  EXPECT_EQ(number("SELECT count(*) FROM operation_results r WHERE r.items <> (SELECT count(*) FROM operation_items i"
                   " WHERE i.operation = r.operation AND i.result = r.result)"),
            0);
  EXPECT_EQ(number("SELECT coalesce(sum(items), 0) FROM operation_results"),
            number("SELECT count(*) FROM operation_items"));
  EXPECT_EQ(number("SELECT count(*) FROM walked w, summary_walk s WHERE w.letters <> (SELECT count(*) FROM letters l"
                   " WHERE l.shelf = w.shelf AND l.state = w.state AND l.seq <= s.walked_to)"),
            0);
  EXPECT_EQ(number("SELECT coalesce(sum(letters), 0) FROM walked"),
            number("SELECT count(*) FROM letters, summary_walk WHERE seq <= walked_to"));
  EXPECT_EQ(number("SELECT count(*) FROM walked_issues w, summary_walk s WHERE w.letters <> (SELECT count(*) FROM"
                   " letters l WHERE l.issue = w.issue AND l.state = 0 AND l.seq <= s.walked_to)"),
            0);
  read([](Connection& c) -> Result<void> {
    const auto verdict = verify_audit(c);
    if (!verdict) return std::unexpected(verdict.error());
    EXPECT_TRUE(verdict->good) << verdict->problem;
    return {};
  });
}

}  // namespace bartleby::contract
