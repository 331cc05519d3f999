// Operations: planned, started, followed and stopped. What they do is the office's (office/operations.h).
#include "office/operations.h"

#include <algorithm>
#include <numeric>

#include "codec/query.h"
#include "office/letters.h"
#include "office/operation_row.h"
#include "server/access.h"
#include "server/office_json.h"
#include "server/operation_json.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kList = "operations";
constexpr std::size_t kMostIds = 10000;

constexpr std::string_view kOperation = R"({"$ref": "#/components/schemas/Operation"})";
constexpr std::string_view kOperations = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/Operation"})");
constexpr std::string_view kItems = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/OperationItem"})");
constexpr std::string_view kRequest = R"({"type": "object", "required": ["kind"], "additionalProperties": false,
  "properties": {"kind": {"enum": ["replay", "discard", "restore", "purge"]},
    "q": {"type": "string", "description": "which letters; or ids"},
    "ids": {"type": "array", "items": {"type": "string"}}, "scope": {"enum": ["group", "topic"]},
    "to": {"type": "string", "description": "another topic, of those that the configuration allows"},
    "rate": {"type": "integer", "description": "letters per second; 0: as fast as it goes"},
    "canary": {"type": "integer", "description": "so many go first, and their outcomes are awaited; 0: none"},
    "halt": {"$ref": "#/components/schemas/Halt"}, "edit": {"$ref": "#/components/schemas/Edit"},
    "reason": {"type": "string"}}})";
constexpr std::string_view kReason = R"({"type": "object", "additionalProperties": false, "properties": {
  "reason": {"type": "string"}}})";
constexpr std::string_view kRate = R"({"type": "object", "required": ["rate"], "additionalProperties": false,
  "properties": {"rate": {"type": "integer", "description": "letters per second; 0: as fast as it goes"},
    "reason": {"type": "string"}}})";

// The kind of the operation says which of them it takes; to purge is to discard without a way back.
constexpr Access kByKind = Access::any_of({Scope::kReplay, Scope::kDiscard});
Scope scope_of(OperationKind kind) { return kind == OperationKind::kReplay ? Scope::kReplay : Scope::kDiscard; }

std::optional<OperationKind> kind_named(std::string_view word) {
  const auto found = std::ranges::find(kOperationKindNames, word);
  if (found == kOperationKindNames.end()) return std::nullopt;
  return static_cast<OperationKind>(found - kOperationKindNames.begin());
}

Response bad_query(const QueryError& error) {
  return with_member(
      problem(ProblemType::kInvalidQuery, "at character " + std::to_string(error.position + 1) + ": " + error.message),
      "position", error.position);
}

void read_ids(Fields& fields, std::vector<std::string>& ids) {
  const json::value* list = fields.value("ids");
  if (list == nullptr) return;
  if (!list->is_array() || list->as_array().size() > kMostIds)
    return fields.wrong("ids", "must be a list of at most " + std::to_string(kMostIds) + " ids; q takes more");
  for (const json::value& id : list->as_array()) {
    if (!id.is_string() || id.as_string().size() > 100) return fields.wrong("ids", "must be ids of letters");
    ids.emplace_back(id.as_string());
  }
}

Response plan(const Services& services, const Request& request) {
  const auto body = read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  OperationRequest wanted;
  wanted.settings = services.operations->defaults();
  const auto kind = kind_named(fields.text("kind", 20).value_or(""));
  if (!kind) fields.wrong("kind", "must be replay, discard, restore or purge");
  wanted.kind = kind.value_or(OperationKind::kReplay);
  read_replay_settings(fields, request.body, wanted.settings);
  if (!wanted.settings.edit.empty() && wanted.kind != OperationKind::kReplay) fields.wrong("edit", "is for replays");
  const auto q = fields.text("q", kMaxQuery);
  read_ids(fields, wanted.ids);
  const std::string reason = fields.text("reason", kLongestReason).value_or("");
  if (auto refused = fields.mistakes()) return *refused;
  if (!request.caller.may(scope_of(wanted.kind))) return lacks_scope(scope_of(wanted.kind));
  if (!wanted.settings.edit.empty() && !request.caller.may(Scope::kPayload)) return lacks_scope(Scope::kPayload);
  if (q) {
    auto query = parse_query(*q);
    if (!query) return bad_query(query.error());
    if (looks_into_messages(*query) && !request.caller.may(Scope::kPayload)) return lacks_scope(Scope::kPayload);
    wanted.query = std::move(*query);
  }
  wanted.look_in_log = true;
  const auto planned = services.operations->plan(wanted, actor_of(request, reason));
  if (!planned && planned.error().code == ErrorCode::kUnavailable) return store_problem(planned.error());
  if (!planned) return problem(planned.error());
  Response answer = json_response(operation_json(*planned, view_of(services, request)), 201);
  answer.headers.emplace_back("Location", "/api/v1/operations/" + planned->id);
  return answer;
}

