#include <gtest/gtest.h>

#include "adapters/broker/kafka/topic_watch.h"

namespace bartleby::kafka {
namespace {

constexpr const char* kTopic = "orders";

TopicTurn look(TopicWatch& watch, const std::string& id) { return watch.look(kTopic, TopicLook{id, 1}); }
TopicTurn miss(TopicWatch& watch) { return watch.look(kTopic, std::nullopt); }

TEST(TopicWatch, ATopicThatIsNotFoundThreeTimesIsGoneAndThatIsToldOnce) {
  TopicWatch watch;
  EXPECT_EQ(look(watch, "a"), TopicTurn::kSame);
  EXPECT_EQ(miss(watch), TopicTurn::kSame);
  EXPECT_EQ(miss(watch), TopicTurn::kSame);
  EXPECT_EQ(look(watch, "a"), TopicTurn::kSame) << "not every broker knows of a topic at once";
  for (const TopicTurn turn : {TopicTurn::kSame, TopicTurn::kSame, TopicTurn::kGone, TopicTurn::kSame})
    EXPECT_EQ(miss(watch), turn);
}

TEST(TopicWatch, ATopicThatWasNeverFoundIsWaitedFor) {
  TopicWatch watch;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(miss(watch), TopicTurn::kSame);
  EXPECT_FALSE(watch.found(kTopic));
  EXPECT_EQ(look(watch, "a"), TopicTurn::kSame);
  EXPECT_TRUE(watch.found(kTopic));
}

TEST(TopicWatch, OneThatIsBackWithItsIdWasNotMadeAnew) {
  TopicWatch watch;
  look(watch, "a");
  for (int i = 0; i < 5; ++i) miss(watch);
  EXPECT_EQ(look(watch, "a"), TopicTurn::kBack);
  EXPECT_EQ(look(watch, "a"), TopicTurn::kSame);
  EXPECT_FALSE(words_of(TopicTurn::kBack, kTopic).contains("made anew"));
}

TEST(TopicWatch, AnotherIdIsAnotherTopicWhetherOrNotItWasMissed) {
  TopicWatch watch;
  look(watch, "a");
  EXPECT_EQ(look(watch, "b"), TopicTurn::kAnew);
  EXPECT_EQ(look(watch, "b"), TopicTurn::kSame);
  for (int i = 0; i < 5; ++i) miss(watch);
  EXPECT_EQ(look(watch, "c"), TopicTurn::kAnew);
}

TEST(TopicWatch, BrokersWithoutIdsTellNothingApart) {
  TopicWatch watch;
  look(watch, "");
  EXPECT_EQ(look(watch, ""), TopicTurn::kSame);
  EXPECT_EQ(look(watch, "a"), TopicTurn::kSame);
  EXPECT_EQ(look(watch, ""), TopicTurn::kSame);
  EXPECT_EQ(look(watch, "b"), TopicTurn::kAnew);
}

}  // namespace
}  // namespace bartleby::kafka
