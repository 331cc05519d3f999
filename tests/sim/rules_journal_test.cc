// What a commit may say and what the journal must keep: done entries, H, heads.
#include "tests/sim/rules.h"

namespace bartleby::sim {
namespace {

// No head fits into the commit, so that H stays at the lowest message in hand.
void no_heads(Rig& rig) { rig.engine.metadata_limit = Rig::room_for_heads(0); }

std::string done_entry_above_a_lane_opened_again() {
  Rig rig;
  no_heads(rig);
  rig.produce_all({"blocker", "k", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1}); }));
  first.done(1);  // leaves nothing behind: a crash repeats it
  BARTLEBY_MUST(rig.until_at(first, 2));
  first.reject(2);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.letters.size() == 1 && rig.has_done(2); }));
  rig.crash(first);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({0, 1}); }));
  second.fails(1);  // the lane is open again, below the done entry
  second.done(0);
  BARTLEBY_MUST(rig.wind_until(
      [&] { return rig.has_parked(1) && rig.low() == Offset(1) && rig.metadata().metadata.high == Offset(3); }));
  rig.wind(Duration(2000));
  rig.crash(second);

  Worker& third = rig.start("c");
  BARTLEBY_MUST(rig.until_at(third, 1));
  third.done(1);
  rig.wind(Duration(5000));
  BARTLEBY_MUST(rig.runs_of(2) == 1);
  BARTLEBY_MUST(rig.letters.size() == 1);
  BARTLEBY_MUST(rig.low() == Offset(3));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, ADoneEntryStaysWhenItsLaneIsOpenedAgainBelowIt) {
  expect_rule(done_entry_above_a_lane_opened_again, {Mutant::kDoneOfOpenLaneErased, Mutant::kSweepRunsDone});
}

std::string failed_then_succeeded_above_high() {
  Rig rig;
  no_heads(rig);
  rig.produce_all({"blocker", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1}); }));
  first.fails(1);
  BARTLEBY_MUST(rig.until_at(first, 1));
  BARTLEBY_MUST(first.at(1)->attempt == 2);
  first.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return !rig.has_parked(1); }));
  BARTLEBY_MUST(rig.metadata().metadata.high == Offset(0));
  rig.crash(first);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 0));
  rig.wind(Duration(5000));
  BARTLEBY_MUST(second.at(1) == nullptr);
  second.done(0);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(2); }));
  rig.wind(Duration(5000));
  BARTLEBY_MUST(rig.runs_of(1) == 2);
  BARTLEBY_MUST(rig.journal().empty());  // erased by the write that covers it
  return "";
}

TEST(Rules, AMessageThatFailedAndThenSucceededAboveHighIsNotBegunAnewAfterACrash) {
  expect_rule(failed_then_succeeded_above_high, {Mutant::kPlainSuccessErasesEntry, Mutant::kNoDoneAboveHigh});
}

// Two attempts have gone well, and a write carries one verdict: the other's write is lost with its writer.
std::string verdict_that_is_lost() {
  Rig rig;
  rig.engine.write_records = 1;
  rig.produce_all({"a", "b"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1}); }));
  for (const std::int64_t o : {0, 1}) first.fails(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0) && rig.has_parked(1); }));
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1}); }));
  for (const std::int64_t o : {0, 1}) first.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(1); }));
  rig.cluster.fate_of_next_write(first.member(), WriteFate::kReplyLostNotDone);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.cluster.offsets_pending("g", {"src", Partition(0)}); }));
  rig.crash(first);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 1));
  BARTLEBY_MUST(second.at(1)->attempt == 2);
  second.done(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(2); }));
  BARTLEBY_MUST(rig.runs_of(0) == 2 && rig.runs_of(1) == 3);
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, AnEntryStaysUntilTheVerdictOfItsMessageIsDurable) {
  expect_rule(verdict_that_is_lost, {Mutant::kEntryErasedBeforeVerdict});
}

std::string letter_above_high() {
  Rig rig;
  no_heads(rig);
  rig.produce_all({"blocker", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1}); }));
  first.reject(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.letters.size() == 1 && rig.metadata().metadata.counters.dead == 1; }));
  rig.produce("other");  // one more write
  BARTLEBY_MUST(rig.until_at(first, 2));
  first.done(2);
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.metadata().metadata.high == Offset(0));
  rig.crash(first);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 0));
  rig.wind(Duration(5000));
  BARTLEBY_MUST(second.at(1) == nullptr);
  BARTLEBY_MUST(rig.letters.size() == 1);
  return "";
}

TEST(Rules, ALetterAboveHighIsNotWrittenAgainAfterACrash) {
  expect_rule(letter_above_high, {Mutant::kNoDoneAboveHigh, Mutant::kDoneErasedEarly});
}

// The same for a message that lies below H, but in a lane that begins before it.
std::string letter_above_from() {
  Rig rig;
  rig.produce_all({"k", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  Decision with_record;  // its end needs a write that the topic refuses for now
  with_record.emit.push_back({"out", Partition(0), std::nullopt, "0", {}});
  rig.cluster.stall("out", true);
  first.answer(0, with_record);
  BARTLEBY_MUST(rig.until_at(first, 1));
  first.reject(1);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.letters.size() == 1 && rig.metadata().metadata.counters.dead == 1; }));
  rig.produce("other");  // one more write
  BARTLEBY_MUST(rig.until_at(first, 2));
  first.done(2);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.metadata().metadata.high == Offset(3); }));
  BARTLEBY_MUST(rig.low() == Offset(0));
  rig.crash(first);
  rig.cluster.stall("out", false);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 0));
  second.done(0);
  rig.wind(Duration(5000));
  BARTLEBY_MUST(rig.runs_of(1) == 1);
  BARTLEBY_MUST(rig.low() == Offset(3));
  return "";
}

