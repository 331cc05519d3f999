// One consumer group: who is in it, who owns what, and the offsets it has committed.
//
// Assignment is cooperative and sticky: an owner keeps what it has, only what moves is revoked, and it moves
// when it was released or when its owner took longer than the group waits; then it is lost to it. Nothing is
// given away while a write of its last owner is on its way to the disk. Guarded by the lock of `Core`; owns no
// thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ports/broker.h"

namespace bartleby::embedded {

// A member as its group sees it.
class Seat {
 public:
  virtual ~Seat() = default;
  virtual void assigned(const TopicPartition& tp) = 0;
  virtual void revoked(const TopicPartition& tp) = 0;
  virtual void lost(const TopicPartition& tp) = 0;
};

class Group {
 public:
  struct World {
    std::function<std::int32_t(const std::string& topic)> partitions;           // 0: no such topic
    std::function<bool(const std::string& group, const TopicPartition&)> busy;  // a write of it is being made durable
    std::function<Instant()> now;
  };
  struct Committed {
    Offset offset;
    std::string metadata;
  };

  Group(std::string name, World world) : name_(std::move(name)), world_(std::move(world)) {}

  const std::string& name() const { return name_; }

  // ---- Members
  void join(Seat* seat, std::vector<std::string> topics, Duration wait);
  void remove(Seat* seat);  // hears nothing
  void released(Seat* seat, const TopicPartition& tp);
  void rebalance();
  void settle() { apply_targets(); }  // gives what was busy
  void expire(Instant now);
  Instant next_deadline() const;
  bool has_members() const { return !members_.empty(); }
  bool owns(const Seat* seat, const TopicPartition& tp) const;
  void bump_generation() { ++generation_; }

  // ---- Offsets
  void commit(const TopicPartition& tp, Offset offset, std::string metadata) {
    committed_[tp] = {offset, std::move(metadata)};
  }
  CommittedOffset committed(const TopicPartition& tp) const;

 private:
  struct InGroup {
    Seat* seat;
    std::vector<std::string> topics;
    Duration wait;
  };
  struct Share {
    Seat* owner = nullptr;
    Seat* target = nullptr;
    const Seat* declined = nullptr;  // gave it up unasked: does not get it again
    bool revoking = false;
    Instant deadline = kNever;  // of a revocation
  };

  void find_partitions();
  void choose_targets();
  void balance(std::vector<std::size_t>& load);
  void apply_targets();
  void give(const TopicPartition& tp, Share& share);
  std::size_t index_of(const Seat* seat) const;  // members_.size(): not in the group
  static bool eligible(const InGroup& member, const TopicPartition& tp, const Share& share);

  std::string name_;
  World world_;
  std::uint64_t generation_ = 0;
  std::vector<InGroup> members_;  // in the order of joining
  std::map<TopicPartition, Share> shares_;
  std::map<TopicPartition, Committed> committed_;
};

}  // namespace bartleby::embedded