std::expected<std::vector<OperationState>, Response> states_of(const Request& request) {
  std::vector<OperationState> states;
  std::string_view rest = request.query_value("state").value_or("");
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto found = std::ranges::find(kOperationStateNames, word);
    if (found == kOperationStateNames.end())
      return std::unexpected(problem(ProblemType::kInvalidQuery,
                                     "state is a list of planned, awaiting_approval, running, paused, halted, done, "
                                     "cancelled, failed",
                                     {{"state", "not a list of these"}}));
    states.push_back(static_cast<OperationState>(found - kOperationStateNames.begin()));
  }
  return states;
}

Response list_operations(const Services& services, const Request& request) {
  const auto paging = read_paging(request, kList);
  if (!paging) return paging.error();
  const auto states = states_of(request);
  if (!states) return states.error();
  const auto before = paging->after ? whole_number(*paging->after) : std::nullopt;
  if (paging->after && !before) return bad_cursor();
  json::array items;
  std::optional<std::string> next;
  std::int64_t count = 0;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto page = operation_page(connection, *states, before, paging->limit + 1);
    if (!page) return std::unexpected(page.error());
    if (page->size() > paging->limit) {
      page->resize(paging->limit);
      next = std::to_string(page->back().seq);
    }
    for (const Operation& operation : *page) items.push_back(operation_json(operation, view_of(services, request)));
    const auto counts = operation_counts(connection);
    if (!counts) return std::unexpected(counts.error());
    for (const auto& of_kind : *counts)
      for (std::size_t s = 0; s < of_kind.size(); ++s)
        if (states->empty() || std::ranges::find(*states, static_cast<OperationState>(s)) != states->end())
          count += of_kind[s];
    return {};
  });
  if (!read) return store_problem(read.error());
  return page_response(std::move(items), kList, next, count, true);
}

Response show_operation(const Services& services, const Request& request) {
  const std::string& id = request.parameter("id");
  const auto operation = services.operations->get(id);
  if (!operation) return store_problem(operation.error());
  if (!*operation) return operation_refused({OperationChange::kNotFound, {}, {}}, id, OperationCause::kStart);
  return json_response(operation_json(**operation, view_of(services, request)));
}

Response list_items(const Services& services, const Request& request) {
  const auto paging = read_paging(request, "operation_items");
  if (!paging) return paging.error();
  const auto after = paging->after ? whole_number(*paging->after) : std::nullopt;
  if (paging->after && !after) return bad_cursor();
  std::optional<ItemResult> result;
  if (const auto word = request.query_value("result"); word && !word->empty()) {
    const auto found = std::ranges::find(kItemResultNames, *word);
    if (found == kItemResultNames.end())
      return problem(ProblemType::kInvalidQuery,
                     "result is one of pending, sent, succeeded, passed, came_back, unknown, skipped",
                     {{"result", "not one of these"}});
    result = static_cast<ItemResult>(found - kItemResultNames.begin());
  }
  const std::string& id = request.parameter("id");
  const auto operation = services.operations->get(id);
  if (!operation) return store_problem(operation.error());
  if (!*operation) return operation_refused({OperationChange::kNotFound, {}, {}}, id, OperationCause::kStart);
  // One page is at most what the store gives at once, so whether there is more shows by the page being full.
  const auto page = services.operations->results(id, result, after, paging->limit);
  if (!page) return store_problem(page.error());
  json::array items;
  for (const OperationItem& item : *page) items.push_back(operation_item_json(item));
  std::optional<std::string> next;
  if (page->size() == paging->limit) next = std::to_string(page->back().position);
  const ResultCounts& counts = (*operation)->results;
  return page_response(std::move(items), "operation_items", next,
                       result ? (*operation)->with(*result) : std::reduce(counts.begin(), counts.end()), true);
}

// Whether the caller may give orders to it; an answer where not.
std::optional<Response> refused_order(const Services& services, const Request& request) {
  const std::string& id = request.parameter("id");
  const auto operation = services.operations->get(id);
  if (!operation) return store_problem(operation.error());
  if (!*operation) return operation_refused({OperationChange::kNotFound, {}, {}}, id, OperationCause::kStart);
  const Scope wanted = scope_of((*operation)->kind);
  return request.caller.may(wanted) ? std::nullopt : std::optional(lacks_scope(wanted));
}

