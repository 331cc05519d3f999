// Issues: which failures there are, one with what its letters share, and what people decide about it.
#include "office/issues.h"

#include <algorithm>
#include <charconv>

#include "codec/time_text.h"
#include "server/office_json.h"
#include "server/operation_json.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kList = "issues";

constexpr std::string_view kIssues = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/Issue"})");
constexpr std::string_view kIssue = R"({"$ref": "#/components/schemas/Issue"})";
constexpr std::string_view kChange = R"({"type": "object", "additionalProperties": false, "properties": {
  "reason": {"type": "string"}, "version": {"type": "integer", "description": "what the caller has seen"}}})";
constexpr std::string_view kMute = R"({"type": "object", "additionalProperties": false, "properties": {
  "until": {"$ref": "#/components/schemas/Time"}, "reason": {"type": "string"},
  "version": {"type": "integer", "description": "what the caller has seen"}}})";

Response unknown_issue(const std::string& id) {
  return problem(ProblemType::kNotFound, "no issue " + id.substr(0, 100));
}

std::expected<std::vector<IssueState>, Response> states_of(const Request& request) {
  std::vector<IssueState> states;
  std::string_view rest = request.query_value("state").value_or("");
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const auto state = issue_state_named(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (!state)
      return std::unexpected(problem(ProblemType::kInvalidQuery,
                                     "state is a list of new, active, regressed, muted, resolved",
                                     {{"state", "not a list of these"}}));
    if (std::ranges::find(states, *state) == states.end()) states.push_back(*state);
  }
  return states;
}

std::optional<IssueCursor> issue_cursor(std::string_view text) {
  std::int64_t last = 0, seq = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, bad] = std::from_chars(text.data(), end, last);
  if (bad != std::errc{} || dot == end || *dot != '.') return std::nullopt;
  const auto [stop, worse] = std::from_chars(dot + 1, end, seq);
  if (worse != std::errc{} || stop != end) return std::nullopt;
  return IssueCursor{timestamp_ms(last), seq};
}

Result<json::object> described(Connection& connection, const Issue& issue, Timestamp now) {
  const auto trend = issue_trend(connection, issue.seq, now);
  if (!trend) return std::unexpected(trend.error());
  const auto places = issue_places(connection, issue.seq);
  if (!places) return std::unexpected(places.error());
  return issue_json(issue, *trend, *places);
}

Response list_issues(const Services& services, const Request& request) {
  const auto paging = read_paging(request, kList);
  if (!paging) return paging.error();
  const auto states = states_of(request);
  if (!states) return states.error();
  const std::optional<IssueCursor> after = paging->after ? issue_cursor(*paging->after) : std::nullopt;
  if (paging->after && !after) return bad_cursor();
  const Timestamp now = services.clock->now().wall;
  json::array items;
  std::optional<std::string> next;
  std::int64_t count = 0;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto page = issue_page(connection, *states, after, paging->limit + 1);
    if (!page) return std::unexpected(page.error());
    if (page->size() > paging->limit) {
      page->resize(paging->limit);
      next = std::to_string(ms(page->back().last)) + "." + std::to_string(page->back().seq);
    }
    for (const Issue& issue : *page) {
      auto item = described(connection, issue, now);
      if (!item) return std::unexpected(item.error());
      items.push_back(std::move(*item));
    }
    const auto counts = issue_counts(connection);
    if (!counts) return std::unexpected(counts.error());
    for (std::size_t s = 0; s < counts->size(); ++s)
      if (states->empty() || std::ranges::find(*states, static_cast<IssueState>(s)) != states->end())
        count += (*counts)[s];
    return {};
  });
  if (!read) return store_problem(read.error());
  return page_response(std::move(items), kList, next, count, true);
}

Response show_issue(const Services& services, const Request& request) {
  json::object body;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto issue = issue_by_id(connection, request.parameter("id"));
    if (!issue) return std::unexpected(issue.error());
    if (!*issue) return {};
    auto all = described(connection, **issue, services.clock->now().wall);
    if (!all) return std::unexpected(all.error());
    const auto shared = issue_shared(connection, (*issue)->seq);
    if (!shared) return std::unexpected(shared.error());
    body = std::move(*all);
    body["shared"] = shared_json(*shared, view_of(services, request));
    return {};
  });
  if (!read) return store_problem(read.error());
  return body.empty() ? unknown_issue(request.parameter("id")) : json_response(body);
}

Response change(const Services& services, const Request& request, IssueCause cause) {
  // Without a body nothing is said beside the verb.
  const auto body = request.body.empty() ? std::expected<json::object, Response>() : read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  const std::string reason = fields.text("reason", kLongestReason).value_or("");
  const auto version = fields.integer("version", 1, INT64_MAX);
  std::optional<Timestamp> until;
  const Timestamp now = services.clock->now().wall;
  if (cause == IssueCause::kMute)
    if (const auto text = fields.text("until", 32)) {
      until = time_from_text(*text);
      if (!until || *until <= now) fields.wrong("until", "must be a time to come, such as 2027-01-15T10:30:00.000Z");
    }
  if (auto refused = fields.mistakes()) return *refused;
  const std::string& id = request.parameter("id");
  const auto changed = change_issue(*services.store, id, cause, actor_of(request, reason), now, version, until);
  if (!changed) return store_problem(changed.error());
  const std::string state(name(changed->issue.state));
  switch (changed->result) {
    case IssueChange::kNotFound:
      return unknown_issue(id);
    case IssueChange::kWrongState:
      return with_member(problem(ProblemType::kWrongState,
                                 "issue " + id + " is " + state + ": " + std::string(name(cause)) + " does not apply"),
                         "state", json::string(state));
    case IssueChange::kStale:
      return with_member(
          problem(ProblemType::kStale, "issue " + id + " has version " + std::to_string(changed->issue.version) +
                                           " by now: look at it again"),
          "state", json::string(state));
    case IssueChange::kDone:
      break;
  }
  services.news->changed({changed->issue.id, changed->issue.state});
  return show_issue(services, request);
}

}  // namespace

void add_issue_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/issues",
             {.access = Scope::kRead,
              .summary = "Issues, the latest letter first",
              .query = {{"state", "string", "of new, active, regressed, muted, resolved; all where none is said"},
                        {"limit", "integer", "up to 500; 50"},
                        {"cursor", "string", "`next` of the page before"}},
              .answer = kIssues},
             [&services](Request& request) { return list_issues(services, request); });
  router.add("GET", "/api/v1/issues/{id}",
             {.access = Scope::kRead, .summary = "One issue, and what its newest letters share", .answer = kIssue},
             [&services](Request& request) { return show_issue(services, request); });
  router.add("POST", "/api/v1/issues/{id}:mute",
             {.access = Scope::kReplay,
              .summary = "Say nothing more of it, until a time or until it is reopened",
              .body = kMute,
              .answer = kIssue},
             [&services](Request& request) { return change(services, request, IssueCause::kMute); });
  router.add("POST", "/api/v1/issues/{id}:resolve",
             {.access = Scope::kReplay,
              .summary = "It is over; another letter makes it regressed",
              .body = kChange,
              .answer = kIssue},
             [&services](Request& request) { return change(services, request, IssueCause::kResolve); });
  router.add("POST", "/api/v1/issues/{id}:reopen",
             {.access = Scope::kReplay, .summary = "It is neither muted nor over", .body = kChange, .answer = kIssue},
             [&services](Request& request) { return change(services, request, IssueCause::kReopen); });
}

}  // namespace bartleby
