// Where logs end, for those who look: asked in the background, and answered from what was told last.
//
// Any thread; a call waits no longer than its limit, and shortly only while leaders are known not to answer. It owns a
// queue of answers and what they said. Partitions are asked for together, except those whose leader did not answer the
// last time: librdkafka answers for a whole request when the slowest leader has.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "adapters/broker/kafka/admin.h"

namespace bartleby::kafka {

class LogEnds {
 public:
  explicit LogEnds(std::shared_ptr<Admin> admin);

  // `fresh`: without what was told before the last question.
  std::map<TopicPartition, Offset> read(const std::vector<TopicPartition>& tps, Duration limit, bool fresh);

 private:
  using Clock = std::chrono::steady_clock;
  struct Place {
    std::optional<Offset> end;
    Clock::time_point asked{};
    bool waiting = false;
    bool alone = false;  // its leader did not answer
  };

  void ask(const std::vector<TopicPartition>& tps, Clock::time_point now);
  void send(const std::vector<TopicPartition>& tps);
  void take_answers();

  const std::shared_ptr<Admin> admin_;
  const QueuePtr queue_;
  std::mutex mutex_;  // of the rest
  std::condition_variable told_;
  std::map<TopicPartition, Place> places_;
  std::map<std::uint64_t, std::vector<TopicPartition>> asks_;
  std::uint64_t last_ask_ = 0;
};

}  // namespace bartleby::kafka
