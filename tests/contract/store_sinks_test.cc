// Letters on their way into a sink: what is taken in is queued with it, and leaves only when the sink has it.
#include "tests/contract/store_sinks.h"

#include <gmock/gmock.h>

#include "office/letter_changes.h"
#include "office/sql.h"

namespace bartleby::contract {
namespace {

TEST_P(StoreSinks, WhatIsTakenInGoesToTheSinkOnceAndWhole) {
  take({letter(1), letter(2)});
  take({letter(3)}, "others.dlq");
  EXPECT_EQ(backlog().waiting, 2);
  const auto feeding = runner();
  run(*feeding);
  EXPECT_EQ(sink_.names(), (std::vector{letter(1).letter.id + "/0", letter(2).letter.id + "/0"}));
  const SinkLetter& one = sink_.lives.front();
  EXPECT_EQ(one.payload, letter(1).payload);
  EXPECT_EQ(one.letter.shelf, letter(1).letter.shelf);
  EXPECT_EQ(one.letter.error_message, "no answer after 30s");
  EXPECT_EQ(one.letter.attempts, 3U);
  EXPECT_EQ(one.letter.died_at, letter(1).letter.died_at);
  EXPECT_EQ(one.published_at, letter(1).published_at);
  EXPECT_EQ(one.letter.arrived_at, now_);
  EXPECT_EQ(backlog().waiting, 0);
  take({letter(1)});  // the same record once more
  run(*feeding);
  EXPECT_EQ(sink_.lives.size(), 2U);
  EXPECT_EQ(feeding->status()->written, 2U);
}

TEST_P(StoreSinks, ASinkThatIsAwayKeepsNothingFromBeingTakenInAndGetsItAllLater) {
  sink_.away = true;
  const auto feeding = runner();
  for (int i = 0; i < 5; ++i) {
    take({letter(i)});
    run(*feeding);
  }
  EXPECT_EQ(sink_.prepared, 1) << "it waits before it tries again";
  const auto status = feeding->status();
  EXPECT_EQ(status->backlog.waiting, 5);
  EXPECT_EQ(status->errors, 1U);
  EXPECT_EQ(status->failing_since, clock_.now().wall);
  EXPECT_EQ(status->error, "nobody there");
  for (int seconds : {1, 2, 4, 8, 16, 32, 60, 60}) {
    clock_.pass(Duration(seconds * 1000 - 1));
    run(*feeding);
    const int before = sink_.prepared;
    clock_.pass(Duration(1));
    run(*feeding);
    EXPECT_EQ(sink_.prepared, before + 1) << "after " << seconds;
  }
  sink_.away = false;
  clock_.pass(Duration(60000));
  run(*feeding);
  EXPECT_EQ(sink_.lives.size(), 5U);
  EXPECT_EQ(feeding->status()->failing_since, std::nullopt);
  EXPECT_THAT(logged_, testing::HasSubstr("sink_works_again"));
}

TEST_P(StoreSinks, WithoutAnAnswerTheSameLettersAreWrittenAgain) {
  take({letter(1), letter(2)});
  sink_.answer_is_lost = true;
  auto feeding = runner();
  run(*feeding);
  EXPECT_EQ(backlog().waiting, 2);
  feeding.reset();
  reopen();  // and the process dies, too
  sink_.answer_is_lost = false;
  feeding = runner();
  run(*feeding);
  const std::string one = letter(1).letter.id + "/0", other = letter(2).letter.id + "/0";
  EXPECT_EQ(sink_.names(), (std::vector{one, other, one, other}));
  EXPECT_EQ(backlog().waiting, 0);
}

TEST_P(StoreSinks, PurgedAndArchivedLettersReachItAllTheSame) {
  take({letter(1), letter(2)});
  ASSERT_EQ(change(letter(1).letter.id, LetterCause::kPurge).result, ChangeResult::kDone);
  ASSERT_EQ(change(letter(2).letter.id, LetterCause::kArchive).result, ChangeResult::kDone);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 0);
  const auto feeding = runner();
  run(*feeding);
  ASSERT_EQ(sink_.lives.size(), 2U);
  EXPECT_EQ(sink_.lives[0].payload, letter(1).payload);
  EXPECT_EQ(sink_.lives[1].payload, letter(2).payload);
}

TEST_P(StoreSinks, EveryLifeIsWrittenUnderTheIdOfTheLetter) {
  take({letter(1)});
  take({letter(1, 1)});
  take({letter(1, 2)});
  const auto feeding = runner();
  run(*feeding);
  const std::string id = letter(1).letter.id;
  EXPECT_EQ(sink_.names(), (std::vector{id + "/0", id + "/1", id + "/2"}));
}

TEST_P(StoreSinks, ASinkThatIsAddedGetsWhatIsThereAlready) {
  configured_ = false;
  for (int n = 0; n < 1200; n += 100) {
    std::vector<Arrival> many;
    for (int i = n; i < n + 100; ++i) many.push_back(letter(i));
    take(std::move(many));
    take({letter(5000 + n)}, "others.dlq");
  }
  take({letter(7, 1)});
  configured_ = true;
  take({letter(2000)});  // the first that is queued by being taken in
  const auto feeding = runner();
  run(*feeding);
  const auto names = sink_.names();
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), 1202U);
  EXPECT_EQ(names.size(), 1202U);
  EXPECT_TRUE(std::ranges::find(names, letter(7).letter.id + "/0") != names.end());
  EXPECT_TRUE(std::ranges::find(names, letter(7).letter.id + "/1") != names.end());
  clock_.pass(Duration(60000));
  run(*feeding);
  EXPECT_EQ(sink_.lives.size(), 1202U) << "and not again";
}

