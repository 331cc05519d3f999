// What a broker across a network tells of its logs without making anybody wait, and better than by reading them.
//
// Any thread. A broker that keeps its logs in this process has no need of it: whoever asks takes the calls of `Broker`
// then, which wait for nobody there.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ports/broker.h"

namespace bartleby {

class LogLook {
 public:
  virtual ~LogLook() = default;

  // Somebody of the cluster does, by what was asked a moment ago; waits two seconds at most, and seldom.
  virtual bool answers() = 0;

  // Where these logs end for committed reads: as told within the limit, or as it was told last. No row: it never was.
  // With a limit of 0 it asks, and waits for nothing.
  virtual std::map<TopicPartition, Offset> ends(const std::vector<TopicPartition>& tps, Duration limit) = 0;
  // The same without what is only remembered. No row: whoever asked more of this partition now would wait.
  virtual std::map<TopicPartition, Offset> ends_now(const std::vector<TopicPartition>& tps, Duration limit) = 0;

  // The first record at or after a time; absent: there is none. Times of records may fall from one to the next.
  virtual Result<std::optional<Offset>> first_at(const TopicPartition& tp, Timestamp time) = 0;

  // Of a topic, as it was told a moment ago.
  virtual Result<TopicSpec> known(const std::string& topic) = 0;
  // What there is, by name: of each its name and its partitions, and nothing else.
  virtual Result<std::vector<TopicSpec>> topic_names() = 0;
};

}  // namespace bartleby
