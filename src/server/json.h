// JSON at the edge: how our values are written, and how a request's body is read.
//
// Reading is bounded in size (by the server) and depth (64); every mistake names the field by its pointer. Bytes that
// are not UTF-8 are {"base64": "…"}. Integers are exact to 64 bits.
#pragma once

#include <bartleby/types.h>

#include <boost/json.hpp>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "model/failure.h"
#include "server/http.h"
#include "server/problem.h"

namespace bartleby {

namespace json = boost::json;

Response json_response(const json::value& body, int status = 200);

// A problem with one more member.
Response with_member(Response response, std::string_view name, json::value value);

json::value json_bytes(const Bytes& bytes);  // null, a string, or {"base64": …}
json::value json_time(std::optional<Timestamp> at);
json::array json_headers(const Headers& headers);

// Whether an object of this text, which was parsed to this value, gives a name twice. The last would win, and whoever
// looked at the first would be deceived.
bool gives_a_name_twice(std::string_view text, const json::value& parsed);

// The body as an object, or the problem to answer with.
std::expected<json::object, Response> read_object(const Request& request);

// Fields of it. Absent or null: nullopt. A wrong type adds to `errors`.
class Fields {
 public:
  explicit Fields(const json::object& object, std::string at = "") : object_(object), at_(std::move(at)) {}

  std::optional<std::string> text(std::string_view name, std::size_t longest = 10000);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most);
  std::optional<bool> truth(std::string_view name);
  std::optional<Duration> duration(std::string_view name, Duration longest);  // "250ms 10s 5m 1h"
  std::optional<Bytes> bytes(std::string_view name);                          // a string or {"base64": …}
  const json::value* value(std::string_view name);
  void wrong(std::string_view name, std::string detail);
  // Every field must have been asked for; the problem with all mistakes, or none.
  std::optional<Response> mistakes();

 private:
  const json::value* take(std::string_view name);
  const json::object& object_;
  std::string at_;
  std::vector<std::string> known_;
  std::vector<FieldError> errors_;
};

}  // namespace bartleby
