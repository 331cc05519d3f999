// The run of one seed: trouble until the span is over, then healing until all is done, then a clean end.
#include <algorithm>
#include <cstdio>

#include "tests/sim/world.h"

namespace bartleby::sim {
namespace {

const std::string kGroup = "g";

}  // namespace

bool World::finished() {
  if (scheduler_.now() <= down_until_) return false;  // people are still at it
  if (!checker_.all_resolved() && !options_.has(Fault::kNoDeadLetters)) return false;
  for (auto& [tp, w] : checker_.all()) {
    const auto c = cluster_->committed(kGroup, tp);
    if (!is_settled(c)) return false;
    const Offset end = cluster_->log(tp).high_watermark();
    if (*c->offset < end && !options_.has(Fault::kNoDeadLetters)) return false;
    for (const auto& [offset, s] : w.stories) {
      if (s.resolved()) continue;
      const auto at = w.journal.find("m/" + std::to_string(offset.v));  // kept on purpose
      const auto* m = at == w.journal.end() ? nullptr : std::get_if<MessageEntry>(&at->second.entry);
      if (m == nullptr || !m->self || !m->dead) return false;
    }
  }
  return true;
}

// Of a run that did not end: who stands where.
void World::say_where_all_stand() {
  for (const auto& p : processes_) {
    say("i" + std::to_string(p->number) + (p->pump ? " up" : " down") + (p->turn_planned ? " turn planned" : "") +
        (p->member && p->member->has_events() ? " events" : "") + (p->stopping ? " stopping" : "") + ", " +
        std::to_string(scheduler_.pending()) + " tasks");
    if (!p->pump) continue;
    for (const auto& [index, e] : p->pump->engine().partitions())
      say("i" + std::to_string(p->number) + " p" + std::to_string(p->pump->where(e->ref())->partition.v) + " phase " +
          std::to_string(static_cast<int>(e->phase())) + " L" + std::to_string(e->committed().v) + " H" +
          std::to_string(e->high().v) + " F" + std::to_string(e->frontier().v) + " end " +
          std::to_string(cluster_->log(*p->pump->where(e->ref())).high_watermark().v) + " bytes " +
          std::to_string(p->pump->engine().bytes()) + " parked " + std::to_string(e->parked()) + " memory " +
          std::to_string(e->in_memory()) + " running " + std::to_string(p->pump->engine().running()) +
          (p->pump->engine().writing() ? " writing" : "") + (p->pump->engine().guard().open() ? " guard" : ""));
  }
}

RunResult World::run() {
  for (std::uint32_t i = 0; i < options_.history; ++i) {
    if (i == options_.history / 2) start_time_ = scheduler_.wall();
    produce();
    scheduler_.run_for(Duration(random_.between(0, 20)));
  }
  for (auto& p : processes_)
    scheduler_.after(Duration(random_.between(0, options_.has(Fault::kLateAssignment) ? 5000 : 10)),
                     [this, &p] { start(*p); });
  plan_trouble();
  const Instant healed_at = Instant(options_.span);
  const auto go_on = [this] {
    if (scheduler_.steps() > 1000000) checker_.fail("busy without end");
    return checker_.violation().empty();
  };
  Instant look = scheduler_.now();
  while (checker_.violation().empty() && look < healed_at) {
    look = std::min(look + Duration(1000), healed_at);
    while (go_on() && scheduler_.step_until(look)) {
    }
    look_for_standstill();
  }
  heal();
  const Instant limit = scheduler_.now() + options_.heal;
  look = scheduler_.now();
  bool done = false;
  while (checker_.violation().empty() && scheduler_.now() < limit && !done) {
    look += Duration(1000);
    while (go_on() && scheduler_.step_until(look)) {
    }
    look_for_standstill();
    done = finished();
  }
  if (checker_.violation().empty() && done) {  // and now a clean end
    // First: who comes up late tells of his death, and the owner erases that. A handler of before may still die here.
    const Instant latest = scheduler_.now() + Duration(120000);
    for (Instant quiet = scheduler_.now() + Duration(10000); scheduler_.now() < std::min(quiet, latest);) {
      scheduler_.run_for(Duration(1000));
      quiet = std::max(quiet, last_crash_ + Duration(10000));
    }
    for (auto& p : processes_) stop(*p);
    scheduler_.run_for(Duration(120000));
    for (auto& p : processes_)
      if (p->pump && p->stopping && checker_.violation().empty()) checker_.fail("a stop that never ends");
    checker_.stopped_cleanly();
  }
  coverage_.saw(Seen::kOtherId, cluster_->ids_changed());
  coverage_.saw(Seen::kStaleEnd, cluster_->stale_ends());
  if (trace_ && !done) say_where_all_stand();
  checker_.finish(!options_.has(Fault::kNoDeadLetters));
  if (!done && checker_.violation().empty()) checker_.fail("the commit never reached the end");
  RunResult result{options_.seed, checker_.violation(), hash_, scheduler_.steps()};
  return result;
}

RunResult run_seed(std::uint64_t seed, const std::vector<Fault>& off, Coverage& coverage, bool trace) {
  const Options options = draw_options(seed, off);
  if (trace) {
    std::printf(
        "seed %llu: %u partitions, %u instances, %u messages, %u keys; on:", static_cast<unsigned long long>(seed),
        options.partitions, options.instances, options.messages, options.keys);
    for (std::size_t i = 0; i < options.on.size(); ++i)
      if (options.on[i]) std::printf(" %s", fault_name(static_cast<Fault>(i)).c_str());
    std::printf("\n");
  }
  World world(options, coverage, trace);
  return world.run();
}

}  // namespace bartleby::sim