TEST_P(StoreSinks, ASinkThatIsAddedHearsWhenALetterCameAndNotWhenItWasChanged) {
  configured_ = false;
  const Timestamp came = now_;
  take({letter(1)});
  now_ += Duration(60000);
  change(letter(1).letter.id, LetterCause::kDiscard, {}, {.undo_until = now_ + Duration(60000)});
  configured_ = true;
  run(*runner());
  ASSERT_EQ(sink_.lives.size(), 1U);
  EXPECT_EQ(sink_.lives[0].letter.arrived_at, came);
}

TEST_P(StoreSinks, ALetterThatWasTakenBackReachesASinkThatIsAddedAsTheLifeThatDied) {
  configured_ = false;
  take({letter(1)});
  const std::string id = letter(1).letter.id;
  change(id, LetterCause::kReplay);
  change(id, LetterCause::kReturned);
  // What `take_back` does: its replay may still die, and what is sent next is another life.
  ASSERT_TRUE(store().write([&](Connection& connection) {
    return sql::execute(connection, "UPDATE letters SET replays = replays + 1 WHERE id = $1", id);
  }));
  configured_ = true;
  const auto feeding = runner();
  run(*feeding);
  EXPECT_EQ(sink_.names(), std::vector{id + "/0"});
  take({letter(1, 1)});
  run(*feeding);
  EXPECT_EQ(sink_.names(), (std::vector{id + "/0", id + "/1"}));
}

TEST_P(StoreSinks, ASinkThatWasTakenAwayForAWhileMissesNothing) {
  take({letter(1)});
  configured_ = false;
  take({letter(2)});
  configured_ = true;
  const auto feeding = runner();
  run(*feeding);
  const auto names = sink_.names();
  EXPECT_EQ(std::set(names.begin(), names.end()), (std::set{letter(1).letter.id + "/0", letter(2).letter.id + "/0"}));
}

TEST_P(StoreSinks, WhatItRefusesIsPutAsideAndTriedAgain) {
  take({letter(1), letter(2), letter(3)});
  sink_.refuses = {letter(2).letter.id};
  const auto feeding = runner(1);
  run(*feeding);
  EXPECT_EQ(sink_.lives.size(), 2U) << "those behind it go on";
  auto status = feeding->status();
  EXPECT_EQ(status->backlog.waiting, 0);
  EXPECT_EQ(status->backlog.refused, 1);
  EXPECT_EQ(status->backlog.last_reason, "not like this");
  EXPECT_EQ(status->errors, 1U);
  clock_.pass(Duration(600000));
  run(*feeding);
  EXPECT_EQ(feeding->status()->backlog.refused, 1) << "still not";
  sink_.refuses.clear();
  clock_.pass(Duration(600000));
  run(*feeding);
  status = feeding->status();
  EXPECT_EQ(status->backlog.refused, 0);
  EXPECT_EQ(sink_.lives.size(), 3U);
  EXPECT_EQ(sink_.lives.back().payload, letter(2).payload);
}

TEST_P(StoreSinks, ABatchThatTakesTooLongIsMadeSmallerUntilItGoesThrough) {
  std::vector<Arrival> many;
  for (int i = 0; i < 100; ++i) many.push_back(letter(i));
  take(std::move(many));
  sink_.in_time = 3;
  const auto feeding = runner();
  for (int i = 0; i < 500 && feeding->status()->backlog.waiting > 0; ++i) {
    run(*feeding);
    clock_.pass(Duration(60000));
  }
  EXPECT_EQ(feeding->status()->backlog.waiting, 0);
  EXPECT_EQ(sink_.lives.size(), 100U);
}

TEST_P(StoreSinks, BatchesAreBoundedInLettersAndBytes) {
  std::vector<Arrival> many;
  for (int i = 0; i < 25; ++i) many.push_back(letter(i));
  take(std::move(many));
  auto feeding = runner(10);
  run(*feeding);
  EXPECT_EQ(sink_.calls, 3);
  std::vector<Arrival> large;
  for (int i = 100; i < 104; ++i) {
    large.push_back(letter(i));
    large.back().payload.value = std::string(3 << 20, static_cast<char>('a' + i % 26));
  }
  take(std::move(large));
  sink_.calls = 0;
  feeding = runner();
  run(*feeding);
  EXPECT_EQ(sink_.calls, 2);
  EXPECT_EQ(sink_.lives.size(), 29U);
}

}  // namespace
}  // namespace bartleby::contract
