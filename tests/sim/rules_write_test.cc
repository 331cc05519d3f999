// Writes whose fate is not known, deaths that others report, and limits that must not stop a message.
#include "engine/explain.h"
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

// The write that carries a letter ends in a given way; what comes after it must be written too.
std::string letter_in_a_write(WriteFate fate, std::uint64_t seed) {
  Rig rig({.seed = seed});
  rig.produce_all({"k", "k"});
  Worker& worker = rig.start();
  BARTLEBY_MUST(rig.until_at(worker, 0));
  rig.wind(Duration(2000));  // nothing is in flight
  rig.cluster.fate_of_next_write(worker.member(), fate);
  worker.reject(0);
  BARTLEBY_MUST(rig.until_at(worker, 1));
  worker.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(2); }));
  rig.wind(Duration(30000));
  BARTLEBY_MUST(rig.letters.size() == 1);
  BARTLEBY_MUST(rig.letters[0].facts.offset == Offset(0));
  BARTLEBY_MUST(rig.metadata().metadata.counters == (VerdictCounters{.handled = 1, .skipped = 0, .dead = 1}));
  BARTLEBY_MUST(rig.runs_of(0) == 1 && rig.runs_of(1) == 1);
  return "";
}

TEST(Rules, ALostReplyOfAWriteWithALetterThatWasDoneWritesNoSecondLetter) {
  expect_rule([] { return letter_in_a_write(WriteFate::kReplyLostDone, 1); }, {Mutant::kUnknownTakenForNotDone});
}

TEST(Rules, ALostReplyOfAWriteWithALetterThatWasNotDoneWritesTheLetter) {
  expect_rule([] { return letter_in_a_write(WriteFate::kReplyLostNotDone, 1); },
              {Mutant::kUnknownTakenForDone, Mutant::kUnknownTakenForNotDone});
}

// The request to commit arrives when the write was judged, or while it is being judged: half of the seeds each.
TEST(Rules, ALateRequestOfAWriteJudgedLostHasNoEffect) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed)
    EXPECT_EQ(letter_in_a_write(WriteFate::kLateRequest, seed), "") << "seed " << seed;
  for (const Mutant mutant : {Mutant::kUnknownTakenForDone, Mutant::kUnknownTakenForNotDone}) {
    const WithMutant off(mutant);
    std::size_t noticed = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed)
      noticed += letter_in_a_write(WriteFate::kLateRequest, seed).empty() ? 0u : 1u;
    EXPECT_GT(noticed, 0u) << kMutantTexts[static_cast<std::size_t>(mutant)].text;
  }
}

// A crash instead of the resolution: the letter's write is pending when the next owner comes.
std::string crash_while_unknown(WriteFate fate) {
  Rig rig;
  rig.produce_all({"k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  rig.wind(Duration(2000));
  rig.cluster.fate_of_next_write(first.member(), fate);
  first.reject(0);
  rig.wind(Duration(100));
  rig.crash(first);
  Worker& second = rig.start("b");
  if (fate == WriteFate::kReplyLostNotDone) {
    BARTLEBY_MUST(rig.until_at(second, 0));
    second.reject(0);
  }
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(1); }));
  rig.wind(Duration(30000));
  BARTLEBY_MUST(rig.letters.size() == 1);
  BARTLEBY_MUST(rig.runs_of(0) == (fate == WriteFate::kReplyLostNotDone ? 2u : 1u));
  return "";
}

TEST(Rules, ACrashWhileAWritesFateIsUnknownLeavesOneLetter) {
  EXPECT_EQ(crash_while_unknown(WriteFate::kReplyLostDone), "");
  EXPECT_EQ(crash_while_unknown(WriteFate::kReplyLostNotDone), "");
}

// ---- a broker that takes no writes -----------------------------------------------------------------------

