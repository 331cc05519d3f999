#include "adapters/broker/kafka/handles.h"

#include <array>

#include "adapters/broker/kafka/held_properties.h"

namespace bartleby::kafka {
namespace {

void set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value, std::string& mistake) {
  std::array<char, 512> text{};
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text.data(), text.size()) != RD_KAFKA_CONF_OK &&
      mistake.empty())
    mistake = text.data();
}

void logged(const rd_kafka_t* rk, int level, const char* facility, const char* text) {
  const auto* options = static_cast<const Options*>(rd_kafka_opaque(rk));
  if (options == nullptr || !options->client_log) return;
  try {
    options->client_log(level, std::string(facility) + ": " + text);
    // NOLINTNEXTLINE(bugprone-empty-catch)
  } catch (...) {  // a line that cannot be logged must not end librdkafka's thread
  }
}

}  // namespace

void DestroyHandle::operator()(rd_kafka_t* rk) const {
  if (rd_kafka_type(rk) == RD_KAFKA_PRODUCER) rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

Result<HandlePtr> make_handle(rd_kafka_type_t type, const Options& options, const Properties& ours,
                              const std::function<void(rd_kafka_conf_t*)>& prepare) {
  ConfPtr conf(rd_kafka_conf_new());
  std::string mistake;
  set(conf.get(), "bootstrap.servers", options.bootstrap, mistake);
  set(conf.get(), "client.id", "bartleby", mistake);
  set(conf.get(), "retry.backoff.ms", "10", mistake);  // 100, the default, makes back-to-back transactions wait
  set(conf.get(), "reconnect.backoff.max.ms", "1000", mistake);
  set(conf.get(), "topic.metadata.refresh.interval.ms", "10000", mistake);  // partitions that were added
  for (const auto& [name, value] : options.properties) set(conf.get(), name, value, mistake);
  for (const auto& [name, value] : ours)  // of what holds no guarantee people may want something else
    if (held_property(name) || !options.properties.contains(name)) set(conf.get(), name, value, mistake);
  if (!mistake.empty()) return fail(ErrorCode::kInvalid, "Kafka: " + mistake);
  // The options outlive every handle; the log needs them as early as the handle is made.
  rd_kafka_conf_set_opaque(conf.get(), const_cast<Options*>(&options));
  rd_kafka_conf_set_log_cb(conf.get(), logged);
  if (prepare) prepare(conf.get());
  std::array<char, 512> text{};
  HandlePtr made(rd_kafka_new(type, conf.get(), text.data(), text.size()));
  if (!made) return fail(ErrorCode::kInvalid, std::string("Kafka: ") + text.data());
  static_cast<void>(conf.release());  // it belongs to the handle now
  return made;
}

Properties reader_properties() {
  return {{"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"}, {"isolation.level", "read_committed"},
          {"auto.offset.reset", "error"},  {"enable.partition.eof", "true"},      {"allow.auto.create.topics", "false"},
          {"check.crcs", "true"},          {"fetch.message.max.bytes", "1048576"}};
}

ListPtr make_list(std::size_t size) { return ListPtr(rd_kafka_topic_partition_list_new(static_cast<int>(size))); }

rd_kafka_topic_partition_t* add_to(ListPtr& list, const TopicPartition& tp) {
  return rd_kafka_topic_partition_list_add(list.get(), tp.topic.c_str(), tp.partition.v);
}

TopicPartition where(const rd_kafka_topic_partition_t& tp) { return {tp.topic, Partition(tp.partition)}; }

ErrorCode code_of(rd_kafka_resp_err_t err) {
  switch (err) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return ErrorCode::kNotFound;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
      return ErrorCode::kTooLarge;
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_STALE_MEMBER_EPOCH:
    case RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP:
      return ErrorCode::kFenced;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
      return ErrorCode::kInvalid;
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
      return ErrorCode::kUnsupported;
    default:
      return ErrorCode::kUnavailable;
  }
}

std::unexpected<Error> error_of(rd_kafka_resp_err_t err, const std::string& what) {
  return fail(code_of(err), what + ": " + rd_kafka_err2str(err));
}

}  // namespace bartleby::kafka
