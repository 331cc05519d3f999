// Intake as a state machine: what it asks for; a crash at any point loses no letter and gives none twice.
#include "office/intake.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace bartleby {
namespace {

const TopicPartition kDlq{"orders.dlq", Partition(0)};

LetterFacts facts_of(std::int64_t n) {
  LetterFacts facts;
  facts.cluster = "test";
  facts.topic = "orders";
  facts.offset = Offset(n);
  facts.timestamp = timestamp_ms(1000 + n);
  facts.group = facts.worker = facts.instance = "billing";
  facts.reason = Reason::kExhausted;
  facts.attempts = 2;
  facts.last_failure = timestamp_ms(5000 + n);
  return facts;
}

// A dlq, a store that keeps ids, and the machine between them; each command's answer may be lost.
class Played {
 public:
  void append(const std::vector<Record>& records) {
    for (const Record& r : records)
      log_.push_back({Offset(static_cast<std::int64_t>(log_.size())), timestamp_ms(9), r.key, r.value, r.headers});
  }
  void letter(std::int64_t n, LetterForm form = LetterForm::kWhole, LetterDialect dialect = LetterDialect::kRecord) {
    Random random(static_cast<std::uint64_t>(n));
    std::string value;  // that does not get smaller
    for (int i = 0; i < 1500; ++i) value += static_cast<char>(random.below(256));
    LogRecord record{Offset(n), timestamp_ms(1000 + n), "k", value, {{"h", "1"}}};
    append(letter_records(facts_of(n), record, form, {"orders.dlq", 1, 300, dialect}));
    wanted_.insert(letter_id(facts_of(n)));
  }

  // Runs until nothing is asked for; `crash` says at which command everything in memory is lost.
  bool run(std::optional<std::size_t> crash = {}) {
    std::vector<IntakeEvent> events{DlqFound{kDlq}};
    for (std::size_t commands = 0;; now_ += Duration(1)) {
      std::vector<IntakeCommand> out;
      intake_->step(std::exchange(events, {}), now_, out);
      if (out.empty()) return false;
      for (IntakeCommand& command : out) {
        if (crash && commands == *crash && lost_before_) return restart();
        events.push_back(std::visit([&](auto& one) { return answer(one); }, command));
        if (crash && commands++ == *crash) return restart();
      }
    }
  }
  void wait(Duration time) { now_ += time; }

  IntakeEvent answer(ReadPosition&) { return PositionRead{kDlq, true, position_}; }
  IntakeEvent answer(ReadDlq& command) {
    DlqRead read{kDlq, true, start_, Offset(static_cast<std::int64_t>(log_.size())), {}, id_};
    for (auto at = static_cast<std::size_t>(std::max(command.from, start_).v);
         at < log_.size() && read.records.size() < slice_; ++at)
      read.records.push_back(log_[at]);
    return read;
  }
  IntakeEvent answer(StoreBatch& command) {
    if (command.batch.before != position_) return BatchStored{kDlq, false};
    position_ = command.batch.after;
    missed_ += command.batch.missed;
    for (const Arrival& one : command.batch.letters) {
      EXPECT_TRUE(ids_.insert(one.letter.id).second) << "twice: " << one.letter.id;
      dialects_.insert(one.letter.dialect);
      last_ = one;
    }
    return BatchStored{kDlq, true};
  }
  bool restart() {
    intake_.emplace("test", limits_);
    return true;
  }

  IntakeLimits limits_;
  std::optional<Intake> intake_{std::in_place, "test"};
  Instant now_{};
  std::size_t slice_ = 3;
  bool lost_before_ = false;
  Offset start_{0};
  std::string id_;  // of the log, as it was told last
  std::vector<LogRecord> log_;
  std::optional<IntakePosition> position_;
  std::set<std::string> ids_, wanted_;
  std::multiset<std::string> dialects_;
  std::int64_t missed_ = 0;
  Arrival last_;
};

}  // namespace