TEST(Rules, ALetterBehindAMessageThatIsNotSettledIsNotWrittenAgainAfterACrash) {
  expect_rule(letter_above_from, {Mutant::kNoDoneAboveFrom, Mutant::kDoneOfOpenLaneErased});
}

// The lane keeps nothing in memory behind its first message.
std::string followers_in_the_log_of_a_finished_head() {
  Rig rig;
  rig.engine.lane_messages = 0;
  rig.produce_all({"k", "k", "other", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 2}); }));
  first.reject(0);
  first.done(2);
  BARTLEBY_MUST(rig.until_at(first, 1));  // the letter is written; its followers are in the log
  BARTLEBY_MUST(rig.low() == Offset(1));
  BARTLEBY_MUST(rig.metadata().metadata.high == Offset(4));
  rig.crash(first);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 1));
  BARTLEBY_MUST(second.at(3) == nullptr);
  second.done(1);
  BARTLEBY_MUST(rig.until_at(second, 3));
  second.done(3);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(4); }));
  BARTLEBY_MUST(rig.runs_of(0) == 1);
  BARTLEBY_MUST(rig.letters.size() == 1);
  return "";
}

TEST(Rules, ALaneWhoseFollowersLieOnlyInTheLogIsOpenAfterARestart) {
  expect_rule(followers_in_the_log_of_a_finished_head, {Mutant::kListedLanesForgotten});
}

std::string followers_in_the_log_of_a_parked_head() {
  Rig rig;
  rig.engine.lane_messages = 0;
  rig.produce_all({"k", "k", "k"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.until_at(first, 0));
  first.fails(0, "the first time");
  BARTLEBY_MUST(rig.wind_until([&] { return rig.has_parked(0) && rig.metadata().metadata.high == Offset(3); }));
  rig.stop(first);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.until_at(second, 0));
  BARTLEBY_MUST(second.at(0)->attempt == 2);
  second.done(0);
  BARTLEBY_MUST(rig.until_at(second, 1));
  second.done(1);
  BARTLEBY_MUST(rig.until_at(second, 2));
  second.done(2);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(3); }));
  BARTLEBY_MUST(rig.order() == (std::vector<std::int64_t>{0, 0, 1, 2}));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, FollowersInTheLogComeAfterTheirParkedHeadAcrossARestart) {
  expect_rule(followers_in_the_log_of_a_parked_head, {Mutant::kFollowersForgotten});
}

// Three heads that the journal knew get their verdicts; behind them are three lanes, and the commit has room for one.
std::string heads_that_do_not_fit() {
  Rig rig;
  rig.engine.metadata_limit = Rig::room_for_heads(1);
  rig.produce_all({"a", "b", "c", "a", "b", "c"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  for (const std::int64_t o : {0, 1, 2}) first.fails(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.metadata().metadata.high == Offset(6); }));
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  for (const std::int64_t o : {0, 1, 2}) first.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({3, 4, 5}) && rig.low() == Offset(3); }));
  BARTLEBY_MUST(rig.metadata().metadata.high == Offset(6));
  BARTLEBY_MUST(rig.metadata().metadata.heads.size() == 1);
  rig.crash(first);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({3, 4, 5}); }));
  for (const std::int64_t o : {3, 4, 5}) second.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(6); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.journal().empty());
  for (const std::int64_t o : {0, 1, 2}) BARTLEBY_MUST(rig.runs_of(o) == 2);
  return "";
}

TEST(Rules, HeadsThatDoNotFitGoIntoTheJournalInsteadOfLettingHighFall) {
  expect_rule(heads_that_do_not_fit, {Mutant::kHighMayFall, Mutant::kSurplusForgotten, Mutant::kHeadEntryNotErased});
}

// The heads that the commit had no room for are gone again, and the parked ones that they followed are back.
std::string journal_that_fell_back() {
  Rig rig;
  rig.engine.metadata_limit = Rig::room_for_heads(1);
  rig.produce_all({"a", "b", "c", "a", "b", "c"});
  Worker& first = rig.start();
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  for (const std::int64_t o : {0, 1, 2}) first.fails(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.metadata().metadata.high == Offset(6); }));
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({0, 1, 2}); }));
  for (const std::int64_t o : {0, 1, 2}) first.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return first.at_all({3, 4, 5}) && rig.low() == Offset(3); }));
  rig.crash(first);
  const TopicPartition journal{"src.parked.g", Partition(0)};
  const auto& entries = rig.cluster.log(journal).entries();
  const auto head =
      std::ranges::find_if(entries, [](const LogEntry& e) { return e.record.key.value_or("").starts_with("h/"); });
  BARTLEBY_MUST(head != entries.end());
  rig.cluster.cut_back(journal, head->record.offset);

  Worker& second = rig.start("b");
  BARTLEBY_MUST(rig.wind_until([&] { return second.at_all({3, 4, 5}); }));
  BARTLEBY_MUST(rig.alarmed(AlarmType::kJournalDiffers));
  for (const std::int64_t o : {3, 4, 5}) second.done(o);
  BARTLEBY_MUST(rig.wind_until([&] { return rig.low() == Offset(6); }));
  rig.wind(Duration(2000));
  BARTLEBY_MUST(rig.journal().empty());
  return "";
}

TEST(Rules, AJournalThatFellBackIsNoticedAndCostsNoMessage) {
  expect_rule(journal_that_fell_back, {Mutant::kJournalCheckIgnored});
}

}  // namespace
}  // namespace bartleby::sim
