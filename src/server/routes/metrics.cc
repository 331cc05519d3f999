// Metrics in Prometheus' text format: what this process has counted, and the state that offices show for all.
#include <algorithm>
#include <array>
#include <map>

#include "codec/heartbeat.h"
#include "server/access.h"
#include "server/metrics_text.h"
#include "server/routes/family_metrics.h"
#include "server/routes/office_metrics.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::array<std::string_view, WorkerFigures::kFates> kOutcomes = {"done", "skip", "retry", "reject",
                                                                           "logical_failure"};
constexpr std::array<std::string_view, 4> kStates = {"ok", "lagging", "stalled", "stopped"};

struct Seen {
  std::shared_ptr<Worker> worker;
  Result<WorkerStatus> status;

  const std::string& name() const { return worker->spec().name; }
};

double seconds(Timestamp at) { return static_cast<double>(ms(at)) / 1000; }
double number(const std::atomic<std::uint64_t>& n) { return static_cast<double>(n.load(std::memory_order_relaxed)); }

// A partition that nobody may start stands still until somebody does something; one that changes hands does not.
std::string_view state_of(const PartitionStatus& p) {
  if (p.state == "refused") return "stalled";
  if (p.state != "running") return "stopped";
  return p.effective_lag > 0 ? "lagging" : "ok";
}

void heartbeats(MetricsText& out, const Services& services) {
  struct Beat {
    MetricsText::Labels labels;
    HeartbeatFacts facts;
  };
  std::vector<Beat> beats;
  if (const auto all = services.counters->heartbeats())  // one that is away has said so at once
    for (const Heartbeat& h : *all)
      if (const auto facts = heartbeat_from_text(h.text))
        beats.push_back({{{"worker", h.type}, {"instance_id", h.instance}}, *facts});
  out.family("worker_heartbeat_timestamp", "gauge", "When the instance last said that it lives");
  for (const Beat& b : beats) out.sample(b.labels, seconds(b.facts.timestamp));
  out.family("worker_last_message_timestamp", "gauge", "When its last attempt ended; before the first, its start");
  for (const Beat& b : beats)
    if (const auto at = b.facts.last_message_at ? b.facts.last_message_at : b.facts.started_at)
      out.sample(b.labels, seconds(*at));
  out.family("worker_consumer_lag", "gauge", "Messages that could run now at this instance and have not");
  for (const Beat& b : beats) out.sample(b.labels, static_cast<double>(b.facts.consumer_lag));
}

void lag(MetricsText& out, const std::vector<Seen>& seen) {
  struct Lag {
    std::int64_t committed = 0, effective = 0;
    std::array<std::size_t, kStates.size()> states{};
  };
  std::map<std::pair<std::string, std::string>, Lag> lags;  // by group and topic
  for (const Seen& s : seen) {
    for (const std::string& topic : s.worker->spec().topics) lags[{s.worker->spec().group, topic}];
    if (!s.status) continue;
    for (const PartitionStatus& p : s.status->partitions) {
      Lag& l = lags[{s.status->group, p.tp.topic}];
      l.committed += p.lag;
      l.effective += p.effective_lag;
      ++l.states[static_cast<std::size_t>(std::ranges::find(kStates, state_of(p)) - kStates.begin())];
    }
  }
  const auto each = [&](std::string_view name, std::string_view help, std::int64_t Lag::* value) {
    out.family(name, "gauge", help);
    for (const auto& [at, l] : lags)
      out.sample({{"group", at.first}, {"topic", at.second}}, static_cast<double>(l.*value));
  };
  each("kafka_consumer_lag", "Messages after the committed offset", &Lag::committed);
  each("bartleby_consumer_effective_lag", "Messages that could run now and have not", &Lag::effective);
  out.family("bartleby_partition_state", "gauge", "How many partitions are in this state");
  for (const auto& [at, l] : lags)
    for (std::size_t i = 0; i < kStates.size(); ++i)
      out.sample({{"group", at.first}, {"topic", at.second}, {"state", std::string(kStates[i])}},
                 static_cast<double>(l.states[i]));
}

