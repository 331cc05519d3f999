// A member of a group on Kafka.
//
// One thread calls it, `wake` excepted. A thread of its own owns the consumer: it does what is asked for in the
// order of asking, takes librdkafka's events, and puts ours where `poll` finds them. More threads make the calls that
// block: one writes, a few fence. A partition has a queue of its own, which is not served while it is closed or
// not polled: nothing is paused, and what is buffered is one slice here and librdkafka's own limit there. It fails
// (`MemberFailed`) when another writer uses the id that it writes under, when the cluster will not have it, when
// messages that are in the log were not read, and when a topic was deleted and made anew.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "adapters/broker/kafka/admin.h"
#include "adapters/broker/kafka/faults.h"
#include "adapters/broker/kafka/fences.h"
#include "adapters/broker/kafka/range_reader.h"
#include "adapters/broker/kafka/task_thread.h"
#include "adapters/broker/kafka/transactions.h"
#include "base/repeated_lines.h"
#include "ports/broker.h"

namespace bartleby::kafka {

class KafkaMember : public Member {
 public:
  static Result<std::unique_ptr<KafkaMember>> join(std::shared_ptr<Admin> admin, GroupSpec spec);
  KafkaMember(std::shared_ptr<Admin> admin, GroupSpec spec, std::string transactional_id);
  ~KafkaMember() override;

  // ---- Member
  void poll(std::vector<BrokerEvent>& out, Duration wait) override;
  void start(PartitionRef ref, Offset from) override;
  void set_intake(PartitionRef ref, bool open) override;
  void release(PartitionRef ref) override;
  void write(Write write) override;
  void resolve(WriteSerial serial) override;
  void read_offsets(std::uint64_t request, std::vector<TopicPartition> tps, Stability stability) override;
  void fence_writer(std::uint64_t request, const std::string& transactional_id) override;
  void read_range(std::uint64_t request, TopicPartition tp, Offset from, Offset to, LaneFilter filter) override;
  void cancel_range(std::uint64_t request) override;
  void read_log_range(std::uint64_t request, TopicPartition tp) override;
  const std::string& transactional_id() const override { return transactional_id_; }
  void limit_records(std::size_t per_poll) override { records_per_poll_ = per_poll; }
  void reuse(std::vector<LogRecord> records) override;
  void wake() override;
  void leave() override;

  // ---- For tests (faults.h)
  void set_fate(WriteFate fate);
  void set_skip(std::int64_t offsets);
  void die();                                                  // without a word to the group
  HandlePtr take_late() { return transactions_.take_late(); }  // after it

 private:
  using Clock = std::chrono::steady_clock;
  using Task = std::move_only_function<void()>;

  // ---- Between the two threads
  // What the caller has said of a partition last: counts at once, also for what waits to be polled.
  struct View {
    std::uint32_t run = 0;
    bool open = true;
    std::size_t bytes = 0;  // of records that wait to be polled
  };
  struct Waiting {
    BrokerEvent event;
    std::optional<PartitionRef> ref;  // of records and ends
    std::size_t bytes = 0;
  };
  void order(Task task);  // for the I/O thread
  void push(BrokerEvent event);
  void push_of(PartitionRef ref, std::uint32_t run, BrokerEvent event, std::size_t bytes);
  void drop_waiting(PartitionRef ref);
  std::vector<LogRecord> spare();
  void end(bool leaving);

  // ---- The I/O thread's
  // What was read behind a jump waits here until the log was asked what lies between.
  struct Doubt {
    std::uint64_t request = 0;
    Offset from, to;
    std::vector<std::pair<BrokerEvent, std::size_t>> held;  // with their bytes
  };
  struct Slot {
    TopicPartition tp;
    Epoch epoch;
    bool owned = false;
    bool reading = false;            // `start` was carried out
    std::optional<Offset> start_at;  // `start` was asked for
    std::uint32_t run = 0;
    Offset position;
    QueuePtr queue;
    rd_kafka_resp_err_t trouble = RD_KAFKA_RESP_ERR_NO_ERROR;  // told, and not over yet
    bool unproven = false;                                     // what comes next must be what is next in the log
    std::optional<Doubt> doubt;
    std::uint64_t read_bytes = 0;   // of what was read
    std::int64_t read_offsets = 0;  // and how many offsets it took
  };
  enum class Asked : std::uint8_t { kOffsets, kResolve, kLogRange, kOutOfRange, kTopics };
  struct Ask {
    Asked asked;
    std::uint64_t request = 0;  // or the serial of a write
    PartitionRef ref;
    TopicPartition tp;
    std::uint32_t run = 0;
    Offset wanted;
    std::optional<Offset> start, stable, high_watermark;
    std::uint64_t log = 0;
  };
  struct Unresolved {
    WriteSerial serial;
    std::vector<TopicPartition> tps;
  };
  // Offsets of topics that were made anew: after it this member is over.
  struct SetBack {
    std::set<TopicPartition> tps;  // that nobody else can have yet
    std::string why;
    int tries = 0;
    Clock::time_point until;
  };

