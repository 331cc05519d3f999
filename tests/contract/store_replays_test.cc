// Replays, edits and selections at the edges where other tools have lost, doubled or hidden letters.
#include "base/random.h"
#include "office/operation_steps.h"
#include "office/sql.h"
#include "tests/contract/store_archives.h"
#include "tests/contract/store_operations.h"

namespace bartleby::contract {
namespace {

TEST_P(StoreOperations, AnEditedReplaySendsOneRecordAndNotTheOriginalBesideIt) {
  letters(1);
  OperationRequest r = of_ids({letter(0).letter.id});
  r.settings.edit = R"([{"op":"replace","path":"/n","value":7}])";
  const Operation operation = started(r);
  run(operation);
  reopen();
  run(operation);  // after a restart there is nothing left to send
  ASSERT_EQ(replays_in("orders").size(), 1U);
  EXPECT_EQ(replays_in("orders").front().second.value, R"({"n":7})");
  answer_all(Verdict::kApplied);
  EXPECT_EQ(run(operation).state, OperationState::kDone);
  EXPECT_EQ(get(letter(0).letter.id).state, LetterState::kResolved) << "what was edited is followed to its end";
  EXPECT_EQ(replays_in("orders").size(), 1U);
}

TEST_P(StoreOperations, ALetterWhoseBytesAreDamagedIsGivenBackAndTheOthersGo) {
  letters(5);
  const auto damage = [&](std::int64_t n, const std::string& bytes) {
    write([&](Connection& connection) {
      return sql::execute(connection, "UPDATE payloads SET bytes = $2 WHERE letter = $1", get(letter(n).letter.id).seq,
                          Blob{bytes});
    });
  };
  damage(1, std::string("\0damaged", 8));
  damage(3, "\7packed by a later version");
  const Operation operation = run(started(request(OperationKind::kReplay)));
  EXPECT_EQ(operation.cursor, 5);
  EXPECT_EQ(operation.with(ItemResult::kSent), 3);
  EXPECT_EQ(operation.with(ItemResult::kSkipped), 2);
  const auto skipped = operations().results(operation.id, ItemResult::kSkipped, std::nullopt, 9).value();
  ASSERT_EQ(skipped.size(), 2U);
  EXPECT_EQ(skipped[0].note, "a letter's payload is damaged");
  EXPECT_EQ(skipped[1].note, "a letter's payload is packed in a way that is not known");
  EXPECT_EQ(get(letter(1).letter.id).state, LetterState::kOpen);
  EXPECT_EQ(get(letter(3).letter.id).state, LetterState::kOpen);
  OperationRequest edited = of_ids({letter(1).letter.id, letter(3).letter.id});
  edited.settings.edit = R"([{"op":"replace","path":"/n","value":7}])";
  const auto plan = operations().plan(edited, {"somebody", "", ""});
  ASSERT_TRUE(plan) << "damaged letters keep nobody from a plan with an edit";
  ASSERT_EQ(plan->report.warnings.size(), 1U);
  EXPECT_EQ(plan->report.warnings[0], "the edit does not apply to 2 of the first 2 letters, which will be left out: " +
                                          letter(1).letter.id + ": a letter's payload is damaged");
  expect_counts_are_exact();
}

TEST_P(StoreOperations, AReplayThatOnlyWaitsForOutcomesDoesNotAskTheBroker) {
  letters(1);
  const Operation operation = started(of_ids({letter(0).letter.id}));
  DyingBroker broker(cluster_);
  OperationRunner runner(broker, store(), log_, clock_, {.key = kKey});
  runner.run_until_idle();
  EXPECT_GT(broker.cursors_asked_for, 0);
  broker.cursors_asked_for = 0;
  for (int i = 0; i < 5; ++i) {
    clock_.passed += Duration(1000);
    runner.run_until_idle();
  }
  EXPECT_EQ(broker.cursors_asked_for, 0);
  answer_all(Verdict::kApplied);
  runner.run_until_idle();
  EXPECT_EQ((*operations().get(operation.id))->state, OperationState::kDone);
}

TEST_P(StoreOperations, ASecondEditChangesWhatCameBackFromTheFirst) {
  letters(1);
  OperationRequest r = of_ids({letter(0).letter.id});
  r.settings.edit = R"([{"op":"add","path":"/first","value":1}])";
  run(started(r));
  const std::string once = R"({"n":0,"first":1})";
  ASSERT_EQ(replays_in("orders").front().second.value, once);
  answer_all(Verdict::kDead);
  Arrival back = letter(0, 1);
  back.payload.value = once;
  ASSERT_EQ(take_in({back}).came_back, 1U);
  r.settings.edit = R"([{"op":"add","path":"/second","value":2}])";
  run(started(r));
  const auto sent = replays_in("orders");
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1].second.value, R"({"n":0,"first":1,"second":2})");
  EXPECT_EQ(sent[1].first.replays, 2U);
  answer_all(Verdict::kApplied);
  EXPECT_EQ(get(letter(0).letter.id).state, LetterState::kResolved);
}

