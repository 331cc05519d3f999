// A plain consumer of Kafka beside our members: it joins a group, and commits what it likes.
//
// One thread, the test's. It owns its consumer, and leaves the group when it ends.
#pragma once

#include <string>

#include "adapters/broker/kafka/kafka_broker.h"

namespace bartleby::contract {

// A consumer that knows nothing of topics that are made anew, and of which the group soon hears.
class Newcomer {
 public:
  Newcomer(const kafka::Options& options, const std::string& group, const std::string& topic) {
    kafka::Properties ours = kafka::reader_properties();
    ours.emplace_back("group.id", group);
    ours.emplace_back("auto.offset.reset", "latest");
    if (options.consumer_protocol) {
      ours.emplace_back("group.protocol", "consumer");
    } else {
      ours.emplace_back("partition.assignment.strategy", "cooperative-sticky");
      ours.emplace_back("heartbeat.interval.ms", "100");
    }
    auto made = kafka::make_handle(RD_KAFKA_CONSUMER, options, ours);
    BARTLEBY_ASSERT(made.has_value());
    consumer_ = std::move(*made);
    rd_kafka_poll_set_consumer(consumer_.get());
    kafka::ListPtr topics = kafka::make_list(1);
    kafka::add_to(topics, {topic, Partition(RD_KAFKA_PARTITION_UA)});
    BARTLEBY_ASSERT(rd_kafka_subscribe(consumer_.get(), topics.get()) == RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  ~Newcomer() { rd_kafka_consumer_close(consumer_.get()); }
  Newcomer(const Newcomer&) = delete;
  Newcomer& operator=(const Newcomer&) = delete;

  bool owns(const TopicPartition& tp) {
    if (rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer_.get(), 10)) rd_kafka_message_destroy(message);
    rd_kafka_topic_partition_list_t* list = nullptr;
    BARTLEBY_ASSERT(rd_kafka_assignment(consumer_.get(), &list) == RD_KAFKA_RESP_ERR_NO_ERROR);
    const kafka::ListPtr owned(list);
    return rd_kafka_topic_partition_list_find(list, tp.topic.c_str(), tp.partition.v) != nullptr;
  }
  bool commit(const TopicPartition& tp, Offset offset) {
    kafka::ListPtr list = kafka::make_list(1);
    kafka::add_to(list, tp)->offset = offset.v;
    return rd_kafka_commit(consumer_.get(), list.get(), 0) == RD_KAFKA_RESP_ERR_NO_ERROR;
  }

 private:
  kafka::HandlePtr consumer_;
};

}  // namespace bartleby::contract
