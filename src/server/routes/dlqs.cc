// The dlqs: how full, how old, how far intake has come.
#include "codec/duration_text.h"
#include "office/dlq_view.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kDlq = R"({"$ref": "#/components/schemas/Dlq"})";
constexpr std::string_view kDlqs = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/Dlq"})");

json::object settings_json(const DlqRule& rule) {
  const bool kept = !rule.keep || rule.dlq_class == DlqClass::kFinancial;
  return json::object{{"retention", kept ? json::value(nullptr) : json::value(duration_text(*rule.keep))},
                      {"then", rule.then == Then::kPurge ? "purge" : "archive"}};
}

json::object dlq_json(const Services& services, const DlqView& dlq) {
  json::object letters;
  for (std::size_t s = 0; s < kLetterStates; ++s) letters[kLetterStateNames[s]] = dlq.state.letters[s];
  json::object out{{"name", dlq.state.name}, {"class", name(dlq.state.dlq_class)}};
  out["dialect"] = dlq.dialect.empty() ? json::value(nullptr) : json::value(dlq.dialect);
  out["open"] = dlq.state.letters[static_cast<std::size_t>(LetterState::kOpen)];
  out["letters"] = std::move(letters);
  out["in_per_min"] = services.news->taken_since(dlq.state.name, services.clock->now().steady - Duration(60000));
  out["oldest"] = json_time(dlq.state.oldest);
  out["partitions"] = dlq.partitions;
  out["intake_lag"] = dlq.lag;
  out["missed"] = dlq.missed;
  out["expiring"] = dlq.expiring;
  out["next_expiry"] = json_time(dlq.next_expiry);
  out["settings"] = settings_json(services.rule_of(dlq.state.name));
  return out;
}

Response list_dlqs(const Services& services) {
  const auto dlqs = dlq_views(*services.store, *services.broker, services.clock->now().wall);
  if (!dlqs) return store_problem(dlqs.error());
  json::array items;
  for (const DlqView& dlq : *dlqs) items.push_back(dlq_json(services, dlq));
  return page_response(std::move(items), "dlqs", std::nullopt, static_cast<std::int64_t>(dlqs->size()), true);
}

Response show_dlq(const Services& services, const Request& request) {
  const auto dlqs = dlq_views(*services.store, *services.broker, services.clock->now().wall);
  if (!dlqs) return store_problem(dlqs.error());
  for (const DlqView& dlq : *dlqs)
    if (dlq.state.name == request.parameter("name")) return json_response(dlq_json(services, dlq));
  return problem(ProblemType::kNotFound, "no dlq " + request.parameter("name").substr(0, 249));
}

}  // namespace

void add_dlq_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/dlqs",
             {.access = Scope::kRead, .summary = "The dead letter topics, with exact counts", .answer = kDlqs},
             [&services](Request&) { return list_dlqs(services); });
  router.add("GET", "/api/v1/dlqs/{name}", {.access = Scope::kRead, .summary = "One of them", .answer = kDlq},
             [&services](Request& request) { return show_dlq(services, request); });
}

}  // namespace bartleby
