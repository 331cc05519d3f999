// Health in the format of Spring's actuator.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "codec/heartbeat.h"
#include "codec/time_text.h"
#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kHealth = R"({"type": "object", "required": ["status"], "additionalProperties": false,
  "properties": {"status": {"enum": ["UP", "DEGRADED", "DOWN"]},
    "components": {"type": "object", "required": ["broker", "counters", "dlq", "lag", "workers"],
      "properties": {"dlq": {"type": "object", "required": ["status", "details"], "additionalProperties": false,
        "properties": {"status": {"enum": ["UP", "DEGRADED"]},
          "details": {"type": "object", "required": ["pending", "refusing"], "additionalProperties": false,
            "properties": {
              "open": {"type": "integer", "description": "letters; absent without an office, or while it is not known"},
              "intake_lag": {"type": "integer", "description": "records of dlqs that are not taken in yet"},
              "pending": {"type": "integer", "description": "letters that workers have not written yet"},
              "refusing": {"type": "array", "description": "dlqs that have refused a letter, which waits",
                "items": {"type": "string"}},
              "error": {"type": "string", "description": "what keeps letters from being taken in"},
              "failing_since": {"type": "string"}}}}}},
      "additionalProperties": {"type": "object", "required": ["status"],
        "additionalProperties": false, "properties": {"status": {"enum": ["UP", "DEGRADED", "DOWN"]},
          "details": {"type": "object"}, "components": {"type": "object", "additionalProperties": {"type": "object",
            "required": ["status"], "properties": {"status": {"enum": ["UP", "DEGRADED", "DOWN"]}}}}}}}}})";

constexpr Duration kSinkBehind{60000};
constexpr Duration kLongWrite{10000};

enum class Well : std::uint8_t { kUp, kDegraded, kDown };  // from the best to the worst

std::string_view name(Well well) {
  constexpr std::array<std::string_view, 3> kNames = {"UP", "DEGRADED", "DOWN"};
  return kNames[static_cast<std::size_t>(well)];
}

Well well_if(bool good) { return good ? Well::kUp : Well::kDegraded; }

// Puts components together; what is worst of them is the whole.
struct Components {
  json::object all;
  Well worst = Well::kUp;

  json::object& add(std::string_view which, Well well, json::object details = {}) {
    worst = std::max(worst, well);
    json::object& one = all[which].emplace_object();
    one["status"] = name(well);
    if (!details.empty()) one["details"] = std::move(details);
    return one;
  }
  // One that holds others: they are as well as they are.
  void add_all(std::string_view which, Components parts) {
    add(which, parts.worst)["components"] = std::move(parts.all);
  }
};

json::object because(const std::string& why) { return json::object{{"error", why}}; }

// Letters that a sink does not have yet are safe; that it is behind is worth a look all the same.
void add_sinks(Components& components, const Services& services) {
  const std::vector<SinkStatus> sinks = services.sinks();
  if (sinks.empty()) return;
  Components all;
  const Timestamp now = services.clock->now().wall;
  for (const SinkStatus& sink : sinks) {
    const SinkBacklog& backlog = sink.backlog;
    const bool behind = backlog.oldest && now - *backlog.oldest > kSinkBehind;
    json::object details{{"waiting", backlog.waiting}, {"refused", backlog.refused}};
    if (backlog.oldest) details["oldest"] = time_text(*backlog.oldest);
    if (sink.failing_since) details["failing_since"] = time_text(*sink.failing_since);
    if (sink.failing_since) details["error"] = sink.error;
    if (backlog.last_reason) details["last_refused_because"] = *backlog.last_reason;
    all.add(sink.name, well_if(!sink.failing_since && !behind && backlog.refused == 0), std::move(details));
  }
  components.add_all("sinks", std::move(all));
}

// Without the store the office can take in, show and change nothing. One that is only slow may be at a long piece of
// work.
void add_store(Components& components, const StoreLook& look) {
  if (look.failure) return static_cast<void>(components.add("store", Well::kDown, because(look.failure->message)));
  if (look.waits <= kLongWrite) return static_cast<void>(components.add("store", Well::kUp));
  components.add("store", Well::kDegraded,
                 because("a write has waited for " + std::to_string(look.waits.count() / 1000) +
                         " s: for a long one before it, or for a disk that does not answer"));
}

