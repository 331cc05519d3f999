// Asynchronous handlers: how they are answered, what they leave behind when the process dies, and that one worker's
// never wait for another's.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "runtime/in_process.h"
#include "tests/support/attempts.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

using test::make_attempt;
using test::Outcomes;
using test::text_of;

using MessagePtr = std::shared_ptr<const Message>;
using AttemptPtr = std::shared_ptr<Attempt>;

std::shared_ptr<AttemptIn> suspect() {
  auto attempt = make_attempt();
  attempt->alone = true;
  return attempt;
}

// Keeps what it is asked, as something does that answers later.
struct Kept {
  std::vector<Reply> replies;
  AsyncHandler code() {
    return [this](const MessagePtr&, const AttemptPtr&, Reply reply) { replies.push_back(std::move(reply)); };
  }
  void answer_all() {
    std::vector<Reply> all = std::move(replies);
    replies.clear();
    for (Reply& reply : all) reply(done());
  }
};

TEST(AsynchronousHandler, AnswersLaterFromAnotherThread) {
  std::jthread later;
  AsynchronousHandler handler({}, [&](MessagePtr message, AttemptPtr attempt, Reply reply) {
    later =
        std::jthread([message = std::move(message), attempt = std::move(attempt), reply = std::move(reply)] mutable {
          reply(retry("Later", std::string(message->key()) + " " + std::to_string(attempt->number())));
        });
  });
  Outcomes outcomes;
  handler.start(make_attempt(), outcomes.answer(0));
  ASSERT_TRUE(outcomes.wait(1));
  EXPECT_EQ(text_of(outcomes.of(0)), "retry transient \"Later\" \"deal_550e8400 2\"");
}

TEST(AsynchronousHandler, ADroppedReplyIsARetry) {
  Kept kept;
  AsynchronousHandler handler({}, kept.code());
  Outcomes outcomes;
  handler.start(make_attempt(), outcomes.answer(0));
  kept.replies.clear();
  ASSERT_TRUE(outcomes.wait(1));
  EXPECT_EQ(text_of(outcomes.of(0)), "retry transient \"NoReply\" \"the handler dropped its reply\"");
}

TEST(AsynchronousHandler, AnExceptionArrivesWithItsTypeAndText) {
  AsynchronousHandler handler(
      {}, [](const MessagePtr&, const AttemptPtr&, const Reply&) { throw std::out_of_range("no such deal"); });
  Outcomes outcomes;
  handler.start(make_attempt(), outcomes.answer(0));
  ASSERT_TRUE(outcomes.wait(1));
  EXPECT_EQ(text_of(outcomes.of(0)), "retry transient \"std::out_of_range\" \"no such deal\"");
}

TEST(AsynchronousHandler, AfterAnExceptionAReplyThatWasKeptStillCounts) {
  Kept kept;
  AsynchronousHandler handler({}, [&](const MessagePtr&, const AttemptPtr&, Reply reply) {
    kept.replies.push_back(std::move(reply));
    throw std::runtime_error("after it was handed on");
  });
  Outcomes outcomes;
  handler.start(make_attempt(), outcomes.answer(0));
  kept.answer_all();
  ASSERT_TRUE(outcomes.wait(1));
  EXPECT_EQ(text_of(outcomes.of(0)), "done");
}

class AsynchronousCrash : public testing::Test {
 protected:
  // What the next process would find, had this one died now.
  std::vector<Casualty> casualties() { return FlightRecorder::open(file_, 2).value()->casualties(); }

  support::ScratchFolder folder_;
  std::filesystem::path file_ = std::filesystem::path(folder_.path()) / "flight";
  std::unique_ptr<FlightRecorder> recorder_ = FlightRecorder::open(file_, 1).value();
  AloneGate gate_;
  InProcess where_{"w", recorder_.get(), [](const std::string& topic) { return topic + ".parked.g"; }, &gate_};
};

TEST_F(AsynchronousCrash, EvidenceStaysUntilTheAnswer) {
  Kept kept;
  AsynchronousHandler handler(where_, kept.code());
  Outcomes outcomes;
  handler.start(suspect(), outcomes.answer(0));
  const auto found = casualties();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.front().flight.alone);
  EXPECT_EQ(found.front().flight.journal, "escrow.commands.parked.g");
  kept.answer_all();
  EXPECT_TRUE(casualties().empty());
}

TEST_F(AsynchronousCrash, TwoWorkersOnOneThreadDoNotWaitForEachOther) {
  Kept one, other;
  AsynchronousHandler first(where_, one.code()), second(where_, other.code());
  Outcomes outcomes;
  first.start(make_attempt(), outcomes.answer(0));
  second.start(suspect(), outcomes.answer(1));      // begins when nobody else runs
  first.start(make_attempt(), outcomes.answer(2));  // begins when the suspect has ended
  EXPECT_EQ(one.replies.size(), 1U);
  EXPECT_TRUE(other.replies.empty());
  one.answer_all();
  EXPECT_TRUE(one.replies.empty());
  ASSERT_EQ(other.replies.size(), 1U);
  EXPECT_TRUE(casualties().front().flight.alone);
  other.answer_all();
  ASSERT_EQ(one.replies.size(), 1U);
  one.answer_all();
  ASSERT_TRUE(outcomes.wait(3));
}

TEST_F(AsynchronousCrash, WhoIsCancelledAtTheGateIsNotRun) {
  Kept kept;
  AsynchronousHandler handler(where_, kept.code());
  Outcomes outcomes;
  handler.start(suspect(), outcomes.answer(0));
  auto late = make_attempt();
  handler.start(late, outcomes.answer(1));
  late->cancelled = true;
  kept.answer_all();
  ASSERT_TRUE(outcomes.wait(2));
  EXPECT_TRUE(kept.replies.empty());
  EXPECT_TRUE(outcomes.of(1).unrun);
}

TEST_F(AsynchronousCrash, OneThatRunsAloneAndDoesNotComeBackIsOverdueAndMarked) {
  Kept kept;
  AsynchronousHandler handler(where_, kept.code());
  Outcomes outcomes;
  const auto attempt = suspect();
  handler.start(attempt, outcomes.answer(0));
  const Duration by(1000);
  EXPECT_FALSE(handler.overdue(attempt->deadline, by).alone);
  EXPECT_TRUE(handler.overdue(attempt->deadline + by, by).alone);
  handler.mark_overdue(attempt->deadline + by, by);
  ASSERT_EQ(casualties().size(), 1U);
  EXPECT_TRUE(casualties().front().faulting);
  kept.answer_all();
  EXPECT_FALSE(handler.overdue(attempt->deadline + by, by).alone);
}

TEST_F(AsynchronousCrash, AnOrdinaryOneIsOnlyToldItsDeadline) {
  Kept kept;
  AsynchronousHandler handler(where_, kept.code());
  Outcomes outcomes;
  const auto attempt = make_attempt();
  handler.start(attempt, outcomes.answer(0));
  EXPECT_EQ(handler.overdue(attempt->deadline + Duration(1000000), Duration(1)).late, 0U);
  kept.answer_all();
}

}  // namespace
}  // namespace bartleby