void attempts(MetricsText& out, const std::vector<Seen>& seen) {
  out.family("bartleby_attempts_total", "counter", "Attempts that ended, by outcome");
  for (const Seen& s : seen)
    for (std::size_t i = 0; i < kOutcomes.size(); ++i)
      out.sample({{"worker", s.name()}, {"outcome", std::string(kOutcomes[i])}},
                 number(s.worker->figures().by_fate[i]));
  out.family("worker_retry_count_total", "counter", "Attempts that asked for another one, by error type");
  for (const Seen& s : seen)
    for (const auto& [error, n] : s.worker->figures().retries.all())
      out.sample({{"worker", s.name()}, {"error", error}}, static_cast<double>(n));
  std::map<std::string, double> letters;  // workers may share a dead letter topic
  for (const Seen& s : seen)
    for (const auto& [topic, n] : s.worker->figures().letters) letters[topic] += number(n);
  out.family("worker_dlq_messages_total", "counter", "Letters written");
  for (const auto& [topic, n] : letters) out.sample({{"topic", topic}}, n);
  const auto each = [&](std::string_view name, std::string_view help, Histogram WorkerFigures::* histogram) {
    out.family(name, "histogram", help);
    for (const Seen& s : seen) out.histogram({{"worker", s.name()}}, (s.worker->figures().*histogram).read());
  };
  each("bartleby_attempt_seconds", "How long attempts took", &WorkerFigures::attempt_time);
  each("bartleby_timer_lateness_seconds", "From the time an attempt was due to its start",
       &WorkerFigures::timer_lateness);
  each("bartleby_commit_seconds", "From a write to its answer", &WorkerFigures::commit_time);
}

void workers(MetricsText& out, const std::vector<Seen>& seen) {
  const auto gauge = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, "gauge", help);
    for (const Seen& s : seen)
      if (s.status) out.sample({{"worker", s.name()}}, static_cast<double>(value(*s.status)));
  };
  gauge("bartleby_running", "Attempts that run now", [](const WorkerStatus& s) { return s.running; });
  gauge("bartleby_parked", "Messages that wait for their next attempt", [](const WorkerStatus& s) { return s.parked; });
  gauge("bartleby_kept", "Exhausted messages that wait for people (dead_letter.enabled: false)",
        [](const WorkerStatus& s) { return s.kept; });
  gauge("bartleby_intake_stopped", "Partitions that read nothing new because of a limit",
        [](const WorkerStatus& s) { return s.intakes_stopped; });
  gauge("bartleby_held", "Messages in memory behind a parked one of their key",
        [](const WorkerStatus& s) { return s.held; });
  gauge("bartleby_held_keys", "Keys with messages behind a parked one",
        [](const WorkerStatus& s) { return s.held_keys; });
  gauge("bartleby_guard_open", "1 while the outage guard is open",
        [](const WorkerStatus& s) { return s.guard_open ? 1 : 0; });
  gauge("bartleby_dlq_pending", "Letters that are not written yet",
        [](const WorkerStatus& s) { return s.dlq_pending; });
  gauge("bartleby_metadata_bytes_max", "The longest commit metadata of a partition; 4096 is the limit",
        [](const WorkerStatus& s) { return s.metadata_bytes_max; });
  const auto counter = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, "counter", help);
    for (const Seen& s : seen) out.sample({{"worker", s.name()}}, static_cast<double>(value(*s.worker)));
  };
  counter("bartleby_crash_suspects_total", "Attempts run alone, because a process has died of their message",
          [](const Worker& w) { return w.figures().suspects.load(); });
  counter("bartleby_stale_replies_total", "Answers that came when their partition was gone",
          [](const Worker& w) { return w.figures().stale_replies.load(); });
  counter("bartleby_offset_resets_total", "Positions that did not exist any more, or were gone themselves",
          [](const Worker& w) { return w.alarms(AlarmType::kOffsetReset) + w.alarms(AlarmType::kTopicMadeAnew); });
  counter("bartleby_lost_by_retention_total", "Times that a topic had deleted waiting messages",
          [](const Worker& w) { return w.alarms(AlarmType::kLostByRetention); });
  counter("bartleby_exhausted_kept_total", "Exhausted messages that stay parked (dead_letter.enabled: false)",
          [](const Worker& w) { return w.alarms(AlarmType::kExhaustedKept); });
  counter("bartleby_crash_loops_total", "Partitions taken over for the third time without getting on",
          [](const Worker& w) { return w.alarms(AlarmType::kCrashLoop); });
  counter("bartleby_dropped_total", "Exhausted messages lost on purpose (dead_letter.drop)",
          [](const Worker& w) { return w.figures().dropped.load(); });
}

