// A record as a broker holds it, and one that is about to be produced.
//
// Keys, values and header values are bytes and may be absent (null); header names repeat and keep
// their order. Nothing here interprets them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace bartleby {

using Bytes = std::optional<std::string>;  // nullopt = null, which is not the same as empty
using Headers = std::vector<std::pair<std::string, Bytes>>;

struct TopicPartition {
  std::string topic;
  Partition partition;

  auto operator<=>(const TopicPartition&) const = default;
};

struct Record {
  Offset offset;
  Timestamp timestamp;
  Bytes key;
  Bytes value;
  Headers headers;
};

struct OutRecord {
  std::string topic;
  std::optional<Partition> partition;  // absent: by key, as Kafka's default partitioner does
  Bytes key;
  Bytes value;  // null = tombstone
  Headers headers;
};

inline std::size_t payload_size(const Record& r) {
  std::size_t n = (r.key ? r.key->size() : 0) + (r.value ? r.value->size() : 0);
  for (const auto& [name, value] : r.headers) n += name.size() + (value ? value->size() : 0);
  return n;
}

inline std::size_t payload_size(const OutRecord& r) {
  std::size_t n = (r.key ? r.key->size() : 0) + (r.value ? r.value->size() : 0);
  for (const auto& [name, value] : r.headers) n += name.size() + (value ? value->size() : 0);
  return n;
}

}  // namespace bartleby