std::string no_writes(std::uint32_t BrokerFaults::* fault) {
  Rig rig;
  rig.engine.concurrency = 1;
  rig.produce_all({"a", "b", "c"});
  Worker& worker = rig.start();
  BARTLEBY_MUST(rig.until_at(worker, 0));
  rig.wind(Duration(2000));  // nothing is in flight
  rig.cluster.faults().*fault = 1000;
  worker.done(0);
  BARTLEBY_MUST(rig.until_at(worker, 1));  // one write that fails is nothing yet
  BARTLEBY_MUST(!worker.engine().writes_fail());
  BARTLEBY_MUST(rig.wind_until([&] { return worker.engine().writes_fail(); }));
  worker.done(1);
  rig.wind(Duration(60000));
  BARTLEBY_MUST(worker.engine().writes_fail() && worker.running().empty() && rig.runs_of(2) == 0);
  const auto why = explain(worker.engine(), worker.partition()->ref(), rig.scheduler.now());
  BARTLEBY_MUST(why->answer.find("The broker takes no writes") != std::string::npos);
  rig.cluster.faults().*fault = 0;
  BARTLEBY_MUST(rig.until_at(worker, 2));
  worker.done(2);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  BARTLEBY_MUST(rig.runs_of(0) == 1 && rig.runs_of(1) == 1 && rig.runs_of(2) == 1);
  return "";
}

TEST(Rules, NothingBeginsWhileTheBrokerTakesNoWritesAndItGoesOnWhenItDoes) {
  EXPECT_EQ(no_writes(&BrokerFaults::p_not_done), "");
  EXPECT_EQ(no_writes(&BrokerFaults::p_reply_lost_not_done), "");
}

// ---- deaths --------------------------------------------------------------------------------------------

// Another process writes that this message has killed it; the owner never restarts.
std::string obituaries_of_a_non_owner(std::uint32_t deaths) {
  Rig rig;
  rig.produce_all({"k", "other"});
  Worker& owner = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return owner.at_all({0, 1}); }));
  const Timestamp timestamp = owner.at(0)->record->timestamp;
  owner.fails(0);
  owner.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0); }));
  for (std::uint32_t i = 0; i < deaths; ++i) rig.write_journal(Obituary{Offset(0), 100 + i, timestamp, true, false});
  if (deaths < rig.engine.cases[0].max_crashes) {
    BARTLEBY_MUST(rig.until_at(owner, 0));
    BARTLEBY_MUST(owner.at(0)->alone);
    owner.done(0);
    BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(2); }));
  } else {
    BARTLEBY_MUST(rig.wind_until([&] { return rig.letters.size() == 1; }));
    BARTLEBY_MUST(rig.letters[0].facts.reason == Reason::kProcessCrash);
    BARTLEBY_MUST(rig.runs_of(0) == 1);
  }
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, AnObituaryWrittenByANonOwnerMakesTheOwnerRunTheMessageAlone) {
  expect_rule([] { return obituaries_of_a_non_owner(1); },
              {Mutant::kObituariesNotTailed, Mutant::kSuspectsRunTogether});
}

TEST(Rules, EnoughObituariesWrittenByNonOwnersMakeALetter) {
  expect_rule([] { return obituaries_of_a_non_owner(3); }, {Mutant::kObituariesNotTailed, Mutant::kCrashesNotCounted});
}

// The owner has read further in the old journal than the new one reaches.
std::string death_told_in_a_journal_made_anew() {
  Rig rig;
  rig.produce("k");
  Worker& owner = rig.start();
  BARTLEBY_MUST(rig.until_at(owner, 0));
  const Timestamp timestamp = owner.at(0)->record->timestamp;
  owner.fails(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0); }));
  rig.wind(Duration(2000));
  rig.cluster.recreate("src.parked.g");
  rig.write_journal(Obituary{Offset(0), 100, timestamp, true, false});
  BARTLEBY_MUST(rig.until_at(owner, 0));
  BARTLEBY_MUST(owner.at(0)->alone);
  owner.done(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(1); }));
  return "";
}

TEST(Rules, ADeathThatIsToldInAJournalMadeAnewIsHeardByTheOwner) {
  expect_rule(death_told_in_a_journal_made_anew, {Mutant::kObituariesNotTailed});
}

// ---- limits --------------------------------------------------------------------------------------------

