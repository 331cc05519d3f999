// Records on their way between librdkafka's messages and ours, byte for byte.
//
// Pure but for what they are given. A message is copied out: one that is kept would pin the whole fetch it came in.
#pragma once

#include <cstdint>

#include "adapters/broker/kafka/handles.h"

namespace bartleby::kafka {

LogRecord record_of(const rd_kafka_message_t& message);
// The same into one that is not needed any more: short texts are written over, without an allocation.
void read_into(LogRecord& record, const rd_kafka_message_t& message);

// Hands the record to the producer; `number` comes back with its delivery report. The error is the client's own:
// too large for it, no room in its queue.
rd_kafka_resp_err_t hand_over(rd_kafka_t* producer, const Record& record, std::uint64_t number);

// At least what it takes in a batch of its own, as the broker counts it.
std::size_t wire_size(const Record& record);

}  // namespace bartleby::kafka