TEST(Intake, ALetterIsTheSameInEveryDialect) {
  for (const LetterForm form : {LetterForm::kWhole, LetterForm::kCompressed, LetterForm::kParts}) {
    Played plain, wrapped;
    plain.letter(1, form);
    plain.run();
    wrapped.letter(1, form, LetterDialect::kEnvelope);
    wrapped.run();
    EXPECT_EQ(wrapped.ids_, plain.ids_);
    EXPECT_EQ(wrapped.last_.payload, plain.last_.payload);
    EXPECT_EQ(wrapped.last_.letter.dialect, "envelope");
    StoredLetter same = wrapped.last_.letter;
    same.dialect = plain.last_.letter.dialect;
    same.dlq = plain.last_.letter.dlq;  // base64 has more parts
    EXPECT_EQ(same, plain.last_.letter);
  }
}

TEST(Intake, LettersOfOthersTellTheirStory) {
  Played world;
  const Record envelope{"orders.dlq",
                        std::nullopt,
                        "x",
                        R"({"original_topic":"escrow.commands","original_partition":3,"original_offset":12345,)"
                        R"("original_key":"deal_1","original_value":{"a":1},"error_details":{"exception_class":"Slow",)"
                        R"("message":"too slow","stack_trace":"at x"},"retry_count":5,"worker_instance":"payout-1",)"
                        R"("first_failure_at":"2025-01-15T10:30:00Z","last_failure_at":"2025-01-15T11:45:00Z"})",
                        {{"h", "1"}}};
  world.append({envelope});
  world.run();
  const StoredLetter first = world.last_.letter;
  EXPECT_EQ(first.dialect, "envelope");
  EXPECT_EQ(first.id, id_by_place("test", kDlq, Offset(0), timestamp_ms(9)));
  EXPECT_EQ(first.lineage, first.id);
  EXPECT_EQ(first.shelf, (ShelfLabel{"orders.dlq", "test", "escrow.commands", "", "", Reason::kExhausted}));
  EXPECT_EQ(first.origin, (Place{Partition(3), Offset(12345)}));
  EXPECT_EQ(first.attempts, 6U);
  EXPECT_EQ(first.instance, "payout-1");
  EXPECT_EQ(first.died_at, timestamp_ms(1736941500000));
  EXPECT_EQ(world.last_.payload, (LetterPayload{"deal_1", R"({"a":1})", {{"h", "1"}}, "at x"}));
  world.append({envelope});
  world.wait(Duration(1000));
  world.run();
  EXPECT_NE(world.last_.letter.id, first.id) << "two groups may have given up the same message";

  world.append({{"orders.dlq",
                 std::nullopt,
                 "t-1",
                 R"({"ticket_id":"t-1","dlq_metadata":{"original_error":"boom","error_type":"ValueError",)"
                 R"("retry_count":3,"last_failure_timestamp":1234567890000,"dlq_published_at":1234567890001}})",
                 {}}});
  world.wait(Duration(1000));
  world.run();
  EXPECT_EQ(world.last_.letter.dialect, "dlq_metadata");
  EXPECT_EQ(world.last_.letter.shelf.topic, "");
  EXPECT_FALSE(world.last_.letter.origin);
  EXPECT_EQ(world.last_.letter.attempts, 3U);
  EXPECT_EQ(world.last_.letter.error_type, "ValueError");
  EXPECT_EQ(world.last_.payload.value, R"({"ticket_id":"t-1"})");
  EXPECT_EQ(world.dialects_.count("raw"), 0U);
}

TEST(Intake, LettersAreStoredInOrderAndOnce) {
  Played world;
  for (int n = 0; n < 10; ++n) world.letter(n);
  world.run();
  EXPECT_EQ(world.ids_, world.wanted_);
  EXPECT_EQ(world.position_, (IntakePosition{Offset(10), Offset(10)}));
  world.run();
  EXPECT_EQ(world.ids_.size(), 10U);
  EXPECT_EQ(world.intake_->lag(), 0);
}

TEST(Intake, PartsAreJoinedAcrossReads) {
  Played world;
  world.letter(1, LetterForm::kParts);
  ASSERT_GT(world.log_.size(), 3U);
  world.run();
  EXPECT_EQ(world.ids_, world.wanted_);
  EXPECT_EQ(world.last_.letter.dlq.offset, world.log_.back().offset);
  EXPECT_EQ(world.last_.payload.headers, (Headers{{"h", "1"}}));
}

