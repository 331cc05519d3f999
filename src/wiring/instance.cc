#include <sys/random.h>
#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <thread>

#include "base/version.h"
#include "server/pages.h"
#include "server/routes/routes.h"
#include "wiring/brokers.h"
#include "wiring/config_text.h"
#include "wiring/counters.h"
#include "wiring/first_key.h"
#include "wiring/instance_parts.h"
#include "wiring/office_key.h"

namespace bartleby {
namespace {

constexpr std::chrono::seconds kBeyondDrain{5};
constexpr std::chrono::seconds kSlowBroker{30};

std::uint64_t random_number() {
  std::uint64_t n = 0;
  BARTLEBY_ASSERT(::getrandom(&n, sizeof n, 0) == static_cast<ssize_t>(sizeof n));
  return n;
}

// A worker's connections, its own files and the server's: the soft limit is often 1024.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string taken(const Error& error) {
  return "another server has this data: " + error.message + "; stop it, or take another folder with --data-dir";
}

std::function<std::optional<Response>(const Request&)> pages_of(const Config& config) {
  const auto pages = config.ui_dir.empty() ? std::make_shared<Pages>(embedded_pages())
                                           : std::make_shared<Pages>(std::filesystem::path(config.ui_dir));
  return [pages](const Request& request) { return pages->answer(request); };
}

}  // namespace

// The embedded log locks the folder that it is in; without one it is ours to do: two processes with one flight recorder
// would bury each other.
Result<void> Instance::Parts::own_folder() {
  const bool has_log = std::ranges::any_of(config.brokers, [](const BrokerConfig& b) { return !b.kafka; });
  if (has_log) return {};
  std::error_code failed;
  std::filesystem::create_directories(config.data_dir, failed);
  if (failed) return fail(ErrorCode::kUnavailable, config.data_dir + ": cannot make this folder: " + failed.message());
  std::filesystem::permissions(config.data_dir, std::filesystem::perms::owner_all, failed);
  auto lock = LockFile::take(config.data_dir + "/process.lock");
  if (!lock && lock.error().code == ErrorCode::kFenced) return fail(ErrorCode::kFenced, taken(lock.error()));
  if (!lock) return std::unexpected(lock.error());
  folder.emplace(std::move(*lock));
  return {};
}

Result<void> Instance::Parts::open_access() {
  Store* store = office ? &office->store() : nullptr;
  access = std::make_unique<AccessControl>(config.access, store, clock);
  services.access = access.get();
  router.set_guard([this](Request& request, const Route& route) { return access->admit(request, route.docs.access); });
  if (store == nullptr) return {};
  answers = std::make_unique<KeptAnswers>(*store, clock, log);
  router.set_memory([this](const Request& request, const Route& route, Respond& respond) {
    return answers->begin(request, route, respond);
  });
  return config.access.keys ? first_admin_key(*store, config.data_dir, clock, log) : Result<void>();
}

std::string Instance::Parts::address() const {
  Address a = config.listen;
  if (server) a.port = server->port();
  return "http://" + a.text();
}

std::unique_ptr<Heartbeats> Instance::Parts::make_heartbeats() {
  HeartbeatOptions options;
  options.every = config.heartbeats.every;
  options.ttl = config.heartbeats.ttl;
  options.stopping_ttl = config.heartbeats.stopping_ttl;
  options.version = kVersion;
  // Of port 0 nobody can tell before it is open.
  options.advertise = [this] { return config.listen.port == 0 ? address() : config.advertise; };
  options.whose = [this] {
    std::vector<std::shared_ptr<Worker>> all;
    const std::lock_guard lock(mutex);
    for (const auto& [name, r] : running) all.push_back(r.worker);
    for (const Running& r : parting)  // a successor speaks for the instance
      if (!running.contains(r.worker->spec().name)) all.push_back(r.worker);
    return all;
  };
  return std::make_unique<Heartbeats>(std::move(options), *counters, clock, log);
}

