// The client side of the simulated broker: one member of a group, with its reader, its writer and its queue
// of events.
//
// One thread. In a contract test `poll` runs the scheduler until there is an event; in a simulation the
// driver runs the scheduler, is told by `on_ready`, and polls without waiting. Hooks are called from tasks of
// the scheduler only, never from inside a request. Destroying a member that has not left is a crash.
// A write while another one is in flight or unresolved is answered kNotDone and has no effect. After
// MemberFailed the member is out of the group and hears no more, not even PartitionLost.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ports/broker.h"
#include "tests/sim/sim_cluster.h"

namespace bartleby::sim {

class SimMember : public Member {
 public:
  SimMember(SimCluster& cluster, ClientNo number, GroupSpec spec, std::string transactional_id);
  ~SimMember() override;
  SimMember(const SimMember&) = delete;
  SimMember& operator=(const SimMember&) = delete;

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
  void wake() override {}  // there is no other thread, and waiting takes no time
  void leave() override;

  // Called when there is something to poll, and there was nothing before.
  void on_ready(Scheduler::Task hook) { ready_ = std::move(hook); }
  ClientNo number() const { return number_; }
  bool frozen() const { return frozen_; }
  bool alive() const { return alive_; }
  bool has_events() const { return !frozen_ && !events_.empty(); }
  bool write_in_flight() const { return writing_; }
  bool reading() const {  // of one partition at least
    return std::ranges::any_of(slots_, [](const Slot& s) { return s.owned && s.open; });
  }

 private:
  friend class SimCluster;
  using ClientTask = std::move_only_function<void(SimMember&)>;
  struct Slot {
    TopicPartition tp;
    Epoch epoch;
    bool owned = false;
    bool started = false;
    bool open = true;
    bool fetching = false;     // a fetch is on its way, or waits at the end
    std::uint32_t queued = 0;  // slices that were not polled yet
    std::uint32_t run = 0;     // moves with `start`: answers to older fetches are dropped
    Offset position;
    Offset end_told{-1};
  };
  struct RangeJob {
    std::uint64_t request;
    TopicPartition tp;
    Offset position;
    Offset to;
    LaneFilter filter;
    bool cancelled = false;
    bool queued = false;  // its last slice was not polled yet
  };
  struct WriteJob;
  using RangePtr = std::shared_ptr<RangeJob>;
  using WritePtr = std::shared_ptr<WriteJob>;
  struct Unresolved {
    WriteSerial serial;
    std::vector<TopicPartition> tps;
  };

  // Runs in the client when the message gets there: later if it is frozen, never if it is dead. Static, as
  // is all that happens at the broker: the sender may be gone by then.
  static void to_client(SimCluster& cluster, ClientNo client, Duration latency, ClientTask task);
  void arrive(ClientTask task);
  void push(BrokerEvent event);
  void notify();
  void recall(PartitionRef ref, bool all);  // takes back what was read and not polled yet
  Slot* slot(PartitionRef ref);
  Scheduler& scheduler() { return cluster_.scheduler_; }
  Duration latency() { return cluster_.latency(); }
  bool fails(std::uint32_t per_mille) { return BrokerFaults::happens(scheduler().random(), per_mille); }

  void join_group();
  void receive(GroupMessage message);
  void handle(const GroupMessage& message);
  void assigned(const TopicPartition& tp);
  void expelled();
  void freeze();
  void thaw();
  void die();
  void fail(std::string message);

  void fetch(std::uint32_t index);
  void hand_out_late(std::uint32_t index);
  void fetched(std::uint32_t index, std::vector<LogRecord> records, Offset next, bool end);
  void in_reading(std::uint32_t index, Duration latency,
                  ClientTask task);  // dropped when the reading is over
  void read_slice(const RangePtr& job);
  void slice_arrived(const RangePtr& job, RangeRead slice);

  WriteFate draw_fate();
  void maybe_another_id();
  void take_another_id();
  static void send_records(const WritePtr& job);
  static void append_records(const WritePtr& job);
  static void send_offsets(const WritePtr& job);
  static void add_offsets(const WritePtr& job);
  static void send_end(const WritePtr& job);
  static void end_at_broker(const WritePtr& job, bool reply);
  static void take_back(const WritePtr& job, WriteResult result);
  static void reply(const WritePtr& job, Duration latency, ClientTask task);
  static void refuse(const WritePtr& job, TxnVerdict verdict);
  void answer(const WritePtr& job, WriteResult result);
  static void read_after_init(SimCluster& cluster, ClientNo client, const Unresolved& asked);

  SimCluster& cluster_;
  const ClientNo number_;
  const GroupSpec spec_;
  const std::string transactional_id_;
  Scheduler::Task ready_;
  std::vector<BrokerEvent> events_;
  std::deque<ClientTask> deferred_;  // arrived while frozen
  std::deque<GroupMessage> inbox_;   // on their way, in order
  Instant inbox_time_{};
  bool alive_ = true;
  bool frozen_ = false;
  std::uint32_t freezes_ = 0;
  MembershipNo membership_ = 0;
  std::int32_t generation_ = -1;
  Epoch last_epoch_{0};
  std::vector<Slot> slots_;
  std::vector<RangePtr> ranges_;
  std::string writer_id_;  // the transactional id, or another one after it
  std::uint32_t producer_epoch_ = 0;
  std::vector<TopicPartition> last_tps_;  // of the last write's offsets
  bool writing_ = false;
  std::optional<Unresolved> unresolved_;
  std::optional<WriteFate> next_fate_;
};

}  // namespace bartleby::sim
