// librdkafka behind RAII: one type per thing it hands out, and the one place where its handles are made.
//
// Every handle has threads of its own; destroying it joins them. No exception crosses a callback. An error of
// librdkafka becomes an `Error` with its own words (`error_of`).
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/broker/kafka/options.h"
#include "base/error.h"
#include "model/record.h"

namespace bartleby::kafka {

template <auto Destroy>
struct DestroyWith {
  template <class T>
  void operator()(T* p) const {
    Destroy(p);
  }
};

using QueuePtr = std::unique_ptr<rd_kafka_queue_t, DestroyWith<rd_kafka_queue_destroy>>;
using EventPtr = std::unique_ptr<rd_kafka_event_t, DestroyWith<rd_kafka_event_destroy>>;
using ListPtr = std::unique_ptr<rd_kafka_topic_partition_list_t, DestroyWith<rd_kafka_topic_partition_list_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, DestroyWith<rd_kafka_error_destroy>>;
using ConfPtr = std::unique_ptr<rd_kafka_conf_t, DestroyWith<rd_kafka_conf_destroy>>;
using HeadersPtr = std::unique_ptr<rd_kafka_headers_t, DestroyWith<rd_kafka_headers_destroy>>;
using TopicPtr = std::unique_ptr<rd_kafka_topic_t, DestroyWith<rd_kafka_topic_destroy>>;
using MetadataPtr = std::unique_ptr<const rd_kafka_metadata_t, DestroyWith<rd_kafka_metadata_destroy>>;
using AdminOptionsPtr = std::unique_ptr<rd_kafka_AdminOptions_t, DestroyWith<rd_kafka_AdminOptions_destroy>>;
using GroupMetadataPtr =
    std::unique_ptr<rd_kafka_consumer_group_metadata_t, DestroyWith<rd_kafka_consumer_group_metadata_destroy>>;

// A producer or consumer. A consumer that was not closed is not closed by destroying it: whoever owns it leaves its
// group first, with a limit of its own. What a producer has queued is thrown away.
struct DestroyHandle {
  void operator()(rd_kafka_t* rk) const;
};
using HandlePtr = std::unique_ptr<rd_kafka_t, DestroyHandle>;

using Properties = std::vector<std::pair<std::string, std::string>>;

// The properties of `options` with ours on top. `prepare` may set callbacks before the handle is made.
Result<HandlePtr> make_handle(rd_kafka_type_t type, const Options& options, const Properties& ours,
                              const std::function<void(rd_kafka_conf_t*)>& prepare = {});

// A consumer outside any group, that is assigned what it reads.
Properties reader_properties();

ListPtr make_list(std::size_t size);
rd_kafka_topic_partition_t* add_to(ListPtr& list, const TopicPartition& tp);
TopicPartition where(const rd_kafka_topic_partition_t& tp);

ErrorCode code_of(rd_kafka_resp_err_t err);
std::unexpected<Error> error_of(rd_kafka_resp_err_t err, const std::string& what);

}  // namespace bartleby::kafka
