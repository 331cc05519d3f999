// The workers of an instance: how one is made of its configuration, handed over to another, and made of a consumer.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <set>

#include "codec/json_text.h"
#include "office/audit.h"
#include "ports/log_keeper.h"
#include "wiring/admission.h"
#include "wiring/config_environment.h"
#include "wiring/instance_parts.h"

namespace bartleby {
namespace {

constexpr std::string_view kDefaultPort = "1853";
constexpr std::int64_t kStrangerEvery = 60'000;  // ms between two complaints about replays that nobody can verify

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

std::string Instance::Parts::instance_of(const std::string& worker) const {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets one
  if (const char* given = std::getenv("BARTLEBY_INSTANCE"); given != nullptr && *given != '\0') return given;
  const std::string port = std::to_string(config.listen.port);
  return worker + "-" + host_name() + (port == kDefaultPort ? "" : "-" + port);
}

Result<std::shared_ptr<Handler>> Instance::Parts::make_handler(const WorkerConfig& worker, const CaseConfig& one,
                                                               std::shared_ptr<PullHandler>& pull) {
  if (const auto* push = std::get_if<HttpHandlerConfig>(&one.handler)) {
    HttpHandlerOptions options;
    options.target.url = push->url;
    options.target.allow_private = push->allow_private;
    options.secret = push->secret;
    options.reject.assign(push->reject.begin(), push->reject.end());
    options.headers = push->headers;
    options.copy = push->copy;
    auto made = HttpHandler::make(std::move(options), http, open);
    if (!made) return std::unexpected(made.error());
    return std::shared_ptr<Handler>(std::move(*made));
  }
  if (std::holds_alternative<PullHandlerConfig>(one.handler)) {
    if (!pull) {
      PullHandlerOptions options;
      options.clock = [this] { return clock.now(); };
      pull = std::make_shared<PullHandler>(open, std::move(options));
    }
    return std::shared_ptr<Handler>(pull);
  }
  const std::string& name = std::get<BuiltinHandlerConfig>(one.handler).name;
  std::map<std::string, std::string> journals;  // asked for every message
  for (const std::string& topic : worker.topics) journals[topic] = worker.journal_of(topic, config.cluster_id);
  const auto journal = [worker, cluster = config.cluster_id, journals](const std::string& topic) {
    const auto known = journals.find(topic);
    return known == journals.end() ? worker.journal_of(topic, cluster) : known->second;
  };
  InProcess where{name, recorder.get(), journal, &gate};
  if (const auto sync = handlers.sync.find(name); sync != handlers.sync.end()) {
    if (worker.run == RunIn::kEngine)
      return std::shared_ptr<Handler>(std::make_shared<InlineHandler>(std::move(where), sync->second));
    return std::shared_ptr<Handler>(
        std::make_shared<PooledHandler>(std::move(where), sync->second, worker.concurrency));
  }
  if (const auto async = handlers.async.find(name); async != handlers.async.end())
    return std::shared_ptr<Handler>(std::make_shared<AsynchronousHandler>(std::move(where), async->second));
  return fail(ErrorCode::kInvalid, "worker " + worker.name + ": this program has no handler " + name +
                                       "; say handler: {http: {url: …}} or {pull: {}}, or build a program that has it");
}

Result<Instance::Parts::Prepared> Instance::Parts::prepare_worker(const WorkerConfig& c) {
  Prepared prepared;
  WorkerSpec& spec = prepared.spec;
  // Brokers are opened when the process starts; one that a reload names for the first time is not there.
  const auto broker_of = brokers.find(c.broker);
  if (broker_of == brokers.end())
    return fail(ErrorCode::kInvalid, "worker " + c.name + ": brokers." + c.broker + " counts at the next start");
  prepared.broker = broker_of->second.get();
  spec.name = c.name;
  spec.group = c.group;
  spec.cluster = config.cluster_id;
  spec.instance = instance_of(c.name);
  spec.topics = c.topics;
  // Only a log of our own makes topics by itself: on a cluster, how many partitions one has is for its owners to say.
  spec.new_topic_partitions = dynamic_cast<LogKeeper*>(prepared.broker) != nullptr ? 1 : 0;
  spec.journal = c.journal;
  spec.dead_letter = c.dead_letter.topic;
  spec.dialect = c.dead_letter.dialect;
  spec.provision = [office = config.office](const std::string& dlq) {
    const DlqRule rule = office.rule_of(dlq);
    DlqProvision provision = rule.provision;
    if (rule.dlq_class == DlqClass::kFinancial) provision.retention.reset();
    return provision;
  };
  spec.start = c.start.at;
  spec.start_time = c.start.time;
  spec.engine = c.engine();
  spec.record = process_environment()["BARTLEBY_RECORD"];
  for (const CaseConfig& one : c.cases) {
    auto handler = make_handler(c, one, prepared.pull);
    if (!handler) return std::unexpected(handler.error());
    spec.handlers.push_back(std::move(*handler));
  }
  // What killed the last process must not run again before that is written down.
  if (std::ranges::any_of(spec.handlers, [](const auto& handler) { return handler->in_process(); }))
    spec.may_begin = [this] { return undertaker->buried(); };
  spec.admit = admission_of(c);
  spec.replay_topic = c.lane_template();
  spec.replay_of = replays_of(c.group, {office_key}, unverified(c));
  if (c.counter) {
    prepared.counter = retry_counters->of_worker(*KeyTemplate::parse(c.counter->key), c.counter->ttl);
    spec.watchers.push_back(prepared.counter);
  }
  if (c.metrics) {
    prepared.family = std::make_shared<FamilyMetrics>(c.metrics->family, c.metrics->label, c.metrics->field);
    spec.watchers.push_back(prepared.family);
  }
  return prepared;
}

// What lies in a worker's lane was sent to it by an office. If the signature is not one that this process knows it is
// an ordinary message, and the office waits in vain for its outcome: somebody must hear of it.
std::function<void(const std::string&, const LogRecord&)> Instance::Parts::unverified(const WorkerConfig& c) {
  std::set<std::string> lanes;
  for (const std::string& topic : c.topics) lanes.insert(c.lane_of(topic, config.cluster_id));
  auto next = std::make_shared<std::atomic<std::int64_t>>(0);
  return [this, lanes, next, worker = c.name](const std::string& topic, const LogRecord& record) {
    if (!lanes.contains(topic)) return;
    const std::int64_t now = ms(clock.now().wall);
    std::int64_t due = next->load();
    if (now < due || !next->compare_exchange_strong(due, now + kStrangerEvery)) return;
    log.error("replay_not_verified",
              {{"worker", worker},
               {"topic", topic},
               {"offset", record.offset.v},
               {"kid", office_key.kid},
               {"why",
                "signed with a key that this process does not have: its outcome is not reported; set "
                "signing.office to the same on office and workers"}});
  };
}

void Instance::Parts::start_worker(Prepared prepared) {
  const std::string name = prepared.spec.name;
  auto worker = std::make_shared<Worker>(std::move(prepared.spec), *prepared.broker, clock, log, broken);
  const std::lock_guard lock(mutex);
  running[name] = {std::move(worker), std::move(prepared.pull), std::move(prepared.counter),
                   std::move(prepared.family)};
}

// While it runs; else it must be handed over: a pool has as many threads as it was made with.
bool Instance::Parts::may_apply(const Worker& worker, const WorkerConfig& wanted) {
  const auto& handlers = worker.spec().handlers;
  return handlers.size() == wanted.cases.size() && std::ranges::all_of(handlers, [&](const auto& handler) {
           return handler->capacity() == 0 || handler->capacity() == wanted.concurrency;
         });
}

// Its successor can begin as soon as the partitions are free; a handler that takes longer ends by itself.
void Instance::Parts::hand_over(const std::string& name) {
  Running old;
  {
    const std::lock_guard lock(mutex);
    const auto at = running.find(name);
    if (at == running.end()) return;
    old = at->second;
  }
  old.worker->stop();
  if (old.pull) old.pull->close();
  if (heartbeats) heartbeats->wake();
  const auto until =
      std::chrono::steady_clock::now() + clock.real(old.worker->spec().engine.drain) + std::chrono::seconds(10);
  while (!old.worker->parted() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::lock_guard lock(mutex);
  running.erase(name);
  parting.push_back(std::move(old));
}

// What the office must know of workers: those of the file, and those of consumers.
void Instance::Parts::tell_office() {
  if (!office) return;
  Config all = config;
  all.workers.insert(all.workers.end(), consumers.begin(), consumers.end());
  office->follow(all);
}

namespace {

void append_names(std::string& out, const std::vector<std::string>& names) {
  out += '[';
  for (const std::string& name : names) {
    if (out.back() != '[') out += ',';
    append_json_text(out, name);
  }
  out += ']';
}

}  // namespace

// Which keys, of which workers, and which count at the next start only; values may be secrets. It comes second, as with
// orders to workers: a full disk keeps nobody from a configuration that is read.
void Instance::Parts::write_reload(const ConfigDiff& changes) {
  if (!office) return;
  std::string detail;
  {
    JsonObject object(detail);
    for (const WorkerChange& change : changes.workers) {
      if (change.change == Change::kUnchanged) continue;
      object.name("workers." + change.worker);
      if (change.change == Change::kAdded || change.change == Change::kRemoved) {
        append_json_text(detail, change.change == Change::kAdded ? "added" : "removed");
      } else {
        append_names(detail, change.keys);
      }
    }
    object.name("live");
    append_names(detail, changes.live);
    object.name("next_start");
    append_names(detail, changes.next_start);
  }
  const auto written = office->store().write([&](Connection& connection) {
    return append_audit(connection,
                        {0, clock.now().wall, "local", "reload", "configuration", "", "", "SIGHUP", "", detail});
  });
  if (!written) log.error("reload_not_in_the_audit", {{"why", written.error().message}});
}

void Instance::Parts::follow_consumers() {
  if (!office) return;
  const bool local = config.listen.loopback();
  services.broadcasting = &broadcasting;
  services.check_consumer = [this, local](const Consumer& consumer) -> Result<void> {
    const auto worker = worker_of(consumer, config.cluster_id, local);
    return worker ? Result<void>() : std::unexpected(worker.error());
  };
  services.max_attempts = [this, local](const Consumer& consumer) {
    const auto worker = worker_of(consumer, config.cluster_id, local);
    return worker ? worker->cases.front().retry.max_attempts : 1U;
  };
  services.consumers_changed = [this] { follower->wake(); };
  FollowerActions actions;
  actions.run = [this](const WorkerConfig& wanted) -> Result<void> {
    if (!config.runs_workers) return {};
    const std::lock_guard lock(changing);
    if (std::ranges::find(config.workers, wanted.name, &WorkerConfig::name) != config.workers.end())
      return fail(ErrorCode::kInvalid, "the configuration has a worker of this name");
    WorkerConfig worker = wanted;
    worker.broker = config.brokers.front().name;  // where channels are
    auto prepared = prepare_worker(worker);
    if (!prepared) return std::unexpected(prepared.error());
    hand_over(wanted.name);
    start_worker(std::move(*prepared));
    return {};
  };
  actions.end = [this](const std::string& worker) {
    const std::lock_guard lock(changing);
    hand_over(worker);
  };
  actions.pause = [this](const std::string& name, bool paused) -> Result<void> {
    const auto worker = services.worker(name);
    return worker ? worker->pause(paused) : Result<void>();
  };
  actions.changed = [this](const std::vector<WorkerConfig>& all) {
    const std::lock_guard lock(changing);
    consumers = all;
    tell_office();
    if (heartbeats) heartbeats->wake();
  };
  follower = std::make_unique<ConsumerFollower>(office->store(), log, config.cluster_id, local, std::move(actions));
}

}  // namespace bartleby
