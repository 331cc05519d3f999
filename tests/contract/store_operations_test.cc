// Operations on every store: plans, what they do to letters, and replays over crashes, with a simulated broker.
#include "tests/contract/store_operations.h"

#include "office/sql.h"

namespace bartleby::contract {
namespace {

TEST_P(StoreOperations, APlanSaysWhatWillHappenAndChangesNothing) {
  letters(10);
  change(letter(3).letter.id, LetterCause::kDiscard);
  take_in({letter(4, 5)});  // it came back five times
  OperationRequest r = request(OperationKind::kReplay, "-state:archived");
  r.settings.rate = 2;
  const Operation planned = plan(r);
  EXPECT_EQ(planned.state, OperationState::kPlanned);
  EXPECT_EQ(planned.letters, 8);
  EXPECT_EQ(planned.report.excluded, (std::vector<Excluded>{{"it is discarded", 1}, {"max replays", 1}}));
  EXPECT_EQ(planned.report.to, (std::vector<PlanTarget>{{"orders", "billing", 8}}));
  EXPECT_TRUE(planned.report.also_read_by.empty());
  EXPECT_EQ(planned.report.seconds, 4);
  EXPECT_EQ(planned.dlqs, (std::vector<std::string>{"orders.dlq"}));
  EXPECT_EQ(planned.with(ItemResult::kPending), 8);
  EXPECT_EQ(count("state:open").value, 9);
  const auto items = operations().results(planned.id, ItemResult::kPending, std::nullopt, 3).value();
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].letter_id, letter(0).letter.id) << "oldest first";
  expect_counts_are_exact();
}

TEST_P(StoreOperations, WhoElseReadsTheTopicDecidesWhereItGoes) {
  letters(2);
  readers_["orders"].push_back({"audit", "orders.replay.audit"});
  const PlanReport lane = plan(request(OperationKind::kReplay)).report;
  EXPECT_EQ(lane.to, (std::vector<PlanTarget>{{"orders.replay.billing", "billing", 2}}));
  EXPECT_TRUE(lane.also_read_by.empty());
  EXPECT_EQ(lane.spared, (std::vector<std::string>{"audit"})) << "it reads the topic and does not see it";
  OperationRequest whole = request(OperationKind::kReplay);
  whole.settings.scope = ReplayScope::kTopic;
  const PlanReport topic = plan(whole).report;
  EXPECT_EQ(topic.also_read_by, (std::vector<std::string>{"audit"}));
  EXPECT_TRUE(topic.spared.empty());
  readers_["orders"] = {{"audit", ""}, {"mail", ""}};
  const Operation unsaid = plan(request(OperationKind::kReplay));
  EXPECT_EQ(unsaid.letters, 0);
  EXPECT_EQ(unsaid.report.excluded.front().why, "other groups read orders; say scope topic or to");
  OperationRequest elsewhere = request(OperationKind::kReplay);
  elsewhere.settings.to = "anywhere";
  EXPECT_EQ(operations().plan(elsewhere, kAnn).error().code, ErrorCode::kInvalid);
}

TEST_P(StoreOperations, ALaneThatWorkersCannotVerifyIsNotUsed) {
  letters(2);
  readers_["orders"].push_back({"audit", "orders.replay.audit"});
  OperationsOptions without = options();
  without.limits.lanes = false;
  Operations keyless(store(), clock_, without);
  OperationRequest group = request(OperationKind::kReplay);
  const Operation planned = keyless.plan(group, kAnn).value();
  EXPECT_EQ(planned.letters, 0);
  EXPECT_NE(planned.report.excluded.front().why.find("signing.office"), std::string::npos);
  group.settings.scope = ReplayScope::kGroup;
  EXPECT_NE(keyless.plan(group, kAnn).error().message.find("signing.office"), std::string::npos);
  group.settings.scope = ReplayScope::kTopic;
  EXPECT_EQ(keyless.plan(group, kAnn).value().letters, 2);
}

// A type may have more issues than are looked up for a query.
TEST_P(StoreOperations, AnErrorTypeWithVeryManyIssuesIsFoundWhole) {
  std::vector<Arrival> all;
  for (std::int64_t n = 0; n < 1100; ++n) {
    all.push_back(letter(n));
    std::string name;  // numbers would be one issue
    for (std::int64_t rest = n + 26; rest > 0; rest /= 26) name += static_cast<char>('a' + rest % 26);
    all.back().letter.error_type = n % 11 == 0 ? "Rare" : "NotFound";
    all.back().letter.error_message = "user " + name + " is not there";
  }
  take_in(all);
  EXPECT_EQ(count("error:NotFound").value, 1000);
  EXPECT_EQ(count("-error:NotFound").value, 100);
  EXPECT_EQ(plan(request(OperationKind::kDiscard, "-error:NotFound")).letters, 100);
}