void counters(MetricsText& out, const Services& services, const std::vector<Seen>& seen) {
  out.family("bartleby_counters_up", "gauge", "1 while the cache of heartbeats and retry counters answers");
  out.sample({}, services.counters->reachable() ? 1 : 0);
  std::vector<std::pair<std::string, std::shared_ptr<RetryCounter>>> theirs;
  for (const Seen& s : seen)
    if (auto counter = services.counter(s.name())) theirs.emplace_back(s.name(), std::move(counter));
  out.family("bartleby_counter_updates_total", "counter",
             "Reads and changes of retry counters, by what became of them");
  for (const auto& [worker, counter] : theirs)
    for (std::size_t i = 0; i < RetryCounter::kResultNames.size(); ++i)
      out.sample({{"worker", worker}, {"result", std::string(RetryCounter::kResultNames[i])}},
                 static_cast<double>(counter->results(static_cast<RetryCounter::Result>(i))));
  out.family("bartleby_counter_differs_total", "counter",
             "Retry counters that were not what the engine has counted: the cache lost them, or others wrote");
  for (const auto& [worker, counter] : theirs)
    out.sample({{"worker", worker}}, static_cast<double>(counter->differed()));
}

void requests(MetricsText& out, const Router& router) {
  struct Answered {
    std::map<int, double> codes;
    std::vector<Histogram::Reading> times;
  };
  std::map<std::string, Answered> routes;  // a pattern may have several methods
  const auto add = [&](const std::string& name, const RouteFigures& figures, int expected) {
    Answered& a = routes[name];
    a.codes[expected] += 0;
    for (std::size_t i = 0; i < figures.by_code.size(); ++i)
      if (const double n = number(figures.by_code[i]); n > 0)
        a.codes[RouteFigures::kFirstCode + static_cast<int>(i)] += n;
    a.times.push_back(figures.time.read());
  };
  for (const Route& route : router.routes()) add(route.pattern, *route.figures, route.docs.success);
  add("other", router.unrouted(), 404);
  out.family("bartleby_http_requests_total", "counter", "Requests answered, by route and status");
  for (const auto& [route, answered] : routes)
    for (const auto& [code, n] : answered.codes) out.sample({{"route", route}, {"code", std::to_string(code)}}, n);
  out.family("bartleby_http_request_seconds", "histogram", "From a request to its answer");
  for (const auto& [route, answered] : routes) {
    Histogram::Reading all;
    for (const Histogram::Reading& r : answered.times) {
      for (std::size_t i = 0; i < all.buckets.size(); ++i) all.buckets[i] += r.buckets[i];
      all.sum += r.sum;
    }
    out.histogram({{"route", route}}, all);
  }
}

Response metrics(const Router& router, const Services& services) {
  std::vector<Seen> seen;
  for (auto& worker : services.workers()) seen.push_back({worker, worker->status()});
  MetricsText out;
  out.family("bartleby_build_info", "gauge", "The version that runs");
  out.sample({{"version", services.version}}, 1);
  if (services.office) {
    heartbeats(out, services);
    lag(out, seen);
  }
  if (services.store != nullptr) office_metrics(out, services);
  out.family("bartleby_auth_failures_total", "counter", "Requests refused because of who asked, by reason");
  for (std::size_t i = 0; i < kAuthFailureNames.size(); ++i)
    out.sample({{"reason", std::string(kAuthFailureNames[i])}},
               static_cast<double>(services.access->failures(static_cast<AuthFailure>(i))));
  attempts(out, seen);
  workers(out, seen);
  counters(out, services, seen);
  family_metrics(out, services);
  requests(out, router);
  Response r;
  r.content_type = "text/plain; version=0.0.4; charset=utf-8";
  r.body = out.take();
  return r;
}

}  // namespace

void add_metrics_routes(Router& router, const Services& services) {
  for (const char* path : {"/metrics", "/actuator/prometheus"})
    router.add("GET", path,
               {.access = Access::listed(),
                .summary = "Metrics in Prometheus' text format",
                .answer_type = "text/plain",
                .answer = R"({"type": "string"})"},
               [&router, &services](Request&) { return metrics(router, services); });
}

}  // namespace bartleby
