#include "wiring/office.h"

#include <algorithm>

#include "adapters/alert/alertmanager/alertmanager.h"
#include "adapters/alert/log/log_alerter.h"
#include "adapters/archive/files/file_archive.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "base/glob.h"
#include "office/dlq_view.h"
#include "office/sql.h"
#include "ports/group_look.h"
#include "ports/log_keeper.h"
#include "server/redaction.h"
#include "wiring/office_key.h"
#include "wiring/sinks.h"

namespace bartleby {
namespace {

// Those that we know by our configuration, and every other group that has offsets on the topic.
Readers with_other_groups(Readers readers, Broker& broker, const std::string& topic) {
  auto* look = dynamic_cast<GroupLook*>(&broker);
  if (look == nullptr) return readers;
  const auto groups = look->groups_on(topic);
  if (!groups) {
    readers.unknown = groups.error().message;
    return readers;
  }
  for (const std::string& group : *groups)
    if (std::ranges::find(readers.known, group, &Reader::group) == readers.known.end())
      readers.known.push_back({group, {}});
  return readers;
}

}  // namespace

Result<std::unique_ptr<Office>> Office::start(const Config& config, Broker& broker, const OfficeKey& key,
                                              const Clock& clock, Log& log) {
  auto store = sqlite_store::SqliteStore::open({.folder = config.data_dir});
  if (!store) return std::unexpected(store.error());
  std::unique_ptr<Office> office(new Office(std::move(*store)));
  office->log_ = &log;
  office->store_check_ = std::make_unique<StoreCheck>(*office->store_, clock, log);
  office->alerts_ = std::make_unique<AlertRunner>(*office->store_, clock, log);
  office->follow(config);
  IntakeOptions options;
  options.cluster = config.cluster_id;
  options.dlq_class = [self = office.get()](const std::string& topic) {
    return self->is_dlq(topic) ? std::optional(self->rule_of(topic).dlq_class) : std::nullopt;
  };
  options.group_of = [self = office.get()](const std::string& topic) { return self->rule_of(topic).intake_group; };
  // A log of our own waits with deleting until intake has seen it; others cannot.
  if (auto* keeper = dynamic_cast<LogKeeper*>(&broker))
    options.passed = [keeper](const TopicPartition& dlq, Offset to) { keeper->keep_from(dlq, to); };
  options.sinks_of = [self = office.get()](const std::string& dlq) { return self->rule_of(dlq).sinks; };
  options.source_of = [self = office.get()](const std::string& topic) { return self->source_of(topic); };
  office->intake_ =
      std::make_unique<IntakeRunner>(broker, *office->store_, log, clock, std::move(options),
                                     [self = office.get(), &clock](const std::string& dlq, const IntakeReport& report) {
                                       self->news_.heard(dlq, report, clock.now().steady);
                                       self->alerts_->wake();
                                       for (const auto& sink : self->sink_runners_) sink->wake();
                                     });
  office->archive_ = std::make_unique<FileArchive>(config.office.archive_dir);
  office->chores_ = std::make_unique<Chores>(
      *office->store_, office->news_, log, clock, config.advertise,
      [self = office.get(), &broker, &log, holder = config.advertise,
       operations = config.office.keep_operations](Timestamp now) {
        warn_of_expiry(*self->store_, broker, log, now);
        return keep_tidy(
            *self->store_, *self->archive_, [self](const std::string& dlq) { return self->rule_of(dlq); }, operations,
            holder, now);
      },
      ChoreTimes{.check = config.office.summary_check});
  RunnerOptions running;
  running.key = key;
  office->runner_ = std::make_unique<OperationRunner>(broker, *office->store_, log, clock, std::move(running));
  OperationsOptions operations;
  operations.readers = [self = office.get(), &broker](const std::string& topic) {
    return with_other_groups(self->readers_of(topic), broker, topic);
  };
  operations.finished = [&broker, &clock](const KeyOffsets& oldest) { return finished_in_log(broker, clock, oldest); };
  const ReplayConfig& replay = config.office.replay;
  operations.defaults.rate = replay.rate;
  operations.defaults.canary = replay.canary;
  operations.defaults.halt = replay.halt;
  operations.defaults.undo = config.office.undo;
  operations.limits.max_replays = replay.max_replays;
  operations.limits.targets = replay.targets;
  // A lane is read by whichever process has the partition: it must know the key.
  operations.limits.lanes = config.office_key.has_value() || !config.brokers.front().kafka;
  operations.limits.shown = [redaction = Redaction(config.redact)](const Bytes& value) {
    return redaction.value(value);
  };
  operations.new_id = [] { return "op_" + random_hex(); };
  operations.wake = [self = office.get()] { self->runner_->wake(); };
  office->operations_ = std::make_unique<Operations>(*office->store_, clock, std::move(operations));
  if (auto sinks = office->start_sinks(config, clock, log); !sinks) return std::unexpected(sinks.error());
  office->intake_->start();
  office->runner_->start();
  office->chores_->start();
  office->alerts_->start();
  return office;
}

// Only where something is different: a destination that is made anew does not know what it has told.
void Office::tell_whom(const Config& config) {
  if (config.alerts == told_) return;
  told_ = config.alerts;
  std::vector<std::unique_ptr<Alerter>> to;
  if (told_.log) to.push_back(std::make_unique<LogAlerter>(*log_));
  if (!told_.alertmanager.empty())
    to.push_back(std::make_unique<Alertmanager>(AlertmanagerOptions{told_.alertmanager, config.advertise}));
  alerts_->set(std::move(to), told_.resend);
}

Result<void> Office::start_sinks(const Config& config, const Clock& clock, Log& log) {
  for (const SinkConfig& one : config.office.sinks) {
    auto sink = open_sink(one);
    if (!sink) return std::unexpected(sink.error());
    SinkOptions options;
    options.name = one.name;
    options.sinks_of = [this](const std::string& dlq) { return rule_of(dlq).sinks; };
    sinks_.push_back(std::move(*sink));
    sink_runners_.push_back(std::make_unique<SinkRunner>(*sinks_.back(), *store_, log, clock, std::move(options)));
  }
  // Letters of a sink that is not configured any more stay: whoever took it away may not know of them.
  BARTLEBY_TRY(store_->read([&](Connection& connection) -> Result<void> {
    const auto waiting = sinks_with_letters(connection);
    if (!waiting) return std::unexpected(waiting.error());
    for (const std::string& name : *waiting)
      if (std::ranges::find(config.office.sinks, name, &SinkConfig::name) == config.office.sinks.end())
        log.warning("sink_gone", {{"sink", name}, {"why", "letters wait for it, and it is not configured any more"}});
    return {};
  }));
  for (const auto& runner : sink_runners_) runner->start();
  return {};
}

std::vector<SinkStatus> Office::sinks() const {
  std::vector<SinkStatus> out;
  for (const auto& runner : sink_runners_)
    if (auto status = runner->status()) out.push_back(std::move(*status));
  return out;
}

void Office::follow(const Config& config) {
  tell_whom(config);
  std::set<std::string> dlqs;
  std::map<std::string, std::string> lanes;
  std::map<std::string, std::vector<Reader>> readers;
  for (const WorkerConfig& worker : config.workers)
    for (const std::string& topic : worker.topics) {
      const std::string lane = worker.lane_of(topic, config.cluster_id);
      dlqs.insert(worker.dead_letters_of(topic, config.cluster_id));
      if (!lane.empty()) lanes.emplace(lane, topic);
      readers[topic].push_back({worker.group, lane});
    }
  for (const auto& [pattern, rule] : config.office.dlqs)
    if (!pattern.contains('*')) dlqs.insert(pattern);
  const std::lock_guard lock(mutex_);
  rules_ = config.office;
  readers_ = std::move(readers);
  lanes_.merge(lanes);
  dlqs_.merge(dlqs);  // those of a worker that was removed still hold its letters
}

std::vector<Reader> Office::readers_of(const std::string& topic) const {
  const std::lock_guard lock(mutex_);
  const auto found = readers_.find(topic);
  return found == readers_.end() ? std::vector<Reader>() : found->second;
}

std::string Office::source_of(const std::string& lane) const {
  const std::lock_guard lock(mutex_);
  const auto found = lanes_.find(lane);
  return found == lanes_.end() ? "" : found->second;
}

DlqRule Office::rule_of(const std::string& dlq) const {
  const std::lock_guard lock(mutex_);
  return rules_.rule_of(dlq);
}

bool Office::is_dlq(const std::string& topic) const {
  const std::lock_guard lock(mutex_);
  const auto matches = [&](const std::string& pattern) { return glob_matches(pattern, topic); };
  return dlqs_.contains(topic) || (std::ranges::any_of(rules_.discover, matches) && !lanes_.contains(topic));
}

}  // namespace bartleby
