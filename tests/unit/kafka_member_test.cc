// A member on librdkafka's mock cluster: what a real one does not do when it is told to.
#include <gtest/gtest.h>

#ifdef BARTLEBY_HAS_KAFKA

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>  // after the other

#include <array>

#include "adapters/broker/kafka/kafka_member.h"

namespace bartleby::kafka {
namespace {

constexpr const char* kTopic = "orders";
constexpr std::int16_t kTxnOffsetCommit = 28;

struct DestroyCluster {
  void operator()(rd_kafka_mock_cluster_t* cluster) const { rd_kafka_mock_cluster_destroy(cluster); }
};

class KafkaMemberTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP()
        << "librdkafka makes its threads where this thread sanitizer does not see them, and it crashes on them";
#endif
    std::array<char, 512> text{};
    owner_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), text.data(), text.size()));
    ASSERT_TRUE(owner_) << text.data();
    cluster_.reset(rd_kafka_mock_cluster_new(owner_.get(), 1));
    rd_kafka_mock_set_controller_id(cluster_.get(), 1);  // it is asked for topics
    ASSERT_EQ(rd_kafka_mock_topic_create(cluster_.get(), kTopic, 2, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
    Options options;
    options.bootstrap = rd_kafka_mock_cluster_bootstraps(cluster_.get());
    options.properties["topic.metadata.refresh.interval.ms"] = "600000";  // librdkafka itself does not look at topics
    auto admin = Admin::open(std::move(options));
    ASSERT_TRUE(admin) << admin.error().message;
    admin_ = std::move(*admin);
  }

  std::unique_ptr<KafkaMember> join(const std::string& instance) {
    auto member = KafkaMember::join(admin_, {"group", {kTopic}, instance, Duration(6000)});
    EXPECT_TRUE(member) << member.error().message;
    return std::move(*member);
  }

  // So many of these have come by now, since the beginning; they are polled for.
  template <class Event>
  bool come(KafkaMember& member, std::vector<BrokerEvent>& events, std::ptrdiff_t count) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto is_one = [](const BrokerEvent& event) { return std::holds_alternative<Event>(event); };
    while (std::ranges::count_if(events, is_one) < count && std::chrono::steady_clock::now() < limit)
      member.poll(events, Duration(100));
    return std::ranges::count_if(events, is_one) >= count;
  }

  void set_error(rd_kafka_resp_err_t err) { rd_kafka_mock_topic_set_error(cluster_.get(), kTopic, err); }

  HandlePtr owner_;
  std::unique_ptr<rd_kafka_mock_cluster_t, DestroyCluster> cluster_;
  std::shared_ptr<Admin> admin_;
};

// The group notices nothing: its partitions are not given to anybody again.
TEST_F(KafkaMemberTest, ATopicThatWasGivenUpBeforeItWasReadEndsItsMemberWhenItIsBack) {
  const auto member = join("a");
  std::vector<BrokerEvent> events;
  ASSERT_TRUE(come<PartitionAssigned>(*member, events, 2));
  set_error(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  ASSERT_TRUE(come<PartitionLost>(*member, events, 2));
  set_error(RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_TRUE(come<MemberFailed>(*member, events, 1)) << "it has the partitions, and nobody reads them";
}

// By the protocol of KIP-848 librdkafka says nothing of it before the revocation is answered.
TEST_F(KafkaMemberTest, OneThatTheGroupDoesNotKnowAnyMoreWhileItHandsOverLosesItsPartitions) {
  const auto member = join("a");
  std::vector<BrokerEvent> events;
  ASSERT_TRUE(come<PartitionAssigned>(*member, events, 2));
  const PartitionRef ref = std::get<PartitionAssigned>(events.front()).ref;
  const auto other = join("b");
  ASSERT_TRUE(come<PartitionRevoked>(*member, events, 1));
  rd_kafka_mock_push_request_errors(cluster_.get(), kTxnOffsetCommit, 1, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
  member->write({WriteSerial(1), {}, {{ref, Offset(0), ""}}});
  ASSERT_TRUE(come<WriteAnswered>(*member, events, 1));
  EXPECT_TRUE(come<PartitionLost>(*member, events, 2)) << "its last write would be refused for ever";
}

}  // namespace
}  // namespace bartleby::kafka

#endif
