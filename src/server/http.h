// A request and its response as routes see them: plain data, no library's types.
//
// Everything in a request is bounded before a route sees it (server/http_server.h). A route answers once, now or later,
// from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/access.h"

namespace bartleby {

struct Request {
  std::string method;
  std::string path;                                          // percent-decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;    // decoded, in order
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string request_id;
  std::string peer;                               // address of the other end of the connection
  Caller caller;                                  // as the router's guard has found out
  std::map<std::string, std::string> parameters;  // of the route's pattern

  // What a route wants to hear of a client that goes away; absent, nothing.
  struct Departure {
    // While the answer is not there yet. True: it is not given any more.
    std::function<bool()> abandon;
    // The answer could not be written. Set before the answer is given; at most one call.
    std::function<void()> undelivered;
  };
  std::shared_ptr<Departure> departure;

  std::optional<std::string_view> header(std::string_view name) const {
    for (const auto& [n, value] : headers)
      if (n == name) return value;
    return std::nullopt;
  }
  // All of that name, in their order.
  std::vector<std::string_view> header_values(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const auto& [n, value] : headers)
      if (n == name) values.push_back(value);
    return values;
  }
  std::optional<std::string_view> query_value(std::string_view name) const {
    for (const auto& [n, value] : query)
      if (n == name) return value;
    return std::nullopt;
  }
  const std::string& parameter(const std::string& name) const { return parameters.at(name); }
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // Instead of the body: what is new since the last call, which may be nothing; nullopt: the answer is over. Called a
  // few times a second, on one thread at a time, until the client goes or the server stops.
  std::function<std::optional<std::string>()> stream{};
  std::string for_log{};  // what the log says of it, and nobody else is told
};

using Respond = std::move_only_function<void(Response)>;

std::vector<std::pair<std::string, std::string>> parse_url_query(std::string_view text);
// 0 or more; nullopt for anything else.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace bartleby
