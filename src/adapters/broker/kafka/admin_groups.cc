// Offsets of groups, rights, and what changes a log from outside.
#include <algorithm>
#include <array>
#include <span>
#include <thread>

#include "adapters/broker/kafka/admin.h"

namespace bartleby::kafka {
namespace {

using ListGroupOffsetsPtr =
    std::unique_ptr<rd_kafka_ListConsumerGroupOffsets_t, DestroyWith<rd_kafka_ListConsumerGroupOffsets_destroy>>;
using AlterGroupOffsetsPtr =
    std::unique_ptr<rd_kafka_AlterConsumerGroupOffsets_t, DestroyWith<rd_kafka_AlterConsumerGroupOffsets_destroy>>;
using DeleteRecordsPtr = std::unique_ptr<rd_kafka_DeleteRecords_t, DestroyWith<rd_kafka_DeleteRecords_destroy>>;
using TopicsPtr = std::unique_ptr<rd_kafka_TopicCollection_t, DestroyWith<rd_kafka_TopicCollection_destroy>>;
using DeleteTopicPtr = std::unique_ptr<rd_kafka_DeleteTopic_t, DestroyWith<rd_kafka_DeleteTopic_destroy>>;
using ResourcePtr = std::unique_ptr<rd_kafka_ConfigResource_t, DestroyWith<rd_kafka_ConfigResource_destroy>>;
using AclPtr = std::unique_ptr<rd_kafka_AclBinding_t, DestroyWith<rd_kafka_AclBinding_destroy>>;

// The answer's one group, with errors of its partitions.
Result<std::vector<CommittedOffset>> offsets_of(const rd_kafka_group_result_t** groups, std::size_t count) {
  if (count != 1) return fail(ErrorCode::kUnavailable, "Kafka: offsets of a group: no answer");
  if (const rd_kafka_error_t* error = rd_kafka_group_result_error(groups[0]))
    return error_of(rd_kafka_error_code(error), std::string("Kafka: group ") + rd_kafka_group_result_name(groups[0]));
  std::vector<CommittedOffset> found;
  const rd_kafka_topic_partition_list_t* list = rd_kafka_group_result_partitions(groups[0]);
  for (int i = 0; list != nullptr && i < list->cnt; ++i) {
    const rd_kafka_topic_partition_t& tp = list->elems[i];
    if (tp.err != RD_KAFKA_RESP_ERR_NO_ERROR)
      return error_of(tp.err, std::string("Kafka: offset of ") + tp.topic + "/" + std::to_string(tp.partition));
    CommittedOffset offset{where(tp), std::nullopt, {}};
    if (tp.offset >= 0) {
      offset.offset = Offset(tp.offset);
      // Its bytes end where it says, not at a zero.
      if (tp.metadata != nullptr) offset.metadata.assign(static_cast<const char*>(tp.metadata), tp.metadata_size);
    }
    found.push_back(std::move(offset));
  }
  return found;
}

}  // namespace

void Admin::ask_offsets(rd_kafka_queue_t* queue, std::uint64_t number, const std::string& group,
                        const std::vector<TopicPartition>& tps, Stability stability) {
  ListPtr list = make_list(tps.size());
  for (const TopicPartition& tp : tps) add_to(list, tp);
  const ListGroupOffsetsPtr asked(rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), list.get()));
  const AdminOptionsPtr how = admin_options(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, number);
  const ErrorPtr ignored(
      rd_kafka_AdminOptions_set_require_stable_offsets(how.get(), stability == Stability::kStable ? 1 : 0));
  rd_kafka_ListConsumerGroupOffsets_t* one = asked.get();
  rd_kafka_ListConsumerGroupOffsets(handle_.get(), &one, 1, how.get(), queue);
}

