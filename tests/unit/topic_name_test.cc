#include "codec/topic_name.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

constexpr TopicWords kWords{"orders", "cg-pay", "payouts", "prod"};

TEST(TopicName, FillsEveryPlaceholder) {
  EXPECT_EQ(topic_name("{topic}.parked.{group}", kWords), "orders.parked.cg-pay");
  EXPECT_EQ(topic_name("{cluster_id}.{worker}.dlq", kWords), "prod.payouts.dlq");
}

TEST(TopicName, WhatComesInIsNotFilledAgain) {
  EXPECT_EQ(filled_template("{topic}", {"{group}", "g", "w", "c"}), "{group}");
}

TEST(TopicName, NamesThatHadToBeChangedStayDifferent) {
  const std::string one = topic_name("{group}", {"t", "pay/eu", "w", "c"});
  const std::string two = topic_name("{group}", {"t", "pay:eu", "w", "c"});
  EXPECT_TRUE(one.starts_with("pay_eu_"));
  EXPECT_NE(one, two);
}

TEST(TopicName, IsNeverTooLong) {
  const std::string longer(300, 'a');
  const std::string one = topic_name("{topic}", {longer, "g", "w", "c"});
  EXPECT_EQ(one.size(), kMaxTopicName);
  EXPECT_NE(one, topic_name("{topic}", {longer + "b", "g", "w", "c"}));
}

TEST(TopicName, WhatBartlebyWritesItselfIsKept) {
  EXPECT_TRUE(is_kept_topic("bartleby.outcomes"));
  EXPECT_TRUE(is_kept_topic(topic_name("{topic}.parked.{group}", kWords)));
  EXPECT_FALSE(is_kept_topic("bartleby"));
  EXPECT_FALSE(is_kept_topic("orders.dlq"));
  EXPECT_FALSE(is_kept_topic("cars.parked"));
}

}  // namespace
}  // namespace bartleby
