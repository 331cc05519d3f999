// Workers: how they are, what is parked, and orders of people.
#include <thread>

#include "codec/heartbeat.h"
#include "office/audit.h"
#include "server/json.h"
#include "server/office_json.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::chrono::seconds kLettersWithin{2};  // a dlq that takes none must not hold up the answer
constexpr std::chrono::milliseconds kLookForLetters{5};

constexpr std::string_view kWorker = R"({"type": "object", "required": ["name", "state"],
  "additionalProperties": false, "properties": {
    "name": {"type": "string"}, "group": {"type": "string"}, "topics": {"type": "array", "items": {"type": "string"}},
    "state": {"enum": ["starting", "running", "paused", "stopping", "stopped", "unreachable"]},
    "trouble": {"type": ["string", "null"], "description": "why it does not run"},
    "instances": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "required": ["id", "timestamp", "status", "last_message_at", "consumer_lag"], "properties": {
        "id": {"type": "string"}, "timestamp": {"$ref": "#/components/schemas/Time"},
        "status": {"enum": ["RUNNING", "PAUSED", "SHUTTING_DOWN"]},
        "last_message_at": {"type": ["string", "null"]}, "consumer_lag": {"type": "integer"},
        "started_at": {"type": ["string", "null"]}, "version": {"type": "string"}, "advertise": {"type": "string"},
        "partitions": {"type": "integer"}, "parked": {"type": "integer"}, "pinned": {"type": "boolean"}}}},
    "running": {"type": "integer"}, "parked": {"type": "integer"}, "held": {"type": "integer"},
    "lag": {"type": "integer", "description": "effective"}, "last_message_at": {"type": ["string", "null"]},
    "guard_open": {"type": "boolean"},
    "partitions": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "required": ["topic", "partition", "state", "committed", "frontier", "end"], "properties": {
        "topic": {"type": "string"}, "partition": {"type": "integer"}, "state": {"type": "string"},
        "committed": {"type": "integer"}, "frontier": {"type": "integer"}, "end": {"type": "integer"},
        "parked": {"type": "integer"}, "held": {"type": "integer"}}}}}})";
constexpr std::string_view kWorkers = R"({"type": "object", "required": ["items", "next", "count"],
  "additionalProperties": false, "properties": {"items": {"type": "array", "items": {"type": "object",
    "required": ["name", "state"]}}, "next": {"type": "null"}, "count": {"$ref": "#/components/schemas/Count"}}})";
constexpr std::string_view kPaused = R"({"type": "object", "required": ["name", "state"],
  "additionalProperties": false,
  "properties": {"name": {"type": "string"}, "state": {"enum": ["paused", "running"]}}})";
constexpr std::string_view kParkedList = "parked";
constexpr std::string_view kParked = R"({"type": "object", "required": ["items", "next", "count"],
  "additionalProperties": false, "properties": {"next": {"type": ["string", "null"]},
    "count": {"$ref": "#/components/schemas/Count"},
    "items": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "required": ["topic", "partition", "offset", "state", "attempts", "error"], "properties": {
        "topic": {"type": "string"}, "partition": {"type": "integer"}, "offset": {"type": "integer"},
        "key": {"$ref": "#/components/schemas/Bytes"}, "timestamp": {"$ref": "#/components/schemas/Time"},
        "state": {"enum": ["parked", "kept"]}, "attempts": {"type": "integer"}, "max_attempts": {"type": "integer"},
        "due": {"type": ["string", "null"]}, "first_failure_at": {"type": ["string", "null"]},
        "last_failure_at": {"type": ["string", "null"]}, "error": {"$ref": "#/components/schemas/Error"}}}}}})";
constexpr std::string_view kOrder = R"({"type": "object", "additionalProperties": false,
  "description": "Which: partition and offset, or kind, or all", "properties": {"topic": {"type": "string"},
    "partition": {"type": "integer"}, "offset": {"type": "integer"}, "kind": {"type": "string"},
    "all": {"type": "boolean"}}})";
constexpr std::string_view kOrdered = R"({"type": "object", "required": ["messages"], "additionalProperties": false,
  "properties": {"messages": {"type": "integer", "description": "how many it meant"}}})";

Response unknown_worker(const std::string& name) { return problem(ProblemType::kNotFound, "no worker " + name); }

