// Ranges of any partition, committed records only: the journal, a sweep, one message.
//
// One thread calls it; nothing blocks longer than librdkafka needs to start or stop reading a partition. It owns a
// consumer outside any group. A range ends at `to`, or at the high watermark that was seen when it began: what is
// pending below that is waited for. Of several ranges of one partition each gets a slice in turn. A range that does
// not move for a while is answered as failed.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "adapters/broker/kafka/admin.h"
#include "ports/broker.h"

namespace bartleby::kafka {

// Tells somebody that a queue is no longer empty; called by librdkafka's threads. It must not throw.
struct Bell {
  std::function<void()> ring;
};
void ring_on(rd_kafka_queue_t* queue, Bell& bell);

class RangeReader {
 public:
  static Result<std::unique_ptr<RangeReader>> open(std::shared_ptr<Admin> admin, Bell& bell);
  RangeReader(std::shared_ptr<Admin> admin, Bell& bell, HandlePtr handle);
  ~RangeReader();

  void read(std::uint64_t request, TopicPartition tp, Offset from, Offset to, LaneFilter filter);
  void cancel(std::uint64_t request);
  bool idle() const { return ranges_.empty(); }

  // One slice of each partition, as long as there is room; false: there was nothing to hand out.
  bool serve(std::vector<BrokerEvent>& out, std::size_t& room);

 private:
  using Clock = std::chrono::steady_clock;
  struct Range {
    TopicPartition tp;
    Offset position;
    Offset to;
    LaneFilter filter;
    std::optional<Offset> start, target;  // absent: asked for, not answered
    std::optional<Offset> high_watermark;
    bool failed = false;
    Clock::time_point moved;
  };
  // A partition that is read, by one of its ranges at a time.
  struct Stream {
    std::deque<std::uint64_t> waiting;  // the first one reads
    rd_kafka_topic_t* topic = nullptr;  // set while it reads
    QueuePtr queue;
    Clock::time_point quiet_since;
  };

  void ask_ends(std::uint64_t request, const Range& range);
  void take_ends();
  bool serve_stream(const TopicPartition& tp, Stream& stream, std::vector<BrokerEvent>& out, std::size_t& room);
  bool begin(const TopicPartition& tp, Stream& stream, Range& range);
  void halt(const TopicPartition& tp, Stream& stream);
  RangeRead slice(std::uint64_t request, Range& range, Stream& stream, std::size_t& room);
  void take_error(Range& range, const rd_kafka_message_t& message, std::uint64_t request, Stream& stream);
  rd_kafka_topic_t* topic(const std::string& name);

  const std::shared_ptr<Admin> admin_;
  Bell& bell_;
  HandlePtr handle_;
  QueuePtr ends_;  // answers of the cluster
  std::map<std::string, TopicPtr> topics_;
  std::map<std::uint64_t, Range> ranges_;  // by request
  std::map<TopicPartition, Stream> streams_;
};

}  // namespace bartleby::kafka
