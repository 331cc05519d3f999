// A topic that is gone for a while, by librdkafka's mock cluster: a real one does not bring back what was deleted.
#include <gtest/gtest.h>

#ifdef BARTLEBY_HAS_KAFKA

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>  // after the other

#include <array>

#include "adapters/broker/kafka/kafka_member.h"

namespace bartleby::kafka {
namespace {

constexpr const char* kTopic = "orders";

struct DestroyCluster {
  void operator()(rd_kafka_mock_cluster_t* cluster) const { rd_kafka_mock_cluster_destroy(cluster); }
};

template <class Event>
bool comes(KafkaMember& member) {
  std::vector<BrokerEvent> events;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < limit) {
    events.clear();
    member.poll(events, Duration(100));
    for (const BrokerEvent& event : events)
      if (std::holds_alternative<Event>(event)) return true;
  }
  return false;
}

// The group notices nothing: its partitions are not given to anybody again.
TEST(KafkaTopicBack, OneThatWasGivenUpBeforeItWasReadEndsItsMemberWhenItIsBack) {
  std::array<char, 512> text{};
  const HandlePtr owner(rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), text.data(), text.size()));
  ASSERT_TRUE(owner) << text.data();
  const std::unique_ptr<rd_kafka_mock_cluster_t, DestroyCluster> cluster(rd_kafka_mock_cluster_new(owner.get(), 1));
  ASSERT_EQ(rd_kafka_mock_topic_create(cluster.get(), kTopic, 1, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_mock_set_controller_id(cluster.get(), 1);  // it is asked for topics
  Options options;
  options.bootstrap = rd_kafka_mock_cluster_bootstraps(cluster.get());
  options.properties["topic.metadata.refresh.interval.ms"] = "600000";  // librdkafka itself does not look
  const auto admin = Admin::open(std::move(options));
  ASSERT_TRUE(admin) << admin.error().message;
  auto member = KafkaMember::join(*admin, {"group", {kTopic}, "instance", Duration(10000)});
  ASSERT_TRUE(member) << member.error().message;
  ASSERT_TRUE(comes<PartitionAssigned>(**member));
  rd_kafka_mock_topic_set_error(cluster.get(), kTopic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  ASSERT_TRUE(comes<PartitionLost>(**member));
  rd_kafka_mock_topic_set_error(cluster.get(), kTopic, RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_TRUE(comes<MemberFailed>(**member)) << "it has the partition, and nobody reads it";
}

}  // namespace
}  // namespace bartleby::kafka

#endif