// Whoever can write to a dlq can write letters of his own; a note in a journal would be believed.
TEST_P(StoreOperations, ALetterThatNamesAJournalIsNotSentThere) {
  Arrival forged = letter(1), own = letter(2);
  forged.letter.shelf.topic = "orders.parked.billing";
  own.letter.shelf.topic = "bartleby.outcomes";
  take_in({forged, own, letter(3)});
  const Operation planned = plan(request(OperationKind::kReplay));
  EXPECT_EQ(planned.letters, 1);
  EXPECT_EQ(planned.report.excluded,
            (std::vector<Excluded>{{"it names a topic of Bartleby's own, which takes no messages", 2}}));
}

TEST_P(StoreOperations, ANewerMessageOfTheKeyThatWasHandledIsMarked) {
  letters(12);  // 0 and 10, 1 and 11 have one key each
  change(letter(10).letter.id, LetterCause::kReplay);
  change(letter(10).letter.id, LetterCause::kSucceeded);
  const Operation planned = plan(request(OperationKind::kReplay));
  EXPECT_EQ(planned.report.order_conflicts, 1);
  const auto items = operations().results(planned.id, std::nullopt, std::nullopt, 50).value();
  EXPECT_EQ(items.front().letter_id, letter(0).letter.id);
  EXPECT_EQ(items.front().note, "a newer message of its key was handled already");
}

TEST_P(StoreOperations, DiscardCanBeUndoneAndPurgeCannot) {
  letters(25);
  const Operation discarded = run(started(request(OperationKind::kDiscard, "-key:customer-3")));
  EXPECT_EQ(discarded.state, OperationState::kDone);
  EXPECT_EQ(discarded.with(ItemResult::kSucceeded), 22);
  EXPECT_EQ(count("state:discarded").value, 22);
  EXPECT_EQ(get(letter(0).letter.id).undo_until, clock_.now().wall + std::chrono::hours(72));
  expect_counts_are_exact();
  EXPECT_EQ(run(started(request(OperationKind::kRestore))).with(ItemResult::kSucceeded), 22);
  EXPECT_EQ(count("state:open").value, 25);
  EXPECT_EQ(get(letter(0).letter.id).undo_until, std::nullopt);
  EXPECT_EQ(run(started(request(OperationKind::kPurge, "key:customer-3"))).with(ItemResult::kSucceeded), 3);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 22);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 22);
  expect_counts_are_exact();
  EXPECT_EQ(text("SELECT actor || ':' || detail FROM audit_log WHERE action = 'purge' LIMIT 1"),
            "ann:{\"operation\":\"op_3\"}");
}

TEST_P(StoreOperations, WhatAnOperationDoesToLettersIsDoneByWhoeverStartedIt) {
  take_in({letter(1)});
  const Operation planned = plan(request(OperationKind::kDiscard));
  ASSERT_EQ(operations().start(planned.id, {"bob", "", "r2"})->result, OperationChange::kDone);
  const Operation done = run(planned);
  EXPECT_EQ(done.actor, "ann");
  EXPECT_EQ(done.settings.started_by, "bob");
  EXPECT_EQ(text("SELECT actor || ':' || reason || ':' || request_id FROM audit_log WHERE action = 'discard'"),
            "bob:mended:r2");
}

TEST_P(StoreOperations, WhatChangedSinceThePlanIsLeftAlone) {
  letters(4);
  const Operation planned = plan(request(OperationKind::kReplay));
  change(letter(1).letter.id, LetterCause::kDiscard);
  change(letter(2).letter.id, LetterCause::kPurge);
  ASSERT_TRUE(operations().start(planned.id, kAnn));
  const Operation after = run(planned);
  EXPECT_EQ(after.with(ItemResult::kSkipped), 2);
  EXPECT_EQ(replays_in("orders").size(), 2U);
  const auto skipped = operations().results(planned.id, ItemResult::kSkipped, std::nullopt, 10).value();
  EXPECT_EQ(skipped[0].note, "it has changed since the plan");
  EXPECT_EQ(skipped[1].note, "it is gone");
  EXPECT_EQ(get(letter(1).letter.id).state, LetterState::kDiscarded);
}

