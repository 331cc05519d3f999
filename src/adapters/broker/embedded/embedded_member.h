// A member of a group on the embedded broker.
//
// One thread calls it, `wake` excepted. Records are read inside `poll`, by that thread and on a connection of
// its own, so nothing is read ahead and what is not polled costs no memory. All its state is guarded by the lock
// of `Core`, because groups and the writer tell it things. It fails (`MemberFailed`) when it was fenced or when
// log.db cannot be read.
#pragma once

#include <condition_variable>
#include <memory>
#include <string>
#include <vector>

#include "adapters/broker/embedded/core.h"
#include "adapters/broker/embedded/log_reader.h"
#include "ports/broker.h"

namespace bartleby::embedded {

class EmbeddedMember : public Member, public Seat {
 public:
  EmbeddedMember(std::shared_ptr<Core> core, GroupSpec spec, std::string transactional_id, LogReader reader);
  ~EmbeddedMember() override;

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
  void wake() override;
  void leave() override;

  // ---- Everything below under the lock of `Core`. Seat:
  void assigned(const TopicPartition& tp) override;
  void revoked(const TopicPartition& tp) override;
  void lost(const TopicPartition& tp) override;

  void join();
  void set_number(std::uint64_t number) { number_ = number; }
  std::uint64_t number() const { return number_; }
  void fence() { fenced_ = true; }
  void look_again();
  void batch_over();
  void tick(Instant now, Instant& next);

  // ---- For tests
  void set_fate(WriteFate fate) { next_fate_ = fate; }
  void freeze(bool frozen);
  void answer_lost(const Job& job);  // the reply of a held write does not come

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Slot {
    TopicPartition tp;
    PartitionLog* log = nullptr;
    Epoch epoch;
    bool owned = false;
    bool started = false;
    bool open = true;
    std::uint32_t run = 0;  // moves with `start`: what was read for an older one is dropped
    Offset position;
    Offset end_told{-1};
  };
  struct Range {
    std::uint64_t request;
    PartitionLog* log;  // null: not there
    Offset position;
    Offset to;
    LaneFilter filter;
  };
  struct OffsetsAsked {
    std::uint64_t request;
    std::vector<TopicPartition> tps;
    Stability stability;
  };
  struct FenceAsked {
    std::uint64_t request;
    std::string transactional_id;
  };
  struct Unresolved {
    WriteSerial serial;
    std::vector<TopicPartition> tps;
  };

  Slot* slot(PartitionRef ref);
  void push(BrokerEvent event);
  void shut_out(bool fenced, std::string message);
  void forget_group();

  // Each hands out what it can without waiting; the last two give the lock up while they read.
  void answer_requests();
  void read_partitions(Lock& lock, std::vector<BrokerEvent>& out, std::size_t& room);
  bool read_partition(Lock& lock, std::uint32_t index, std::vector<BrokerEvent>& out, std::size_t& room);
  void read_ranges(Lock& lock, std::vector<BrokerEvent>& out, std::size_t& room);
  bool read_slice(Lock& lock, std::uint64_t request, std::vector<BrokerEvent>& out, std::size_t& room);
  void wait_on(PartitionLog& log);

  std::shared_ptr<Job> job_of(Write& write);
  void landed(WriteSerial serial, const Job& job, Landing landing, bool reply_lost);
  void answer(WriteSerial serial, WriteResult result, std::vector<RefusedRecord> refused = {},
              std::vector<Offset> offsets = {});
  void hold(const std::shared_ptr<Job>& job, WriteSerial serial, bool late);

  const std::shared_ptr<Core> core_;
  const GroupSpec spec_;
  const std::string transactional_id_;
  std::uint64_t number_ = 0;
  LogReader reader_;
  std::condition_variable ready_;
  std::vector<BrokerEvent> events_;
  bool alive_ = true;
  bool fenced_ = false;
  bool woken_ = false;
  bool look_again_ = false;  // something changed while it was reading, with the lock given up
  bool frozen_ = false;
  bool out_of_group_ = false;  // joins again when it polls
  Instant expelled_at_ = kNever;
  Epoch last_epoch_{0};
  std::vector<Slot> slots_;
  std::uint32_t first_slot_ = 0;  // whose turn it is
  std::vector<Range> ranges_;
  std::vector<OffsetsAsked> offsets_asked_;
  std::vector<FenceAsked> fences_asked_;
  bool writing_ = false;
  WriteSerial written_;
  std::optional<Unresolved> unresolved_;
  std::optional<WriteFate> next_fate_;
};

// Readers that wait for this log look again.
void wake_all(PartitionLog& log);

}  // namespace bartleby::embedded
