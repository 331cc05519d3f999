// What groups, ours and others', have committed: for those who look, and are not kept waiting.
#include <algorithm>
#include <span>

#include "adapters/broker/kafka/admin.h"

namespace bartleby::kafka {
namespace {

constexpr std::chrono::seconds kGroupsKnown{30};  // how long it is believed who reads what
constexpr std::size_t kAtOnce = 50;               // groups that are asked for before the first has answered

using ListGroupOffsetsPtr =
    std::unique_ptr<rd_kafka_ListConsumerGroupOffsets_t, DestroyWith<rd_kafka_ListConsumerGroupOffsets_destroy>>;

}  // namespace

std::map<TopicPartition, Offset> Admin::committed_within(const std::string& group,
                                                         const std::vector<TopicPartition>& tps, Duration limit) {
  std::map<TopicPartition, Offset> found;
  if (tps.empty() || limit <= Duration(0)) return found;
  const QueuePtr queue = new_queue();
  ask_offsets(queue.get(), 0, group, tps, Stability::kUnstable);
  const EventPtr event(rd_kafka_queue_poll(queue.get(), static_cast<int>(limit.count())));
  if (!event) return found;
  const auto told = offsets_told(event.get());
  for (const CommittedOffset& offset : told ? *told : std::vector<CommittedOffset>{})
    if (offset.offset) found[offset.tp] = *offset.offset;
  return found;
}

Result<std::vector<std::string>> Admin::list_groups() {
  const QueuePtr queue = new_queue();
  rd_kafka_ListConsumerGroups(handle_.get(), admin_options(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS).get(), queue.get());
  const auto event = answer(queue.get(), "groups");
  if (!event) return std::unexpected(event.error());
  const auto* result = rd_kafka_event_ListConsumerGroups_result(event->get());
  std::size_t count = 0;
  if (const auto** errors = rd_kafka_ListConsumerGroups_result_errors(result, &count); count > 0)
    return fail(code_of(rd_kafka_error_code(errors[0])),
                std::string("Kafka: groups: ") + rd_kafka_error_string(errors[0]));
  const auto** groups = rd_kafka_ListConsumerGroups_result_valid(result, &count);
  std::vector<std::string> names;
  for (const rd_kafka_ConsumerGroupListing_t* group : std::span(groups, count))
    names.emplace_back(rd_kafka_ConsumerGroupListing_group_id(group));
  return names;
}

Result<std::map<std::string, std::set<std::string>>> Admin::read_groups() {
  const auto names = list_groups();
  if (!names) return std::unexpected(names.error());
  std::map<std::string, std::set<std::string>> readers;
  const QueuePtr queue = new_queue();
  for (std::size_t asked = 0, answered = 0; answered < names->size(); ++answered) {
    for (; asked < names->size() && asked - answered < kAtOnce; ++asked) {
      // No list of partitions: all that the group has something on.
      const ListGroupOffsetsPtr all(rd_kafka_ListConsumerGroupOffsets_new((*names)[asked].c_str(), nullptr));
      rd_kafka_ListConsumerGroupOffsets_t* one = all.get();
      rd_kafka_ListConsumerGroupOffsets(
          handle_.get(), &one, 1, admin_options(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, asked).get(), queue.get());
    }
    const auto event = answer(queue.get(), "offsets of groups");
    if (!event) return std::unexpected(event.error());
    const auto told = offsets_told(event->get());
    if (!told) return std::unexpected(told.error());
    const auto index = reinterpret_cast<std::uintptr_t>(rd_kafka_event_opaque(event->get()));
    if (index >= names->size()) continue;
    for (const CommittedOffset& offset : *told)
      if (offset.offset) readers[offset.tp.topic].insert((*names)[index]);
  }
  return readers;
}

Result<std::vector<std::string>> Admin::groups_on(const std::string& topic) {
  const std::lock_guard one_at_a_time(looking_);
  if (groups_read_ == Clock::time_point{} || Clock::now() - groups_read_ > kGroupsKnown) {
    auto read = read_groups();
    if (!read) return std::unexpected(read.error());
    groups_on_ = std::move(*read);
    groups_read_ = Clock::now();
  }
  const auto found = groups_on_.find(topic);
  if (found == groups_on_.end()) return std::vector<std::string>{};
  return std::vector<std::string>(found->second.begin(), found->second.end());
}

}  // namespace bartleby::kafka