TEST_P(StoreOperations, AReplayIsTheMessageAsItWasAndOneHeader) {
  letters(1);
  Arrival odd = letter(1);
  odd.payload = {std::string("k\0\xff", 3),
                 std::nullopt,
                 {{"a", std::nullopt},
                  {"kafka_dlt-exception-message", "x"},
                  {"source_topic", "orders"},
                  {"reason_poisoned", "x"},
                  {"a", "2"},
                  {"bartleby-old", "1"}},
                 ""};
  take_in({odd});
  run(started(request(OperationKind::kReplay)));
  const auto sent = replays_in("orders");
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].second.key, "customer-0");
  EXPECT_EQ(sent[0].second.value, "{\"n\":0}");
  EXPECT_EQ(sent[1].second.key, std::string("k\0\xff", 3));
  EXPECT_EQ(sent[1].second.value, std::nullopt);
  ASSERT_EQ(sent[1].second.headers.size(), 3U);
  EXPECT_EQ(sent[1].second.headers[0], (std::pair<std::string, Bytes>("a", std::nullopt)));
  EXPECT_EQ(sent[1].second.headers[1], (std::pair<std::string, Bytes>("a", "2")));
  EXPECT_EQ(sent[0].first.replays, 1U);
  EXPECT_EQ(sent[0].first.group, "billing");
  EXPECT_EQ(sent[0].first.lineage, letter(0).letter.lineage);
}

TEST_P(StoreOperations, OutcomesResolveLettersOnce) {
  letters(3);
  const Operation operation = started(request(OperationKind::kReplay));
  run(operation);
  EXPECT_EQ(count("state:replaying").value, 3);
  const auto sent = replays_in("orders");
  ASSERT_EQ(sent.size(), 3U);
  answer(sent[0].first, Verdict::kApplied);
  answer(sent[0].first, Verdict::kApplied);  // written twice
  answer(sent[1].first, Verdict::kSkipped);
  answer(sent[2].first, Verdict::kDead);
  ASSERT_TRUE(cluster_.produce({{kOutcomesTopic, std::nullopt, "?", "not ours", {}}}));
  const auto taken = take_outcomes(store(), cluster_, 100, now_);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->resolved, 2U);
  EXPECT_EQ(taken->came_back, 1U);
  EXPECT_EQ(taken->ignored, 2U);
  EXPECT_EQ(take_outcomes(store(), cluster_, 100, now_)->records, 0U);
  EXPECT_EQ(get(sent[0].first.letter).state, LetterState::kResolved);
  EXPECT_EQ(get(sent[2].first.letter).state, LetterState::kReplaying) << "its letter has not come yet";
  take_in({letter(2, 1)});
  EXPECT_EQ(get(sent[2].first.letter).state, LetterState::kOpen);
  // The same outcome of the life before, seen late, changes nothing.
  answer(sent[2].first, Verdict::kApplied);
  EXPECT_EQ(take_outcomes(store(), cluster_, 100, now_)->ignored, 1U);
  clock_.passed += Duration(1000);
  const Operation after = run(operation);
  EXPECT_EQ(after.state, OperationState::kDone);
  EXPECT_EQ(after.note, "1 of 3 came back");
  EXPECT_EQ(after.with(ItemResult::kSucceeded), 2);
  EXPECT_EQ(after.with(ItemResult::kCameBack), 1);
  expect_counts_are_exact();
}

TEST_P(StoreOperations, OutcomesAreReadFromTheBeginningOfATopicThatWasMadeAnew) {
  letters(2);
  run(started(request(OperationKind::kReplay)));
  const auto sent = replays_in("orders");
  ASSERT_EQ(sent.size(), 2U);
  for (const auto& [mark, record] : sent) answer(mark, Verdict::kDead);
  EXPECT_EQ(take_outcomes(store(), cluster_, 100, now_)->came_back, 2U);
  cluster_.recreate(kOutcomesTopic);
  EXPECT_EQ(take_outcomes(store(), cluster_, 100, now_)->records, 0U);
  for (const auto& [mark, record] : sent) answer(mark, Verdict::kApplied);
  EXPECT_EQ(take_outcomes(store(), cluster_, 100, now_)->resolved, 2U);
}