TEST_P(StoreOperations, ALetterThatWasTakenBackAndDiesLateIsOneLetter) {
  letters(1);
  const std::string id = letter(0).letter.id;
  const auto replay = [&] {
    const Operation operation = started(of_ids({id}));
    run(operation);
    EXPECT_EQ(get(id).state, LetterState::kReplaying);
    return operation;
  };
  const auto take_it_back = [&](const Operation& operation) {
    ASSERT_TRUE(operations().cancel(operation.id, kAnn));
    const auto done = change_letters(store(), kAnn, now_, [&](LetterChanges& changes) -> Result<void> {
      const auto taken = take_back(changes, get(id), now_);
      if (!taken) return std::unexpected(taken.error());
      EXPECT_TRUE(taken->has_value());
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(get(id).state, LetterState::kOpen);
  };
  take_it_back(replay());
  // Somebody has dealt with it when its replay dies after all: that is not hidden.
  change(id, LetterCause::kDiscard);
  Arrival late = letter(0, 1);
  late.letter.shelf.topic = "orders.replay.billing";
  EXPECT_EQ(take_in({late}).came_back, 1U);
  EXPECT_EQ(get(id).state, LetterState::kOpen);
  EXPECT_EQ(get(id).replays, 1U);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 1);
  expect_counts_are_exact();
  // Taken back and sent again: what dies late is a life of its story, and what was sent last decides.
  take_it_back(replay());
  replay();
  EXPECT_EQ(take_in({letter(0, 2)}).came_back, 1U);
  EXPECT_EQ(take_in({letter(0, 2)}).duplicates, 1U);
  EXPECT_EQ(get(id).state, LetterState::kReplaying);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 1);
  EXPECT_EQ(text("SELECT replays FROM lives ORDER BY replays"), "0 2");
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 3);
  answer(replays_in("orders").back().first, Verdict::kApplied);
  ASSERT_TRUE(take_outcomes(store(), cluster_, 1000, now_));
  EXPECT_EQ(get(id).state, LetterState::kResolved);
  expect_counts_are_exact();
  change(id, LetterCause::kPurge);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 0);
}

