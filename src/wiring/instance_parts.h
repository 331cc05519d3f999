// What an instance is made of. Only wiring/instance*.cc include it.
//
// The members stand in the order of their lives: what is below may use what is above. Threads: see ARCHITECTURE.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "adapters/handler/http/http_handler.h"
#include "base/lock_file.h"
#include "runtime/family_metrics.h"
#include "runtime/heartbeats.h"
#include "runtime/in_process.h"
#include "runtime/open_attempts.h"
#include "runtime/pull_handler.h"
#include "runtime/retry_counters.h"
#include "runtime/worker.h"
#include "server/access.h"
#include "server/http_server.h"
#include "server/idempotency.h"
#include "server/services.h"
#include "wiring/consumers.h"
#include "wiring/instance.h"
#include "wiring/office.h"
#include "wiring/undertaker.h"

namespace bartleby {

struct Instance::Parts {
  Parts(Config c, const Handlers& h, const Clock& k, Log& l, std::function<void(const std::string&)> b)
      : config(std::move(c)), handlers(h), clock(k), log(l), broken(std::move(b)) {}

  struct Running {
    std::shared_ptr<Worker> worker;
    std::shared_ptr<PullHandler> pull;
    std::shared_ptr<RetryCounter> counter{};
    std::shared_ptr<FamilyMetrics> family{};
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
  std::unique_ptr<RetryCounters> retry_counters;
  std::unique_ptr<Office> office;  // none without the role
  std::unique_ptr<FlightRecorder> recorder;
  std::unique_ptr<Undertaker> undertaker;
  AloneGate gate;
  std::shared_ptr<HttpLoop> http;
  std::shared_ptr<OpenAttempts> open;
  std::mutex mutex;                                               // of `running` and `shown_config`
  std::vector<std::pair<std::string, std::string>> shown_config;  // lines, and where each came from
  std::map<std::string, Running> running;
  std::vector<Running> parting;  // handed over, but a handler of theirs still runs
  std::unique_ptr<AccessControl> access;
  std::unique_ptr<KeptAnswers> answers;  // none without the office
  Services services;
  Router router;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<Heartbeats> heartbeats;
  std::shared_mutex broadcasting;
  std::mutex changing;                         // of workers: by a reload, or by what the store says of consumers
  std::vector<WorkerConfig> consumers;         // under `changing`
  std::unique_ptr<ConsumerFollower> follower;  // none without the office
  std::jthread ticker;

  Result<void> own_folder();
  Result<void> open_access();
  struct Prepared {
    WorkerSpec spec;
    Broker* broker = nullptr;
    std::shared_ptr<PullHandler> pull;
    std::shared_ptr<RetryCounter> counter{};
    std::shared_ptr<FamilyMetrics> family{};
  };
  Result<Prepared> prepare_worker(const WorkerConfig& config);
  void start_worker(Prepared prepared);
  Result<std::shared_ptr<Handler>> make_handler(const WorkerConfig& worker, const CaseConfig& one,
                                                std::shared_ptr<PullHandler>& pull);
  std::function<void(const std::string&, const LogRecord&)> unverified(const WorkerConfig& config);
  std::string instance_of(const std::string& worker) const;
  std::string address() const;
  std::unique_ptr<Heartbeats> make_heartbeats();
  void tick(const std::stop_token& stopping);
  Stopped stop_workers(const std::vector<Running>& leaving);
  static bool may_apply(const Worker& worker, const WorkerConfig& wanted);
  void hand_over(const std::string& name);
  void follow_consumers();
  void tell_office();
  void write_reload(const ConfigDiff& changes);
};

}  // namespace bartleby