Result<std::vector<CommittedOffset>> Admin::offsets_told(rd_kafka_event_t* event) {
  if (const rd_kafka_resp_err_t err = rd_kafka_event_error(event); err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return fail(code_of(err), std::string("Kafka: offsets of a group: ") + rd_kafka_event_error_string(event));
  std::size_t count = 0;
  const auto* result = rd_kafka_event_ListConsumerGroupOffsets_result(event);
  const auto** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count);
  return offsets_of(groups, count);
}

Result<std::vector<CommittedOffset>> Admin::group_offsets(const std::string& group,
                                                          const std::vector<TopicPartition>& tps, Stability stability) {
  if (tps.empty()) return std::vector<CommittedOffset>{};
  const auto limit = Clock::now() + options_->request_limit;
  for (;;) {
    const QueuePtr queue = new_queue();
    ask_offsets(queue.get(), 0, group, tps, stability);
    const auto event = answer(queue.get(), "offsets of group " + group);
    if (!event) return std::unexpected(event.error());
    auto told = offsets_told(event->get());
    if (told || told.error().code != ErrorCode::kUnavailable || Clock::now() >= limit) return told;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<bool> Admin::has_members(const std::string& group) {
  const QueuePtr queue = new_queue();
  const char* name = group.c_str();
  rd_kafka_DescribeConsumerGroups(handle_.get(), &name, 1,
                                  admin_options(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS).get(), queue.get());
  const auto event = answer(queue.get(), "members of group " + group);
  if (!event) return std::unexpected(event.error());
  std::size_t count = 0;
  const auto* result = rd_kafka_event_DescribeConsumerGroups_result(event->get());
  const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
  if (count != 1) return fail(ErrorCode::kUnavailable, "Kafka: members of group " + group + ": no answer");
  const rd_kafka_error_t* error = rd_kafka_ConsumerGroupDescription_error(groups[0]);
  const rd_kafka_resp_err_t err = error == nullptr ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(error);
  if (err == RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND) return false;
  if (err != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of(err, "Kafka: members of group " + group);
  return rd_kafka_ConsumerGroupDescription_member_count(groups[0]) > 0;
}

Result<void> Admin::commit(const std::string& group, const std::vector<CommittedOffset>& offsets) {
  if (offsets.empty()) return {};
  ListPtr list = make_list(offsets.size());
  for (const CommittedOffset& offset : offsets) {
    if (!offset.offset) return fail(ErrorCode::kInvalid, "an offset to commit is missing");
    rd_kafka_topic_partition_t* tp = add_to(list, offset.tp);
    tp->offset = offset.offset->v;
    if (offset.metadata.empty()) continue;
    tp->metadata = rd_kafka_mem_malloc(nullptr, offset.metadata.size());  // freed with the list
    tp->metadata_size = offset.metadata.size();
    offset.metadata.copy(static_cast<char*>(tp->metadata), offset.metadata.size());
  }
  const AlterGroupOffsetsPtr asked(rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), list.get()));
  const QueuePtr queue = new_queue();
  rd_kafka_AlterConsumerGroupOffsets_t* one = asked.get();
  rd_kafka_AlterConsumerGroupOffsets(handle_.get(), &one, 1,
                                     admin_options(RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS).get(), queue.get());
  const auto event = answer(queue.get(), "first offsets of group " + group);
  if (!event) return std::unexpected(event.error());
  std::size_t count = 0;
  const auto* result = rd_kafka_event_AlterConsumerGroupOffsets_result(event->get());
  const auto** groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(result, &count);
  const auto told = offsets_of(groups, count);
  if (!told) return std::unexpected(told.error());
  return {};
}

Result<void> Admin::delete_before(const TopicPartition& tp, Offset offset) {
  ListPtr list = make_list(1);
  add_to(list, tp)->offset = offset.v;
  const DeleteRecordsPtr asked(rd_kafka_DeleteRecords_new(list.get()));
  const QueuePtr queue = new_queue();
  rd_kafka_DeleteRecords_t* one = asked.get();
  rd_kafka_DeleteRecords(handle_.get(), &one, 1, admin_options(RD_KAFKA_ADMIN_OP_DELETERECORDS).get(), queue.get());
  const auto event = answer(queue.get(), "deleting records of " + tp.topic);
  if (!event) return std::unexpected(event.error());
  const auto* told = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event->get()));
  if (told->cnt == 1 && told->elems[0].err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return error_of(told->elems[0].err, "Kafka: deleting records of " + tp.topic);
  return {};
}