TEST_P(StoreOperations, ALetterThatWasTakenBackAndDeletedAndDiesLateIsTheJobThatItWas) {
  letters(7);
  const std::string id = letter(5).letter.id;
  const Operation operation = started(of_ids({id}));
  run(operation);
  ASSERT_TRUE(operations().cancel(operation.id, kAnn));
  ASSERT_TRUE(change_letters(store(), kAnn, now_, [&](LetterChanges& changes) -> Result<void> {
    const auto taken = take_back(changes, get(id), now_);
    EXPECT_TRUE(taken && taken->has_value());
    return {};
  }));
  change(id, LetterCause::kDiscard);
  change(id, LetterCause::kPurge);
  const auto at_job = [&](std::int64_t offset) {
    std::string found;
    read([&](Connection& connection) -> Result<void> {
      const auto one = letter_of_job(connection, "orders/billing", {Partition(0), Offset(offset)});
      if (!one) return std::unexpected(one.error());
      if (*one) found = (*one)->id;
      return {};
    });
    return found;
  };
  ASSERT_EQ(at_job(5), "");
  // In the lane it was the message 2: that is the offset of another job of the source.
  const auto dies = [&](std::uint32_t replays) {
    Arrival late = letter(5, replays);
    late.letter.shelf.topic = "orders.replay.billing";
    late.letter.origin = late.letter.job = Place{Partition(0), Offset(2)};
    EXPECT_EQ(take_in({late}).stored, 1U);
    return late.letter.id;
  };
  const std::string second = dies(1);
  EXPECT_EQ(at_job(5), second);
  EXPECT_EQ(at_job(2), letter(2).letter.id);
  EXPECT_EQ(text("SELECT s.topic FROM letters l JOIN shelves s ON s.id = l.shelf WHERE l.job_offset = 5"), "orders");
  // Removed once more, and dying once more, it is the same job still, for thirty days.
  change(second, LetterCause::kDiscard);
  change(second, LetterCause::kPurge);
  EXPECT_EQ(at_job(5), "");
  const std::string third = dies(2);
  EXPECT_EQ(at_job(5), third);
  EXPECT_EQ(number("SELECT count(*) FROM first_places"), 1);
  Files files;
  const auto tidy = [&](Duration later) {
    const auto kept = keep_tidy(
        store(), files, [](const std::string&) { return DlqRule{}; }, Duration(std::chrono::hours(24 * 90)), "office",
        now_ + later);
    EXPECT_TRUE(kept) << kept.error().message;
  };
  tidy(Duration(std::chrono::hours(24 * 29)));
  EXPECT_EQ(number("SELECT count(*) FROM first_places"), 1);
  tidy(Duration(std::chrono::hours(24 * 31)));
  EXPECT_EQ(number("SELECT count(*) FROM first_places"), 0);
  expect_counts_are_exact();
}

TEST_P(StoreOperations, ALetterThatCameBackKeepsThePlaceAndTheTimeOfItsFirstLife) {
  letters(1);
  const StoredLetter first = get(letter(0).letter.id);
  run(started(of_ids({first.id})));
  Arrival back = letter(0, 1);
  back.letter.timestamp = *first.timestamp + Duration(5000);  // its record in the lane is younger
  ASSERT_EQ(take_in({back}).came_back, 1U);
  EXPECT_EQ(get(first.id).job, first.job);
  EXPECT_EQ(get(first.id).timestamp, first.timestamp);
}

TEST_P(StoreOperations, ABrokerThatCannotTellThePartitionsIsAskedAgainAndLettersGoWhereTheyWere) {
  letters(10);
  const Operation operation = started(request(OperationKind::kReplay));
  DyingBroker broker(cluster_);
  broker.describes_with = fail(ErrorCode::kUnavailable, "away").error();
  OperationRunner runner(broker, store(), log_, clock_, {.key = kKey});
  runner.run_until_idle();
  EXPECT_TRUE(replays_in("orders").empty());
  EXPECT_GT(runner.counts().failures, 0U);
  broker.describes_with.reset();
  clock_.passed += Duration(60000);
  runner.run_until_idle();
  EXPECT_EQ(replays_in("orders").size(), 10U);
  EXPECT_EQ(cluster_.log_range({"orders", Partition(1)})->second, Offset(0)) << "some went by their keys";
  EXPECT_EQ((*operations().get(operation.id))->with(ItemResult::kSkipped), 0);
}

TEST_P(StoreOperations, OfMoreLettersThanOneOperationTakesItTakesWhatFits) {
  letters(5);
  OperationsOptions few = options();
  few.limits.letters = 3;
  OperationRequest r = request(OperationKind::kReplay);
  EXPECT_EQ(Operations(store(), clock_, few).plan(r, kAnn).error().code, ErrorCode::kTooLarge);
  r.what_fits = true;
  const auto planned = Operations(store(), clock_, few).plan(r, kAnn);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->letters, 3);
  EXPECT_EQ(planned->report.warnings.size(), 1U);
}