// Dead letters on their way: written by workers, taken in by the office, waiting for people.
struct DlqFacts {
  std::size_t pending = 0;         // letters that workers have not written yet
  std::set<std::string> refusing;  // dlqs that did not take them
};

void add_dlq(Components& components, const DlqFacts& facts, const Services& services, const StoreLook& look) {
  bool well = facts.refusing.empty();
  json::array refusing;
  for (const std::string& dlq : facts.refusing) refusing.push_back(json::string(dlq));
  json::object details{{"pending", facts.pending}, {"refusing", std::move(refusing)}};
  if (services.store != nullptr) {
    if (look.open) details["open"] = *look.open;
    const IntakeCounts intake = services.intake();
    details["intake_lag"] = intake.lag;
    if (intake.trouble) {
      const IntakeTrouble& trouble = *intake.trouble;
      details["failing_since"] = time_text(trouble.since);
      details["error"] = (trouble.dlq.empty() ? "" : trouble.dlq + ": ") + trouble.doing + ": " + trouble.error;
    }
    well = well && look.open.value_or(0) == 0 && !intake.trouble;
  }
  components.add("dlq", well_if(well), std::move(details));
}

// Which workers report; absent: the cache of heartbeats is away, and nobody can tell.
using Alive = std::optional<std::set<std::string, std::less<>>>;

Alive add_counters(Components& components, const Services& services) {
  const auto reached = services.counters->reachable();
  const auto beats = reached ? services.counters->heartbeats() : std::unexpected(reached.error());
  if (!beats) {
    components.add("counters", Well::kDegraded, because(beats.error().message));
    return std::nullopt;
  }
  components.add("counters", Well::kUp);
  Alive alive(std::in_place);
  for (const Heartbeat& beat : *beats)
    if (const auto facts = heartbeat_from_text(beat.text); facts && facts->status != LifeStatus::kShuttingDown)
      alive->insert(beat.type);
  return alive;
}

// The lag itself is no trouble; that the guard holds the work up is.
void add_lag(Components& lag, const WorkerStatus& s) {
  std::int64_t committed = 0;
  for (const PartitionStatus& p : s.partitions) committed += p.lag;
  lag.add(s.group, well_if(!s.guard_open), {{"lag", committed}, {"effective", s.effective_lag}, {"parked", s.parked}});
}

DlqFacts add_workers(Components& components, const Services& services, const Alive& alive) {
  DlqFacts dlqs;
  Components lag;
  json::array missing;
  std::size_t expected = 0;
  for (const auto& worker : services.workers()) {
    ++expected;
    const std::string& name = worker->spec().name;
    const auto s = worker->status();
    const bool runs = s && (s->state == WorkerState::kRunning || s->state == WorkerState::kPaused);
    if (!runs || (alive && !alive->contains(name))) missing.push_back(json::string(name));
    if (!s) continue;
    add_lag(lag, *s);
    dlqs.pending += s->dlq_pending;
    dlqs.refusing.insert(s->refusing_dlqs.begin(), s->refusing_dlqs.end());
  }
  components.add_all("lag", std::move(lag));
  const std::size_t reporting = expected - missing.size();
  components.add("workers", well_if(reporting == expected),
                 {{"expected", expected}, {"reporting", reporting}, {"missing", std::move(missing)}});
  return dlqs;
}

// DOWN only where this process cannot do its work: a broker that does not answer or takes no writes, or an office with
// such a store. Everything else only makes it worse, open letters too.
Response health(const Services& services) {
  Components components;
  const Result<void> broker = services.broker->writable();
  components.add("broker", broker ? Well::kUp : Well::kDown, broker ? json::object() : because(broker.error().message));
  const Alive alive = add_counters(components, services);
  const DlqFacts dlqs = add_workers(components, services, alive);
  const StoreLook store = services.store_check != nullptr ? services.store_check->ask() : StoreLook();
  add_dlq(components, dlqs, services, store);
  if (services.store_check != nullptr) add_store(components, store);
  add_sinks(components, services);
  json::object body{{"status", name(components.worst)}, {"components", std::move(components.all)}};
  return json_response(body, components.worst == Well::kDown ? 503 : 200);
}

}  // namespace

void add_health_routes(Router& router, const Services& services) {
  const Alternative down{503, "It is not: the broker, or the office's store, does not answer or takes no writes",
                         kHealth};
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
