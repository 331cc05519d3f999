// The sink of some dlqs: it is fed among the other turns of the office, and people give it to dlqs and take it away.
#include "tests/sim/office_world.h"

namespace bartleby::sim {

void OfficeWorld::draw_sinks() {
  has_sink_ = random().chance(70);
  if (!has_sink_) return;
  constexpr std::array<std::uint32_t, 3> kTurns = {10, 40, 80};
  feeds_ = kTurns[random().below(kTurns.size())];
  fickle_ = random().chance(50);
  if (random().chance(50)) sink_.refuses = static_cast<std::uint32_t>(random().between(5, 40));
  constexpr std::array<std::int64_t, 3> kAgain = {1000, 10000, 60000};
  sink_options_.name = kOfficeSink;
  sink_options_.letters = static_cast<std::size_t>(random().between(1, 6));
  if (random().chance(30)) sink_options_.bytes = static_cast<std::size_t>(random().between(1, 2000));
  sink_options_.fill_below = random().between(1, 20);
  sink_options_.fill_at_once = random().between(1, 12);
  sink_options_.refused_at_once = static_cast<std::size_t>(random().between(2, 20));
  sink_options_.refused_again = Duration(kAgain[random().below(kAgain.size())]);
  sink_options_.sinks_of = [this](const std::string& dlq) { return sinks_of(dlq); };
}

std::vector<std::string> OfficeWorld::sinks_of(const std::string& dlq) const {
  return checker_->told(dlq) ? std::vector{kOfficeSink} : std::vector<std::string>();
}

// Some dlqs have it from the beginning, others get it later; where people are fickle, one loses it and gets it again.
void OfficeWorld::change_sinks() {
  if (!has_sink_ || !random().chance(15)) return;
  const std::string& dlq = any(groups_).dlq;
  if (checker_->told(dlq) && !fickle_) return;
  checker_->tell(dlq, !checker_->told(dlq));
  note((checker_->told(dlq) ? "has the sink: " : "has no sink: ") + dlq);
}

void OfficeWorld::feed_sink() {
  if (!has_sink_ || (!healing_ && !random().chance(feeds_))) return;
  sink_.answered = false;
  const std::int64_t most = healing_ ? INT64_MAX : random().between(1, 5);
  const bool lives = alive([&] {
    for (std::int64_t i = 0; i < most && office_->sink.round(); ++i) {
    }
  });
  if (!lives && sink_.answered) coverage_.saw(OfficeSeen::kSinkNotSettled);
}

}  // namespace bartleby::sim
