// Health in the format of Spring's actuator, and metrics in Prometheus' text format.
#include <array>
#include <charconv>

#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

// DOWN only where this process cannot do its work at all: a broker that does not answer, a worker that has stopped.
Response health(const Services& services) {
  json::object components;
  bool down = false;
  bool degraded = false;
  const auto topics = services.broker->topics();
  components["broker"] =
      topics ? json::object{{"status", "UP"}}
             : json::object{{"status", "DOWN"}, {"details", json::object{{"error", topics.error().message}}}};
  down = !topics;
  json::object lag;
  json::array missing;
  std::size_t expected = 0;
  std::size_t reporting = 0;
  for (const auto& worker : services.workers()) {
    ++expected;
    const auto s = worker->status();
    const bool well = s && (s->state == WorkerState::kRunning || s->state == WorkerState::kPaused);
    if (well)
      ++reporting;
    else
      missing.push_back(json::string(worker->spec().name));
    if (!s) continue;
    degraded = degraded || s->guard_open;
    lag[s->group] = json::object{{"status", s->guard_open ? "DEGRADED" : "UP"},
                                 {"details", json::object{{"effective", s->lag}, {"parked", s->parked}}}};
  }
  components["lag"] = json::object{{"status", "UP"}, {"components", std::move(lag)}};
  degraded = degraded || !missing.empty();
  components["workers"] = json::object{
      {"status", missing.empty() ? "UP" : "DEGRADED"},
      {"details", json::object{{"expected", expected}, {"reporting", reporting}, {"missing", std::move(missing)}}}};
  json::object body{{"status", down ? "DOWN" : degraded ? "DEGRADED" : "UP"}};
  body["components"] = std::move(components);
  return json_response(body, down ? 503 : 200);
}

std::string escaped_label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

// The exposition format is a handful of rules; each family once, with its help and type.
class Exposition {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " + std::string(type) + "\n";
  }
  void sample(const std::vector<std::pair<std::string_view, std::string>>& labels, double value,
              std::string_view suffix = "") {
    text_ += name_;
    text_ += suffix;
    char mark = '{';
    for (const auto& [label, content] : labels) {
      text_ += mark;
      text_ += std::string(label) + "=\"" + escaped_label(content) + "\"";
      mark = ',';
    }
    if (mark == ',') text_ += '}';
    std::array<char, 32> number{};
    const auto end = std::to_chars(number.data(), number.data() + number.size(), value).ptr;
    text_ += ' ';
    text_.append(number.data(), end);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

double number(const std::atomic<std::uint64_t>& n) { return static_cast<double>(n.load()); }

Response metrics(const Services& services) {
  constexpr std::array<std::string_view, 5> kOutcomes = {"done", "skip", "retry", "reject", "logical_failure"};
  struct Seen {
    std::shared_ptr<Worker> worker;
    Result<WorkerStatus> status;
  };
  std::vector<Seen> seen;
  for (auto& worker : services.workers()) seen.push_back({worker, worker->status()});
  Exposition out;
  out.family("bartleby_build_info", "gauge", "The version that runs");
  out.sample({{"version", services.version}}, 1);
  out.family("bartleby_attempts_total", "counter", "Attempts that ended, by outcome");
  for (const Seen& s : seen)
    for (std::size_t i = 0; i < kOutcomes.size(); ++i)
      out.sample({{"worker", s.worker->spec().name}, {"outcome", std::string(kOutcomes[i])}},
                 number(s.worker->attempts().by_fate[i]));
  out.family("bartleby_attempt_seconds", "histogram", "How long attempts took");
  for (const Seen& s : seen) {
    const AttemptCounters& c = s.worker->attempts();
    double total = 0;
    for (std::size_t i = 0; i < c.buckets.size(); ++i) {
      total += number(c.buckets[i]);
      std::array<char, 16> bound{};
      const std::string le =
          i < AttemptCounters::kSeconds.size()
              ? std::string(bound.data(),
                            std::to_chars(bound.data(), bound.data() + bound.size(), AttemptCounters::kSeconds[i]).ptr)
              : "+Inf";
      out.sample({{"worker", s.worker->spec().name}, {"le", le}}, total, "_bucket");
    }
    out.sample({{"worker", s.worker->spec().name}}, number(c.total_us) / 1e6, "_sum");
    out.sample({{"worker", s.worker->spec().name}}, total, "_count");
  }
  const auto gauge = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, "gauge", help);
    for (const Seen& s : seen)
      if (s.status) out.sample({{"worker", s.worker->spec().name}}, static_cast<double>(value(*s.status)));
  };
  gauge("bartleby_running", "Attempts that run now", [](const WorkerStatus& s) { return s.running; });
  gauge("bartleby_parked", "Messages that wait for their next attempt", [](const WorkerStatus& s) { return s.parked; });
  gauge("bartleby_held", "Messages in memory behind a parked one of their key",
        [](const WorkerStatus& s) { return s.held; });
  gauge("bartleby_guard_open", "1 while the outage guard is open",
        [](const WorkerStatus& s) { return s.guard_open ? 1 : 0; });
  out.family("bartleby_consumer_effective_lag", "gauge", "Messages that could run now and have not");
  for (const Seen& s : seen)
    if (s.status)
      for (const std::string& topic : s.worker->spec().topics) {
        std::int64_t lag = 0;
        for (const PartitionStatus& p : s.status->partitions)
          if (p.tp.topic == topic)
            lag += std::max<std::int64_t>(0, p.log_end.v - p.frontier.v) +
                   std::max<std::int64_t>(
                       0, static_cast<std::int64_t>(p.in_memory) - static_cast<std::int64_t>(p.parked + p.held));
        out.sample({{"group", s.status->group}, {"topic", topic}}, static_cast<double>(lag));
      }
  out.family("kafka_consumer_lag", "gauge", "Messages after the committed offset");
  for (const Seen& s : seen)
    if (s.status)
      for (const std::string& topic : s.worker->spec().topics) {
        std::int64_t lag = 0;
        for (const PartitionStatus& p : s.status->partitions)
          if (p.tp.topic == topic) lag += std::max<std::int64_t>(0, p.log_end.v - p.committed.v);
        out.sample({{"group", s.status->group}, {"topic", topic}}, static_cast<double>(lag));
      }
  out.family("bartleby_offset_resets_total", "counter", "Positions that did not exist any more");
  for (const Seen& s : seen)
    out.sample({{"worker", s.worker->spec().name}}, static_cast<double>(s.worker->alarms(AlarmType::kOffsetReset)));
  out.family("bartleby_crash_suspects_total", "counter", "Messages given up because they killed the process");
  for (const Seen& s : seen)
    out.sample({{"worker", s.worker->spec().name}}, static_cast<double>(s.worker->alarms(AlarmType::kCrashPoison)));
  Response r;
  r.content_type = "text/plain; version=0.0.4; charset=utf-8";
  r.body = out.take();
  return r;
}

}  // namespace

