// What a dead letter topic is made with, where a worker has to make it. One that is there keeps its settings, whatever
// the configuration says. Plain data.
#pragma once

#include <bartleby/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace bartleby {

struct DlqProvision {
  std::int32_t partitions = 0;                                     // 0: as many as the topic that it is for
  std::int32_t replicas = 3;                                       // or as many brokers as there are
  std::optional<Duration> retention{std::chrono::hours(24 * 30)};  // absent: for ever
  std::string compression = "snappy";
  std::size_t max_message = 0;  // at least what the topic that it is for allows, and room for the story
};

}  // namespace bartleby