TEST_P(StoreOperations, AQueryForStatesThatItCannotBeDoneToIsRefusedAtOnce) {
  letters(1);
  const auto why = [&](OperationKind kind, std::string_view query) {
    const auto planned = operations().plan(request(kind, query), kAnn);
    if (planned) return std::string("planned");
    EXPECT_EQ(planned.error().code, ErrorCode::kInvalid);
    return planned.error().message;
  };
  EXPECT_EQ(why(OperationKind::kRestore, "state:open"), "letters that are open cannot be restored by an operation");
  EXPECT_EQ(why(OperationKind::kRestore, "state:archived"),
            "letters that are archived cannot be restored by an operation");
  EXPECT_EQ(why(OperationKind::kReplay, "-state:open -state:replaying -state:archived"),
            "letters that are resolved or discarded cannot be replayed by an operation");
  EXPECT_EQ(why(OperationKind::kReplay, "-state:archived"), "planned");
  EXPECT_EQ(why(OperationKind::kReplay, "state:open state:resolved"), "planned") << "it finds nothing";
  EXPECT_EQ(plan(of_ids({letter(0).letter.id})).letters, 1);
}

TEST_P(StoreOperations, LettersThatAreLeftOutCountAgainstWhatAPlanLooksAt) {
  const auto many = static_cast<std::int64_t>(2 * kMaxPage);
  letters(many);
  OperationsOptions few = options();
  few.limits.looked_at = kMaxPage;
  OperationRequest r = request(OperationKind::kReplay);
  r.min_attempts = 1000;
  const auto refused = Operations(store(), clock_, few).plan(r, kAnn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(refused.error().message.starts_with("more than 500 letters would have to be looked at"));
  r.what_fits = true;
  const auto fits = Operations(store(), clock_, few).plan(r, kAnn);
  ASSERT_TRUE(fits) << fits.error().message;
  EXPECT_EQ(fits->report.excluded, (std::vector<Excluded>{{"its retries are not exhausted", kMaxPage}}));
  EXPECT_EQ(fits->report.warnings, std::vector<std::string>{"only the newest 500 letters were looked at"});
  few.limits.looked_at = 2 * kMaxPage;
  EXPECT_TRUE(Operations(store(), clock_, few).plan(r, kAnn)->report.warnings.empty()) << "all of them";
  few.limits.time = Duration(0);
  EXPECT_EQ(Operations(store(), clock_, few).plan(r, kAnn).error().code, ErrorCode::kTooLarge) << "it takes too long";
}

TEST_P(StoreOperations, WhatIsResolvedAlreadyIsNeverSentAgain) {
  letters(4);
  const auto resolve = [&](std::int64_t n) {
    change(letter(n).letter.id, LetterCause::kReplay);
    change(letter(n).letter.id, LetterCause::kSucceeded);
  };
  resolve(0);
  const Operation planned = plan(request(OperationKind::kReplay, "-state:archived"));
  EXPECT_EQ(planned.letters, 3);
  EXPECT_EQ(planned.report.excluded, (std::vector<Excluded>{{"it is resolved", 1}}));
  resolve(1);  // between plan and start
  ASSERT_TRUE(operations().start(planned.id, kAnn));
  EXPECT_EQ(run(planned).with(ItemResult::kSkipped), 1);
  EXPECT_EQ(operations().results(planned.id, ItemResult::kSkipped, std::nullopt, 9)->front().letter_id,
            letter(1).letter.id);
  EXPECT_EQ(replays_in("orders").size(), 2U);
  EXPECT_EQ(get(letter(1).letter.id).state, LetterState::kResolved);
  const Operation by_id = plan(of_ids({letter(0).letter.id, letter(1).letter.id}));
  EXPECT_EQ(by_id.letters, 0);
  EXPECT_EQ(by_id.report.excluded, (std::vector<Excluded>{{"it is resolved", 2}}));
}

TEST_P(StoreOperations, AllMeansEverythingThatMatchesAndNotOnePage) {
  const auto many = static_cast<std::int64_t>(2 * kMaxPage + 3);
  letters(many);
  const Operation operation = started(request(OperationKind::kReplay, "worker:billing"));
  EXPECT_EQ(operation.letters, many);
  EXPECT_EQ(run(operation).with(ItemResult::kSent), many);
  EXPECT_EQ(replays_in("orders").size(), static_cast<std::size_t>(many));
  EXPECT_EQ(count("state:open").value, 0);
  // And not what died after the plan: that was not in what people saw.
  take_in({letter(many)});
  const Operation second = plan(request(OperationKind::kDiscard, "worker:billing"));
  take_in({letter(many + 1)});
  ASSERT_TRUE(operations().start(second.id, kAnn));
  EXPECT_EQ(run(second).with(ItemResult::kSucceeded), 1);
  EXPECT_EQ(get(letter(many + 1).letter.id).state, LetterState::kOpen);
}

TEST_P(StoreOperations, AnEmptySelectionDoesNothingAndIsOver) {
  for (const OperationKind kind :
       {OperationKind::kReplay, OperationKind::kDiscard, OperationKind::kRestore, OperationKind::kPurge}) {
    const Operation nothing = started(request(kind, "worker:nobody"));
    EXPECT_EQ(nothing.letters, 0);
    EXPECT_EQ(run(nothing).state, OperationState::kDone) << name(kind);
  }
  letters(2);
  OperationRequest neither = of_ids({});
  EXPECT_EQ(operations().plan(neither, kAnn).error().code, ErrorCode::kInvalid) << "nothing named is not everything";
  const Operation unknown = started(of_ids({"ltr_nobody"}));
  EXPECT_EQ(unknown.letters, 0);
  EXPECT_EQ(unknown.report.excluded, (std::vector<Excluded>{{"there is no such letter", 1}}));
  EXPECT_EQ(run(unknown).state, OperationState::kDone);
  EXPECT_EQ(count("state:open").value, 2);
  EXPECT_TRUE(replays_in("orders").empty());
}

TEST_P(StoreOperations, LettersOfOneOffsetInTwoPartitionsAreTwoAndGoBackToTheirOwn) {
  std::vector<Arrival> both;
  for (const int p : {0, 1}) {
    Arrival one = letter(5);
    LetterFacts place;
    place.cluster = "test";
    place.topic = "orders";
    place.partition = Partition(p);
    place.offset = Offset(5);
    place.timestamp = timestamp_ms(1'700'000'000'005);
    one.letter.lineage = message_id(place);
    place.group = "billing";
    one.letter.id = letter_id(place);
    one.letter.origin = Place{Partition(p), Offset(5)};
    one.letter.job = Place{Partition(p), Offset(5)};
    both.push_back(std::move(one));
  }
  ASSERT_NE(both[0].letter.id, both[1].letter.id);
  EXPECT_EQ(take_in(both).stored, 2U);
  EXPECT_EQ(number("SELECT count(DISTINCT id) FROM job"), 2);
  run(started(request(OperationKind::kReplay)));
  for (const int p : {0, 1}) {
    const auto records = cluster_.read({"orders", Partition(p)}, Offset(0), 10, 1 << 20).value();
    ASSERT_EQ(records.size(), 1U) << "partition " << p;
    EXPECT_EQ(replay_mark(records[0], {kKey}, "orders")->letter, both[static_cast<std::size_t>(p)].letter.id);
  }
}

TEST_P(StoreOperations, ALetterOfEveryFormIsSentAsTheBareMessage) {
  std::vector<Arrival> all;
  const Timestamp sent_at = timestamp_ms(1'700'000'000'000);
  Random random(3);
  std::string value(3000, '\0');  // of no use to a compressor: it takes parts
  for (char& c : value) c = static_cast<char>(random.below(256));
  const LogRecord message{Offset(0), sent_at, "k", value, {{"tenant", "acme"}}};
  for (const auto& [form, dialect] :
       std::initializer_list<std::pair<LetterForm, LetterDialect>>{{LetterForm::kWhole, LetterDialect::kRecord},
                                                                   {LetterForm::kStackCut, LetterDialect::kRecord},
                                                                   {LetterForm::kCompressed, LetterDialect::kRecord},
                                                                   {LetterForm::kParts, LetterDialect::kRecord},
                                                                   {LetterForm::kWhole, LetterDialect::kEnvelope},
                                                                   {LetterForm::kParts, LetterDialect::kEnvelope}}) {
    LetterFacts facts;
    facts.cluster = "test";
    facts.topic = "orders";
    facts.offset = Offset(static_cast<std::int64_t>(all.size()));
    facts.timestamp = message.timestamp;
    facts.group = facts.worker = "billing";
    facts.error = {"E", "m", "at f"};
    std::vector<LogRecord> records;
    for (const Record& out : letter_records(facts, message, form, {"orders.dlq", 1, 1000, dialect}))
      records.push_back(
          {Offset(static_cast<std::int64_t>(records.size())), timestamp_ms(9), out.key, out.value, out.headers});
    EXPECT_EQ(records.size() > 1, form == LetterForm::kParts);
    auto whole = join_letter(records);
    ASSERT_TRUE(whole) << whole.error().message;
    all.push_back(arrival_of({"orders.dlq", Partition(0)}, Offset(0), timestamp_ms(9), std::move(*whole)));
  }
  take_in(std::move(all));
  run(started(request(OperationKind::kReplay)));
  const auto sent = replays_in("orders");
  ASSERT_EQ(sent.size(), 6U);
  for (const auto& [mark, record] : sent) {
    EXPECT_EQ(record.key, message.key);
    EXPECT_EQ(record.value, message.value);
    ASSERT_EQ(record.headers.size(), 2U);
    EXPECT_EQ(record.headers[0], message.headers[0]);
  }
}

TEST_P(StoreOperations, ALetterOfAnotherProgramIsSentWithoutItsWrapping) {
  const LogRecord record{Offset(0),
                         timestamp_ms(9),
                         "their key",
                         R"({"original_topic":"orders","original_partition":0,"original_offset":7,"original_key":"k",)"
                         R"("original_value":{ "a":1 },"error_details":{"message":"no"},"retry_count":2})",
                         {}};
  auto foreign = foreign_letter(record);
  ASSERT_TRUE(foreign);
  take_in({foreign_arrival("test", {"orders.dlq", Partition(0)}, record, std::move(*foreign))});
  OperationRequest wanted = request(OperationKind::kReplay);
  wanted.settings.scope = ReplayScope::kTopic;
  run(started(wanted));
  const auto sent = cluster_.read({"orders", Partition(0)}, Offset(0), 10, 1 << 20).value();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].key, "k");
  EXPECT_EQ(sent[0].value, "{ \"a\":1 }");
}