// As they say themselves; an instance that has been silent for too long is not there.
json::array instances_json(const Services& services, const std::string& worker) {
  json::array list;
  const auto beats = services.counters->heartbeats(worker);
  if (!beats) return list;
  for (const Heartbeat& beat : *beats)
    if (const auto facts = heartbeat_from_text(beat.text))
      list.push_back(json::object{{"id", beat.instance},
                                  {"timestamp", json_time(facts->timestamp)},
                                  {"status", name(facts->status)},
                                  {"last_message_at", json_time(facts->last_message_at)},
                                  {"consumer_lag", facts->consumer_lag},
                                  {"started_at", json_time(facts->started_at)},
                                  {"version", facts->version},
                                  {"advertise", facts->advertise},
                                  {"partitions", facts->partitions},
                                  {"parked", facts->parked},
                                  {"pinned", facts->pinned}});
  return list;
}

json::object worker_json(const Services& services, const WorkerStatus& s, const Worker& worker) {
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
  return json::object{{"name", s.name},
                      {"group", s.group},
                      {"topics", std::move(topics)},
                      {"state", name(s.state)},
                      {"trouble", s.trouble.empty() ? json::value(nullptr) : json::value(s.trouble)},
                      {"instances", instances_json(services, s.name)},
                      {"running", s.running},
                      {"parked", s.parked},
                      {"held", s.held},
                      {"lag", s.effective_lag},
                      {"last_message_at", json_time(s.last_message_at)},
                      {"guard_open", s.guard_open},
                      {"partitions", std::move(partitions)}};
}

