// The embedded broker under the contract, on a file of its own for each test: as it is, and with slices of one record
// and transactions of one job.
#include "adapters/broker/embedded/embedded_broker.h"
#include "tests/contract/broker_contract.h"
#include "tests/support/played_clock.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::contract {
namespace {

class EmbeddedRig : public BrokerRig {
 public:
  explicit EmbeddedRig(embedded::Options options) : clock_(std::make_shared<support::PlayedClock>()) {
    options.folder = folder_.path();
    options.clock = clock_;
    auto opened = embedded::EmbeddedBroker::open(std::move(options));
    BARTLEBY_ASSERT(opened.has_value());
    broker_ = std::move(*opened);
  }

  Broker& broker() override { return *broker_; }
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
  Instant now() const override { return clock_->now().steady; }

  void fate_of_next_write(Member& member, Fate fate) override { broker_->fate_of_next_write(member, fate_of(fate)); }
  void freeze(Member& member) override { broker_->freeze(member, true); }
  void thaw(Member& member) override { broker_->freeze(member, false); }
  void kill(std::unique_ptr<Member> member) override { member.reset(); }
  void move_generation(const std::string& group) override { broker_->move_generation(group); }
  void delete_before(const TopicPartition& tp, Offset offset) override {
    BARTLEBY_ASSERT(broker_->delete_before(tp, offset).has_value());
  }
  void compact(const TopicPartition& tp) override { BARTLEBY_ASSERT(broker_->compact(tp).has_value()); }
  void deny(const std::string& topic, bool denied) override { broker_->deny(topic, denied); }
  void stall(const std::string& topic, bool stalled) override { broker_->stall(topic, stalled); }

 private:
  static embedded::WriteFate fate_of(Fate fate) {
    switch (fate) {
      case Fate::kNotDone:
        return embedded::WriteFate::kNotDone;
      case Fate::kReplyLostDone:
        return embedded::WriteFate::kReplyLostDone;
      case Fate::kReplyLostNotDone:
        return embedded::WriteFate::kReplyLostNotDone;
      case Fate::kLateRequest:
        return embedded::WriteFate::kLateRequest;
    }
    BARTLEBY_UNREACHABLE();
  }

  support::ScratchFolder folder_;
  std::shared_ptr<support::PlayedClock> clock_;
  std::unique_ptr<embedded::EmbeddedBroker> broker_;
};

RigFactory as_it_is() {
  return {"AsItIs", [] { return std::make_unique<EmbeddedRig>(embedded::Options{}); }};
}

RigFactory in_small_pieces() {
  return {"InSmallPieces", [] {
            embedded::Options options;
            options.slice_records = 1;
            options.batch_records = 1;
            options.upkeep_records = 1;
            options.poll_bytes = 10;
            options.checkpoint_pages = 1;
            return std::make_unique<EmbeddedRig>(options);
          }};
}

INSTANTIATE_TEST_SUITE_P(Embedded, BrokerContract, testing::Values(as_it_is(), in_small_pieces()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace bartleby::contract