Result<std::set<std::string>> Admin::forbidden(const std::set<std::string>& topics) {
  std::vector<const char*> names;
  for (const std::string& topic : topics) names.push_back(topic.c_str());
  const TopicsPtr asked(rd_kafka_TopicCollection_of_topic_names(names.data(), names.size()));
  const AdminOptionsPtr how = admin_options(RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
  const ErrorPtr ignored(rd_kafka_AdminOptions_set_include_authorized_operations(how.get(), 1));
  const QueuePtr queue = new_queue();
  rd_kafka_DescribeTopics(handle_.get(), asked.get(), how.get(), queue.get());
  const auto event = answer(queue.get(), "rights on topics");
  if (!event) return std::unexpected(event.error());
  std::size_t count = 0;
  const auto* result = rd_kafka_event_DescribeTopics_result(event->get());
  const auto** told = rd_kafka_DescribeTopics_result_topics(result, &count);
  std::set<std::string> found;
  for (const rd_kafka_TopicDescription_t* topic : std::span(told, count)) {
    const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(topic);
    const bool hidden = error != nullptr && rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    std::size_t rights = 0;
    const rd_kafka_AclOperation_t* may = rd_kafka_TopicDescription_authorized_operations(topic, &rights);
    const bool writable = std::ranges::count(std::span(may, rights), RD_KAFKA_ACL_OPERATION_WRITE) > 0;
    if (hidden || (error == nullptr && !writable)) found.insert(rd_kafka_TopicDescription_name(topic));
  }
  return found;
}

void Admin::ask_topics(rd_kafka_queue_t* queue, std::uint64_t number, const std::vector<std::string>& topics) {
  std::vector<const char*> names;
  for (const std::string& topic : topics) names.push_back(topic.c_str());
  const TopicsPtr asked(rd_kafka_TopicCollection_of_topic_names(names.data(), names.size()));
  rd_kafka_DescribeTopics(handle_.get(), asked.get(), admin_options(RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, number).get(),
                          queue);
}

Result<std::map<std::string, std::optional<TopicLook>>> Admin::topics_told(rd_kafka_event_t* event) {
  if (const rd_kafka_resp_err_t err = rd_kafka_event_error(event); err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return fail(code_of(err), std::string("Kafka: topics: ") + rd_kafka_event_error_string(event));
  std::size_t count = 0;
  const auto** told = rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &count);
  std::map<std::string, std::optional<TopicLook>> found;
  for (const rd_kafka_TopicDescription_t* topic : std::span(told, count)) {
    const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(topic);
    const std::string name = rd_kafka_TopicDescription_name(topic);
    if (error != nullptr) {
      if (rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) found[name] = std::nullopt;
      continue;
    }
    std::size_t partitions = 0;
    rd_kafka_TopicDescription_partitions(topic, &partitions);
    // Brokers before 2.8 have no ids, and say so with zeros.
    const rd_kafka_Uuid_t* id = rd_kafka_TopicDescription_topic_id(topic);
    const bool none = rd_kafka_Uuid_most_significant_bits(id) == 0 && rd_kafka_Uuid_least_significant_bits(id) == 0;
    found[name] = TopicLook{none ? "" : rd_kafka_Uuid_base64str(id), static_cast<std::int32_t>(partitions)};
  }
  return found;
}

Result<std::map<std::string, std::string>> Admin::topic_ids(const std::vector<std::string>& topics) {
  std::map<std::string, std::string> ids;
  if (topics.empty()) return ids;
  const QueuePtr queue = new_queue();
  ask_topics(queue.get(), 0, topics);
  const auto event = answer(queue.get(), "ids of topics");
  if (!event) return std::unexpected(event.error());
  const auto told = topics_told(event->get());
  if (!told) return std::unexpected(told.error());
  for (const auto& [topic, look] : *told)
    if (look) ids[topic] = look->id;
  return ids;
}

Result<void> Admin::remove(const std::string& topic) {
  const DeleteTopicPtr asked(rd_kafka_DeleteTopic_new(topic.c_str()));
  const QueuePtr queue = new_queue();
  rd_kafka_DeleteTopic_t* one = asked.get();
  rd_kafka_DeleteTopics(handle_.get(), &one, 1, admin_options(RD_KAFKA_ADMIN_OP_DELETETOPICS).get(), queue.get());
  const auto event = answer(queue.get(), "deleting " + topic);
  if (!event) return std::unexpected(event.error());
  forget(topic);
  return {};
}

Result<void> Admin::set(const std::string& topic, const std::string& setting, const std::string& value) {
  const ResourcePtr resource(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const ErrorPtr wrong(rd_kafka_ConfigResource_add_incremental_config(
      resource.get(), setting.c_str(), RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET, value.c_str()));
  if (wrong) return fail(ErrorCode::kInvalid, std::string("Kafka: ") + rd_kafka_error_string(wrong.get()));
  const QueuePtr queue = new_queue();
  rd_kafka_ConfigResource_t* one = resource.get();
  rd_kafka_IncrementalAlterConfigs(handle_.get(), &one, 1,
                                   admin_options(RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS).get(), queue.get());
  const auto event = answer(queue.get(), setting + " of " + topic);
  if (!event) return std::unexpected(event.error());
  std::size_t count = 0;
  const auto* result = rd_kafka_event_IncrementalAlterConfigs_result(event->get());
  const auto** told = rd_kafka_IncrementalAlterConfigs_result_resources(result, &count);
  forget(topic);
  if (count == 1 && rd_kafka_ConfigResource_error(told[0]) == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return fail(ErrorCode::kInvalid, "Kafka: " + topic + " does not take " + setting + "=" + value);
}

// A topic with any rule allows what its rules allow and nothing else: one that allows to describe it forbids to write.
Result<void> Admin::deny(const std::string& topic, bool denied) {
  const QueuePtr queue = new_queue();
  std::array<char, 256> text{};
  if (denied) {
    for (const rd_kafka_AclOperation_t allowed :
         {RD_KAFKA_ACL_OPERATION_DESCRIBE, RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS}) {
      const AclPtr rule(rd_kafka_AclBinding_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str(),
                                                RD_KAFKA_RESOURCE_PATTERN_LITERAL, "User:*", "*", allowed,
                                                RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, text.data(), text.size()));
      rd_kafka_AclBinding_t* one = rule.get();
      rd_kafka_CreateAcls(handle_.get(), &one, 1, admin_options(RD_KAFKA_ADMIN_OP_CREATEACLS).get(), queue.get());
      if (const auto event = answer(queue.get(), "rules of " + topic); !event) return std::unexpected(event.error());
    }
    return {};
  }
  const AclPtr all(rd_kafka_AclBindingFilter_new(
      RD_KAFKA_RESOURCE_TOPIC, topic.c_str(), RD_KAFKA_RESOURCE_PATTERN_LITERAL, nullptr, nullptr,
      RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY, text.data(), text.size()));
  rd_kafka_AclBindingFilter_t* one = all.get();
  rd_kafka_DeleteAcls(handle_.get(), &one, 1, admin_options(RD_KAFKA_ADMIN_OP_DELETEACLS).get(), queue.get());
  if (const auto event = answer(queue.get(), "rules of " + topic); !event) return std::unexpected(event.error());
  return {};
}

}  // namespace bartleby::kafka