  Result<void> open();
  std::uint64_t read_ahead_kb() const;
  void work();
  void rest(bool busy);
  Slot* slot(PartitionRef ref);
  // `answered`: what the group asks for now may have been answered already, by an unassign of ours that it crossed.
  void serve_group(bool answered = false);
  void assigned(const rd_kafka_topic_partition_list_t* list);
  void revoked(const rd_kafka_topic_partition_list_t* list, bool lost);
  bool given_up() const;
  void give_up();
  void answer_revoke();
  ListPtr take_attached(const rd_kafka_topic_partition_list_t* list);
  void lose(Slot& slot, std::uint32_t index);
  void drop_queue(Slot& slot);
  void begin_reading();
  bool serve_partitions();
  bool serve_partition(std::uint32_t index);
  bool serve_ranges();
  void doubt(Slot& slot, Offset to);
  void explained(const RangeRead& read);
  void forget_doubt(Slot& slot);
  void out_of_range(std::uint32_t index);
  void serve_answers();
  void answered(Ask& ask, std::uint64_t which, rd_kafka_event_t* event, bool& over);
  void ask_ends(Ask ask, const TopicPartition& tp);
  std::uint64_t size_of(const TopicPartition& tp, Offset start, Offset end) const;
  void do_write(Write write);
  void written(const WriteReport& report);
  void do_resolve(WriteSerial serial);
  void look_at_topics();
  void topics_read(rd_kafka_event_t* event);
  bool reads(const std::string& topic) const;
  std::vector<TopicPartition> lose_topic(const std::string& topic);
  void set_back();
  void failed(bool shut_out, std::string message, bool topic_made_anew = false);
  void look_at_limits();
  void tell(const std::string& trouble);
  void close_group();

  const std::shared_ptr<Admin> admin_;
  const GroupSpec spec_;
  const std::string transactional_id_;

  std::size_t records_per_poll_ = SIZE_MAX;  // the caller's thread alone

  std::mutex mutex_;  // of the next block
  std::condition_variable ready_;
  std::deque<Waiting> waiting_;
  std::size_t range_bytes_ = 0;  // of ranges in it
  std::map<PartitionRef, View> views_;
  std::set<std::uint64_t> ranges_;              // asked for, not ended, not cancelled
  std::vector<std::vector<LogRecord>> spares_;  // slices that were handed out and came back
  bool woken_ = false;
  bool over_ = false;

  std::mutex io_mutex_;  // of the next block; librdkafka's threads take it
  std::condition_variable io_wake_;
  std::deque<Task> tasks_;
  bool rung_ = false;
  bool ending_ = false;
  bool leaving_ = false;

  Bell bell_;
  HandlePtr consumer_;
  QueuePtr group_queue_;
  QueuePtr answers_;
  std::unique_ptr<RangeReader> reader_;
  std::vector<Slot> slots_;
  std::uint32_t first_slot_ = 0;
  std::vector<rd_kafka_message_t*> fetched_;  // of one call; kept for its memory
  Epoch last_epoch_{0};
  ListPtr revoking_;                   // not answered yet
  std::set<TopicPartition> attached_;  // what librdkafka reads; never more than the group has given us
  std::uint64_t last_doubt_ = 0;
  std::map<std::uint64_t, Ask> asks_;
  std::uint64_t last_ask_ = 0;
  Clock::time_point next_topics_look_{};
  bool topics_asked_ = false;
  bool topics_known_ = false;  // nothing is read before
  TopicWatch topic_watch_;
  std::optional<SetBack> setting_back_;  // under way: no revocation is answered
  std::set<std::string> lost_topics_;    // given up because they were gone, and the group knows nothing of it
  bool alive_ = true;
  bool joined_ = false;
  Clock::time_point began_ = Clock::now();
  bool writing_ = false;
  std::vector<TopicPartition> writing_tps_;
  std::optional<Unresolved> unresolved_;
  std::optional<WriteFate> next_fate_;
  std::int64_t next_skip_ = 0;
  RepeatedLines troubles_;

  Transactions transactions_;  // the writer's thread
  TaskThread writer_;
  Fences fences_;
  std::thread thread_;
};

}  // namespace bartleby::kafka
