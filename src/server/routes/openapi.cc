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
      "scope": {"type": "string", "description": "that the caller lacks"},
      "candidates": {"type": "array", "description": "the letters that may be meant", "items": {"type": "object",
        "required": ["id", "state", "dlq"], "additionalProperties": false, "properties": {"id": {"type": "string"},
          "state": {"type": "string"}, "dlq": {"$ref": "#/components/schemas/Place"}}}},
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
      "attempts", "replays", "lineage", "issue", "first_failure_at", "last_failure_at", "arrived_at", "expires_at",
      "dialect"],
    "properties": {"id": {"type": "string"},
      "state": {"enum": ["open", "replaying", "resolved", "discarded", "archived"]}, "version": {"type": "integer"},
      "dlq": {"$ref": "#/components/schemas/Place"}, "origin": {"type": "object", "additionalProperties": false,
        "required": ["cluster", "topic", "partition", "offset", "timestamp", "size"], "properties": {
          "cluster": {"type": "string"}, "topic": {"type": "string"}, "partition": {"type": ["integer", "null"]},
          "offset": {"type": ["integer", "null"]}, "timestamp": {"type": ["string", "null"]},
          "key": {"$ref": "#/components/schemas/Bytes"}, "headers": {"$ref": "#/components/schemas/Headers"},
          "size": {"type": "integer", "description": "of key, value and headers, in bytes"}}},
      "worker": {"type": "string"}, "instance": {"type": "string"}, "group": {"type": "string"},
      "reason": {"type": "string"}, "error": {"$ref": "#/components/schemas/Error"}, "attempts": {"type": "integer"},
      "replays": {"type": "integer"}, "lineage": {"type": "string"}, "issue": {"type": "string"},
      "first_failure_at": {"type": ["string", "null"]}, "last_failure_at": {"$ref": "#/components/schemas/Time"},
      "arrived_at": {"$ref": "#/components/schemas/Time"}, "undo_until": {"$ref": "#/components/schemas/Time"},
      "expires_at": {"type": ["string", "null"],
        "description": "when it is archived or deleted by itself; null: when somebody acts"},
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
    "required": ["name", "class", "dialect", "open", "letters", "in_per_min", "oldest", "partitions", "intake_lag",
      "missed", "expiring", "next_expiry", "settings"], "properties": {
      "in_per_min": {"type": "integer", "description": "letters that this process took in within the last minute"},
      "settings": {"type": "object", "required": ["retention", "then"], "additionalProperties": false, "properties": {
        "retention": {"type": ["string", "null"],
          "description": "how long letters are kept; null: until somebody acts"},
        "then": {"enum": ["archive", "purge"], "description": "what becomes of open ones"}}},
      "name": {"type": "string"}, "class": {"enum": ["normal", "financial"]}, "open": {"type": "integer"},
      "dialect": {"type": ["string", "null"], "description": "of its newest letter; null: there is none"},
      "letters": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "by state"},
      "oldest": {"type": ["string", "null"], "description": "death of the oldest open letter"},
      "partitions": {"type": "integer", "description": "0: the topic is gone"},
      "intake_lag": {"type": "integer", "description": "records that are not taken in yet"},
      "missed": {"type": "integer", "description": "records that retention deleted before they were taken in"},
      "expiring": {"type": "integer", "description": "records not taken in that retention deletes within 24 h"},
      "next_expiry": {"type": ["string", "null"], "description": "when retention deletes the topic's oldest record"}}},
  "Archive": {"type": "object", "additionalProperties": false,
    "required": ["id", "dlq", "sha256", "letters", "here", "bytes", "first", "last", "created_at"], "properties": {
      "id": {"type": "string"}, "dlq": {"type": "string"},
      "sha256": {"type": "string", "description": "of the file, compressed JSON Lines"},
      "letters": {"type": "integer", "description": "that went in"},
      "here": {"type": "integer", "description": "that are still archived in it"}, "bytes": {"type": "integer"},
      "first": {"$ref": "#/components/schemas/Time"}, "last": {"$ref": "#/components/schemas/Time"},
      "created_at": {"$ref": "#/components/schemas/Time"}}},
  "Halt": {"type": "object", "additionalProperties": false,
    "description": "A replay stops by itself when more than so many percent of at least so many outcomes came back",
    "properties": {"came_back": {"type": "integer"}, "of": {"type": "integer"}}},
  "Edit": {"type": "array", "description": "JSON Patch (RFC 6902) of the value, which must be JSON",
    "items": {"type": "object", "required": ["op", "path"], "properties": {
      "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]}, "path": {"type": "string"},
      "from": {"type": "string"}, "value": {}}}},
  "Operation": {"type": "object", "additionalProperties": false,
    "description": "Replay, discard, restore or purge of a selection of letters, from its plan to its end",
    "required": ["id", "kind", "state", "version", "dlqs", "selection", "letters", "dealt_with", "results", "excluded",
      "to", "also_read_by", "spared", "order_conflicts", "bytes", "seconds", "warnings", "actor", "reason", "note",
      "created_at", "started_at", "ended_at"],
    "properties": {"id": {"type": "string"}, "kind": {"enum": ["replay", "discard", "restore", "purge"]},
      "state": {"enum": ["planned", "awaiting_approval", "running", "paused", "halted", "done", "cancelled", "failed"]},
      "version": {"type": "integer"}, "dlqs": {"type": "array", "items": {"type": "string"}},
      "selection": {"type": "string"}, "letters": {"type": "integer"},
      "left": {"type": "integer", "description": "open letters that are more than one operation takes: ask again"},
      "dealt_with": {"type": "integer", "description": "letters that were sent, changed or left out so far"},
      "results": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "letters by result"},
      "excluded": {"type": "array", "items": {"type": "object", "required": ["why", "count"],
        "additionalProperties": false, "properties": {"why": {"type": "string"}, "count": {"type": "integer"}}}},
      "to": {"type": "array", "items": {"type": "object", "required": ["topic", "group", "letters"],
        "additionalProperties": false, "properties": {"topic": {"type": "string"}, "group": {"type": "string"},
          "letters": {"type": "integer"}}}},
      "also_read_by": {"type": "array", "items": {"type": "string"}, "description": "groups that will see it too"},
      "spared": {"type": "array", "items": {"type": "string"},
        "description": "groups that read the topic too and will not see it, because it goes to a private lane"},
      "order_conflicts": {"type": "integer",
        "description": "letters whose key had a newer message handled already, as log and letters tell"},
      "bytes": {"type": "integer"}, "seconds": {"type": "integer", "description": "at the planned rate"},
      "warnings": {"type": "array", "items": {"type": "string"}},
      "previews": {"type": "array", "description": "what the edit makes of the first values", "items": {
        "type": "object", "required": ["letter", "before", "after"], "additionalProperties": false, "properties": {
          "letter": {"type": "string"}, "before": {"type": "string"}, "after": {"type": "string"}}}},
      "rate": {"type": "integer"}, "canary": {"type": "integer"}, "halt": {"$ref": "#/components/schemas/Halt"},
      "scope": {"enum": ["group", "topic"]}, "edit": {"$ref": "#/components/schemas/Edit"},
      "actor": {"type": "string", "description": "who has planned it"},
      "started_by": {"type": "string", "description": "in whose name it changes letters"},
      "reason": {"type": "string"}, "note": {"type": "string", "description": "why it is where it is"},
      "created_at": {"$ref": "#/components/schemas/Time"}, "started_at": {"type": ["string", "null"]},
      "ended_at": {"type": ["string", "null"]}}},
  "OperationItem": {"type": "object", "additionalProperties": false,
    "required": ["position", "letter", "result", "replays", "note", "to", "changed_at"], "properties": {
      "position": {"type": "integer"},
      "letter": {"type": ["string", "null"], "description": "null: it is gone"},
      "result": {"enum": ["pending", "sent", "succeeded", "passed", "came_back", "unknown", "skipped"]},
      "replays": {"type": "integer", "description": "of the letter, before this one"}, "note": {"type": "string"},
      "to": {"anyOf": [{"type": "null"}, {"$ref": "#/components/schemas/Place"}]},
      "changed_at": {"$ref": "#/components/schemas/Time"}}},
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
  "Channel": {"type": "object", "required": ["id", "name", "partitions", "createdAt"], "additionalProperties": false,
    "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "partitions": {"type": "integer"},
      "createdAt": {"$ref": "#/components/schemas/Time"}, "token": {"type": "string", "description": "told once"}}},
  "Consumer": {"type": "object", "additionalProperties": false,
    "required": ["id", "name", "channelId", "callbackUrl", "paused", "worker", "retry", "createdAt"],
    "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "channelId": {"type": "string"},
      "callbackUrl": {"type": "string"}, "paused": {"type": "boolean"}, "worker": {"type": "string"},
      "retry": {"type": ["object", "null"]}, "createdAt": {"$ref": "#/components/schemas/Time"},
      "token": {"type": "string", "description": "told once"}}},
  "Job": {"type": "object", "required": ["id", "status", "statusName", "attempts"], "additionalProperties": false,
    "description": "One message at one consumer", "properties": {"id": {"type": "string"},
      "status": {"enum": [1001, 1002, 1003, 1004]},
      "statusName": {"enum": ["QUEUED", "INFLIGHT", "DELIVERED", "DEAD"]}, "attempts": {"type": "integer"},
      "letter": {"type": "string"}, "diedAt": {"$ref": "#/components/schemas/Time"},
      "messageId": {"type": "string", "description": "that it was broadcast under; absent where it was not"},
      "error": {"$ref": "#/components/schemas/Error"}}},
  "Emit": {"type": "array", "items": {"type": "object", "required": ["topic"], "additionalProperties": false,
    "properties": {"topic": {"type": "string"}, "key": {"type": ["string", "null"]},
      "value": {"type": ["string", "null"]}, "base64": {"type": "string"}, "headers": {}}}}
})";

