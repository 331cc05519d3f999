#include "tests/sim/office_world.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/hash.h"
#include "office/shelf_upkeep.h"
#include "office/summary.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::sim {
namespace {

constexpr std::uint32_t kHealRounds = 300;

Log::Sink sink(bool trace) {
  return [trace](std::string_view line) {
    if (trace) std::printf("      %.*s", static_cast<int>(line.size()), line.data());
  };
}

std::unique_ptr<sqlite_store::SqliteStore> opened(const std::string& folder) {
  auto store = sqlite_store::SqliteStore::open({.folder = folder, .readers = 2, .durable = false});
  BARTLEBY_ASSERT(store.has_value());
  return std::move(*store);
}

}  // namespace

OfficeWorld::OfficeWorld(std::uint64_t seed, const std::string& folder, OfficeCoverage& coverage, bool trace)
    : seed_(seed),
      trace_(trace),
      coverage_(coverage),
      scheduler_(seed),
      cluster_(scheduler_),
      clock_(scheduler_),
      log_(LogFormat::kText, trace ? LogLevel::kInfo : LogLevel::kError, sink(trace)),
      real_(opened(folder)),
      fate_(scheduler_.random(), faults_),
      store_(std::make_unique<FragileStore>(*real_, fate_)),
      broker_(cluster_, fate_),
      archive_(fate_),
      sink_(fate_, scheduler_.random(), coverage),
      checker_(std::make_unique<OfficeChecker>(*real_, cluster_, archive_, sink_, key_, coverage)) {
  draw();
  make_topics();
  cluster_.on_record_visible([this](const TopicPartition& tp, const LogRecord& r) { checker_->record_visible(tp, r); });
  archive_.removing = [this](const std::string& name) { checker_->file_goes(name); };
  sink_.given = [this](const SinkLetter& life) { checker_->given(life); };
  store_->committed = [this] {
    ++commits_;
    sink_.answered = false;
    checker_->committed();
  };
  fate_.happened = [this](CallFate fate) {
    switch (fate) {
      case CallFate::kFails:
        return coverage_.saw(OfficeSeen::kCallFailed);
      case CallFate::kReplyLost:
        return coverage_.saw(OfficeSeen::kReplyLost);
      case CallFate::kCrashWithin:
        return coverage_.saw(OfficeSeen::kCrashWithin);
      default:
        return;
    }
  };
  fate_.at_call = [this] {
    if (two_intakes_ && taking_in_ && !nested_ && random().chance(6)) another_intake();
    if (!nested_ && keeper_in_ > 0 && --keeper_in_ == 0) another_keeper();
  };
}

void OfficeWorld::draw() {
  const auto on = [&] { return random().chance(50); };
  rounds_ = static_cast<std::uint32_t>(random().between(10, 45));
  letters_left_ = static_cast<std::uint32_t>(random().between(5, 45));
  if (on()) faults_.fail = static_cast<std::uint32_t>(random().between(5, 60));
  if (on()) faults_.lost_reply = static_cast<std::uint32_t>(random().between(5, 60));
  if (on()) faults_.crash = static_cast<std::uint32_t>(random().between(2, 40));
  if (on()) cluster_.faults().p_produce_fail = static_cast<std::uint32_t>(random().between(20, 300));
  lazy_outcomes_ = random().chance(30);
  constexpr std::array<std::uint32_t, 5> kDies = {0, 10, 30, 60, 95};
  dies_ = kDies[random().below(kDies.size())];
  retention_ = random().chance(35);
  new_topics_ = random().chance(25);
  tells_ids_ = new_topics_ && seed_ % 2 == 0;
  if (tells_ids_)
    broker_.id_of = [this](const std::string& topic) {
      return "id-" + std::to_string(cluster_.log({topic, Partition(0)}).incarnation());
    };
  two_intakes_ = random().chance(30);
  copies_ = on();
  again_ = random().chance(30);
  parts_ = on();
  denied_ = random().chance(20);
  long_waits_ = random().chance(40);
  read_records_ = on() ? 1000 : static_cast<std::size_t>(random().between(1, 6));
  limits_.batch = random().between(1, 6);
  limits_.slice = random().between(1, 6);
  draw_keeping();
  draw_sinks();
  slow_workers_ = seed_ % 4 == 1;  // so that replays are taken back, and sent again, before they have ended
}

