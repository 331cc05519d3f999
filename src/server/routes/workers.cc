// Workers: how they are, what is parked, why something stands still, and orders of people.
#include <charconv>

#include "codec/lane.h"
#include "codec/time_text.h"
#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::size_t kMostParked = 500;

Response unknown_worker(const std::string& name) { return problem(ProblemType::kNotFound, "no worker " + name); }

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc() || end != text.data() + text.size() || n < 0) return std::nullopt;
  return n;
}

json::object worker_json(const WorkerStatus& s, const Worker& worker) {
  json::array partitions;
  for (const PartitionStatus& p : s.partitions)
    partitions.push_back(json::object{{"topic", p.tp.topic},
                                      {"partition", p.tp.partition.v},
                                      {"state", p.state},
                                      {"committed", p.committed.v},
                                      {"frontier", p.frontier.v},
                                      {"end", p.log_end.v},
                                      {"parked", p.parked},
                                      {"held", p.held}});
  json::array topics;
  for (const std::string& t : worker.spec().topics) topics.push_back(json::string(t));
  return json::object{
      {"name", s.name},
      {"group", s.group},
      {"topics", std::move(topics)},
      {"state", name(s.state)},
      {"trouble", s.trouble.empty() ? json::value(nullptr) : json::value(s.trouble)},
      {"instances", json::array{json::object{{"id", s.instance},
                                             {"status", s.state == WorkerState::kPaused     ? "PAUSED"
                                                        : s.state == WorkerState::kStopping ? "SHUTTING_DOWN"
                                                                                            : "RUNNING"},
                                             {"last_message_at", json_time(s.last_message_at)},
                                             {"consumer_lag", s.lag}}}},
      {"running", s.running},
      {"parked", s.parked},
      {"held", s.held},
      {"lag", s.lag},
      {"guard_open", s.guard_open},
      {"partitions", std::move(partitions)}};
}

Response list_workers(const Services& services) {
  json::array items;
  for (const auto& worker : services.workers()) {
    const auto status = worker->status();
    if (status)
      items.push_back(worker_json(*status, *worker));
    else
      items.push_back(
          json::object{{"name", worker->spec().name}, {"state", "unreachable"}, {"trouble", status.error().message}});
  }
  const std::size_t count = items.size();
  return json_response(json::object{
      {"items", std::move(items)}, {"next", nullptr}, {"count", json::object{{"value", count}, {"exact", true}}}});
}

Response show_worker(const Services& services, Request& request) {
  const auto worker = services.worker(request.parameter("name"));
  if (!worker) return unknown_worker(request.parameter("name"));
  const auto status = worker->status();
  if (!status) return problem(ProblemType::kInstanceUnreachable, status.error().message);
  return json_response(worker_json(*status, *worker));
}

json::object parked_json(const ParkedMessage& m) {
  return json::object{{"topic", m.tp.topic},
                      {"partition", m.tp.partition.v},
                      {"offset", m.waiting.offset.v},
                      {"key", json_bytes(m.key)},
                      {"timestamp", json_time(m.waiting.timestamp)},
                      {"state", m.waiting.due ? "parked" : "kept"},
                      {"attempts", m.waiting.attempts},
                      {"max_attempts", m.waiting.max_attempts},
                      {"due", json_time(m.waiting.due)},
                      {"first_failure_at", json_time(m.waiting.first_failure)},
                      {"last_failure_at", json_time(m.waiting.last_failure)},
                      {"error", json::object{{"kind", name(m.waiting.kind)},
                                             {"type", m.error.type},
                                             {"message", m.error.message},
                                             {"stack", m.error.stack}}}};
}

Response list_parked(const Services& services, Request& request) {
  const auto worker = services.worker(request.parameter("name"));
  if (!worker) return unknown_worker(request.parameter("name"));
  std::size_t limit = 50;
  if (const auto text = request.query_value("limit")) {
    const auto n = number_of(*text);
    if (!n || *n < 1 || *n > static_cast<std::int64_t>(kMostParked))
      return problem(ProblemType::kInvalidQuery, "limit is a number from 1 to 500");
    limit = static_cast<std::size_t>(*n);
  }
  ParkedFilter filter;
  if (const auto kind = request.query_value("kind")) {
    filter.kind = kind_named(*kind);
    if (!filter.kind) return problem(ProblemType::kInvalidQuery, "no failure kind " + std::string(*kind));
  }
  const auto status = worker->status();
  const auto parked = worker->parked(filter, limit);
  if (!parked) return problem(ProblemType::kInstanceUnreachable, parked.error().message);
  json::array items;
  for (const ParkedMessage& m : *parked) items.push_back(parked_json(m));
  const bool whole = parked->size() < limit;
  const std::size_t total = whole || !status || filter.kind ? parked->size() : status->parked;
  return json_response(json::object{{"items", std::move(items)},
                                    {"next", nullptr},
                                    {"count", json::object{{"value", total}, {"exact", whole || !filter.kind}}}});
}

