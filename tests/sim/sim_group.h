// One simulated consumer group: who is in it, who owns what, and the offsets it has committed.
//
// Assignment is cooperative: an owner is told to give a partition up, and the next one gets it when it was
// released or its owner was expelled. Every change moves the generation, for all members, and only those
// whose partitions change hear of it. Offsets of a transaction are pending until its marker; of two that
// overlap the one written later wins at the end, whichever ends first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ports/broker.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_log.h"

namespace bartleby::sim {

using ClientNo = std::uint32_t;
// A client's place in the group; it gets another one each time it joins. 0: none.
using MembershipNo = std::uint32_t;

// The broker refuses longer metadata of an offset. It counts as Java does: characters beyond the basic
// plane are two.
constexpr std::size_t kMetadataLimit = 4096;
std::size_t utf16_units(const std::string& utf8);

struct GroupMessage {
  enum class Kind : std::uint8_t { kGeneration, kAssigned, kRevoked, kExpelled };
  Kind kind;
  MembershipNo membership;
  std::int32_t generation;
  TopicPartition tp;
};

class SimGroup {
 public:
  using Send = std::function<void(ClientNo, GroupMessage)>;
  using Partitions = std::function<std::int32_t(const std::string& topic)>;  // 0: no such topic
  using Applied = std::function<void(const TopicPartition&, Offset, const std::string& metadata)>;

  SimGroup(Scheduler& scheduler, const BrokerFaults& faults, Send send, Partitions partitions, Applied applied);

  // ---- Members ---------------------------------------------------------------------------------------
  MembershipNo join(ClientNo client, std::vector<std::string> topics);
  void remove(MembershipNo membership, bool tell_it);  // tell_it: it is sent kExpelled
  void remove_client(ClientNo client, bool tell_it);
  void released(MembershipNo membership, const TopicPartition& tp);
  void rebalance(bool shuffle);
  void bump_generation();

  bool has_members() const { return !members_.empty(); }
  bool valid(MembershipNo membership, std::int32_t generation) const;
  std::int32_t generation() const { return generation_; }
  std::optional<ClientNo> owner(const TopicPartition& tp) const;

  // ---- Offsets ---------------------------------------------------------------------------------------
  void add_pending(TxnId txn, const TopicPartition& tp, Offset offset, std::string metadata);
  void finish(TxnId txn, bool commit);
  void set(const TopicPartition& tp, Offset offset, std::string metadata);
  void drop(const TopicPartition& tp) { committed_.erase(tp); }
  bool pending(const TopicPartition& tp) const;
  CommittedOffset committed(const TopicPartition& tp) const;

 private:
  struct InGroup {
    MembershipNo membership;
    ClientNo client;
    std::vector<std::string> topics;
  };
  struct Share {
    MembershipNo owner = 0;
    MembershipNo target = 0;
    MembershipNo declined = 0;  // gave it up unasked: does not get it again
    bool revoking = false;
    std::uint32_t ticket = 0;  // names one revocation, for its time limit
  };
  struct Stored {
    Offset offset;
    std::string metadata;
    std::uint64_t sequence;  // place in the log of the group's offsets
  };
  struct PendingOffset {
    TxnId txn;
    TopicPartition tp;
    Stored value;
  };

  void find_partitions();
  void choose_targets(bool shuffle);
  void balance(std::vector<std::size_t>& load);
  void apply_targets();
  void give(const TopicPartition& tp, Share& share);
  void revoke(const TopicPartition& tp, Share& share);
  void tell_generation();
  void tell(MembershipNo membership, GroupMessage::Kind kind, const TopicPartition& tp);
  InGroup* find(MembershipNo membership);
  const InGroup* find(MembershipNo membership) const;
  bool eligible(const InGroup& member, const TopicPartition& tp, const Share& share) const;

  Scheduler& scheduler_;
  const BrokerFaults& faults_;
  Send send_;
  Partitions partitions_;
  Applied applied_;
  std::int32_t generation_ = 0;
  MembershipNo last_membership_ = 0;
  std::uint32_t last_ticket_ = 0;
  std::uint64_t sequence_ = 0;
  std::vector<InGroup> members_;  // in the order of joining
  std::map<TopicPartition, Share> shares_;
  std::map<TopicPartition, Stored> committed_;
  std::vector<PendingOffset> pending_;
};

}  // namespace bartleby::sim