constexpr std::string_view kParameters = R"({"IdempotencyKey": {"name": "Idempotency-Key", "in": "header",
  "required": false, "schema": {"type": "string", "maxLength": 200}, "description":
  "The same request is carried out once and answered the same for 24 hours; another one 422, one under way 409"}})";

constexpr std::string_view kEveryAnswer =
    "Every answer has X-Request-Id: the caller's, where it sends one of 1 to 100 letters, digits, '.', '_' and '-', "
    "else "
    "a random one. It stands in problems and in the audit.";

// `x-scope` of a route is a scope, several of which one is needed, `public` (anybody while auth.public names it, else
// read), `open` (anybody), or which tokens of a channel.
constexpr std::string_view kSecurity = R"({
  "key": {"type": "http", "scheme": "bearer", "description": "an API key, bk_…"},
  "session": {"type": "apiKey", "in": "cookie", "name": "bartleby-session"},
  "channelToken": {"type": "apiKey", "in": "header", "name": "X-Broker-Channel-Token",
    "description": "of the channel; told once, when it is made"},
  "consumerToken": {"type": "apiKey", "in": "header", "name": "X-Broker-Consumer-Token",
    "description": "of the consumer, beside the channel's"},
  "internalKey": {"type": "apiKey", "in": "header", "name": "X-Internal-Api-Key",
    "description": "`internal.api.key`, from one of `internal.api.allowed-networks`"}
})";

