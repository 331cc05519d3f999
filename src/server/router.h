// Which code answers which path. Built once, then only read, by any thread.
//
// Patterns are literal segments and `{name}` for one segment; a last segment may end in a literal `:verb` after its
// name or literal (`/attempts/{token}:finish`). An unknown path is 404, a known one with another method 405 with
// `Allow`. The list of routes is what the OpenAPI document is checked against.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/http.h"

namespace bartleby {

struct Route {
  std::string method;
  std::string pattern;
  std::string summary;  // one line, in the OpenAPI document
  std::function<void(Request&, Respond)> answer;
};

class Router {
 public:
  void add(std::string method, std::string pattern, std::string summary, std::function<void(Request&, Respond)> answer);
  // For routes that answer at once.
  void add(std::string method, std::string pattern, std::string summary, std::function<Response(Request&)> answer);

  void answer(Request request, Respond respond) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace bartleby