void Instance::Parts::tick(const std::stop_token& stopping) {
  std::mutex sleeping;
  std::condition_variable_any wake;
  while (!stopping.stop_requested()) {
    open->tick();
    gate.tick();
    std::vector<std::shared_ptr<PullHandler>> pulls;
    {
      const std::lock_guard lock(mutex);
      for (const auto& [name, r] : running)
        if (r.pull) pulls.push_back(r.pull);
    }
    for (const auto& pull : pulls) pull->tick();
    {
      const std::lock_guard lock(mutex);
      std::erase_if(parting, [](const Running& r) { return r.worker->stopped(); });
    }
    std::unique_lock lock(sleeping);
    wake.wait_for(lock, stopping, std::chrono::milliseconds(20), [] { return false; });
  }
}

// Everybody at once: a stop takes as long as the slowest drain, not as their sum. Who has not handed over by then waits
// for the broker (or stands in a handler of its own thread), and is waited for longer than handlers of other threads.
Instance::Stopped Instance::Parts::stop_workers(const std::vector<Running>& leaving) {
  Duration longest{0};
  for (const Running& r : leaving) {
    r.worker->stop();
    if (r.pull) r.pull->close();
    longest = std::max(longest, r.worker->spec().engine.drain);
  }
  if (heartbeats) heartbeats->wake();
  const auto drained = std::chrono::steady_clock::now() + clock.real(longest);
  auto until = drained + kBeyondDrain + kSlowBroker;
  bool closed = false;
  while (!std::ranges::all_of(leaving, [](const Running& r) { return r.worker->stopped(); })) {
    const auto now = std::chrono::steady_clock::now();
    if (now > until) return closed ? Stopped::kHandlersLeft : Stopped::kNotHandedOver;
    if (!closed && std::ranges::all_of(leaving, [](const Running& r) { return r.worker->parted(); })) {
      closed = true;  // nobody waits for these any more
      open->close();
      http->stop();
      until = std::max(drained, now) + kBeyondDrain;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Stopped::kWhole;
}

Result<std::unique_ptr<Instance>> Instance::start(Config config, const Handlers& handlers, const Clock& clock, Log& log,
                                                  std::function<void(const std::string&)> broken) {
  raise_open_files();
  auto parts = std::make_unique<Parts>(std::move(config), handlers, clock, log, std::move(broken));
  Parts& p = *parts;
  if (auto owned = p.own_folder(); !owned) return std::unexpected(owned.error());
  for (const BrokerConfig& one : p.config.brokers) {
    auto opened = open_broker(one, p.config.workers, p.config.data_dir, clock, log);
    if (!opened && opened.error().code == ErrorCode::kFenced) return fail(ErrorCode::kFenced, taken(opened.error()));
    if (!opened) return std::unexpected(opened.error());
    p.brokers[one.name] = std::move(*opened);
  }
  p.broker = p.brokers.at(p.config.brokers.front().name).get();
  auto counters = open_counters(p.config, clock, log);
  if (!counters) return std::unexpected(counters.error());
  p.counters = std::move(*counters);
  p.retry_counters = std::make_unique<RetryCounters>(*p.counters);
  auto key = p.config.office_key ? Result<OfficeKey>(*p.config.office_key) : office_key(p.config.data_dir);
  if (!key) return std::unexpected(key.error());
  p.office_key = std::move(*key);
  if (p.config.has_office) {
    auto office = Office::start(p.config, *p.broker, p.office_key, clock, log);
    if (!office) return std::unexpected(office.error());
    p.office = std::move(*office);
  }
  auto recorder = FlightRecorder::open(std::filesystem::path(p.config.data_dir) / "flight", random_number());
  if (!recorder) return std::unexpected(recorder.error());
  p.recorder = std::move(*recorder);
  p.undertaker = std::make_unique<Undertaker>(*p.recorder, p.brokers, log);
  FlightRecorder::install_signal_handlers();

  HttpLoopOptions loop;
  loop.clock = [&clock] { return clock.now(); };
  p.http = std::make_shared<HttpLoop>(std::move(loop));
  OpenAttemptsOptions open;
  open.clock = [&clock] { return clock.now(); };
  p.open = std::make_shared<OpenAttempts>(std::move(open));

  p.services.version = kVersion;
  p.services.cluster = p.config.cluster_id;
  p.services.broker = p.broker;
  p.services.counters = p.counters.get();
  p.services.office = p.config.has_office;
  if (p.office) {
    p.services.store = &p.office->store();
    p.services.news = &p.office->news();
    p.services.archive = &p.office->archive();
    p.services.operations = &p.office->operations();
    p.services.runner = &p.office->runner();
    p.services.alerts = &p.office->alerts();
    p.services.store_check = &p.office->store_check();
    p.services.intake = [office = p.office.get()] { return office->intake(); };
    p.services.sinks = [office = p.office.get()] { return office->sinks(); };
  }
  p.services.clock = &clock;
  p.services.open_attempts = p.open.get();
  p.services.workers = [&p] {
    std::vector<std::shared_ptr<Worker>> all;
    const std::lock_guard lock(p.mutex);
    for (const auto& [name, r] : p.running) all.push_back(r.worker);
    return all;
  };
  p.services.pull = [&p](const std::string& worker) -> std::shared_ptr<PullHandler> {
    const std::lock_guard lock(p.mutex);
    const auto at = p.running.find(worker);
    return at == p.running.end() ? nullptr : at->second.pull;
  };
  p.services.counter = [&p](const std::string& worker) -> std::shared_ptr<RetryCounter> {
    const std::lock_guard lock(p.mutex);
    const auto at = p.running.find(worker);
    return at == p.running.end() ? nullptr : at->second.counter;
  };
  p.services.families = [&p] {
    std::vector<std::shared_ptr<FamilyMetrics>> all;
    const std::lock_guard lock(p.mutex);
    for (const auto& [name, r] : p.running)
      if (r.family) all.push_back(r.family);
    return all;
  };
  p.services.beat = [&p] { p.heartbeats->wake(); };
  p.services.redaction = Redaction(p.config.redact);
  if (p.office) p.services.rule_of = [&p](const std::string& dlq) { return p.office->rule_of(dlq); };
  p.shown_config = config_lines(p.config);
  p.services.config_lines = [&p] {
    const std::lock_guard lock(p.mutex);
    return p.shown_config;
  };
  if (auto opened = p.open_access(); !opened) return std::unexpected(opened.error());
  p.follow_consumers();
  if (p.office)
    if (auto put = put_channels(p.config.channels, p.config.cluster_id, p.config.listen.loopback(), p.office->store(),
                                *p.broker, clock.now().wall);
        !put)
      return std::unexpected(put.error());
  add_all_routes(p.router, p.services);
  if (p.office) p.router.add_pages(pages_of(p.config));
  p.ticker = std::jthread([&p](const std::stop_token& stopping) { p.tick(stopping); });
  std::unique_ptr<Instance> instance(new Instance(std::move(parts)));
  // The port is taken before anything runs that would have to be stopped again.
  ServerOptions server;
  server.address = p.config.listen.host;
  server.port = p.config.listen.port;
  // A name that points here by somebody else's will matters only where nobody says who they are.
  server.loopback_names_only = !p.config.access.keys && !p.config.access.proxy;
  auto listening = HttpServer::listen(std::move(server), p.router, log);
  if (!listening)
    return fail(listening.error().code, listening.error().message + "; choose another address with --listen");
  p.server = std::move(*listening);
  std::vector<Parts::Prepared> prepared;
  for (const WorkerConfig& worker : p.config.workers) {
    if (!p.config.runs_workers) break;
    auto one = p.prepare_worker(worker);
    if (!one) return std::unexpected(one.error());
    prepared.push_back(std::move(*one));
  }
  for (Parts::Prepared& one : prepared) p.start_worker(std::move(one));
  if (p.follower) p.follower->look();
  // Whoever reaches the server finds the workers there, and a heartbeat of each.
  p.heartbeats = p.make_heartbeats();
  p.heartbeats->beat();
  p.server->serve();
  p.heartbeats->start();
  if (p.follower) p.follower->start();
  return instance;
}

Instance::Instance(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Instance::~Instance() {
  if (parts_ && parts_->ticker.joinable()) stop();
}

std::string Instance::address() const { return parts_->address(); }

// Everything that can be refused is refused before anything stops: a bad file leaves the old workers running.
Result<void> Instance::reload(Config fresh) {
  Parts& p = *parts_;
  const std::lock_guard lock(p.changing);
  for (const WorkerConfig& consumer : p.consumers)
    if (std::ranges::find(fresh.workers, consumer.name, &WorkerConfig::name) != fresh.workers.end())
      return fail(ErrorCode::kInvalid, "workers." + consumer.name + " has the name of a consumer; choose another");
  const ConfigDiff asked = diff(p.config, fresh);
  ConfigDiff changes = asked;
  const auto wanted = [&](const WorkerChange& change) -> const WorkerConfig& {
    return *std::ranges::find(fresh.workers, change.worker, &WorkerConfig::name);
  };
  std::map<std::string, Parts::Prepared> successors;
  for (WorkerChange& change : changes.workers) {
    if (change.change == Change::kRemoved || !p.config.runs_workers) continue;
    const std::shared_ptr<Worker> worker = p.services.worker(change.worker);
    if (change.change == Change::kUnchanged && worker) continue;
    if (change.change == Change::kLive && worker && Parts::may_apply(*worker, wanted(change))) continue;
    change.change = Change::kRestart;
    auto prepared = p.prepare_worker(wanted(change));
    if (!prepared) return std::unexpected(prepared.error());
    successors.emplace(change.worker, std::move(*prepared));
  }
  const auto tell = [&p](const WorkerChange& change) {
    std::string keys;
    for (const std::string& key : change.keys) keys += (keys.empty() ? "" : ", ") + key;
    p.log.info("worker_changes", {{"worker", change.worker}, {"keys", keys}, {"live", change.change == Change::kLive}});
  };
  for (const WorkerChange& change : changes.workers) {
    if (change.change != Change::kLive || !p.config.runs_workers) continue;
    const auto applied = p.services.worker(change.worker)->apply(LiveSettings(wanted(change).engine()));
    if (!applied) return applied;
    tell(change);
  }
  for (const WorkerChange& change : changes.workers) {
    if (change.change == Change::kUnchanged || change.change == Change::kLive || !p.config.runs_workers) continue;
    tell(change);
    p.hand_over(change.worker);
    if (const auto next = successors.find(change.worker); next != successors.end())
      p.start_worker(std::move(next->second));
  }
  for (const std::string& key : changes.next_start) p.log.warning("counts_at_the_next_start", {{"key", key}});
  p.config.workers = std::move(fresh.workers);
  p.config.office.dlqs = std::move(fresh.office.dlqs);
  p.config.alerts = fresh.alerts;
  p.config.effective = std::move(fresh.effective);
  {
    auto lines = config_lines(p.config);
    const std::lock_guard showing(p.mutex);
    p.shown_config = std::move(lines);
  }
  p.heartbeats->beat();
  p.tell_office();
  p.write_reload(asked);
  return {};
}

Instance::Stopped Instance::stop() {
  Parts& p = *parts_;
  if (p.follower) p.follower->stop();
  std::vector<Parts::Running> leaving;
  {
    const std::lock_guard lock(p.mutex);
    for (const auto& [name, r] : p.running) leaving.push_back(r);
    for (const Parts::Running& r : p.parting) leaving.push_back(r);
  }
  const Stopped stopped = p.stop_workers(leaving);
  if (p.heartbeats) p.heartbeats->beat();           // its thread may not have seen them stop
  if (p.office) p.office->runner().end_watching();  // requests that wait are answered while there is a server
  if (p.server) p.server->stop();
  p.heartbeats.reset();  // after the routes, which wake it
  p.ticker.request_stop();
  if (p.ticker.joinable()) p.ticker.join();
  if (p.undertaker->over()) p.recorder->clear();  // else the next process finds whom this one could not bury
  if (stopped != Stopped::kWhole) return stopped;
  p.server.reset();
  leaving.clear();
  p.running.clear();
  p.parting.clear();
  p.http->stop();
  return Stopped::kWhole;
}

}  // namespace bartleby
