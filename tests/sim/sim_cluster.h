// The simulated broker: one cluster of topics, groups and transactions under a virtual clock.
//
// It behaves as Kafka was seen to behave (tests/contract holds it to that) and fails as its `BrokerFaults`
// say. One thread; nothing happens but in a step of the scheduler or in a call. It owns topics, groups and
// transactions; members are owned by whoever joined, and neither they nor the scheduler's tasks may be used
// once the cluster is gone. What a member has sent outlives it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ports/broker.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_group.h"
#include "tests/sim/sim_log.h"
#include "tests/sim/sim_txn.h"

namespace bartleby::sim {

class SimMember;

struct SimTopic {
  TopicSpec spec;
  bool denied = false;
  bool stalled = false;
  bool silent = false;
  std::deque<PartitionLog> logs;  // a deque: logs keep their address when partitions are added
};

class SimCluster : public Broker {
 public:
  explicit SimCluster(Scheduler& scheduler, BrokerFaults faults = {});
  ~SimCluster() override;

  // ---- Broker. None of these takes time --------------------------------------------------------------
  Result<std::unique_ptr<Member>> join(const GroupSpec& spec) override;
  Result<std::vector<TopicSpec>> ensure_topics(const std::vector<TopicSpec>& wanted) override;
  Result<TopicSpec> describe(const std::string& topic) override;
  Result<std::vector<CommittedOffset>> group_offsets(const std::string& group,
                                                     const std::vector<std::string>& topics) override;
  Result<void> commit_first(const std::string& group, const std::vector<CommittedOffset>& offsets) override;
  Result<std::pair<Offset, Offset>> log_range(const TopicPartition& tp) override;
  Result<std::vector<Written>> produce(const std::vector<Record>& records) override;
  Result<std::vector<Written>> produce_with(const std::vector<Record>& records, const Cursor& cursor) override;
  Result<std::vector<TopicSpec>> topics() override;
  Result<std::vector<LogRecord>> read(const TopicPartition& tp, Offset from, std::size_t records,
                                      std::size_t bytes) override;

  std::unique_ptr<SimMember> join_sim(const GroupSpec& spec);

  // ---- What the driver does to the cluster -----------------------------------------------------------
  BrokerFaults& faults() { return faults_; }
  // A record outside any transaction that never fails; asserts that the topic is there.
  std::pair<TopicPartition, Offset> append(const Record& record);
  // Offsets that hold nothing: an aborted record and its marker.
  void append_gap(const TopicPartition& tp);
  void jump(const TopicPartition& tp, std::int64_t by);  // so many offsets hold nothing
  // A producer that is not ours has a transaction open there, beyond which nobody reads who reads what is committed.
  void open_transaction(const TopicPartition& tp);
  void end_transactions(const TopicPartition& tp);
  void delete_before(const TopicPartition& tp, Offset offset);
  void compact(const TopicPartition& tp, bool tombstones_too = true);
  void recreate(const std::string& topic);  // empty logs, offsets from 0; committed offsets of groups stay
  void date(const TopicPartition& tp, Offset offset,
            Timestamp time);                           // of a record that is there: its producer says so
  void cut_back(const TopicPartition& tp, Offset to);  // as if what lies above had never been written
  void add_partitions(const std::string& topic, std::int32_t total);
  void set_max_message(const std::string& topic, std::size_t bytes);
  void deny(const std::string& topic, bool denied);
  void stall(const std::string& topic, bool stalled);
  void silence(const std::string& topic, bool silent);  // reads of it are not answered

  void set_offset(const std::string& group, const TopicPartition& tp, Offset offset, std::string metadata = "");
  void drop_offset(const std::string& group, const TopicPartition& tp);
  void bump_generation(const std::string& group);
  void rebalance(const std::string& group, bool shuffle);  // shuffle: owners are drawn anew

  // ---- What the driver does to members ---------------------------------------------------------------
  void freeze(SimMember& member);  // neither polls nor heartbeats; what it has sent goes on
  void thaw(SimMember& member);
  void kill(SimMember& member);  // a crash: no event, no further request; what it has sent goes on
  void fate_of_next_write(const SimMember& member, WriteFate fate);

  // ---- What the checker sees -------------------------------------------------------------------------
  using OffsetsApplied = std::function<void(const std::string& group, const TopicPartition& tp, Offset offset,
                                            const std::string& metadata)>;
  using RecordVisible = std::function<void(const TopicPartition& tp, const LogRecord& record)>;
  using WriteCommitted = std::function<void(const std::string& transactional_id, const Write& write)>;
  // At the marker of the group's own log: from then on reads see it. Also for `commit_first`.
  void on_offsets_applied(OffsetsApplied callback) { offsets_applied_ = std::move(callback); }
  // At the marker of its partition. An open transaction before it may still hold it back from readers.
  void on_record_visible(RecordVisible callback) { record_visible_ = std::move(callback); }
  // When the broker accepts the end of the transaction: from here on it cannot fail, before any marker.
  void on_write_committed(WriteCommitted callback) { write_committed_ = std::move(callback); }

  bool has_topic(const std::string& topic) const { return topics_.contains(topic); }
  std::uint64_t ids_changed() const { return ids_changed_; }  // by members, since it was made
  std::uint64_t stale_ends() const { return stale_ends_; }    // that were told
  const PartitionLog& log(const TopicPartition& tp) const;    // asserts that it is there
  bool pending(const std::string& topic) const;               // a transaction on it has not ended
  std::optional<CommittedOffset> committed(const std::string& group, const TopicPartition& tp) const;
  bool offsets_pending(const std::string& group, const TopicPartition& tp) const;
  std::int32_t generation(const std::string& group) const;
  SimMember* owner(const std::string& group,
                   const TopicPartition& tp) const;  // as the broker sees it; may be null

 private:
  friend class SimMember;

  SimTopic* topic(const std::string& name);
  // `landed` is called when the records are there, also where the answer is lost after that.
  Result<std::vector<Written>> produce(const std::vector<Record>& records, const std::function<void()>& landed);
  PartitionLog* find_log(const TopicPartition& tp);
  SimGroup& group(const std::string& name);
  std::optional<Refusal> refusal(const Record& record, TopicPartition& destination);
  bool silent(const TopicPartition& tp) const;
  std::optional<Offset> stale_end(const PartitionLog& log);  // of who has fallen behind; absent: he has not
  void topics_changed();
  SimMember* live(ClientNo client) const;  // null once it has died, left or failed
  Duration latency() { return faults_.latency(scheduler_.random()); }

  Scheduler& scheduler_;
  BrokerFaults faults_;
  std::map<std::string, SimTopic, std::less<>> topics_;
  std::map<std::string, std::unique_ptr<SimGroup>, std::less<>> groups_;
  TxnCoordinator coordinator_;
  std::vector<SimMember*> members_;  // by ClientNo; null once the object is gone
  std::int32_t keyless_ = 0;         // where the next record without a key goes
  OffsetsApplied offsets_applied_;
  RecordVisible record_visible_;
  WriteCommitted write_committed_;
  std::uint64_t ids_changed_ = 0;
  std::uint64_t stale_ends_ = 0;
};

}  // namespace bartleby::sim