void OfficeWorld::make_topics() {
  groups_.push_back({"billing", "orders", "orders.billing.dlq", "orders.replay.billing", 2, 2});
  if (random().chance(60)) groups_.push_back({"audit", "orders", "orders.audit.dlq", "orders.replay.audit", 2, 1});
  groups_.push_back({"mail", "mails", "mails.dlq", "", 1, 2});
  const bool small = random().chance(30);
  for (const OfficeGroup& g : groups_) {
    std::vector<TopicSpec> specs(2);
    specs[0].name = g.topic;
    specs[0].partitions = g.partitions;
    specs[0].max_message = small ? 1500 : 1 << 20;
    specs[1].name = g.dlq;
    specs[1].partitions = g.dlq_partitions;
    if (!g.lane.empty()) {
      specs.push_back(specs[0]);
      specs.back().name = g.lane;
    }
    BARTLEBY_ASSERT(cluster_.ensure_topics(specs).has_value());
    checker_->dlq(g.dlq);
    if (has_sink_ && random().chance(50)) checker_->tell(g.dlq, true);
  }
}

IntakeOptions OfficeWorld::intake_options() {
  IntakeOptions o;
  o.cluster = kOfficeCluster;
  o.dlq_class = [](const std::string& topic) {
    return topic.ends_with(".dlq") ? std::optional(DlqClass::kNormal) : std::nullopt;
  };
  o.limits.records = read_records_;
  o.sinks_of = [this](const std::string& dlq) { return sinks_of(dlq); };
  return o;
}

void OfficeWorld::make_office() {
  OperationsOptions o;
  o.readers = [this](const std::string& topic) {
    std::vector<Reader> readers;
    for (const OfficeGroup& g : groups_)
      if (g.topic == topic) readers.push_back({g.name, g.lane});
    return readers;
  };
  o.limits.max_replays = 3;
  o.new_id = [this] { return "op_" + std::to_string(++ids_); };
  RunnerOptions r{.key = key_};
  r.limits = limits_;
  const auto heard = [this](const std::string&, const IntakeReport& report) {
    for (const IssueNews& news : report.news)
      if (news.state == IssueState::kRegressed) coverage_.saw(OfficeSeen::kRegressed);
  };
  office_.reset(new Office{{*store_, clock_, std::move(o)},
                           {broker_, *store_, log_, clock_, intake_options(), heard},
                           {broker_, *store_, log_, clock_, std::move(r)},
                           {sink_, *store_, log_, clock_, sink_options_}});
}

bool OfficeWorld::alive(const std::function<void()>& work) {
  if (!office_) make_office();
  fate_.begin_turn();
  try {
    work();
    return true;
  } catch (const OfficeCrash&) {
    coverage_.saw(OfficeSeen::kCrash);
    note("crash");
    checker_->crashed();
  } catch (const OfficeBusyWithoutEnd&) {
    checker_->broken("busy without end");
  }
  taking_in_ = nested_ = false;
  keeper_in_ = 0;
  office_.reset();
  return false;
}

void OfficeWorld::office_turn() {
  if (lazy_outcomes_ && !healing_) faults_.no_outcomes = random().chance(70) ? 1000 : 0;
  const bool intake_first = random().chance(50);
  if (!healing_) feed_sink();
  const auto intake = [&] {
    return alive([&] {
      taking_in_ = true;
      office_->intake.run_until_idle();
      taking_in_ = false;
    });
  };
  if ((healing_ || random().chance(80)) && intake_first) intake();
  if (healing_ || random().chance(80)) {
    checker_->begin_turn();
    alive([&] { office_->runner.run_until_idle(); });
  }
  if ((healing_ || random().chance(80)) && !intake_first) intake();
  if (random().chance(40)) alive([&] { check_counts(); });
  if (random().chance(20)) alive([&] { free_empty_shelves(); });
  if (keeps_ && (healing_ || random().chance(30)))
    alive([&] {
      keeper_in_ = two_keepers_ ? random().between(1, 16) : 0;
      tidy();
      keeper_in_ = 0;
    });
  feed_sink();
}

void OfficeWorld::free_empty_shelves() {
  const auto freed = free_shelves(*store_, {.slice = random().between(1, 4), .slices = 10});
  if (freed && freed->shelves > 0) coverage_.saw(OfficeSeen::kShelfFreed);
}