TEST_P(StoreOperations, TheLatestErrorIsShownAndComesFirst) {
  letters(3);
  change(letter(0).letter.id, LetterCause::kReplay);
  Arrival back = letter(0, 1);
  back.letter.error_type = "NewError";
  back.letter.died_at = now_;
  take_in({back});
  EXPECT_EQ(ids("").front(), letter(0).letter.id);
  EXPECT_EQ(get(letter(0).letter.id).error_type, "NewError");
  EXPECT_EQ(ids("error:NewError"), (std::vector<std::string>{letter(0).letter.id}));
  EXPECT_EQ(ids("error:TimeoutError").size(), 2U) << "found by what it died of last";
}

TEST_P(StoreOperations, NumbersBeyondADoubleStayExact) {
  constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;
  Arrival large = letter(1);
  large.letter.origin = Place{Partition(1), Offset(kOdd)};
  large.letter.job = Place{Partition(1), Offset(kOdd)};
  large.payload.value = R"({"id":9007199254740993,"amount":0.10})";
  take_in({large});
  EXPECT_EQ(get(large.letter.id).origin->offset, Offset(kOdd));
  EXPECT_EQ(text("SELECT id FROM job"), "1-9007199254740993");
  OperationRequest r = of_ids({large.letter.id});
  r.settings.edit = R"([{"op":"test","path":"/id","value":9007199254740993},{"op":"add","path":"/by","value":"ann"}])";
  run(started(r));
  ASSERT_EQ(replays_in("orders").size(), 1U);
  EXPECT_EQ(replays_in("orders").front().second.value, R"({"id":9007199254740993,"amount":0.10,"by":"ann"})");
  r.settings.edit = R"([{"op":"test","path":"/id","value":9007199254740992}])";
  answer_all(Verdict::kDead);
  Arrival back = letter(1, 1);
  back.payload.value = large.payload.value;
  take_in({back});
  EXPECT_EQ(run(started(r)).with(ItemResult::kSkipped), 1) << "the number beside it is another number";
}

}  // namespace
}  // namespace bartleby::contract