void add_health_routes(Router& router, const Services& services) {
  router.add("GET", "/actuator/health", "Whether everything is well",
             [&services](Request&) { return health(services); });
  router.add("GET", "/actuator/health/liveness", "Whether this process is alive; looks at nothing outside it",
             [](Request&) { return json_response(json::object{{"status", "UP"}}); });
  router.add("GET", "/actuator/health/readiness", "Whether this process can be sent work",
             [&services](Request&) { return health(services); });
  for (const char* path : {"/metrics", "/actuator/prometheus"})
    router.add("GET", path, "Metrics in Prometheus' text format", [&services](Request&) { return metrics(services); });
}

void add_openapi_route(Router& router, const Services& services) {
  router.add("GET", "/openapi.json", "This document", [&router, &services](Request&) {
    json::object paths;
    for (const Route& route : router.routes()) {
      json::object operation{{"summary", route.summary}};
      json::array parameters;
      for (std::size_t at = route.pattern.find('{'); at != std::string::npos; at = route.pattern.find('{', at + 1))
        parameters.push_back(json::object{{"name", route.pattern.substr(at + 1, route.pattern.find('}', at) - at - 1)},
                                          {"in", "path"},
                                          {"required", true},
                                          {"schema", json::object{{"type", "string"}}}});
      if (!parameters.empty()) operation["parameters"] = std::move(parameters);
      operation["responses"] = json::object{{"2XX", json::object{{"description", "done"}}},
                                            {"4XX", json::object{{"description", "a problem document (RFC 9457)"}}}};
      std::string method = route.method;
      for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
      if (!paths.contains(route.pattern)) paths[route.pattern] = json::object{};
      paths[route.pattern].as_object()[method] = std::move(operation);
    }
    return json_response(json::object{{"openapi", "3.1.0"},
                                      {"info", json::object{{"title", "Bartleby"}, {"version", services.version}}},
                                      {"paths", std::move(paths)}});
  });
}

void add_all_routes(Router& router, const Services& services) {
  add_topic_routes(router, services);
  add_worker_routes(router, services);
  add_attempt_routes(router, services);
  add_health_routes(router, services);
  add_openapi_route(router, services);
}

}  // namespace bartleby
