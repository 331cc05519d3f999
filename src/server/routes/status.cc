// About Bartleby itself: its self-checks, the configuration that holds, and what a query may go on with.
#include <algorithm>

#include "codec/query.h"
#include "codec/utf8.h"
#include "office/suggestions.h"
#include "server/json.h"
#include "server/routes/routes.h"
#include "server/self_checks.h"

namespace bartleby {
namespace {

constexpr std::string_view kStatus = R"({"type": "object", "additionalProperties": false,
  "required": ["status", "version", "cluster", "checks"], "properties": {
    "status": {"enum": ["ok", "warn", "halted", "fail"], "description": "the worst of the checks"},
    "version": {"type": "string"}, "cluster": {"type": "string"},
    "checks": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "required": ["name", "status", "detail"], "properties": {"name": {"type": "string"},
        "status": {"enum": ["ok", "warn", "halted", "fail"]}, "detail": {"type": "string"}}}}}})";
constexpr std::string_view kConfig = R"({"type": "object", "additionalProperties": false, "required": ["lines"],
  "properties": {"lines": {"type": "array", "description": "YAML as `bartleby config show` prints it; secrets are ***",
    "items": {"type": "object", "additionalProperties": false, "required": ["text", "from"], "properties": {
      "text": {"type": "string"},
      "from": {"type": ["string", "null"], "description": "where the value came from"}}}}}})";
constexpr std::string_view kSuggestions = R"({"type": "object", "additionalProperties": false, "required": ["items"],
  "properties": {"items": {"type": "array", "items": {"type": "object", "additionalProperties": false,
    "required": ["query", "term", "about"], "properties": {
      "query": {"type": "string", "description": "the whole query with its last term completed"},
      "term": {"type": "string"}, "about": {"type": "string"}}}}}})";

Response status_of(const Services& services) {
  json::array checks;
  CheckResult worst = CheckResult::kOk;
  for (const SelfCheck& check : self_checks(services)) {
    worst = std::max(worst, check.result);
    checks.push_back(json::object{{"name", check.name}, {"status", name(check.result)}, {"detail", check.detail}});
  }
  return json_response(json::object{{"status", name(worst)},
                                    {"version", services.version},
                                    {"cluster", services.cluster},
                                    {"checks", std::move(checks)}});
}

Response config_of(const Services& services) {
  json::array lines;
  for (const auto& [text, from] : services.config_lines())
    lines.push_back(json::object{{"text", text}, {"from", from.empty() ? json::value(nullptr) : json::value(from)}});
  return json_response(json::object{{"lines", std::move(lines)}});
}

Response suggest(const Services& services, const Request& request) {
  const std::string_view query = request.query_value("q").value_or("");
  if (!is_utf8(query)) return problem(ProblemType::kInvalidQuery, "a query is UTF-8");
  if (query.size() > kMaxQuery)
    return problem(ProblemType::kInvalidQuery, "a query has at most " + std::to_string(kMaxQuery) + " bytes");
  std::vector<Suggestion> found;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto list = suggestions(connection, query);
    if (!list) return std::unexpected(list.error());
    found = std::move(*list);
    return {};
  });
  if (!read) return store_problem(read.error());
  json::array items;
  for (const Suggestion& one : found)
    items.push_back(json::object{{"query", one.query}, {"term", one.term}, {"about", one.about}});
  return json_response(json::object{{"items", std::move(items)}});
}

}  // namespace

void add_status_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/status",
             {.access = Scope::kRead, .summary = "Whether Bartleby itself is well: its self-checks", .answer = kStatus},
             [&services](Request&) { return status_of(services); });
  router.add("GET", "/api/v1/config",
             {.access = Scope::kRead, .summary = "The configuration that holds, without secrets", .answer = kConfig},
             [&services](Request&) { return config_of(services); });
  if (services.store == nullptr) return;
  router.add("GET", "/api/v1/suggest",
             {.access = Scope::kRead,
              .summary = "What a query of letters that is being written may go on with",
              .query = {{"q", "string", "the query up to the cursor"}},
              .answer = kSuggestions},
             [&services](Request& request) { return suggest(services, request); });
}

}  // namespace bartleby
