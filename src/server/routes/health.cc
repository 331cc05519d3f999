// Health in the format of Spring's actuator.
#include <set>

#include "codec/heartbeat.h"
#include "codec/time_text.h"
#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kHealth = R"({"type": "object", "required": ["status"], "additionalProperties": false,
  "properties": {"status": {"enum": ["UP", "DEGRADED", "DOWN"]},
    "components": {"type": "object", "additionalProperties": {"type": "object", "required": ["status"],
      "additionalProperties": false, "properties": {"status": {"enum": ["UP", "DEGRADED", "DOWN"]},
        "details": {"type": "object"}, "components": {"type": "object", "additionalProperties": {"type": "object",
          "required": ["status"], "properties": {"status": {"enum": ["UP", "DEGRADED", "DOWN"]}}}}}}}}})";

constexpr Duration kSinkBehind{60000};

json::object down_because(const Error& error, const char* status) {
  return json::object{{"status", status}, {"details", json::object{{"error", error.message}}}};
}

// Letters that a sink does not have yet are safe; that it is behind is worth a look all the same.
bool add_sinks(json::object& components, const Services& services) {
  const std::vector<SinkStatus> sinks = services.sinks();
  if (sinks.empty()) return true;
  bool well = true;
  json::object all;
  const Timestamp now = services.clock->now().wall;
  for (const SinkStatus& sink : sinks) {
    const SinkBacklog& backlog = sink.backlog;
    const bool behind = backlog.oldest && now - *backlog.oldest > kSinkBehind;
    const bool good = !sink.failing_since && !behind && backlog.refused == 0;
    json::object details{{"waiting", backlog.waiting}, {"refused", backlog.refused}};
    if (backlog.oldest) details["oldest"] = time_text(*backlog.oldest);
    if (sink.failing_since) details["failing_since"] = time_text(*sink.failing_since);
    if (sink.failing_since) details["error"] = sink.error;
    if (backlog.last_reason) details["last_refused_because"] = *backlog.last_reason;
    all[sink.name] = json::object{{"status", good ? "UP" : "DEGRADED"}, {"details", std::move(details)}};
    well = well && good;
  }
  components["sinks"] = json::object{{"status", well ? "UP" : "DEGRADED"}, {"components", std::move(all)}};
  return well;
}

// DOWN only where this process cannot do its work at all: a broker that does not answer, or takes no writes. A
// worker that does not run, an open guard, and a cache that is away only make it worse.
Response health(const Services& services) {
  json::object components;
  const Result<void> broker = services.broker->writable();
  components["broker"] = broker ? json::object{{"status", "UP"}} : down_because(broker.error(), "DOWN");
  const auto reached = services.counters->reachable();
  const auto beats = reached ? services.counters->heartbeats() : std::unexpected(reached.error());
  components["counters"] = beats ? json::object{{"status", "UP"}} : down_because(beats.error(), "DEGRADED");
  bool degraded = !beats;
  std::set<std::string, std::less<>> alive;
  if (beats)
    for (const Heartbeat& beat : *beats)
      if (const auto facts = heartbeat_from_text(beat.text); facts && facts->status != LifeStatus::kShuttingDown)
        alive.insert(beat.type);
  json::object lag;
  json::array missing;
  std::size_t expected = 0;
  for (const auto& worker : services.workers()) {
    ++expected;
    const auto s = worker->status();
    const bool runs = s && (s->state == WorkerState::kRunning || s->state == WorkerState::kPaused);
    if (!runs || (beats && !alive.contains(worker->spec().name))) missing.push_back(json::string(worker->spec().name));
    if (!s) continue;
    degraded = degraded || s->guard_open;
    std::int64_t committed = 0;
    for (const PartitionStatus& p : s->partitions) committed += p.lag;
    lag[s->group] = json::object{
        {"status", s->guard_open ? "DEGRADED" : "UP"},
        {"details", json::object{{"lag", committed}, {"effective", s->effective_lag}, {"parked", s->parked}}}};
  }
  components["lag"] = json::object{{"status", "UP"}, {"components", std::move(lag)}};
  degraded = degraded || !missing.empty();
  const std::size_t reporting = expected - missing.size();
  components["workers"] = json::object{
      {"status", missing.empty() ? "UP" : "DEGRADED"},
      {"details", json::object{{"expected", expected}, {"reporting", reporting}, {"missing", std::move(missing)}}}};
  degraded = !add_sinks(components, services) || degraded;
  json::object body{{"status", !broker ? "DOWN" : degraded ? "DEGRADED" : "UP"}};
  body["components"] = std::move(components);
  return json_response(body, broker ? 200 : 503);
}

}  // namespace

void add_health_routes(Router& router, const Services& services) {
  const Alternative down{503, "It is not: the broker does not answer, or takes no writes", kHealth};
  router.add("GET", "/actuator/health",
             {.access = Access::listed(), .summary = "Whether everything is well", .answer = kHealth, .others = {down}},
             [&services](Request&) { return health(services); });
  router.add("GET", "/actuator/health/liveness",
             {.access = Access::listed(),
              .summary = "Whether this process is alive; looks at nothing outside it",
              .answer = kHealth,
              .at_once = true},
             [](Request&) { return json_response(json::object{{"status", "UP"}}); });
  router.add("GET", "/actuator/health/readiness",
             {.access = Access::listed(),
              .summary = "Whether this process can be sent work",
              .answer = kHealth,
              .others = {down}},
             [&services](Request&) { return health(services); });
}

}  // namespace bartleby