TEST_P(StoreOperations, ARefusedLetterIsOpenAgainAndSaysWhy) {
  ensure("small", 1, 1500);
  letters(1);
  Arrival large = letter(1);
  large.payload.value = std::string(4000, 'x');
  take_in({large, letter(2)});
  OperationRequest r = request(OperationKind::kReplay);
  r.settings.to = "small";
  OperationsOptions o = options();
  o.limits.targets = {"small"};
  Operations with_targets(store(), clock_, o);
  const Operation planned = *with_targets.plan(r, kAnn);
  ASSERT_TRUE(with_targets.start(planned.id, kAnn));
  const Operation after = run(planned);
  EXPECT_EQ(replays_in("small").size(), 2U);
  EXPECT_EQ(after.with(ItemResult::kSkipped), 1);
  EXPECT_EQ(get(large.letter.id).state, LetterState::kOpen);
  EXPECT_EQ(operations().results(planned.id, ItemResult::kSkipped, std::nullopt, 9)->front().note,
            "record too large for small");
  expect_counts_are_exact();
}

TEST_P(StoreOperations, OneRunningReplayPerDlqAndCancelLosesNothing) {
  letters(6);
  OperationRequest slow = request(OperationKind::kReplay);
  slow.settings.canary = 2;
  const Operation one = started(slow);
  run(one);
  const Operation two = plan(request(OperationKind::kReplay));
  const auto refused = operations().start(two.id, kAnn);
  EXPECT_EQ(refused->result, OperationChange::kConflict);
  EXPECT_EQ(refused->conflict, one.id);
  const auto cancelled = operations().cancel(one.id, kAnn);
  EXPECT_EQ(cancelled->result, OperationChange::kDone);
  EXPECT_EQ(cancelled->operation.with(ItemResult::kSent), 2);
  EXPECT_EQ(cancelled->operation.with(ItemResult::kSkipped), 4);
  EXPECT_EQ(operations().resume(one.id, kAnn)->result, OperationChange::kWrongState);
  EXPECT_EQ(operations().start("op_none", kAnn)->result, OperationChange::kNotFound);
  EXPECT_EQ(count("state:open").value, 4);
  EXPECT_EQ(operations().start(two.id, kAnn)->result, OperationChange::kDone);
  run(two);
  EXPECT_EQ(replays_in("orders").size(), 6U);
  EXPECT_EQ(operations().list({OperationState::kRunning}, std::nullopt, 50)->size(), 1U);
}

TEST_P(StoreOperations, AReplayThatOnlyWaitsForOutcomesIsInNobodysWay) {
  letters(20);
  const Operation first = started(request(OperationKind::kReplay, "key:customer-0"));
  ASSERT_GT(first.letters, 1);
  ASSERT_EQ(run(first).cursor, first.letters);
  const Operation second = plan(request(OperationKind::kReplay));
  ASSERT_GT(second.letters, 1);
  EXPECT_EQ(operations().start(second.id, kAnn)->result, OperationChange::kDone);
  // Nor is one that is resumed when it has sent everything.
  ASSERT_TRUE(operations().pause(first.id, kAnn));
  EXPECT_EQ(operations().resume(first.id, kAnn)->result, OperationChange::kDone);
}

TEST_P(StoreOperations, AReplayThatSendsIsSeenHoweverManyOthersRun) {
  letters(20);
  OperationRequest slow = request(OperationKind::kReplay, "key:customer-0");
  slow.settings.canary = 1;
  const Operation first = started(slow);
  ASSERT_LT(run(first).cursor, first.letters);
  // As many newer ones as a page of operations has, each of one letter.
  write([&](Connection& connection) -> Result<void> {
    for (std::int64_t i = 0; i < 600; ++i)
      BARTLEBY_TRY(sql::execute(connection,
                                "INSERT INTO operations(seq, id, kind, state, version, dlq, settings, report, letters,"
                                " cursor, actor, reason, created_at) SELECT $1, 'op_alone' || $1, kind, state, 1, dlq,"
                                " settings, report, 1, 1, actor, reason, created_at FROM operations WHERE id = $2",
                                100000 + i, first.id));
    return {};
  });
  const Operation second = plan(request(OperationKind::kReplay));
  const auto refused = operations().start(second.id, kAnn);
  EXPECT_EQ(refused->result, OperationChange::kConflict);
  EXPECT_EQ(refused->conflict, first.id);
}

