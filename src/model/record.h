// A record as a broker holds it. (One that is about to be written: `Record` in <bartleby/types.h>.)
// Nothing here interprets its bytes.
#pragma once

#include <bartleby/types.h>

#include <cstddef>
#include <string>

#include "base/time.h"
#include "model/ids.h"

namespace bartleby {

struct TopicPartition {
  std::string topic;
  Partition partition;

  auto operator<=>(const TopicPartition&) const = default;
};

struct LogRecord {
  Offset offset;
  Timestamp timestamp;
  Bytes key;
  Bytes value;
  Headers headers;
};

inline std::size_t payload_size(const LogRecord& r) {
  std::size_t n = (r.key ? r.key->size() : 0) + (r.value ? r.value->size() : 0);
  for (const auto& [name, value] : r.headers) n += name.size() + (value ? value->size() : 0);
  return n;
}

inline std::size_t payload_size(const Record& r) {
  std::size_t n = (r.key ? r.key->size() : 0) + (r.value ? r.value->size() : 0);
  for (const auto& [name, value] : r.headers) n += name.size() + (value ? value->size() : 0);
  return n;
}

}  // namespace bartleby