TEST(Intake, PartsOfSeveralLettersMayLieBetweenEachOther) {
  Played one, two, world;
  one.letter(1, LetterForm::kParts);
  two.letter(2, LetterForm::kParts);
  for (std::size_t i = 0; i < std::max(one.log_.size(), two.log_.size()); ++i) {
    for (Played* from : {&one, &two})
      if (i < from->log_.size())
        world.append({Record{"", {}, from->log_[i].key, from->log_[i].value, from->log_[i].headers}});
    if (i == 1) world.letter(3);
  }
  world.wanted_.insert(one.wanted_.begin(), one.wanted_.end());
  world.wanted_.insert(two.wanted_.begin(), two.wanted_.end());
  world.slice_ = 2;
  // A crash at every command there is, before and after it took effect.
  for (std::size_t crash = 0; crash < 40; ++crash) {
    world.lost_before_ = crash % 2 == 0;
    world.run(crash % 7);
  }
  world.run();
  EXPECT_EQ(world.ids_, world.wanted_);
}

TEST(Intake, ACrashAtAnyCommandCostsNothing) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Played world;
    world.slice_ = 1 + random.below(5);
    std::int64_t n = 0;
    for (int round = 0; round < 12; ++round) {
      for (std::uint64_t i = random.below(4); i > 0; --i)
        world.letter(n++, random.chance(30) ? LetterForm::kParts : LetterForm::kWhole);
      world.lost_before_ = random.chance(50);
      world.run(random.below(6));
    }
    world.wait(Duration(60000));
    world.run();
    EXPECT_EQ(world.ids_, world.wanted_) << "seed " << seed;
  }
}

TEST(Intake, WhatNobodyCanDecodeIsALetterToo) {
  Played world;
  world.append({Record{"", {}, "k", "v", {{"x", "\xff"}}}, Record{"", {}, {}, {}, {{"bartleby-v", "9"}}}});
  world.run();
  EXPECT_EQ(world.dialects_, (std::multiset<std::string>{"raw", "raw"}));
  EXPECT_EQ(world.last_.letter.shelf.reason, Reason::kUnknown);
  EXPECT_FALSE(world.last_.letter.error_message.empty());
  EXPECT_FALSE(world.last_.payload.key.has_value());
}

TEST(Intake, PartsThatNeverCompleteBecomeRawLettersAfterAWhile) {
  Played world;
  world.letter(1, LetterForm::kParts);
  world.log_.pop_back();
  const std::size_t parts = world.log_.size();
  world.run();
  EXPECT_TRUE(world.ids_.empty());
  EXPECT_EQ(world.position_->next, Offset(0));
  EXPECT_EQ(world.position_->done_to, Offset(static_cast<std::int64_t>(parts)));
  world.wait(world.limits_.parts.wait);
  world.run();
  EXPECT_EQ(world.ids_.size(), parts);
  EXPECT_EQ(world.position_->next, world.position_->done_to);
}

TEST(Intake, PartsThatAreTooMuchAreGivenUp) {
  Played world;
  world.limits_.parts.bytes = 500;
  world.restart();
  world.letter(1, LetterForm::kParts);
  world.slice_ = 2;
  world.run();
  EXPECT_EQ(world.ids_.size(), world.log_.size());
  EXPECT_EQ(*world.dialects_.begin(), "raw");
}

TEST(Intake, SaysHowManyRetentionTookFirst) {
  Played world;
  world.letter(0);
  world.run();
  for (int n = 1; n < 8; ++n) world.letter(n);
  world.start_ = Offset(5);
  world.wait(Duration(1000));
  world.run();
  EXPECT_EQ(world.missed_, 4);
  EXPECT_EQ(world.ids_.size(), 4U);
}

TEST(Intake, ATopicMadeAnewIsReadFromItsBeginning) {
  Played world;
  for (int n = 0; n < 5; ++n) world.letter(n);
  world.run();
  world.log_.clear();
  world.letter(77);
  world.wait(Duration(1000));
  world.run();
  EXPECT_TRUE(world.ids_.contains(letter_id(facts_of(77))));
  EXPECT_EQ(world.position_, (IntakePosition{Offset(1), Offset(1)}));
}