TEST_P(StoreOperations, WhatIsToStartAtOnceIsNotPlannedWhileAnotherSends) {
  letters(20);
  OperationRequest slow = request(OperationKind::kReplay, "key:customer-0");
  slow.settings.canary = 1;
  const Operation first = started(slow);
  ASSERT_LT(run(first).cursor, first.letters);
  const std::int64_t items = number("SELECT count(*) FROM operation_items");
  OperationRequest at_once = request(OperationKind::kReplay);
  at_once.starts_at_once = true;
  const auto refused = operations().plan(at_once, kAnn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFenced);
  EXPECT_TRUE(refused.error().message.contains(first.id)) << refused.error().message;
  EXPECT_EQ(number("SELECT count(*) FROM operation_items"), items);
  EXPECT_EQ(number("SELECT count(*) FROM operations"), 1);
  // A letter alone goes beside it.
  OperationRequest alone = of_ids({letter(1).letter.id});
  alone.starts_at_once = true;
  EXPECT_TRUE(operations().plan(alone, kAnn));
  // And when it has sent everything, all may.
  answer_all(Verdict::kApplied);
  ASSERT_EQ(run(first).cursor, first.letters);
  EXPECT_TRUE(operations().plan(at_once, kAnn));
}

TEST_P(StoreOperations, APauseAtTheCanaryDoesNotSendTheRestBeforeItsOutcomesAreKnown) {
  letters(6);
  OperationRequest careful = request(OperationKind::kReplay);
  careful.settings.canary = 2;
  const Operation operation = started(careful);
  run(operation);
  ASSERT_EQ(replays_in("orders").size(), 2U);
  ASSERT_TRUE(operations().pause(operation.id, kAnn));
  ASSERT_EQ(operations().resume(operation.id, kAnn)->result, OperationChange::kDone);
  EXPECT_EQ(run(operation).state, OperationState::kRunning);
  EXPECT_EQ(replays_in("orders").size(), 2U) << "nobody has said what became of the canary";
  answer_all(Verdict::kDead);
  EXPECT_EQ(run(operation).state, OperationState::kHalted);
  // A halt has shown it to people: who resumes then goes on.
  ASSERT_EQ(operations().resume(operation.id, kAnn)->result, OperationChange::kDone);
  run(operation);
  EXPECT_EQ(replays_in("orders").size(), 6U);
}

TEST_P(StoreOperations, WhatCameBackBeforeAPauseStillCountsTowardsTheHalt) {
  letters(8);
  OperationRequest r = request(OperationKind::kReplay);
  r.settings.rate = 1;
  r.settings.halt = {5, 4};
  const Operation operation = started(r);
  // Each comes back, and each time somebody pauses and resumes before there are enough to judge.
  for (std::size_t sent = 1; sent <= 4; ++sent) {
    clock_.passed += Duration(1000);
    run(operation);
    ASSERT_EQ(replays_in("orders").size(), sent);
    answer_all(Verdict::kDead);
    ASSERT_TRUE(operations().pause(operation.id, kAnn));
    ASSERT_EQ(operations().resume(operation.id, kAnn)->result, OperationChange::kDone);
  }
  const Operation halted = run(operation);
  EXPECT_EQ(halted.state, OperationState::kHalted);
  EXPECT_EQ(halted.note, "4 of the first 4 came back, more than 5 %");
}

TEST_P(StoreOperations, AHaltBeforeTheCanaryHasGoneDoesNotExcuseItsOutcomes) {
  letters(6);
  OperationRequest r = request(OperationKind::kReplay);
  r.settings.rate = 1;
  r.settings.canary = 3;
  r.settings.halt = {5, 1};
  const Operation operation = started(r);
  const auto next = [&] {
    clock_.passed += Duration(1000);
    return run(operation);
  };
  next();
  next();
  const auto sent = replays_in("orders");
  ASSERT_EQ(sent.size(), 2U);
  answer(sent[0].first, Verdict::kDead);
  ASSERT_TRUE(take_outcomes(store(), cluster_, 1000, now_));
  ASSERT_EQ(next().state, OperationState::kHalted);
  ASSERT_EQ(operations().resume(operation.id, kAnn)->result, OperationChange::kDone);
  next();
  ASSERT_EQ(replays_in("orders").size(), 3U);
  for (const auto& [mark, record] : replays_in("orders"))
    if (mark.letter != sent[0].first.letter && mark.letter != sent[1].first.letter) answer(mark, Verdict::kApplied);
  ASSERT_TRUE(take_outcomes(store(), cluster_, 1000, now_));
  next();
  next();
  EXPECT_EQ(replays_in("orders").size(), 3U) << "one of the canary has no outcome";
}

