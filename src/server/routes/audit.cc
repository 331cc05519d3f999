// The audit: who did what, and whether the lines are as they were written.
#include "office/audit.h"

#include <atomic>

#include "office/audit_stretch.h"
#include "server/office_json.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kList = "audit";
constexpr std::string_view kLines = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/AuditLine"})");
constexpr std::int64_t kMostLines = 50000;  // of one answer: walking more takes a while
constexpr std::string_view kVerdict = R"({"type": "object", "required": ["good", "lines"],
  "additionalProperties": false, "properties": {"good": {"type": "boolean"},
    "lines": {"type": "integer", "description": "up to where it was looked, with those before `from`"},
    "next": {"type": "integer", "description": "there are more lines: ask again, from this one"},
    "bad_line": {"type": "integer", "description": "the first that does not follow from the one before"},
    "problem": {"type": "string"}}})";

Response list_lines(const Services& services, const Request& request) {
  const auto paging = read_paging(request, kList);
  if (!paging) return paging.error();
  const std::optional<std::int64_t> before = paging->after ? whole_number(*paging->after) : std::nullopt;
  if (paging->after && !before) return bad_cursor();
  const std::string_view subject = request.query_value("subject").value_or("");
  json::array items;
  std::optional<std::string> next;
  std::int64_t count = 0;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto page = audit_page(connection, subject, before, paging->limit + 1);
    if (!page) return std::unexpected(page.error());
    if (page->size() > paging->limit) {
      page->resize(paging->limit);
      next = std::to_string(page->back().seq);
    }
    for (const AuditEntry& line : *page) items.push_back(audit_json(line, view_of(services, request)));
    const auto lines = count_audit(connection, subject);
    if (!lines) return std::unexpected(lines.error());
    count = *lines;
    return {};
  });
  if (!read) return store_problem(read.error());
  return page_response(std::move(items), kList, next, count, true);
}

Response verify(const Services& services, const Request& request) {
  const auto from = whole_number(request.query_value("from").value_or("1"));
  if (!from || *from < 1)
    return problem(ProblemType::kMalformed, "from is the number of a line: 1 or above",
                   {{"from", "is the number of a line: 1 or above"}});
  AuditStretch stretch;
  bool beyond = false;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto last = count_audit(connection, "");
    if (!last) return std::unexpected(last.error());
    // The line after the last is where an answer before may have left off: it is good, and there is nothing to it.
    beyond = *from - 1 > *last;
    if (beyond) return {};
    auto found = verify_stretch(connection, *from, kMostLines);
    if (!found) return std::unexpected(found.error());
    stretch = std::move(*found);
    return {};
  });
  if (!read) return store_problem(read.error());
  if (beyond)
    return problem(ProblemType::kMalformed, "the audit has no line to begin with at from",
                   {{"from", "is above the number of the last line"}});
  const AuditVerdict& verdict = stretch.verdict;
  json::object body{{"good", verdict.good}, {"lines", verdict.lines}};
  if (!verdict.good) body["bad_line"] = verdict.bad_line, body["problem"] = verdict.problem;
  if (stretch.next) body["next"] = *stretch.next;
  return json_response(body);
}

}  // namespace

void add_audit_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/audit",
             {.access = Scope::kRead,
              .summary = "Who did what, newest first",
              .query = {{"subject", "string", "of one letter, issue, operation or key, by its id"},
                        {"limit", "integer", "up to 500; 50"},
                        {"cursor", "string", "`next` of the page before"}},
              .answer = kLines},
             [&services](Request& request) { return list_lines(services, request); });
  // Walking lines takes a while, and the server has few threads: one at a time.
  const auto walking = std::make_shared<std::atomic<bool>>(false);
  router.add("GET", "/api/v1/audit:verify",
             {.access = Scope::kRead,
              .summary = "Whether every line follows from the one before it, 50,000 lines at a time",
              .query = {{"from", "integer", "the line to begin with: `next` of the answer before; 1"}},
              .answer = kVerdict},
             [&services, walking](Request& request) {
               if (walking->exchange(true)) {
                 Response busy = problem(ProblemType::kTooMany, "the audit is being verified for somebody else");
                 busy.headers.emplace_back("Retry-After", "1");
                 return busy;
               }
               Response answer = verify(services, request);
               walking->store(false);
               return answer;
             });
}

}  // namespace bartleby
