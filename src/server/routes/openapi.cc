// The OpenAPI document, made of what stands beside the routes.
#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

// What several routes speak of.
constexpr std::string_view kSchemas = R"({
  "Problem": {"type": "object", "required": ["type", "title", "status", "detail"], "additionalProperties": false,
    "properties": {"type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
      "detail": {"type": "string"}, "instance": {"type": "string"}, "request_id": {"type": "string"},
      "position": {"type": "integer", "description": "of a query: the character, from 0"},
      "state": {"type": "string", "description": "in which the thing is"},
      "errors": {"type": "array", "items": {"type": "object", "required": ["pointer", "detail"],
        "additionalProperties": false, "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}}}}}},
  "Time": {"type": "string", "description": "RFC 3339, UTC, milliseconds"},
  "Duration": {"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$", "description": "250ms 10s 5m 1h 30d"},
  "Bytes": {"description": "Text; bytes that are not UTF-8 as base64; null where there are none",
    "anyOf": [{"type": ["string", "null"]},
      {"type": "object", "required": ["base64"], "additionalProperties": false,
       "properties": {"base64": {"type": "string"}}}]},
  "Headers": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/components/schemas/Bytes"},
    "minItems": 2, "maxItems": 2}},
  "Count": {"type": "object", "required": ["value", "exact"], "additionalProperties": false,
    "properties": {"value": {"type": "integer"}, "exact": {"type": "boolean"}}},
  "Error": {"type": "object", "additionalProperties": false,
    "properties": {"kind": {"type": "string"}, "type": {"type": "string"}, "message": {"type": "string"},
      "stack": {"type": "string"}}},
  "Letter": {"type": "object", "additionalProperties": false, "description": "A dead message with its story",
    "required": ["id", "state", "version", "dlq", "origin", "worker", "instance", "group", "reason", "error",
      "attempts", "replays", "lineage", "issue", "first_failure_at", "last_failure_at", "arrived_at", "dialect"],
    "properties": {"id": {"type": "string"},
      "state": {"enum": ["open", "replaying", "resolved", "discarded", "archived"]}, "version": {"type": "integer"},
      "dlq": {"$ref": "#/components/schemas/Place"}, "origin": {"type": "object", "additionalProperties": false,
        "required": ["cluster", "topic", "partition", "offset", "timestamp", "key", "size"], "properties": {
          "cluster": {"type": "string"}, "topic": {"type": "string"}, "partition": {"type": ["integer", "null"]},
          "offset": {"type": ["integer", "null"]}, "timestamp": {"type": ["string", "null"]},
          "key": {"$ref": "#/components/schemas/Bytes"}, "headers": {"$ref": "#/components/schemas/Headers"},
          "size": {"type": "integer", "description": "of key, value and headers, in bytes"}}},
      "worker": {"type": "string"}, "instance": {"type": "string"}, "group": {"type": "string"},
      "reason": {"type": "string"}, "error": {"$ref": "#/components/schemas/Error"}, "attempts": {"type": "integer"},
      "replays": {"type": "integer"}, "lineage": {"type": "string"}, "issue": {"type": "string"},
      "first_failure_at": {"type": ["string", "null"]}, "last_failure_at": {"$ref": "#/components/schemas/Time"},
      "arrived_at": {"$ref": "#/components/schemas/Time"}, "undo_until": {"$ref": "#/components/schemas/Time"},
      "dialect": {"type": "string"}, "preview": {"$ref": "#/components/schemas/Bytes"},
      "resolution": {"type": "object", "required": ["how", "by", "reason", "at"], "additionalProperties": false,
        "properties": {"how": {"type": "string"}, "by": {"type": "string"}, "reason": {"type": "string"},
          "at": {"$ref": "#/components/schemas/Time"}}}}},
  "Place": {"type": "object", "required": ["topic", "partition", "offset"], "additionalProperties": false,
    "properties": {"topic": {"type": "string"}, "partition": {"type": "integer"}, "offset": {"type": "integer"}}},
  "Issue": {"type": "object", "additionalProperties": false, "description": "Letters with one fingerprint",
    "required": ["id", "state", "version", "title", "kind", "count", "first", "last", "trend", "workers", "dlqs"],
    "properties": {"id": {"type": "string"}, "state": {"enum": ["new", "active", "regressed", "muted", "resolved"]},
      "version": {"type": "integer"}, "title": {"type": "string"}, "kind": {"type": "string"},
      "count": {"type": "object", "required": ["open", "total"], "additionalProperties": false,
        "properties": {"open": {"type": "integer"}, "total": {"type": "integer"}}},
      "first": {"$ref": "#/components/schemas/Time"}, "last": {"$ref": "#/components/schemas/Time"},
      "trend": {"type": "array", "items": {"type": "integer"}, "minItems": 24, "maxItems": 24,
        "description": "letters of each hour; the last is this hour"},
      "workers": {"type": "array", "items": {"type": "string"}}, "dlqs": {"type": "array", "items": {"type": "string"}},
      "until": {"$ref": "#/components/schemas/Time"}, "note": {"type": "string"},
      "shared": {"type": "object", "required": ["letters", "facts"], "additionalProperties": false, "properties": {
        "letters": {"type": "integer", "description": "the newest, which were looked at"},
        "facts": {"type": "array", "items": {"type": "object", "required": ["name", "value", "letters"],
          "additionalProperties": false, "properties": {"name": {"type": "string"}, "value": {"type": "string"},
            "letters": {"type": "integer"}}}}}}}},
  "Dlq": {"type": "object", "additionalProperties": false,
    "required": ["name", "class", "open", "letters", "oldest", "partitions", "intake_lag", "missed"], "properties": {
      "name": {"type": "string"}, "class": {"enum": ["normal", "financial"]}, "open": {"type": "integer"},
      "letters": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "by state"},
      "oldest": {"type": ["string", "null"], "description": "death of the oldest open letter"},
      "partitions": {"type": "integer", "description": "0: the topic is gone"},
      "intake_lag": {"type": "integer", "description": "records that are not taken in yet"},
      "missed": {"type": "integer", "description": "records that retention deleted before they were taken in"}}},
  "AuditLine": {"type": "object", "additionalProperties": false,
    "required": ["line", "at", "actor", "action", "subject", "from", "to", "reason", "request_id"],
    "properties": {"line": {"type": "integer"}, "at": {"$ref": "#/components/schemas/Time"},
      "actor": {"type": "string"}, "action": {"type": "string"}, "subject": {"type": "string"},
      "from": {"type": "string"}, "to": {"type": "string"}, "reason": {"type": "string"},
      "request_id": {"type": "string"}, "detail": {}}},
  "DLQStatus": {"type": "object", "required": ["consumers"], "additionalProperties": false,
    "description": "Dead jobs per consumer", "properties": {"consumers": {"type": "array", "items": {"type": "object",
      "required": ["channelId", "channelName", "consumerId", "consumerName", "deadCount"],
      "additionalProperties": false, "properties": {"channelId": {"type": "string"}, "channelName": {"type": "string"},
        "consumerId": {"type": "string"}, "consumerName": {"type": "string"}, "deadCount": {"type": "integer"}}}}}},
  "Emit": {"type": "array", "items": {"type": "object", "required": ["topic"], "additionalProperties": false,
    "properties": {"topic": {"type": "string"}, "key": {"type": ["string", "null"]},
      "value": {"type": ["string", "null"]}, "base64": {"type": "string"}, "headers": {}}}}
})";

