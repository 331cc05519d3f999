// The simulated broker under the contract: once with nothing delayed, and with several seeds where every
// message takes its time, markers come late and slices are small.
#include "tests/contract/broker_contract.h"
#include "tests/sim/sim_member.h"

namespace bartleby::contract {
namespace {

class SimRig : public BrokerRig {
 public:
  SimRig(std::uint64_t seed, const sim::BrokerFaults& faults) : scheduler_(seed), cluster_(scheduler_, faults) {}

  Broker& broker() override { return cluster_; }
  Capabilities can() const override {
    return {.fates = true,
            .freeze = true,
            .kill = true,
            .moves_generation = true,
            .deletes = true,
            .compacts = true,
            .denies = true,
            .stalls = true};
  }
  Instant now() const override { return scheduler_.now(); }

  void fate_of_next_write(Member& member, Fate fate) override {
    cluster_.fate_of_next_write(own(member), fate_of(fate));
  }
  void freeze(Member& member) override { cluster_.freeze(own(member)); }
  void thaw(Member& member) override { cluster_.thaw(own(member)); }
  void kill(std::unique_ptr<Member> member) override { cluster_.kill(own(*member)); }
  void move_generation(const std::string& group) override { cluster_.bump_generation(group); }
  void delete_before(const TopicPartition& tp, Offset offset) override { cluster_.delete_before(tp, offset); }
  void compact(const TopicPartition& tp) override { cluster_.compact(tp); }
  void deny(const std::string& topic, bool denied) override { cluster_.deny(topic, denied); }
  void stall(const std::string& topic, bool stalled) override { cluster_.stall(topic, stalled); }

 private:
  static sim::SimMember& own(Member& member) { return dynamic_cast<sim::SimMember&>(member); }
  static sim::WriteFate fate_of(Fate fate) {
    switch (fate) {
      case Fate::kNotDone:
        return sim::WriteFate::kNotDone;
      case Fate::kReplyLostDone:
        return sim::WriteFate::kReplyLostDone;
      case Fate::kReplyLostNotDone:
        return sim::WriteFate::kReplyLostNotDone;
      case Fate::kLateRequest:
        return sim::WriteFate::kLateRequest;
    }
    BARTLEBY_UNREACHABLE();
  }

  sim::Scheduler scheduler_;
  sim::SimCluster cluster_;
};

RigFactory at_once() {
  return {"AtOnce", [] { return std::make_unique<SimRig>(1, sim::BrokerFaults{}); }};
}

RigFactory slow(std::uint64_t seed) {
  return {"Slow" + std::to_string(seed), [seed] {
            sim::BrokerFaults faults;
            faults.latency_min = Duration(1);
            faults.latency_max = Duration(20);
            faults.marker_delay_max = Duration(40);
            faults.slice_min = 1;
            faults.slice_max = 3;
            return std::make_unique<SimRig>(seed, faults);
          }};
}

INSTANTIATE_TEST_SUITE_P(Sim, BrokerContract, testing::Values(at_once(), slow(1), slow(2), slow(3)),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace bartleby::contract