// In small steps, so that much changes behind it before it has seen all.
void OfficeWorld::check_counts() {
  const WalkLimits steps{.slice = random().between(1, 8), .slices = static_cast<int>(random().between(1, 3))};
  const auto check = check_summary(*store_, "office", scheduler_.wall(), Duration(0), steps);
  if (!check || check->skipped) return;
  coverage_.saw(check->compared ? OfficeSeen::kWalkEnded : OfficeSeen::kWalkGoesOn);
  if (check->drift > 0) checker_->broken("the check of counts found drift where nobody has edited anything");
}

// A second office that somebody has started by mistake, or one that is thought dead: it works between two calls of the
// first.
void OfficeWorld::another_intake() {
  nested_ = true;
  coverage_.saw(OfficeSeen::kTwoIntakes);
  note("another intake");
  try {
    IntakeRunner other(broker_, *store_, log_, clock_, intake_options());
    other.run_until_idle();
  } catch (const OfficeCrash&) {
    note("the other intake crashed");
  }
  nested_ = false;
}

bool OfficeWorld::quiet() {
  const OfficeChecker::Picture& p = checker_->picture();
  for (const auto& [seq, op] : p.operations)
    if ((op.state != OperationState::kDone && op.state != OperationState::kCancelled) ||
        op.with(ItemResult::kUnknown) + op.with(ItemResult::kSent) > 0)
      return false;
  for (const OfficeGroup& g : groups_)
    for (std::int32_t i = 0; i < g.dlq_partitions; ++i) {
      const TopicPartition tp{g.dlq, Partition(i)};
      const auto at = p.positions.find(tp);
      const Offset end = cluster_.log(tp).high_watermark();
      const IntakePosition done = at == p.positions.end() ? IntakePosition{} : at->second.at;
      if (done.next != end || done.done_to != end || !checker_->noticed(tp)) return false;
    }
  return tidied() && checker_->sink_has_all();
}

void OfficeWorld::heal() {
  healing_ = true;
  faults_ = {};
  cluster_.faults().p_produce_fail = 0;
  two_intakes_ = two_keepers_ = false;
  sink_.refuses = 0;
  dies_ = 0;
  for (const OfficeGroup& g : groups_) {
    cluster_.deny(g.topic, false);
    if (!g.lane.empty()) cluster_.deny(g.lane, false);
  }
  note("healed");
  for (std::uint32_t round = 0; round < kHealRounds && checker_->violation().empty(); ++round) {
    scheduler_.run_for(waits_for_files() ? Duration(std::chrono::hours(1))
                                         : Duration(round % 20 == 19 ? 700000 : 30000));
    alive([&] { change_operation(true); });
    office_turn();
    work();
    if (quiet() && round > 3) break;
  }
  checker_->ended();
}

void OfficeWorld::note(const std::string& what) {
  hash_ = combine(hash_, hash64(what));
  if (trace_)
    std::printf("%10lld  %s\n", static_cast<long long>(scheduler_.now().time_since_epoch().count()), what.c_str());
}

RunResult OfficeWorld::run() {
  for (std::uint32_t round = 0; round < rounds_ && checker_->violation().empty(); ++round) {
    const Duration longest(long_waits_ && random().chance(5) ? 30 * 3600 * 1000 : random().chance(10) ? 900000 : 3000);
    scheduler_.run_for(Duration(random().between(1, longest.count())));
    produce();
    trouble_dlqs();
    change_sinks();
    work();
    people();
    office_turn();
  }
  if (checker_->violation().empty()) heal();
  note("ends with " + std::to_string(commits_) + " transactions, " +
       std::to_string(checker_->picture().letters.size()) + " letters");
  for (const auto& [seq, letter] : checker_->picture().letters)
    hash_ = combine(hash_, combine(hash64(letter.id), static_cast<std::uint64_t>(letter.version)));
  return {seed_, checker_->violation(), hash_, commits_};
}

RunResult run_office_seed(std::uint64_t seed, OfficeCoverage& coverage, bool trace) {
  // In memory, where there is such a file system: a seed writes a few hundred transactions.
  static const bool memory = ::access("/dev/shm", W_OK) == 0;
  const support::ScratchFolder folder(memory ? "/dev/shm" : std::filesystem::temp_directory_path());
  OfficeWorld world(seed, folder.path(), coverage, trace);
  return world.run();
}

}  // namespace bartleby::sim