using Order = Result<ChangedOperation> (Operations::*)(const std::string&, const Actor&);

Response order(const Services& services, const Request& request, OperationCause cause, Order what) {
  const auto body = request.body.empty() ? std::expected<json::object, Response>() : read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  const std::string reason = fields.text("reason", kLongestReason).value_or("");
  if (auto refused = fields.mistakes()) return *refused;
  if (auto refused = refused_order(services, request)) return *refused;
  const std::string& id = request.parameter("id");
  const auto changed = (services.operations->*what)(id, actor_of(request, reason));
  if (!changed) return store_problem(changed.error());
  if (changed->result != OperationChange::kDone) return operation_refused(*changed, id, cause);
  return json_response(operation_json(changed->operation, view_of(services, request)));
}

Response set_rate(const Services& services, const Request& request) {
  const auto body = read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  const auto rate = fields.integer("rate", 0, 1000000);
  if (!rate && fields.value("rate") == nullptr) fields.wrong("rate", "is missing");
  const std::string reason = fields.text("reason", kLongestReason).value_or("");
  if (auto refused = fields.mistakes()) return *refused;
  if (auto refused = refused_order(services, request)) return *refused;
  const std::string& id = request.parameter("id");
  const auto changed = services.operations->set_rate(id, static_cast<std::uint32_t>(*rate), actor_of(request, reason));
  if (!changed)
    return changed.error().code == ErrorCode::kInvalid ? problem(changed.error()) : store_problem(changed.error());
  if (changed->result == OperationChange::kWrongState) {
    const std::string state(name(changed->operation.state));
    return with_member(problem(ProblemType::kWrongState, "operation " + id + " is " + state + ": it has no rate now"),
                       "state", json::string(state));
  }
  if (changed->result != OperationChange::kDone) return operation_refused(*changed, id, OperationCause::kStart);
  return json_response(operation_json(changed->operation, view_of(services, request)));
}

}  // namespace

void add_operation_routes(Router& router, const Services& services) {
  router.add("POST", "/api/v1/operations",
             {.access = kByKind,
              .summary = "Plan an operation: a frozen selection with its report. Nothing is done before it is started",
              .body = kRequest,
              .success = 201,
              .answer = kOperation},
             [&services](Request& request) { return plan(services, request); });
  router.add("GET", "/api/v1/operations",
             {.access = Scope::kRead,
              .summary = "Operations, the newest first",
              .query = {{"state", "string",
                         "of planned, awaiting_approval, running, paused, halted, done, cancelled, failed; all where "
                         "none is said"},
                        {"limit", "integer", "up to 500; 50"},
                        {"cursor", "string", "`next` of the page before"}},
              .answer = kOperations},
             [&services](Request& request) { return list_operations(services, request); });
  router.add("GET", "/api/v1/operations/{id}",
             {.access = Scope::kRead,
              .summary = "One operation: its plan, and what became of it so far",
              .answer = kOperation},
             [&services](Request& request) { return show_operation(services, request); });
  router.add("PATCH", "/api/v1/operations/{id}",
             {.access = kByKind, .summary = "Another rate, from now on", .body = kRate, .answer = kOperation},
             [&services](Request& request) { return set_rate(services, request); });
  router.add(
      "GET", "/api/v1/operations/{id}/items",
      {.access = Scope::kRead,
       .summary = "Its letters in the order they are dealt with, each with what became of it",
       .query = {{"result", "string", "only those: pending, sent, succeeded, passed, came_back, unknown, skipped"},
                 {"limit", "integer", "up to 500; 50"},
                 {"cursor", "string", "`next` of the page before"}},
       .answer = kItems},
      [&services](Request& request) { return list_items(services, request); });
  const auto add = [&](const std::string& verb, std::string_view summary, OperationCause cause, Order what) {
    router.add("POST", "/api/v1/operations/{id}:" + verb,
               {.access = kByKind, .summary = summary, .body = kReason, .answer = kOperation},
               [&services, cause, what](Request& request) { return order(services, request, cause, what); });
  };
  add("start", "Carry the plan out", OperationCause::kStart, &Operations::start);
  add("pause", "Send nothing more until it is resumed", OperationCause::kPause, &Operations::pause);
  add("resume", "Go on; what came back before does not halt it again", OperationCause::kResume, &Operations::resume);
  add("cancel", "End it: what was sent stays sent, what was not is left as it is", OperationCause::kCancel,
      &Operations::cancel);
}

}  // namespace bartleby