json::object content(std::string_view type, std::string_view schema) {
  return json::object{{type, json::object{{"schema", json::parse(schema)}}}};
}

// One of them is enough; none: anybody. What `auth.public` names is open to anybody, else to whoever may read.
json::array security_of(const Route& route) {
  const Access& access = route.docs.access;
  json::array out;
  const auto add = [&](std::initializer_list<std::string_view> together) {
    json::object all;
    for (const std::string_view scheme : together) all[scheme] = json::array{};
    out.push_back(std::move(all));
  };
  if (access.kind() == Access::Kind::kOpen) return out;
  if (access.kind() == Access::Kind::kListed) add({});
  if (access.kind() == Access::Kind::kTokens) {
    if (access.which().contains("consumer"))
      add({"channelToken", "consumerToken"});
    else
      add({"channelToken"});
  }
  if (!access.scopes().empty()) add({"key"}), add({"session"});
  if (route.pattern.starts_with("/internal/")) add({"internalKey"});
  return out;
}

json::object operation(const Route& route) {
  json::object out{{"summary", route.docs.summary}, {"x-scope", route.docs.access.text()}};
  out["security"] = security_of(route);
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
  if (route.method == "POST" && route.docs.keeps_answer)
    parameters.push_back(json::object{{"$ref", "#/components/parameters/IdempotencyKey"}});
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
  return json_response(json::object{
      {"openapi", "3.1.0"},
      {"info", json::object{{"title", "Bartleby"}, {"version", services.version}, {"description", kEveryAnswer}}},
      {"components", json::object{{"schemas", json::parse(kSchemas)},
                                  {"parameters", json::parse(kParameters)},
                                  {"securitySchemes", json::parse(kSecurity)}}},
      {"paths", std::move(paths)}});
}

}  // namespace

void add_openapi_route(Router& router, const Services& services) {
  router.add("GET", "/openapi.json",
             {.access = Access::open(),
              .summary = "This document",
              .answer = R"({"type": "object", "required": ["openapi", "info", "paths"]})"},
             [&router, &services](Request&) { return document(router, services); });
}

void add_all_routes(Router& router, const Services& services) {
  add_topic_routes(router, services);
  add_worker_routes(router, services);
  add_explain_route(router, services);
  add_attempt_routes(router, services);
  add_health_routes(router, services);
  add_metrics_routes(router, services);
  add_status_routes(router, services);
  if (services.store != nullptr) {
    add_letter_routes(router, services);
    add_letter_order_routes(router, services);
    add_operation_routes(router, services);
    add_issue_routes(router, services);
    add_dlq_routes(router, services);
    add_archive_routes(router, services);
    add_audit_routes(router, services);
    add_key_routes(router, services);
    add_job_routes(router, services);
    add_channel_routes(router, services);
    add_broadcast_routes(router, services);
    add_consumer_job_routes(router, services);
    add_event_route(router, services);
  }
  add_openapi_route(router, services);
}

}  // namespace bartleby
