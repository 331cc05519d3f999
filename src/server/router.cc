#include "server/router.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "codec/percent.h"
#include "codec/utf8.h"
#include "server/problem.h"

namespace bartleby {
namespace {

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = path.find('/');
    parts.push_back(path.substr(0, end));
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  return parts;
}

// One segment of the path against one of the pattern.
bool matches(std::string_view pattern, std::string_view given, std::map<std::string, std::string>& parameters) {
  if (!pattern.starts_with('{')) return pattern == given;
  const std::size_t close = pattern.find('}');
  const std::string_view verb = pattern.substr(close + 1);
  if (given.size() <= verb.size() || !given.ends_with(verb)) return false;
  given.remove_suffix(verb.size());
  parameters[std::string(pattern.substr(1, close - 1))] = std::string(given);
  return true;
}

bool matches(const Route& route, std::string_view path, std::map<std::string, std::string>& parameters) {
  const auto wanted = segments(route.pattern);
  const auto given = segments(path);
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!matches(wanted[i], given[i], parameters)) return false;
  return true;
}

// Where a route has no reason in its address, one that stands there is nothing, as other unknown parameters are.
std::optional<Response> wrong_reason(Request& request, const Route& route) {
  const auto said = request.query_value(kWhy.name);
  if (said && std::ranges::find(route.docs.query, kWhy.name, &QueryParameter::name) == route.docs.query.end()) {
    std::erase_if(request.query, [](const auto& parameter) { return parameter.first == kWhy.name; });
    return {};
  }
  if (!said || (said->size() <= kLongestReason && is_utf8(*said))) return {};
  return problem(ProblemType::kInvalid, "a reason is a text of at most " + std::to_string(kLongestReason) + " bytes",
                 {{"reason", "is too long, or is not UTF-8"}});
}

}  // namespace

std::string Access::text() const {
  switch (kind_) {
    case Kind::kListed:
      return "public";
    case Kind::kOpen:
      return "open";
    case Kind::kTokens:
      return std::string(which_);
    case Kind::kScopes:
      break;
  }
  std::string out;
  for (const std::string_view scope : scopes_.names()) out += (out.empty() ? "" : "|") + std::string(scope);
  return out;
}

void RouteFigures::count(int code, Duration took) {
  const int last = kFirstCode + static_cast<int>(by_code.size()) - 1;
  by_code[static_cast<std::size_t>(std::clamp(code, kFirstCode, last) - kFirstCode)].fetch_add(
      1, std::memory_order_relaxed);
  time.observe(took);
}

void Router::add(std::string method, std::string pattern, RouteDocs docs,
                 std::function<void(Request&, Respond)> answer) {
  routes_.push_back(
      {std::move(method), std::move(pattern), std::move(docs), std::move(answer), std::make_shared<RouteFigures>()});
}

void Router::add(std::string method, std::string pattern, RouteDocs docs, std::function<Response(Request&)> answer) {
  add(std::move(method), std::move(pattern), std::move(docs),
      [answer = std::move(answer)](Request& request, Respond respond) { respond(answer(request)); });
}

void Router::call(const Route& route, Request request, Respond respond) const {
  const Instant began = system_now().steady;
  auto instead = guard_ ? guard_(request, route) : std::nullopt;
  if (!instead) instead = wrong_reason(request, route);
  if (!instead && memory_) instead = memory_(request, route, respond);
  if (instead) {
    route.figures->count(instead->status, system_now().steady - began);
    return respond(std::move(*instead));
  }
  // Whoever waits is answered once, also where a library throws: on a thread of a pool nobody else would catch it.
  const auto waiting = std::make_shared<std::optional<Respond>>(std::move(respond));
  const auto answer = [began, figures = route.figures, waiting](Response response) {
    std::optional<Respond> once = std::exchange(*waiting, std::nullopt);
    if (!once) return;
    figures->count(response.status, system_now().steady - began);
    (*once)(std::move(response));
  };
  try {
    route.answer(request, answer);
  } catch (const std::exception& thrown) {
    answer(problem(ProblemType::kStoreUnavailable, std::string("the answer could not be made: ") + thrown.what()));
  }
}

void Router::answer(Request request, Respond respond, const Elsewhere& elsewhere) const {
  std::string allowed;
  for (const Route& route : routes_) {
    std::map<std::string, std::string> parameters;
    if (!matches(route, request.path, parameters)) continue;
    const bool head = request.method == "HEAD" && route.method == "GET";
    if (route.method != request.method && !head) {
      allowed += (allowed.empty() ? "" : ", ") + route.method;
      continue;
    }
    request.parameters = std::move(parameters);
    if (!elsewhere || route.docs.at_once) return call(route, std::move(request), std::move(respond));
    return elsewhere([this, &route, request = std::move(request), respond = std::move(respond)] mutable {
      call(route, std::move(request), std::move(respond));
    });
  }
  if (pages_ && allowed.empty() && (request.method == "GET" || request.method == "HEAD"))
    if (std::optional<Response> page = pages_(request)) {
      unrouted_->count(page->status, Duration(0));
      respond(std::move(*page));
      return;
    }
  Response refused = allowed.empty() ? problem(ProblemType::kNotFound, "no such path: " + request.path)
                                     : problem(ProblemType::kMethodNotAllowed, request.path + " takes " + allowed);
  if (!allowed.empty()) refused.headers.emplace_back("Allow", allowed);
  unrouted_->count(refused.status, Duration(0));
  respond(std::move(refused));
}

std::vector<std::pair<std::string, std::string>> parse_url_query(std::string_view text) {
  constexpr std::size_t kMost = 64;
  std::vector<std::pair<std::string, std::string>> values;
  while (!text.empty() && values.size() < kMost) {
    const std::size_t end = text.find('&');
    const std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const std::size_t equals = part.find('=');
    const auto name = percent_decoded(part.substr(0, equals), true);
    const auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                        : percent_decoded(part.substr(equals + 1), true);
    if (name && value && !name->empty()) values.emplace_back(*name, *value);
  }
  return values;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc() || end != text.data() + text.size() || n < 0) return std::nullopt;
  return n;
}

}  // namespace bartleby
