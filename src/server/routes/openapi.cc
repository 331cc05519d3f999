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
  add_openapi_route(router, services);
}

}  // namespace bartleby