TEST_P(StoreOperations, ALetterAloneGoesBesideAReplayAndAReplayBesideIt) {
  letters(6);
  OperationRequest alone = request(OperationKind::kReplay);
  alone.query.reset();
  alone.ids = {letter(0).letter.id};
  run(started(alone));
  OperationRequest many = request(OperationKind::kReplay);
  many.settings.canary = 2;
  run(started(many));
  alone.ids = {letter(5).letter.id};
  run(started(alone));
  EXPECT_EQ(operations().list({OperationState::kRunning}, std::nullopt, 50)->size(), 3U);
  const Operation second = plan(request(OperationKind::kReplay));
  EXPECT_EQ(operations().start(second.id, kAnn)->result, OperationChange::kConflict);
}

TEST_P(StoreOperations, AnEditIsShownAppliedAndLeftOutWhereItDoesNotFit) {
  Arrival fits = letter(0), not_json = letter(1), null = letter(2);
  fits.payload.value = std::string(R"({ "n": 9007199254740993, "cur": "USD" })");
  not_json.payload.value = std::string("no json");
  null.payload.value = Bytes();
  take_in({fits, not_json, null});
  OperationRequest r = request(OperationKind::kReplay);
  r.settings.edit = R"([{"op":"replace","path":"/cur","value":"EUR"}])";
  const std::string after = R"({"n":9007199254740993,"cur":"EUR"})";
  const Operation planned = started(r);
  ASSERT_EQ(planned.report.previews.size(), 1U);
  EXPECT_EQ(planned.report.previews.front().letter, fits.letter.id);
  EXPECT_EQ(planned.report.previews.front().after, after);
  ASSERT_EQ(planned.report.warnings.size(), 1U);
  EXPECT_TRUE(planned.report.warnings.front().starts_with("the edit does not apply to 2 of the first 3 letters"));
  const Operation done = run(planned);
  EXPECT_EQ(done.with(ItemResult::kSent), 1);
  EXPECT_EQ(done.with(ItemResult::kSkipped), 2);
  ASSERT_EQ(replays_in("orders").size(), 1U) << "and signed for what was sent";
  EXPECT_EQ(replays_in("orders").front().second.value, after);
  EXPECT_EQ(get(not_json.letter.id).state, LetterState::kOpen);
  EXPECT_EQ(get(null.letter.id).state, LetterState::kOpen);
  r.settings.edit = "[1]";
  EXPECT_EQ(operations().plan(r, kAnn).error().code, ErrorCode::kInvalid);
  expect_counts_are_exact();
}

TEST_P(StoreOperations, APlanIsGoodForADay) {
  letters(1);
  const Operation planned = plan(request(OperationKind::kReplay));
  ASSERT_FALSE(expire_plan(store(), clock_.now().wall + std::chrono::hours(23)).value());
  ASSERT_TRUE(expire_plan(store(), clock_.now().wall + std::chrono::hours(25)).value());
  EXPECT_EQ(operations().start(planned.id, kAnn)->result, OperationChange::kWrongState);
  const Operation expired = *operations().get(planned.id).value();
  EXPECT_EQ(expired.note, "nobody started it within a day");
  EXPECT_EQ(expired.with(ItemResult::kSkipped), 1);
}

TEST_P(StoreOperations, PlansExpireOneInATransaction) {
  letters(3);
  const Operation first = plan(request(OperationKind::kReplay));
  const Operation second = plan(request(OperationKind::kDiscard));
  const auto cancelled = [&] { return number("SELECT count(*) FROM operations WHERE state = 6"); };
  const Timestamp later = clock_.now().wall + std::chrono::hours(25);
  EXPECT_TRUE(expire_plan(store(), later).value());
  EXPECT_EQ(cancelled(), 1);
  EXPECT_EQ(number("SELECT count(*) FROM operation_items WHERE note = 'cancelled'"), 3) << "those of one plan";
  expect_counts_are_exact();
  EXPECT_TRUE(expire_plan(store(), later).value());
  EXPECT_FALSE(expire_plan(store(), later).value());
  for (const std::string& id : {first.id, second.id})
    EXPECT_EQ(operations().get(id).value()->state, OperationState::kCancelled);
  expect_counts_are_exact();
}

// The runner goes on until none is left, without waiting for its next time.
TEST_P(StoreOperations, ARunnerExpiresAllPlansThatAreOld) {
  letters(2);
  const Operation first = plan(request(OperationKind::kReplay));
  const Operation second = plan(request(OperationKind::kDiscard));
  clock_.passed += Duration(std::chrono::hours(25));
  run(first);
  for (const std::string& id : {first.id, second.id})
    EXPECT_EQ(operations().get(id).value()->state, OperationState::kCancelled);
}

}  // namespace
}  // namespace bartleby::contract
