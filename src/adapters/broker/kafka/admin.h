// Questions and orders to the cluster: topics, their settings, ends of logs, offsets of groups.
//
// Any thread may call it; calls block up to the limit for one call. `ask_…` return at once and their answer is an event
// on the given queue, with `number` as its opaque; `…_told` reads it. It owns one handle, shared by a broker and its
// members, and what was read of topics, which is believed for a while.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/broker/kafka/handles.h"
#include "adapters/broker/kafka/topic_watch.h"
#include "ports/broker.h"

namespace bartleby::kafka {

enum class End : std::uint8_t { kStart, kStable, kHighWatermark };

class Admin {
 public:
  static Result<std::shared_ptr<Admin>> open(Options options);
  Admin(std::unique_ptr<const Options> options, HandlePtr handle);

  const Options& options() const { return *options_; }

  // Whether the cluster answers: asked once in a while, and not waited for long.
  Result<void> reached();

  // ---- Topics
  Result<std::vector<TopicSpec>> topics();
  Result<std::vector<TopicSpec>> topic_names();  // without their settings: one question for all
  Result<std::map<std::string, std::string>> topic_ids(const std::vector<std::string>& topics);
  Result<TopicSpec> describe(const std::string& topic);
  Result<std::vector<TopicSpec>> ensure(const std::vector<TopicSpec>& wanted);
  // The same as `describe`, from memory where that is not too old.
  Result<TopicSpec> known(const std::string& topic);
  void forget(const std::string& topic);
  // A partition of it, or this one, has fewer replicas in step than it needs to take a record.
  Result<bool> short_of_replicas(const std::string& topic, std::optional<Partition> partition);
  // A record for it was not taken in time: where it has fewer copies than it needs, as far as is remembered, an older
  // broker wants them all, and for a while nothing is sent to such a topic.
  void not_taken(const std::string& topic);
  // A partition's log is not larger, as far as is remembered: its retention by size and a segment. Never asks.
  std::optional<std::uint64_t> most_bytes(const std::string& topic);
  // Those that we may not write to.
  Result<std::set<std::string>> forbidden(const std::set<std::string>& topics);

  // ---- Offsets
  // Stable waits, up to the limit, while a transaction on one of them is pending.
  Result<std::vector<CommittedOffset>> group_offsets(const std::string& group, const std::vector<TopicPartition>& tps,
                                                     Stability stability = Stability::kStable);
  Result<bool> has_members(const std::string& group);
  // What is committed by now, as far as it is told within the limit.
  std::map<TopicPartition, Offset> committed_within(const std::string& group, const std::vector<TopicPartition>& tps,
                                                    Duration limit);
  // Who has committed something on the topic; read for all topics at once, and believed for a while.
  Result<std::vector<std::string>> groups_on(const std::string& topic);
  Result<void> commit(const std::string& group, const std::vector<CommittedOffset>& offsets);
  Result<Offset> end_of(const TopicPartition& tp, End which);
  // The first record at or after a time; absent: there is none.
  Result<std::optional<Offset>> first_at(const TopicPartition& tp, Timestamp time);
  Result<void> delete_before(const TopicPartition& tp, Offset offset);
  // Nobody may write to the topic; for tests, and only where the broker has an authorizer.
  Result<void> deny(const std::string& topic, bool denied);
  Result<void> remove(const std::string& topic);                                                     // for tests too
  Result<void> set(const std::string& topic, const std::string& setting, const std::string& value);  // and this

  QueuePtr new_queue() { return QueuePtr(rd_kafka_queue_new(handle_.get())); }
  void ask_end(rd_kafka_queue_t* queue, std::uint64_t number, const TopicPartition& tp, End which);
  // librdkafka says -1001 without an error where the leader did not answer: that is a failure here.
  static Result<Offset> end_told(rd_kafka_event_t* event);
  // Stable ends of several, with a limit of their own; those that were told.
  void ask_ends(rd_kafka_queue_t* queue, std::uint64_t number, const std::vector<TopicPartition>& tps, Duration limit);
  static std::map<TopicPartition, Offset> ends_told(rd_kafka_event_t* event);
  void ask_offsets(rd_kafka_queue_t* queue, std::uint64_t number, const std::string& group,
                   const std::vector<TopicPartition>& tps, Stability stability);
  static Result<std::vector<CommittedOffset>> offsets_told(rd_kafka_event_t* event);
  void ask_topics(rd_kafka_queue_t* queue, std::uint64_t number, const std::vector<std::string>& topics);
  // By name; nothing for one that there is not, and no row for one that we may not look at.
  static Result<std::map<std::string, std::optional<TopicLook>>> topics_told(rd_kafka_event_t* event);

 private:
  using Clock = std::chrono::steady_clock;
  struct Copies {  // of a partition
    std::int32_t all = 0;
    std::int32_t in_step = 0;
  };
  struct Layout {
    std::int32_t partitions = 0;
    std::int32_t replicas = 0;   // of the partition that has most
    std::vector<Copies> copies;  // by partition
  };
  struct Known {
    Clock::time_point read;
    TopicSpec spec;
    std::vector<Copies> copies;
    std::int32_t needed = 1;               // in step
    std::optional<std::uint64_t> segment;  // bytes
    std::optional<Error> unread;           // why its settings are not known now
  };

  AdminOptionsPtr admin_options(rd_kafka_admin_op_t op, std::uint64_t number = 0) const;
  // A question about a partition's log, until it is answered or the limit for one call is over: a partition that was
  // just made, or moved, has no leader for a moment.
  template <class T>
  Result<T> until_led(const TopicPartition& tp, const std::function<Result<T>()>& ask_once);
  // The one event that a call brings, or why there is none.
  Result<EventPtr> answer(rd_kafka_queue_t* queue, const std::string& what) const;
  // Partitions of a topic, or of all that are not Kafka's own.
  Result<std::map<std::string, Layout>> partitions(const std::optional<std::string>& topic);
  static void take_settings(Known& known, const rd_kafka_ConfigResource_t* told);
  static void take_told(std::map<std::string, Known>& specs, const rd_kafka_ConfigResource_t* told);
  Result<std::vector<Known>> with_settings(const std::map<std::string, Layout>& topics);
  struct Brokers {
    std::int32_t up = 0;
    std::int32_t usual_replicas = 0;  // 0: they do not tell
  };
  Result<Brokers> brokers();
  std::int32_t usual_replicas(std::int32_t broker);
  Result<std::vector<std::string>> list_groups();
  Result<std::map<std::string, std::set<std::string>>> read_groups();  // by topic
  void tell_few(const TopicSpec& spec, std::int32_t copies, std::int32_t wanted) const;
  Result<void> create(const std::vector<TopicSpec>& wanted);
  Result<void> grow(const std::vector<TopicSpec>& wanted);

  const std::unique_ptr<const Options> options_;
  HandlePtr handle_;
  std::mutex mutex_;  // of `known_` and `strict_until_`
  Clock::time_point strict_until_;
  std::map<std::string, Known> known_;
  std::mutex reaching_;  // of the next block
  Clock::time_point reached_at_{};
  Result<void> reached_;
  std::mutex looking_;  // of the next block
  Clock::time_point groups_read_{};
  std::map<std::string, std::set<std::string>> groups_on_;  // by topic
};

}  // namespace bartleby::kafka
