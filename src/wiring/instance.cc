#include "wiring/instance.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "adapters/counters/embedded/embedded_counters.h"
#include "adapters/handler/http/http_handler.h"
#include "base/lock_file.h"
#include "base/version.h"
#include "codec/journal.h"
#include "runtime/heartbeats.h"
#include "runtime/in_process.h"
#include "runtime/open_attempts.h"
#include "runtime/pull_handler.h"
#include "runtime/worker.h"
#include "server/http_server.h"
#include "server/routes/routes.h"
#include "wiring/admission.h"
#include "wiring/brokers.h"
#include "wiring/config_environment.h"
#include "wiring/office.h"
#include "wiring/office_key.h"

namespace bartleby {
namespace {

constexpr std::string_view kDefaultPort = "1853";

std::uint64_t random_number() {
  std::uint64_t n = 0;
  BARTLEBY_ASSERT(::getrandom(&n, sizeof n, 0) == static_cast<ssize_t>(sizeof n));
  return n;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// A worker's connections, its own files and the server's: the soft limit is often 1024.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct Instance::Parts {
  Parts(Config c, const Handlers& h, const Clock& k, Log& l, std::function<void(const std::string&)> b)
      : config(std::move(c)), handlers(h), clock(k), log(l), broken(std::move(b)) {}

  struct Running {
    std::shared_ptr<Worker> worker;
    std::shared_ptr<PullHandler> pull;
  };

  Config config;
  const Handlers& handlers;
  const Clock& clock;
  Log& log;
  const std::function<void(const std::string&)> broken;

  std::optional<LockFile> folder;                          // locked, where no log does it
  std::map<std::string, std::unique_ptr<Broker>> brokers;  // by name
  Broker* broker = nullptr;                                // the first
  OfficeKey office_key;
  std::unique_ptr<Counters> counters;
  std::unique_ptr<Office> office;  // none without the role
  std::unique_ptr<FlightRecorder> recorder;
  AloneGate gate;
  std::shared_ptr<HttpLoop> http;
  std::shared_ptr<OpenAttempts> open;
  std::mutex mutex;  // of `running`
  std::map<std::string, Running> running;
  std::vector<Running> parting;  // handed over, but a handler of theirs still runs
  Services services;
  Router router;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<Heartbeats> heartbeats;
  std::jthread ticker;

  Result<void> own_folder();
  Result<void> bury();
  struct Prepared {
    WorkerSpec spec;
    Broker* broker = nullptr;
    std::shared_ptr<PullHandler> pull;
  };
  Result<Prepared> prepare_worker(const WorkerConfig& config);
  void start_worker(Prepared prepared);
  Result<std::shared_ptr<Handler>> make_handler(const WorkerConfig& worker, const CaseConfig& one,
                                                std::shared_ptr<PullHandler>& pull);
  std::string instance_of(const std::string& worker) const;
  std::string address() const;
  std::unique_ptr<Heartbeats> make_heartbeats();
  void tick(const std::stop_token& stopping);
  bool stop_workers(const std::vector<Running>& leaving);
  static bool may_apply(const Worker& worker, const WorkerConfig& wanted);
  void hand_over(const std::string& name);
};

// The embedded log locks the folder that it is in; without one it is ours to do: two processes with one flight recorder
// would bury each other.
Result<void> Instance::Parts::own_folder() {
  const bool has_log = std::ranges::any_of(config.brokers, [](const BrokerConfig& b) { return !b.kafka; });
  if (has_log) return {};
  std::error_code failed;
  std::filesystem::create_directories(config.data_dir, failed);
  if (failed) return fail(ErrorCode::kUnavailable, config.data_dir + ": cannot make this folder: " + failed.message());
  auto taken = LockFile::take(config.data_dir + "/process.lock");
  if (!taken) return std::unexpected(taken.error());
  folder.emplace(std::move(*taken));
  return {};
}

// Whoever ran when the last process died is named in the journal of its message; whoever owns the partition reads it.
Result<void> Instance::Parts::bury() {
  std::map<Broker*, std::vector<Record>> records;
  for (const Casualty& c : recorder->casualties()) {
    if (c.flight.journal.empty()) continue;
    Broker* at = nullptr;
    for (const auto& [name, one] : brokers) {
      const auto there = one->describe(c.flight.journal);
      if (there) at = one.get();
      if (!there && there.error().code != ErrorCode::kNotFound) return std::unexpected(there.error());
    }
    if (at == nullptr) continue;  // the topic was deleted since
    const JournalEntry obituary = c.obituary();
    records[at].push_back(
        {c.flight.journal, c.flight.partition, journal_key(obituary), journal_value(obituary, {}), {}});
    log.warning("process_died_in_handler", {{"journal", c.flight.journal},
                                            {"partition", c.flight.partition.v},
                                            {"offset", c.flight.offset.v},
                                            {"faulting", c.faulting}});
  }
  for (const auto& [at, theirs] : records)
    if (const auto written = at->produce(theirs); !written) return std::unexpected(written.error());
  recorder->forget_casualties();
  return {};
}

std::string Instance::Parts::instance_of(const std::string& worker) const {
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
  const std::string cluster = config.cluster_id;
  InProcess where{name, recorder.get(),
                  [worker, cluster](const std::string& topic) { return worker.journal_of(topic, cluster); }, &gate};
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
  spec.journal = c.journal;
  spec.dead_letter = c.dead_letter.topic;
  spec.start = c.start.at;
  spec.start_time = c.start.time;
  spec.engine = c.engine();
  spec.record = process_environment()["BARTLEBY_RECORD"];
  for (const CaseConfig& one : c.cases) {
    auto handler = make_handler(c, one, prepared.pull);
    if (!handler) return std::unexpected(handler.error());
    spec.handlers.push_back(std::move(*handler));
  }
  spec.admit = admission_of(c);
  spec.replay_topic = c.lane_template();
  spec.replay_of = replays_of(c.group, {office_key});
  return prepared;
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

void Instance::Parts::start_worker(Prepared prepared) {
  const std::string name = prepared.spec.name;
  auto worker = std::make_shared<Worker>(std::move(prepared.spec), *prepared.broker, clock, log, broken);
  const std::lock_guard lock(mutex);
  running[name] = {std::move(worker), std::move(prepared.pull)};
}

void Instance::Parts::tick(const std::stop_token& stopping) {
  std::mutex sleeping;
  std::condition_variable_any wake;
  while (!stopping.stop_requested()) {
    open->tick();
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

// Everybody at once: a stop takes as long as the slowest drain, not as their sum.
bool Instance::Parts::stop_workers(const std::vector<Running>& leaving) {
  Duration longest{0};
  for (const Running& r : leaving) {
    r.worker->stop();
    if (r.pull) r.pull->close();
    longest = std::max(longest, r.worker->spec().engine.drain);
  }
  if (heartbeats) heartbeats->wake();
  const auto until = std::chrono::steady_clock::now() + clock.real(longest) + std::chrono::seconds(5);
  bool closed = false;
  while (!std::ranges::all_of(leaving, [](const Running& r) { return r.worker->stopped(); })) {
    if (std::chrono::steady_clock::now() > until) return false;
    if (!closed && std::ranges::all_of(leaving, [](const Running& r) { return r.worker->parted(); })) {
      closed = true;  // nobody waits for these any more
      open->close();
      http->stop();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

Result<std::unique_ptr<Instance>> Instance::start(Config config, const Handlers& handlers, const Clock& clock, Log& log,
                                                  std::function<void(const std::string&)> broken) {
  raise_open_files();
  auto parts = std::make_unique<Parts>(std::move(config), handlers, clock, log, std::move(broken));
  Parts& p = *parts;
  if (auto owned = p.own_folder(); !owned) return std::unexpected(owned.error());
  for (const BrokerConfig& one : p.config.brokers) {
    auto opened = open_broker(one, p.config.data_dir, clock, log);
    if (!opened) return std::unexpected(opened.error());
    p.brokers[one.name] = std::move(*opened);
  }
  p.broker = p.brokers.at(p.config.brokers.front().name).get();
  p.counters = std::make_unique<EmbeddedCounters>(EmbeddedCountersOptions{.clock = [&clock] { return clock.now(); }});
  auto key = office_key(p.config.data_dir);
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
  if (auto buried = p.bury(); !buried) return std::unexpected(buried.error());
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
  if (p.office) p.services.store = &p.office->store(), p.services.news = &p.office->news();
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
  p.services.beat = [&p] { p.heartbeats->wake(); };
  add_all_routes(p.router, p.services);
  p.ticker = std::jthread([&p](const std::stop_token& stopping) { p.tick(stopping); });
  std::unique_ptr<Instance> instance(new Instance(std::move(parts)));
  std::vector<Parts::Prepared> prepared;
  for (const WorkerConfig& worker : p.config.workers) {
    if (!p.config.runs_workers) break;
    auto one = p.prepare_worker(worker);
    if (!one) return std::unexpected(one.error());
    prepared.push_back(std::move(*one));
  }
  for (Parts::Prepared& one : prepared) p.start_worker(std::move(one));
  // Whoever reaches the server finds the workers there, and a heartbeat of each.
  p.heartbeats = p.make_heartbeats();
  p.heartbeats->beat();
  ServerOptions server;
  server.address = p.config.listen.host;
  server.port = p.config.listen.port;
  auto listening = HttpServer::start(std::move(server), p.router, log);
  if (!listening) return std::unexpected(listening.error());
  p.server = std::move(*listening);
  p.heartbeats->start();
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
  ConfigDiff changes = diff(p.config, fresh);
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
  p.config.effective = std::move(fresh.effective);
  p.heartbeats->beat();
  if (p.office) p.office->follow(p.config);
  return {};
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
  heartbeats->wake();
  const auto until =
      std::chrono::steady_clock::now() + clock.real(old.worker->spec().engine.drain) + std::chrono::seconds(10);
  while (!old.worker->parted() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::lock_guard lock(mutex);
  running.erase(name);
  parting.push_back(std::move(old));
}

bool Instance::stop() {
  Parts& p = *parts_;
  std::vector<Parts::Running> leaving;
  {
    const std::lock_guard lock(p.mutex);
    for (const auto& [name, r] : p.running) leaving.push_back(r);
    for (const Parts::Running& r : p.parting) leaving.push_back(r);
  }
  const bool whole = p.stop_workers(leaving);
  if (p.server) p.server->stop();
  p.heartbeats.reset();  // after the routes, which wake it
  p.ticker.request_stop();
  if (p.ticker.joinable()) p.ticker.join();
  p.recorder->clear();
  if (!whole) return false;
  p.server.reset();
  leaving.clear();
  p.running.clear();
  p.parting.clear();
  p.http->stop();
  return true;
}

}  // namespace bartleby