std::string due_head_with_the_budget_full() {
  Rig rig;
  rig.engine.max_bytes = 2000;
  rig.engine.max_message = 400;
  rig.produce("k", std::string(200, 'x'));
  Worker& worker = rig.start();
  BARTLEBY_MUST(rig.until_at(worker, 0));
  worker.fails(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0); }));
  for (int i = 0; i < 20; ++i) rig.produce("other" + std::to_string(i), std::string(200, 'x'));
  BARTLEBY_MUST(rig.until_at(worker, 8));
  BARTLEBY_MUST(worker.engine().bytes() >= 2000);  // all of it is in the hands of handlers that take their time
  BARTLEBY_MUST(rig.until_at(worker, 0));
  BARTLEBY_MUST(worker.at(0)->attempt == 2);
  BARTLEBY_MUST(worker.at(0)->record->value == std::string(200, 'x'));
  worker.done(0);
  const bool all = rig.wind_until([&] {
    for (const Started& s : std::vector(worker.running())) worker.done(s.offset);
    return rig.low() == Offset(21);
  });
  BARTLEBY_MUST(all);
  for (std::int64_t o = 1; o <= 20; ++o) BARTLEBY_MUST(rig.runs_of(o) == 1);
  return "";
}

TEST(Rules, ADueHeadGetsRoomThoughTheByteBudgetIsFull) {
  expect_rule(due_head_with_the_budget_full, {Mutant::kDueHeadGetsNoRoom});
}

// Handlers that take their time hold what is in memory, beside many that are parked and hold nothing: these are looked
// at now and then, not in every step.
TEST(Rules, WhatIsParkedIsNotSearchedInEveryStepWhileMemoryIsFull) {
  Rig rig;
  rig.engine.max_bytes = 4000;
  rig.engine.max_message = 400;
  for (int i = 0; i < 300; ++i) rig.produce("parked" + std::to_string(i), std::string(100, 'x'));
  Worker& worker = rig.start();
  ASSERT_TRUE(rig.wind_until([&] {
    for (const Started& s : std::vector(worker.running())) worker.fails(s.offset);
    return rig.has_parked(299);
  }));
  for (int i = 0; i < 100; ++i) rig.produce("slow" + std::to_string(i), std::string(100, 'x'));
  ASSERT_TRUE(rig.until_at(worker, 320));
  ASSERT_GE(worker.engine().bytes(), 3000u);
  const auto walks = [&] { return worker.engine().counters().evict_walks; };
  const std::uint64_t before = walks();
  for (int i = 0; i < 200; ++i) worker.step();
  EXPECT_LE(walks() - before, 1u);
  ASSERT_TRUE(rig.wind_until([&] {  // and what is parked then makes room
    for (const Started& s : std::vector(worker.running())) worker.done(s.offset);
    return rig.low() == Offset(400);
  }));
}

// Larger than what a write may carry, and larger than what the dlq takes in one record.
std::string letter_larger_than_a_write() {
  Rig rig({.dlq_message = 1200, .letter_part = 400});
  rig.engine.write_bytes = 1000;
  rig.engine.write_records = 1;
  Random random(7);
  std::string payload(6000, '\0');
  for (char& c : payload) c = static_cast<char>(random.below(256));
  rig.produce("big", payload);
  rig.produce("small");
  rig.produce("small");
  Worker& worker = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return worker.at_all({0, 1}); }));
  worker.reject(0);
  worker.reject(1);
  BARTLEBY_MUST(rig.until_at(worker, 2));
  worker.done(2);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  BARTLEBY_MUST(rig.letters.size() == 2);
  const Letter& big = rig.letters[0].facts.offset == Offset(0) ? rig.letters[0] : rig.letters[1];
  BARTLEBY_MUST(big.record.value == payload && big.record.key == "big");
  std::size_t writes_with_parts = 0;
  for (const Write& w : rig.writes) {
    std::size_t letters = 0;
    for (const Record& r : w.records) letters += r.topic == "src.dlq" ? 1u : 0u;
    writes_with_parts += letters > 1 ? 1u : 0u;
    BARTLEBY_MUST(w.records.size() <= (letters > 1 ? 40u : 3u));  // the limit says when to stop adding
  }
  BARTLEBY_MUST(writes_with_parts == 1);
  return "";
}

TEST(Rules, ALetterLargerThanAWriteGoesInPartsInOneWriteOfItsOwn) {
  expect_rule(letter_larger_than_a_write, {Mutant::kFirstItemLimited});
}

}  // namespace
}  // namespace bartleby::sim
