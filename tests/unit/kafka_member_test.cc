// A member on librdkafka's mock cluster: what a real one does not do when it is told to.
#include <gtest/gtest.h>

#ifdef BARTLEBY_HAS_KAFKA

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>  // after the other

#include <algorithm>
#include <array>

#include "adapters/broker/kafka/kafka_member.h"
#include "adapters/broker/kafka/records.h"

namespace bartleby::kafka {
namespace {

constexpr const char* kTopic = "orders";
constexpr std::int16_t kFetch = 1, kTxnOffsetCommit = 28;

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
    options.log = [this](int level, std::string_view line) {
      const std::lock_guard lock(saying_);
      said_.push_back(std::to_string(level) + " " + std::string(line));
    };
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

  void produce(std::int32_t partition, int count) {
    const auto producer = make_handle(RD_KAFKA_PRODUCER, admin_->options(), {{"linger.ms", "0"}});
    ASSERT_TRUE(producer) << producer.error().message;
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(hand_over(producer->get(), {kTopic, Partition(partition), "k", "v", {}}, 0),
                RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_EQ(rd_kafka_flush(producer->get(), 60000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }

  bool said(const std::string& words) {
    const std::lock_guard lock(saying_);
    return std::ranges::any_of(said_, [&](const std::string& line) { return line.contains(words); });
  }

  void set_error(rd_kafka_resp_err_t err) { rd_kafka_mock_topic_set_error(cluster_.get(), kTopic, err); }

  std::mutex saying_;  // of the next
  std::vector<std::string> said_;
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

// A leader that has lost what was acknowledged, and has taken as much since: what it took below was never read.
TEST_F(KafkaMemberTest, ALogThatWasCutBackAndHasGrownPastThePositionIsToldAsOneThatEndsBelowIt) {
  produce(0, 10);
  const auto member = join("a");
  std::vector<BrokerEvent> events;
  ASSERT_TRUE(come<PartitionAssigned>(*member, events, 2));
  rd_kafka_mock_push_request_errors(cluster_.get(), kFetch, 1, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
  for (const BrokerEvent& event : std::vector(events))
    if (const auto* one = std::get_if<PartitionAssigned>(&event); one != nullptr && one->tp.partition == Partition(0))
      member->start(one->ref, Offset(5));
  ASSERT_TRUE(come<PositionOutOfRange>(*member, events, 1)) << "it is read on, and nobody is told";
  const auto told = std::ranges::find_if(
      events, [](const BrokerEvent& event) { return std::holds_alternative<PositionOutOfRange>(event); });
  EXPECT_EQ(std::get<PositionOutOfRange>(*told).wanted, Offset(5));
  EXPECT_LT(std::get<PositionOutOfRange>(*told).log_end, Offset(5));
  EXPECT_TRUE(said("orders [0]: reading does not go on at offset 5: ")) << "in librdkafka's words";
  EXPECT_TRUE(said("3 orders/0 was cut back below offset 5"));
}

}  // namespace
}  // namespace bartleby::kafka

#endif
