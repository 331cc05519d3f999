// Why something stands still: of a worker, a partition, a message or a key.
#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kExplained = R"({"type": "object", "required": ["answer", "worker", "as_of", "source"],
  "additionalProperties": false, "properties": {
    "answer": {"type": "string"}, "worker": {"type": "string"}, "as_of": {"$ref": "#/components/schemas/Time"},
    "source": {"enum": ["instance", "commit-metadata"]}, "topic": {"type": "string"}, "partition": {"type": "integer"},
    "committed": {"type": "integer"}, "high": {"type": "integer"}, "frontier": {"type": "integer"},
    "pinned_by": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "required": ["offset", "state", "attempt", "due", "error"], "properties": {
        "offset": {"type": "integer"}, "key": {"$ref": "#/components/schemas/Bytes"}, "state": {"type": "string"},
        "attempt": {"type": "integer", "description": "that runs or comes next; the last one, where none comes"},
        "due": {"type": ["string", "null"]},
        "error": {"anyOf": [{"$ref": "#/components/schemas/Error"}, {"type": "null"}]}}}},
    "partitions": {"type": "array", "items": {"type": "object",
      "required": ["topic", "partition", "answer", "pinned_by", "committed", "high", "frontier"]}}}})";

json::object explanation_json(const Worker::Answer& a, Timestamp now, bool payload) {
  json::array pins;
  for (const auto& [pin, key, error] : a.pinned) {
    json::object p{{"offset", pin.offset.v},
                   {"state", pin.state},
                   {"attempt", pin.attempt},
                   {"due", pin.due_in ? json_time(now + *pin.due_in) : json::value(nullptr)},
                   {"error", nullptr}};
    if (payload) p["key"] = json_bytes(key);
    if (pin.kind)
      p["error"] = json::object{
          {"kind", name(*pin.kind)}, {"type", error.type}, {"message", error.message}, {"stack", error.stack}};
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

// In one sentence, whether it waits, runs, or neither.
json::object key_json(const std::vector<Worker::Answer>& answers, const Worker& worker, Timestamp now, bool payload) {
  json::array list;
  std::string text;
  for (const Worker::Answer& a : answers) {
    if (a.explanation.answer.empty()) continue;
    list.push_back(explanation_json(a, now, payload));
    text +=
        (text.empty() ? "" : "; ") + a.tp.topic + "/" + std::to_string(a.tp.partition.v) + ": " + a.explanation.answer;
  }
  if (list.empty()) {
    json::object nothing{{"pinned_by", json::array{}}, {"partitions", json::array{}}};
    nothing["answer"] = answers.empty() ? "worker " + worker.spec().name + " has no partitions here"
                                        : "nothing of this key is waiting or running at worker " + worker.spec().name;
    return nothing;
  }
  json::object body = list.front().as_object();
  body["answer"] = text;
  body["partitions"] = std::move(list);
  return body;
}

Response explain_worker(const Services& services, Request& request) {
  const auto name = request.query_value("worker");
  if (!name) return problem(ProblemType::kInvalidQuery, "say which worker: ?worker=…", {{"worker", "missing"}});
  const auto worker = services.worker(std::string(*name));
  if (!worker) return problem(ProblemType::kNotFound, "no worker " + std::string(*name));
  std::optional<Partition> partition;
  std::optional<Offset> offset;
  if (const auto text = request.query_value("partition")) {
    const auto n = whole_number(*text);
    if (!n || *n > INT32_MAX) return problem(ProblemType::kInvalidQuery, "partition is a number");
    partition = Partition(static_cast<std::int32_t>(*n));
  }
  if (const auto text = request.query_value("offset")) {
    const auto n = whole_number(*text);
    if (!n || !partition) return problem(ProblemType::kInvalidQuery, "offset is a number, and wants a partition");
    offset = Offset(*n);
  }
  const auto key = request.query_value("key");
  if (key && offset) return problem(ProblemType::kInvalidQuery, "say offset or key, not both", {{"key", "too much"}});
  const auto answers = key ? worker->explain_key(*key, partition) : worker->explain(partition, offset);
  if (!answers) return problem(ProblemType::kInstanceUnreachable, answers.error().message);
  const auto status = worker->status();
  const Timestamp now = services.clock->now().wall;
  const bool payload = request.caller.may(Scope::kPayload);
  json::array list;
  for (const Worker::Answer& a : *answers) list.push_back(explanation_json(a, now, payload));
  if (list.empty() && partition)
    return problem(ProblemType::kNotFound, "worker " + worker->spec().name + " does not have partition " +
                                               std::to_string(partition->v) + " here");
  json::object body;
  if (key)
    body = key_json(*answers, *worker, now, payload);
  else if (list.size() == 1)
    body = list.front().as_object();
  else
    body["answer"] =
        list.empty() && status && !status->trouble.empty()
            ? json::value("worker " + worker->spec().name + " does not run: " + status->trouble)
            : json::value("worker " + worker->spec().name + " has " + std::to_string(list.size()) + " partitions here");
  body["worker"] = worker->spec().name;
  if (!key) body["partitions"] = std::move(list);
  body["as_of"] = json_time(now);
  body["source"] = "instance";
  return json_response(body);
}

}  // namespace

void add_explain_route(Router& router, const Services& services) {
  router.add("GET", "/api/v1/explain",
             {.access = Scope::kRead,
              .summary = "Why something stands still, in words",
              .query = {{"worker", "string", "whose", true},
                        {"partition", "integer", "of this partition alone"},
                        {"offset", "integer", "of this message; wants a partition"},
                        {"key", "string", "of the messages of this key"}},
              .answer = kExplained},
             [&services](Request& request) { return explain_worker(services, request); });
}

}  // namespace bartleby
