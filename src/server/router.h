// Which code answers which path. Built once, then only read, by any thread; it counts what it has answered.
//
// Patterns are literal segments and `{name}` for one segment; a last segment may end in a literal `:verb` after its
// name or literal (`/attempts/{token}:finish`). An unknown path is 404, a known one with another method 405 with
// `Allow`. What a route wants and answers is said beside it and becomes the OpenAPI document (routes/openapi.cc); so is
// who may call it, which a route cannot leave out: it would not compile. The guard asks before a route is called.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "server/http.h"

namespace bartleby {

struct QueryParameter {
  std::string_view name;
  std::string_view type;  // of its JSON schema
  std::string_view text;
  bool required = false;
};

// Of routes whose body has no place for it. The router refuses one that is too long; `actor_of` takes it.
constexpr QueryParameter kWhy{"reason", "string", "why; stands in the audit"};
constexpr std::size_t kLongestReason = 1000;

// An answer that is not the usual one and not a problem either.
struct Alternative {
  int status;
  std::string_view text;
  std::string_view answer;
};

// What a route wants of its caller.
class Access {
 public:
  enum class Kind : std::uint8_t {
    kScopes,  // one of the scopes
    kListed,  // anybody while `auth.public` names it, else whoever may read
    kOpen,    // anybody: what the request carries is its permission, or there is nothing to guard
    kTokens,  // tokens of a channel or consumer, which the route looks at itself
  };

  constexpr Access(Scope scope) : scopes_{scope} {}  // NOLINT(google-explicit-constructor)
  // One of them; the route asks `Request::caller` for the one that the request needs.
  static constexpr Access any_of(Scopes scopes) { return {Kind::kScopes, scopes, {}}; }
  static constexpr Access listed() { return {Kind::kListed, {Scope::kRead}, {}}; }
  static constexpr Access open() { return {Kind::kOpen, {}, {}}; }
  static constexpr Access tokens(std::string_view which, Scopes or_else = {}) {
    return {Kind::kTokens, or_else, which};
  }

  constexpr Kind kind() const { return kind_; }
  constexpr Scopes scopes() const { return scopes_; }
  constexpr std::string_view which() const { return which_; }  // of the tokens
  std::string text() const;                                    // `replay`, `public`, …: what documents say

 private:
  constexpr Access(Kind kind, Scopes scopes, std::string_view which) : kind_(kind), scopes_(scopes), which_(which) {}

  Kind kind_ = Kind::kScopes;
  Scopes scopes_;
  std::string_view which_;
};

// Schemas are JSON Schema as text; `#/components/schemas/…` are those of routes/openapi.cc.
struct RouteDocs {
  Access access;
  std::string_view summary{};
  std::vector<QueryParameter> query{};
  std::string_view body_type = "application/json";
  std::string_view body{};  // schema of the request's; empty: it has none
  int success = 200;
  std::string_view answer_type = "application/json";
  std::string_view answer{};  // schema; empty: no content
  std::vector<Alternative> others{};
  bool keeps_answer = true;  // with an Idempotency-Key; not where the answer is a secret or a claim
  bool at_once = false;      // waits for no disk and no store: runs on the connection's own thread
};

struct RouteFigures {
  static constexpr int kFirstCode = 100;

  std::array<std::atomic<std::uint64_t>, 500> by_code{};  // from 100 on
  Histogram time;

  void count(int code, Duration took);
};

struct Route {
  std::string method;
  std::string pattern;
  RouteDocs docs;
  std::function<void(Request&, Respond)> answer;
  std::shared_ptr<RouteFigures> figures;  // shared with answers that are on their way
};

class Router {
 public:
  void add(std::string method, std::string pattern, RouteDocs docs, std::function<void(Request&, Respond)> answer);
  // For routes that answer at once.
  void add(std::string method, std::string pattern, RouteDocs docs, std::function<Response(Request&)> answer);

  // Asked before a route is called; it may set the caller. An answer: the route is not called.
  using Guard = std::function<std::optional<Response>(Request&, const Route&)>;
  void set_guard(Guard guard) { guard_ = std::move(guard); }
  // Asked next; it may answer instead of the route, or listen to the route's answer.
  using Memory = std::function<std::optional<Response>(const Request&, const Route&, Respond&)>;
  void set_memory(Memory memory) { memory_ = std::move(memory); }
  // Asked for what no route has; nullopt: it does not have it either. Not in the API's document.
  void add_pages(std::function<std::optional<Response>(const Request&)> pages) { pages_ = std::move(pages); }

  // Has somebody else call a route that may wait, for a disk or for a long query: all that do not say `at_once`.
  // Absent: nobody.
  using Elsewhere = std::function<void(std::move_only_function<void()> call)>;
  void answer(Request request, Respond respond, const Elsewhere& elsewhere = {}) const;
  const std::vector<Route>& routes() const { return routes_; }

  // Pages, and what no route has answered; the server adds what it has refused itself.
  RouteFigures& unrouted() const { return *unrouted_; }

 private:
  void call(const Route& route, Request request, Respond respond) const;

  std::vector<Route> routes_;
  Guard guard_;
  Memory memory_;
  std::function<std::optional<Response>(const Request&)> pages_;
  std::shared_ptr<RouteFigures> unrouted_ = std::make_shared<RouteFigures>();
};

}  // namespace bartleby