json::object content(std::string_view type, std::string_view schema) {
  return json::object{{type, json::object{{"schema", json::parse(schema)}}}};
}

json::object operation(const Route& route) {
  json::object out{{"summary", route.docs.summary}};
  json::array parameters;
  for (std::size_t at = route.pattern.find('{'); at != std::string::npos; at = route.pattern.find('{', at + 1))
    parameters.push_back(json::object{{"name", route.pattern.substr(at + 1, route.pattern.find('}', at) - at - 1)},
                                      {"in", "path"},
                                      {"required", true},
                                      {"schema", json::object{{"type", "string"}}}});
  for (const QueryParameter& q : route.docs.query)
    parameters.push_back(json::object{{"name", q.name},
                                      {"in", "query"},
                                      {"required", q.required},
                                      {"description", q.text},
                                      {"schema", json::object{{"type", q.type}}}});
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  if (!route.docs.body.empty())
    out["requestBody"] = json::object{{"required", true}, {"content", content(route.docs.body_type, route.docs.body)}};
  json::object success{{"description", route.docs.summary}};
  if (!route.docs.answer.empty()) success["content"] = content(route.docs.answer_type, route.docs.answer);
  json::object responses;
  responses[std::to_string(route.docs.success)] = std::move(success);
  for (const Alternative& other : route.docs.others)
    responses[std::to_string(other.status)] =
        json::object{{"description", other.text}, {"content", content("application/json", other.answer)}};
  responses["default"] =
      json::object{{"description", "What is wrong (RFC 9457)"},
                   {"content", content("application/problem+json", R"({"$ref": "#/components/schemas/Problem"})")}};
  out["responses"] = std::move(responses);
  return out;
}

Response document(const Router& router, const Services& services) {
  json::object paths;
  for (const Route& route : router.routes()) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    if (!paths.contains(route.pattern)) paths[route.pattern] = json::object{};
    paths[route.pattern].as_object()[method] = operation(route);
  }
  return json_response(json::object{{"openapi", "3.1.0"},
                                    {"info", json::object{{"title", "Bartleby"}, {"version", services.version}}},
                                    {"components", json::object{{"schemas", json::parse(kSchemas)}}},
                                    {"paths", std::move(paths)}});
}

}  // namespace

void add_openapi_route(Router& router, const Services& services) {
  router.add("GET", "/openapi.json",
             {.summary = "This document", .answer = R"({"type": "object", "required": ["openapi", "info", "paths"]})"},
             [&router, &services](Request&) { return document(router, services); });
}

void add_all_routes(Router& router, const Services& services) {
  add_topic_routes(router, services);
  add_worker_routes(router, services);
  add_explain_route(router, services);
  add_attempt_routes(router, services);
  add_health_routes(router, services);
  add_metrics_routes(router, services);
  if (services.store != nullptr) {
    add_letter_routes(router, services);
    add_issue_routes(router, services);
    add_dlq_routes(router, services);
    add_audit_routes(router, services);
    add_job_routes(router, services);
    add_event_route(router, services);
  }
  add_openapi_route(router, services);
}

}  // namespace bartleby
