// What pages show of issues and lineages, from the newest letters of an issue alone.
#include <gmock/gmock.h>

#include "office/audit.h"
#include "office/issue_facts.h"
#include "office/issues.h"
#include "tests/contract/store_contract.h"

namespace bartleby::contract {
namespace {

std::map<std::string, std::size_t> told(const SharedFacts& shared) {
  std::map<std::string, std::size_t> facts;
  for (const SharedFact& fact : shared.facts) facts[fact.name + "=" + fact.value] = fact.letters;
  return facts;
}

TEST_P(StoreContract, WhatLettersOfAnIssueShareIsWhatAtLeastHalfOfThemHave) {
  std::vector<Arrival> letters;
  for (std::int64_t n = 0; n < 4; ++n) {
    letters.push_back(letter(n));
    letters.back().payload.value =
        Bytes(std::string_view(n < 2 ? R"({"a/b": {"currency": "TON"}, "rare": 1})" : R"({"list": [1, 2]})"));
  }
  letters[3].payload.value = Bytes(std::string_view("not JSON"));
  take_in(std::move(letters));
  const std::int64_t issue = get(letter(0).letter.id).issue;
  read([&](Connection& c) -> Result<void> {
    const auto shared = issue_shared(c, issue);
    EXPECT_TRUE(shared);
    EXPECT_EQ(shared->looked_at, 4U);
    const auto facts = told(*shared);
    EXPECT_EQ(facts.at("worker=billing"), 4U);
    EXPECT_EQ(facts.at("header.tenant=acme"), 4U);
    EXPECT_EQ(facts.at("/a~1b/currency=\"TON\""), 2U);
    EXPECT_FALSE(facts.contains("header.trace=1")) << "one of four is not shared";
    EXPECT_LE(shared->facts.size(), kMaxShared);
    EXPECT_EQ(shared->facts.front().letters, 4U);
    const auto places = issue_places(c, issue);
    EXPECT_TRUE(places);
    EXPECT_THAT(places->workers, testing::ElementsAre("billing"));
    EXPECT_THAT(places->dlqs, testing::ElementsAre("orders.dlq"));
    return {};
  });
}

TEST_P(StoreContract, OnlyTheNewestLettersOfAnIssueAreLookedAtTheOpenOnesFirst) {
  std::vector<Arrival> letters;
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(kLookedAtForShared) + 20; ++n) {
    letters.push_back(letter(n));
    // The oldest ones come from another instance.
    letters.back().letter.instance = n < 20 ? "old" : "new";
  }
  take_in(std::move(letters));
  change(letter(50).letter.id, LetterCause::kDiscard);
  const std::int64_t issue = get(letter(0).letter.id).issue;
  read([&](Connection& c) -> Result<void> {
    const auto shared = issue_shared(c, issue);
    EXPECT_TRUE(shared);
    EXPECT_EQ(shared->looked_at, kLookedAtForShared);
    EXPECT_EQ(told(*shared).at("instance=new"), kLookedAtForShared - 1) << "the discarded one comes last";
    return {};
  });
}

TEST_P(StoreContract, IssuesAreCountedByStateAndLinesOfTheAuditBySubject) {
  take_in({letter(1)});
  Arrival other = letter(2);
  other.letter.error_type = "Other";
  take_in({other});
  std::string id;
  read([&](Connection& c) -> Result<void> {
    const auto page = issue_page(c, {}, std::nullopt, 10);
    EXPECT_TRUE(page && page->size() == 2);
    id = page->front().id;
    return {};
  });
  ASSERT_TRUE(change_issue(store(), id, IssueCause::kMute, {"somebody", "known since May", ""}, now_));
  change(letter(1).letter.id, LetterCause::kDiscard);
  read([&](Connection& c) -> Result<void> {
    EXPECT_THAT(issue_counts(c).value(), testing::ElementsAre(1, 0, 0, 1, 0));
    EXPECT_EQ(issue_by_id(c, id).value()->note, "known since May");
    EXPECT_EQ(count_audit(c, "").value(), 2);
    EXPECT_EQ(count_audit(c, id).value(), 1);
    EXPECT_EQ(count_audit(c, "nobody").value(), 0);
    return {};
  });
}

TEST_P(StoreContract, AnIssueWithoutLettersIsForgottenInTimeAndMadeAnewByTheNext) {
  constexpr Duration kDay{std::chrono::hours(24)};
  Arrival other = letter(2);
  other.letter.error_type = "OtherError";
  take_in({letter(1), other});
  ASSERT_EQ(number("SELECT count(*) FROM issues"), 2);
  ASSERT_EQ(number("SELECT count(*) FROM issue_hours"), 2);
  const std::string id = text(
      "SELECT i.id FROM issues i JOIN letters l ON l.issue = i.seq WHERE l.error_type = "
      "'TimeoutError'");
  change(letter(1).letter.id, LetterCause::kDiscard);
  change(letter(1).letter.id, LetterCause::kPurge);
  now_ += 2 * kDay + Duration(std::chrono::hours(2));
  EXPECT_EQ(forget_issues(store(), now_, 1).value(), 0U);
  EXPECT_EQ(number("SELECT count(*) FROM issue_hours"), 1) << "of one slice";
  EXPECT_EQ(forget_issues(store(), now_, 100).value(), 0U);
  EXPECT_EQ(number("SELECT count(*) FROM issue_hours"), 0);
  now_ += 89 * kDay;
  EXPECT_EQ(forget_issues(store(), now_, 100).value(), 1U);
  EXPECT_EQ(number("SELECT count(*) FROM issues"), 1) << "the other has a letter";
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE action = 'forget' AND subject = '" + id + "'"), 1);
  EXPECT_EQ(take_in({letter(3)}).news.size(), 1U) << "it is new again";
  expect_counts_are_exact();
}

TEST_P(StoreContract, AnIssueThatPeopleMutedForEverIsNotForgotten) {
  take_in({letter(1)});
  const std::string id = text("SELECT id FROM issues");
  ASSERT_TRUE(change_issue(store(), id, IssueCause::kMute, {"somebody", "known since May", ""}, now_));
  change(letter(1).letter.id, LetterCause::kDiscard);
  change(letter(1).letter.id, LetterCause::kPurge);
  now_ += Duration(std::chrono::hours(24 * 400));
  EXPECT_EQ(forget_issues(store(), now_, 100).value(), 0U);
  EXPECT_TRUE(take_in({letter(2)}).news.empty()) << "nobody is told of it";
  ASSERT_TRUE(change_issue(store(), id, IssueCause::kReopen, {"somebody", "", ""}, now_));
  change(letter(2).letter.id, LetterCause::kDiscard);
  change(letter(2).letter.id, LetterCause::kPurge);
  now_ += Duration(std::chrono::hours(24 * 91));
  EXPECT_EQ(forget_issues(store(), now_, 100).value(), 1U);
}

TEST_P(StoreContract, IntakeThatKnewAForgottenIssueMakesItAnew) {
  TakeIn desk(store(), "test");
  const TopicPartition tp{"orders.dlq", Partition(0)};
  ASSERT_TRUE(desk.store({tp, std::nullopt, {Offset(1), Offset(1)}, 0, {letter(1)}}, now_));
  change(letter(1).letter.id, LetterCause::kDiscard);
  change(letter(1).letter.id, LetterCause::kPurge);
  now_ += Duration(std::chrono::hours(24 * 91));
  ASSERT_EQ(forget_issues(store(), now_, 100).value(), 1U);
  const IntakeBatch batch{tp, IntakePosition{Offset(1), Offset(1)}, {Offset(2), Offset(2)}, 0, {letter(2)}};
  EXPECT_EQ(desk.store(batch, now_).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(desk.store(batch, now_).value().stored, 1U);
  EXPECT_EQ(number("SELECT total FROM issues"), 1);
  expect_counts_are_exact();
}

TEST_P(StoreContract, ALineageHasTheLettersOfAllItsGroups) {
  Arrival here = letter(1), there = letter(1);
  there.letter.shelf.group = there.letter.shelf.worker = "shipping";
  there.letter.id = "ltr_there";
  take_in({here, there, letter(2)});
  read([&](Connection& c) -> Result<void> {
    const auto found = letters_of_lineage(c, here.letter.lineage, 10);
    EXPECT_TRUE(found && found->size() == 2);
    EXPECT_EQ(found->back().id, "ltr_there");
    EXPECT_EQ(letters_of_lineage(c, here.letter.lineage, 1).value().size(), 1U);
    return {};
  });
}

TEST_P(StoreContract, DeathsOfAConsumerAreThoseOfItsOpenLettersInAllDlqs) {
  take_in({letter(1), letter(2)});
  take_in({letter(3), letter(4)}, "other.dlq");
  change(letter(4).letter.id, LetterCause::kDiscard);
  read([&](Connection& c) -> Result<void> {
    const auto deaths = deaths_by_consumer(c);
    EXPECT_TRUE(deaths && deaths->size() == 1);
    EXPECT_EQ(deaths->at("orders/billing"), std::pair(letter(1).letter.died_at, letter(3).letter.died_at));
    return {};
  });
  for (const std::int64_t n : {1, 2, 3}) change(letter(n).letter.id, LetterCause::kDiscard);
  read([&](Connection& c) -> Result<void> {
    EXPECT_TRUE(deaths_by_consumer(c).value().empty());
    return {};
  });
}

}  // namespace
}  // namespace bartleby::contract
