// A group's coordinator that moves, by librdkafka's mock cluster: a real one does not say at which moment it is asked.
#include <gtest/gtest.h>

#ifdef BARTLEBY_HAS_KAFKA

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>  // after the other

#include <array>

#include "adapters/broker/kafka/admin.h"

namespace bartleby::kafka {
namespace {

constexpr std::int16_t kOffsetFetch = 9;
constexpr const char* kGroup = "orders";

struct DestroyCluster {
  void operator()(rd_kafka_mock_cluster_t* cluster) const { rd_kafka_mock_cluster_destroy(cluster); }
};

TEST(KafkaCoordinator, OneThatHasMovedIsLookedForThoughTheOldOneWasAskedAMomentAgo) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "librdkafka makes its threads where this thread sanitizer does not see them, and it crashes on them";
#endif
  std::array<char, 512> text{};
  const HandlePtr owner(rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), text.data(), text.size()));
  ASSERT_TRUE(owner) << text.data();
  const std::unique_ptr<rd_kafka_mock_cluster_t, DestroyCluster> cluster(rd_kafka_mock_cluster_new(owner.get(), 2));
  ASSERT_EQ(rd_kafka_mock_topic_create(cluster.get(), "orders", 1, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_EQ(rd_kafka_mock_coordinator_set(cluster.get(), "group", kGroup, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
  Options options;
  options.request_limit = Duration(5000);
  options.bootstrap = rd_kafka_mock_cluster_bootstraps(cluster.get());
  const auto admin = Admin::open(std::move(options));
  ASSERT_TRUE(admin) << admin.error().message;
  const std::vector<TopicPartition> tps = {{"orders", Partition(0)}};
  const auto before = (*admin)->group_offsets(kGroup, tps);
  ASSERT_TRUE(before) << before.error().message;

  ASSERT_EQ(rd_kafka_mock_coordinator_set(cluster.get(), "group", kGroup, 2), RD_KAFKA_RESP_ERR_NO_ERROR);
  for (int i = 0; i < 10; ++i)
    rd_kafka_mock_broker_push_request_error_rtts(cluster.get(), 1, kOffsetFetch, 1, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                                                 0);
  EXPECT_FALSE((*admin)->group_offsets(kGroup, tps)) << "the old one was not asked";
  const auto after = (*admin)->group_offsets(kGroup, tps);
  EXPECT_TRUE(after) << "it is asked again and again: " << after.error().message;
}

}  // namespace
}  // namespace bartleby::kafka

#endif
