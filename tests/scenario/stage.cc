#include "tests/scenario/stage.h"

#include "adapters/broker/embedded/embedded_broker.h"
#include "base/assert.h"
#include "tests/sim/sim_cluster.h"
#include "tests/support/played_clock.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::scenario {
namespace {

class SimulatedStage : public Stage {
 public:
  Broker& broker() override { return cluster_; }
  Now now() const override { return scheduler_.both(); }

 private:
  sim::Scheduler scheduler_{1};
  sim::SimCluster cluster_{scheduler_, {.latency_min = Duration(1), .latency_max = Duration(1)}};
};

class EmbeddedStage : public Stage {
 public:
  EmbeddedStage() {
    embedded::Options options;
    options.folder = folder_.path();
    options.clock = clock_;
    auto opened = embedded::EmbeddedBroker::open(std::move(options));
    BARTLEBY_ASSERT(opened.has_value());
    broker_ = std::move(*opened);
  }
  Broker& broker() override { return *broker_; }
  Now now() const override { return clock_->now(); }

 private:
  support::ScratchFolder folder_;
  std::shared_ptr<support::PlayedClock> clock_ = std::make_shared<support::PlayedClock>();
  std::unique_ptr<embedded::EmbeddedBroker> broker_;
};

}  // namespace

std::unique_ptr<Stage> simulated_stage() { return std::make_unique<SimulatedStage>(); }
std::unique_ptr<Stage> embedded_stage() { return std::make_unique<EmbeddedStage>(); }

}  // namespace bartleby::scenario
