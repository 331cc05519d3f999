// What the Kafka broker is told: where it is, librdkafka's properties, and a limit for everything that grows or waits.
//
// Plain data. Properties are handed to librdkafka as they are, except those that hold the guarantees
// (held_properties.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"

namespace bartleby::kafka {

struct Options {
  std::string bootstrap;                          // host:port, separated by commas
  std::map<std::string, std::string> properties;  // of librdkafka
  bool consumer_protocol = false;                 // group.protocol=consumer (KIP-848), brokers since 4.0

  // Lines of ours, and those of librdkafka, which repeats itself; from any thread. Absent: nobody is told. `level` as
  // in syslog, 3: error.
  std::function<void(int level, std::string_view text)> log, client_log;

  Duration request_limit{10000};      // of one call
  Duration write_limit{9000};         // of one write, from its begin to its answer; below the next
  Duration transaction_limit{10000};  // after which the broker gives an open transaction up
  Duration message_limit{5000};       // of one record on its way
  Duration join_limit{60000};         // until the group has answered, with `consumer_protocol`
  Duration topic_known{30000};        // how long what was read of a topic is believed

  // By group: about what a member of it may read ahead, of all its partitions together (read_ahead.h). As the process
  // was started.
  std::map<std::string, std::uint64_t> budgets;
  std::uint64_t budget = std::uint64_t{64} << 20;  // of others

  // One slice of a partition or of a range, and all that waits to be polled.
  std::size_t slice_records = 1000;
  std::size_t slice_bytes = std::size_t{1} << 20;
  std::size_t outbox_bytes = std::size_t{8} << 20;
};

}  // namespace bartleby::kafka