// {"partition","offset"} or {"kind"} or {"all":true}; `topic` where the worker has several.
Response order_parked(const Services& services, Request& request, ParkedOrder::What what) {
  const auto worker = services.worker(request.parameter("name"));
  if (!worker) return unknown_worker(request.parameter("name"));
  const auto body = read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  const auto topic = fields.text("topic", 249);
  const auto partition = fields.integer("partition", 0, INT32_MAX);
  const auto offset = fields.integer("offset", 0, INT64_MAX - 1);
  const auto kind = fields.text("kind", 20);
  const auto all = fields.truth("all");
  if (const auto mistakes = fields.mistakes()) return *mistakes;
  const int said = (partition || offset ? 1 : 0) + (kind ? 1 : 0) + (all.value_or(false) ? 1 : 0);
  if (said != 1 || partition.has_value() != offset.has_value())
    return problem(ProblemType::kInvalid,
                   "say which: {\"partition\":0,\"offset\":12}, {\"kind\":\"timeout\"} or {\"all\":true}");
  ParkedFilter filter;
  if (kind) {
    filter.kind = kind_named(*kind);
    if (!filter.kind) return problem(ProblemType::kInvalid, "no failure kind " + *kind, {{"/kind", "unknown"}});
  }
  if (offset) {
    filter.offset = Offset(*offset);
    filter.tp =
        TopicPartition{topic.value_or(worker->spec().topics.front()), Partition(static_cast<std::int32_t>(*partition))};
  }
  const auto meant = worker->order(what, filter);
  if (!meant) return problem(ProblemType::kInstanceUnreachable, meant.error().message);
  if (offset && *meant == 0)
    return problem(ProblemType::kNotFound, "no parked message at " + std::to_string(*partition) + ":" +
                                               std::to_string(*offset) + " of worker " + worker->spec().name);
  return json_response(json::object{{"messages", *meant}});
}

Response pause_worker(const Services& services, Request& request, bool paused) {
  const auto worker = services.worker(request.parameter("name"));
  if (!worker) return unknown_worker(request.parameter("name"));
  if (const auto done = worker->pause(paused); !done)
    return problem(ProblemType::kInstanceUnreachable, done.error().message);
  return json_response(json::object{{"name", worker->spec().name}, {"state", paused ? "paused" : "running"}});
}

json::object explanation_json(const Worker::Answer& a, Timestamp now) {
  json::array pins;
  for (const Pin& pin : a.explanation.pinned_by) {
    json::object p{
        {"offset", pin.offset.v}, {"state", pin.state}, {"attempts", pin.attempts}, {"max_attempts", pin.max_attempts}};
    p["due"] = pin.due_in ? json_time(now + *pin.due_in) : json::value(nullptr);
    pins.push_back(std::move(p));
  }
  return json::object{{"topic", a.tp.topic},
                      {"partition", a.tp.partition.v},
                      {"answer", a.explanation.answer},
                      {"pinned_by", std::move(pins)},
                      {"committed", a.explanation.committed.v},
                      {"high", a.explanation.high.v},
                      {"frontier", a.explanation.frontier.v}};
}

Response explain_worker(const Services& services, Request& request) {
  const auto name = request.query_value("worker");
  if (!name) return problem(ProblemType::kInvalidQuery, "say which worker: ?worker=…", {{"worker", "missing"}});
  const auto worker = services.worker(std::string(*name));
  if (!worker) return unknown_worker(std::string(*name));
  std::optional<Partition> partition;
  std::optional<Offset> offset;
  if (const auto text = request.query_value("partition")) {
    const auto n = number_of(*text);
    if (!n || *n > INT32_MAX) return problem(ProblemType::kInvalidQuery, "partition is a number");
    partition = Partition(static_cast<std::int32_t>(*n));
  }
  if (const auto text = request.query_value("offset")) {
    const auto n = number_of(*text);
    if (!n || !partition) return problem(ProblemType::kInvalidQuery, "offset is a number, and wants a partition");
    offset = Offset(*n);
  }
  const auto answers = worker->explain(partition, offset);
  if (!answers) return problem(ProblemType::kInstanceUnreachable, answers.error().message);
  const auto status = worker->status();
  const Timestamp now = services.clock->now().wall;
  json::array list;
  for (const Worker::Answer& a : *answers) list.push_back(explanation_json(a, now));
  if (list.empty() && partition)
    return problem(ProblemType::kNotFound, "worker " + worker->spec().name + " does not have partition " +
                                               std::to_string(partition->v) + " here");
  json::object body;
  if (list.size() == 1)
    body = list.front().as_object();
  else
    body["answer"] =
        list.empty() && status && !status->trouble.empty()
            ? json::value("worker " + worker->spec().name + " does not run: " + status->trouble)
            : json::value("worker " + worker->spec().name + " has " + std::to_string(list.size()) + " partitions here");
  body["worker"] = worker->spec().name;
  body["partitions"] = std::move(list);
  body["as_of"] = json_time(now);
  body["source"] = "instance";
  return json_response(body);
}

}  // namespace

void add_worker_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/workers", "The workers of this process",
             [&services](Request&) { return list_workers(services); });
  router.add("GET", "/api/v1/workers/{name}", "One worker, its instances and partitions",
             [&services](Request& request) { return show_worker(services, request); });
  router.add("POST", "/api/v1/workers/{name}:pause", "Start no new attempts",
             [&services](Request& request) { return pause_worker(services, request, true); });
  router.add("POST", "/api/v1/workers/{name}:resume", "Go on",
             [&services](Request& request) { return pause_worker(services, request, false); });
  router.add("GET", "/api/v1/workers/{name}/parked", "Messages that wait for their next attempt",
             [&services](Request& request) { return list_parked(services, request); });
  router.add("POST", "/api/v1/workers/{name}/parked:run-now", "Run parked messages now",
             [&services](Request& request) { return order_parked(services, request, ParkedOrder::What::kRunNow); });
  router.add("POST", "/api/v1/workers/{name}/parked:give-up", "Make parked messages dead letters now",
             [&services](Request& request) { return order_parked(services, request, ParkedOrder::What::kGiveUp); });
  router.add("GET", "/api/v1/explain", "Why something stands still, in words",
             [&services](Request& request) { return explain_worker(services, request); });
}

}  // namespace bartleby
