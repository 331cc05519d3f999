// What routes work with. Made by wiring; everything in it outlives the server.
// Any thread.
#pragma once

#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "office/alert_runner.h"
#include "office/intake_runner.h"
#include "office/news.h"
#include "office/operation_runner.h"
#include "office/operations.h"
#include "office/retention.h"
#include "office/sink_runner.h"
#include "office/store_check.h"
#include "ports/archive.h"
#include "ports/broker.h"
#include "ports/counters.h"
#include "ports/store.h"
#include "runtime/family_metrics.h"
#include "runtime/open_attempts.h"
#include "runtime/pull_handler.h"
#include "runtime/retry_counters.h"
#include "runtime/worker.h"
#include "server/redaction.h"

namespace bartleby {

class AccessControl;
class Operations;
struct Consumer;

struct Services {
  std::string version, cluster;
  bool office = true;  // state that all processes share is shown by those with this role
  Broker* broker = nullptr;
  Counters* counters = nullptr;
  Archive* archive = nullptr;
  Store* store = nullptr;               // of the office; null without the role, and then there are no routes of it
  News* news = nullptr;                 // likewise
  Operations* operations = nullptr;     // likewise
  OperationRunner* runner = nullptr;    // likewise
  const AlertRunner* alerts = nullptr;  // likewise
  StoreCheck* store_check = nullptr;    // likewise
  AccessControl* access = nullptr;
  const Clock* clock = nullptr;
  OpenAttempts* open_attempts = nullptr;
  std::function<std::vector<std::shared_ptr<Worker>>()> workers;
  std::function<std::shared_ptr<PullHandler>(const std::string& worker)> pull;      // null: the worker does not pull
  std::function<std::shared_ptr<RetryCounter>(const std::string& worker)> counter;  // null: it has none
  std::function<std::vector<std::shared_ptr<FamilyMetrics>>()> families;            // of workers that have some
  std::function<std::vector<SinkStatus>()> sinks = [] { return std::vector<SinkStatus>(); };
  std::function<IntakeCounts()> intake;  // of the office
  std::function<void()> beat;            // heartbeats say soon what has changed
  Redaction redaction;
  std::function<DlqRule(const std::string& dlq)> rule_of;  // how letters are kept; of the office
  // The configuration that holds, without secrets: lines of YAML, and where each value came from.
  std::function<std::vector<std::pair<std::string, std::string>>()> config_lines;
  // Of channels: held shared by whoever broadcasts, alone by whoever registers a consumer.
  std::shared_mutex* broadcasting = nullptr;
  std::function<Result<void>(const Consumer&)> check_consumer;  // what is wrong with its settings
  std::function<std::uint32_t(const Consumer&)> max_attempts;   // as it is configured now
  std::function<void()> consumers_changed;                      // its worker follows soon
  std::size_t max_message = std::size_t{1} << 20;

  std::shared_ptr<Worker> worker(const std::string& name) const {
    for (auto& w : workers())
      if (w->spec().name == name) return w;
    return nullptr;
  }
};

}  // namespace bartleby