Response list_workers(const Services& services) {
  json::array items;
  for (const auto& worker : services.workers()) {
    const auto status = worker->status();
    if (status)
      items.push_back(worker_json(services, *status, *worker));
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
  return json_response(worker_json(services, *status, *worker));
}

json::object parked_json(const ParkedMessage& m, bool payload) {
  json::object out{{"topic", m.tp.topic},
                   {"partition", m.tp.partition.v},
                   {"offset", m.waiting.offset.v},
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
  if (payload) out["key"] = json_bytes(m.key);
  return out;
}

// topic/partition/offset, the last of the page before; a topic's name has no slash.
std::optional<std::pair<TopicPartition, Offset>> parked_place(std::string_view text) {
  const auto last = text.rfind('/');
  const auto middle = last == std::string_view::npos || last == 0 ? std::string_view::npos : text.rfind('/', last - 1);
  if (middle == std::string_view::npos) return std::nullopt;
  const auto partition = whole_number(text.substr(middle + 1, last - middle - 1));
  const auto offset = whole_number(text.substr(last + 1));
  if (!partition || *partition < 0 || *partition > INT32_MAX || !offset) return std::nullopt;
  const TopicPartition tp{std::string(text.substr(0, middle)), Partition(static_cast<std::int32_t>(*partition))};
  return std::pair(tp, Offset(*offset));
}

std::string place_text(const ParkedMessage& m) {
  return m.tp.topic + "/" + std::to_string(m.tp.partition.v) + "/" + std::to_string(m.waiting.offset.v);
}

Response list_parked(const Services& services, Request& request) {
  const auto worker = services.worker(request.parameter("name"));
  if (!worker) return unknown_worker(request.parameter("name"));
  for (const auto& [name, value] : request.query)
    if (name != "limit" && name != "kind" && name != "cursor")
      return problem(ProblemType::kInvalidQuery, "there are limit, cursor and kind, and no " + name.substr(0, 100),
                     {{name.substr(0, 100), "unknown"}});
  const auto paging = read_paging(request, kParkedList);
  if (!paging) return paging.error();
  ParkedFilter filter;
  if (paging->after) filter.after = parked_place(*paging->after);
  if (paging->after && !filter.after) return bad_cursor();
  if (const auto kind = request.query_value("kind")) {
    filter.kind = kind_named(*kind);
    if (!filter.kind) return problem(ProblemType::kInvalidQuery, "no failure kind " + std::string(*kind));
  }
  const auto status = worker->status();
  const auto parked = worker->parked(filter, paging->limit);
  if (!parked) return problem(ProblemType::kInstanceUnreachable, parked.error().message);
  json::array items;
  for (const ParkedMessage& m : *parked) items.push_back(parked_json(m, request.caller.may(Scope::kPayload)));
  const bool more = parked->size() == paging->limit;
  const bool all_seen = !more && !filter.after;
  const std::size_t total = all_seen || !status || filter.kind ? parked->size() : status->parked;
  return page_response(std::move(items), kParkedList, more ? std::optional(place_text(parked->back())) : std::nullopt,
                       static_cast<std::int64_t>(total), all_seen || (status && !filter.kind));
}

// An order that was carried out, in the audit; where there is none, in a process without an office, nobody writes it.
// It comes second: who stops a worker while the disk is full must not be kept from it.
std::optional<Response> write_order(const Services& services, const Request& request, std::string_view action,
                                    const std::string& worker, const json::object& detail = {}) {
  if (services.store == nullptr) return std::nullopt;
  const Actor actor = actor_of(request, "");
  const auto written = services.store->write([&](Connection& connection) {
    return append_audit(connection, {0, services.clock->now().wall, actor.name, std::string(action), worker, "", "",
                                     actor.reason, actor.request_id, detail.empty() ? "" : json::serialize(detail)});
  });
  if (written) return std::nullopt;
  return store_problem({written.error().code, "it is done, but not in the audit: " + written.error().message});
}

// A letter of a message that was given up is written with the next commit: whoever hears of it shall find it.
void await_letters(Worker& worker) {
  const auto until = std::chrono::steady_clock::now() + kLettersWithin;
  while (std::chrono::steady_clock::now() < until) {
    const auto status = worker.status();
    if (!status || status->dlq_pending == 0) return;
    std::this_thread::sleep_for(kLookForLetters);
  }
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
  const bool gives_up = what == ParkedOrder::What::kGiveUp;
  if (*meant > 0) {
    json::object detail(*body);
    detail["messages"] = *meant;
    if (auto failed =
            write_order(services, request, gives_up ? "give-up-parked" : "run-parked-now", worker->spec().name, detail))
      return *failed;
  }
  if (gives_up && *meant > 0) await_letters(*worker);
  return json_response(json::object{{"messages", *meant}});
}

Response pause_worker(const Services& services, Request& request, bool paused) {
  const auto worker = services.worker(request.parameter("name"));
  if (!worker) return unknown_worker(request.parameter("name"));
  if (const auto done = worker->pause(paused); !done)
    return problem(ProblemType::kInstanceUnreachable, done.error().message);
  services.beat();
  if (auto failed = write_order(services, request, paused ? "pause-worker" : "resume-worker", worker->spec().name))
    return *failed;
  return json_response(json::object{{"name", worker->spec().name}, {"state", paused ? "paused" : "running"}});
}

}  // namespace

void add_worker_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/workers",
             {.access = Scope::kRead, .summary = "The workers of this process", .answer = kWorkers},
             [&services](Request&) { return list_workers(services); });
  router.add("GET", "/api/v1/workers/{name}",
             {.access = Scope::kRead, .summary = "One worker, its instances and partitions", .answer = kWorker},
             [&services](Request& request) { return show_worker(services, request); });
  router.add("POST", "/api/v1/workers/{name}:pause",
             {.access = Scope::kAdmin, .summary = "Start no new attempts", .query = {kWhy}, .answer = kPaused},
             [&services](Request& request) { return pause_worker(services, request, true); });
  router.add("POST", "/api/v1/workers/{name}:resume",
             {.access = Scope::kAdmin, .summary = "Go on", .query = {kWhy}, .answer = kPaused},
             [&services](Request& request) { return pause_worker(services, request, false); });
  router.add("GET", "/api/v1/workers/{name}/parked",
             {.access = Scope::kRead,
              .summary = "Messages that wait for their next attempt",
              .query = {{"limit", "integer", "1 to 500; 50"},
                        {"cursor", "string", "`next` of the page before"},
                        {"kind", "string", "a kind of failure"}},
              .answer = kParked},
             [&services](Request& request) { return list_parked(services, request); });
  router.add("POST", "/api/v1/workers/{name}/parked:run-now",
             {.access = Scope::kReplay,
              .summary = "Run parked messages now",
              .query = {kWhy},
              .body = kOrder,
              .answer = kOrdered},
             [&services](Request& request) { return order_parked(services, request, ParkedOrder::What::kRunNow); });
  router.add("POST", "/api/v1/workers/{name}/parked:give-up",
             {.access = Scope::kDiscard,
              .summary = "Make parked messages dead letters now",
              .query = {kWhy},
              .body = kOrder,
              .answer = kOrdered},
             [&services](Request& request) { return order_parked(services, request, ParkedOrder::What::kGiveUp); });
}

}  // namespace bartleby