TEST(Intake, ATopicMadeAnewThatHasGrownIsToldByItsId) {
  for (const int after : {1, 5, 9}) {
    Played world;
    world.id_ = "first";
    for (int n = 0; n < 5; ++n) world.letter(n);
    world.run();
    EXPECT_EQ(world.position_, (IntakePosition{Offset(5), Offset(5), "first"}));
    world.log_.clear();
    for (int n = 0; n < after; ++n) world.letter(70 + n);
    world.id_ = "second";
    world.wait(Duration(1000));
    world.run();
    EXPECT_EQ(world.ids_, world.wanted_) << after;
    EXPECT_EQ(world.position_, (IntakePosition{Offset(after), Offset(after), "second"}));
  }
}

TEST(Intake, AnIdThatIsNotToldForAWhileOrForTheFirstTimeChangesNothing) {
  Played world;
  for (const char* id : {"", "first", "", "first"}) {
    world.id_ = id;
    world.letter(static_cast<std::int64_t>(world.log_.size()));
    world.wait(Duration(1000));
    world.run();
  }
  EXPECT_EQ(world.ids_, world.wanted_);
  EXPECT_EQ(world.position_, (IntakePosition{Offset(4), Offset(4), "first"}));
}

TEST(Intake, ANewTopicIsReadFromItsBeginningWhereTheOldPositionLiesInItsMiddle) {
  Played world;
  world.letter(0);
  world.letter(1, LetterForm::kParts);
  world.log_.pop_back();  // the last part does not come
  world.letter(2);
  world.run();
  EXPECT_EQ(world.position_->next, Offset(1));
  ASSERT_GT(world.position_->done_to, Offset(3));
  world.restart();
  world.log_.clear();
  for (int n = 70; n < 73; ++n) world.letter(n);
  world.run();
  for (int n = 70; n < 73; ++n) EXPECT_TRUE(world.ids_.contains(letter_id(facts_of(n)))) << n;
}

TEST(Intake, ATopicMadeAnewWhilePartsWaitedIsReadFromItsBeginningAfterARestartToo) {
  Played world;
  world.letter(1, LetterForm::kParts);
  world.log_.pop_back();  // the last part does not come
  world.letter(2);
  world.run();
  EXPECT_EQ(world.position_->next, Offset(0));
  world.restart();
  world.log_.clear();
  world.letter(77);
  world.run();
  EXPECT_TRUE(world.ids_.contains(letter_id(facts_of(77))));
  EXPECT_EQ(world.position_, (IntakePosition{Offset(1), Offset(1)}));
}

TEST(Intake, PartsAreNotGivenUpBeforeEverythingThatIsThereWasRead) {
  Played world;
  world.letter(1, LetterForm::kParts);
  ASSERT_GT(world.log_.size(), 3U);
  std::vector<LogRecord> rest(world.log_.begin() + 1, world.log_.end());
  world.log_.resize(1);
  world.run();
  world.log_.insert(world.log_.end(), rest.begin(), rest.end());
  world.slice_ = 1;
  world.wait(std::chrono::hours(1));  // the broker was away
  world.run();
  EXPECT_EQ(world.ids_, world.wanted_);
}

TEST(Intake, AFailureIsTriedAgainLaterEachTime) {
  Intake intake("test");
  std::vector<IntakeCommand> out;
  intake.step({DlqFound{kDlq}}, Instant{}, out);
  Instant now{};
  std::vector<Duration> waits;
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(out.size(), 1U);
    out.clear();
    intake.step({PositionRead{kDlq, false, {}}}, now, out);
    EXPECT_TRUE(out.empty());
    waits.push_back(intake.next_wake() - now);
    now = intake.next_wake();
    intake.step({}, now, out);
  }
  EXPECT_EQ(waits.front(), Duration(1000));
  EXPECT_EQ(waits[1], Duration(2000));
  EXPECT_EQ(waits.back(), Duration(30000));
}

}  // namespace bartleby
