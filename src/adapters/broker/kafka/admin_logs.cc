// Where logs begin and end, and where a time is in them.
#include <thread>

#include "adapters/broker/kafka/admin.h"

namespace bartleby::kafka {
namespace {

constexpr std::int64_t kNone = -1;  // no record is as late as that

// What a partition's leader said. librdkafka begins with "-1001, no error", and leaves that where the leader's answer
// was an error or never came: no offset, and not that there is none.
Result<std::int64_t> offset_told(const rd_kafka_topic_partition_t& tp) {
  const std::string what = std::string("Kafka: ") + tp.topic + "/" + std::to_string(tp.partition);
  if (tp.err != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of(tp.err, what);
  if (tp.offset < kNone) return fail(ErrorCode::kUnavailable, what + ": its leader does not answer");
  return tp.offset;
}

// The one partition of an answer.
Result<std::int64_t> one_told(rd_kafka_event_t* event) {
  if (const rd_kafka_resp_err_t err = rd_kafka_event_error(event); err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return fail(code_of(err), std::string("Kafka: end of a log: ") + rd_kafka_event_error_string(event));
  std::size_t count = 0;
  const auto** infos = rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(event), &count);
  if (count != 1) return fail(ErrorCode::kUnavailable, "Kafka: end of a log: no answer");
  return offset_told(*rd_kafka_ListOffsetsResultInfo_topic_partition(infos[0]));
}

void isolate(const AdminOptionsPtr& how, rd_kafka_IsolationLevel_t level) {
  const ErrorPtr ignored(rd_kafka_AdminOptions_set_isolation_level(how.get(), level));
}

}  // namespace

void Admin::ask_end(rd_kafka_queue_t* queue, std::uint64_t number, const TopicPartition& tp, End which) {
  ListPtr list = make_list(1);
  add_to(list, tp)->offset = which == End::kStart ? RD_KAFKA_OFFSET_SPEC_EARLIEST : RD_KAFKA_OFFSET_SPEC_LATEST;
  const AdminOptionsPtr how = admin_options(RD_KAFKA_ADMIN_OP_LISTOFFSETS, number);
  isolate(how,
          which == End::kStable ? RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED : RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED);
  rd_kafka_ListOffsets(handle_.get(), list.get(), how.get(), queue);
}

Result<Offset> Admin::end_told(rd_kafka_event_t* event) {
  const auto told = one_told(event);
  if (!told) return std::unexpected(told.error());
  if (*told < 0) return fail(ErrorCode::kUnavailable, "Kafka: end of a log: no answer");
  return Offset(*told);
}

void Admin::ask_ends(rd_kafka_queue_t* queue, std::uint64_t number, const std::vector<TopicPartition>& tps,
                     Duration limit) {
  ListPtr list = make_list(tps.size());
  for (const TopicPartition& tp : tps) add_to(list, tp)->offset = RD_KAFKA_OFFSET_SPEC_LATEST;
  const AdminOptionsPtr how = admin_options(RD_KAFKA_ADMIN_OP_LISTOFFSETS, number);
  rd_kafka_AdminOptions_set_request_timeout(how.get(), static_cast<int>(limit.count()), nullptr, 0);
  isolate(how, RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED);
  rd_kafka_ListOffsets(handle_.get(), list.get(), how.get(), queue);
}

std::map<TopicPartition, Offset> Admin::ends_told(rd_kafka_event_t* event) {
  std::map<TopicPartition, Offset> ends;
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) return ends;
  std::size_t count = 0;
  const auto** infos = rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(event), &count);
  for (std::size_t i = 0; i < count; ++i) {
    const rd_kafka_topic_partition_t* tp = rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i]);
    if (const auto told = offset_told(*tp); told && *told >= 0) ends[where(*tp)] = Offset(*told);
  }
  return ends;
}

template <class T>
Result<T> Admin::until_led(const TopicPartition& tp, const std::function<Result<T>()>& ask_once) {
  // People ask for many of these in a row: a cluster that is away must not cost a limit each.
  if (const auto there = reached(); !there) return std::unexpected(there.error());
  const auto limit = Clock::now() + options_->request_limit;
  for (;;) {
    const auto topic = known(tp.topic);
    if (!topic) return std::unexpected(topic.error());
    if (tp.partition.v >= topic->partitions) {
      forget(tp.topic);  // it may have grown
      return fail(ErrorCode::kNotFound, "no such partition: " + tp.topic + "/" + std::to_string(tp.partition.v));
    }
    auto told = ask_once();
    if (told || Clock::now() >= limit) return told;
    // Whether it is there is asked again.
    forget(tp.topic);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<Offset> Admin::end_of(const TopicPartition& tp, End which) {
  return until_led<Offset>(tp, [&]() -> Result<Offset> {
    const QueuePtr queue = new_queue();
    ask_end(queue.get(), 0, tp, which);
    const auto event = answer(queue.get(), "end of " + tp.topic);
    if (!event) return std::unexpected(event.error());
    return end_told(event->get());
  });
}

Result<std::optional<Offset>> Admin::first_at(const TopicPartition& tp, Timestamp time) {
  return until_led<std::optional<Offset>>(tp, [&]() -> Result<std::optional<Offset>> {
    ListPtr list = make_list(1);
    add_to(list, tp)->offset = std::max<std::int64_t>(0, time.time_since_epoch().count());
    const AdminOptionsPtr how = admin_options(RD_KAFKA_ADMIN_OP_LISTOFFSETS);
    isolate(how, RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED);
    const QueuePtr queue = new_queue();
    rd_kafka_ListOffsets(handle_.get(), list.get(), how.get(), queue.get());
    const auto event = answer(queue.get(), "a time in " + tp.topic);
    if (!event) return std::unexpected(event.error());
    const auto told = one_told(event->get());
    if (!told) return std::unexpected(told.error());
    return *told == kNone ? std::nullopt : std::optional(Offset(*told));
  });
}

}  // namespace bartleby::kafka
