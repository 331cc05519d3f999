#include "server/problem.h"

#include <array>
#include <boost/json.hpp>

#include "codec/utf8.h"

namespace bartleby {
namespace {

namespace json = boost::json;

struct Row {
  ProblemType type;
  int status;
  std::string_view name;
  std::string_view title;
};
constexpr std::array kRows = {
    Row{ProblemType::kMalformed, 400, "malformed", "The request cannot be read"},
    Row{ProblemType::kInvalidQuery, 400, "invalid-query", "The query makes no sense"},
    Row{ProblemType::kUnauthenticated, 401, "unauthenticated", "Say who you are"},
    Row{ProblemType::kForbidden, 403, "forbidden", "Not allowed"},
    Row{ProblemType::kNotFound, 404, "not-found", "There is no such thing"},
    Row{ProblemType::kMethodNotAllowed, 405, "method-not-allowed", "The thing does not take this method"},
    Row{ProblemType::kConflict, 409, "conflict", "Something else stands in the way"},
    Row{ProblemType::kAmbiguousOffset, 409, "ambiguous-offset", "Several letters lie at this offset"},
    Row{ProblemType::kWrongState, 409, "wrong-state", "It is not in the state for this"},
    Row{ProblemType::kGone, 410, "gone", "It is no more"},
    Row{ProblemType::kStale, 412, "stale", "It is not what the caller has seen"},
    Row{ProblemType::kTooLarge, 413, "too-large", "Too large"},
    Row{ProblemType::kUnsupportedType, 415, "unsupported-type", "This content type is not read here"},
    Row{ProblemType::kInvalid, 422, "invalid", "A field has a value it cannot have"},
    Row{ProblemType::kIdempotencyReuse, 422, "idempotency-reuse", "This key was used for another request"},
    Row{ProblemType::kTooMany, 429, "too-many", "Too many at once"},
    Row{ProblemType::kStoreUnavailable, 503, "store-unavailable", "The store does not answer"},
    Row{ProblemType::kBrokerUnavailable, 503, "broker-unavailable", "The broker does not answer"},
    Row{ProblemType::kInstanceUnreachable, 503, "instance-unreachable", "The instance does not answer"},
};

const Row& row(ProblemType type) { return kRows.at(static_cast<std::size_t>(type)); }

}  // namespace

int status_of(ProblemType type) { return row(type).status; }
std::string_view name(ProblemType type) { return row(type).name; }

// What callers said is quoted, and may be cut in the middle of a character.
Response problem(ProblemType type, std::string_view detail, const std::vector<FieldError>& errors) {
  const Row& r = row(type);
  json::object body;
  body["type"] = "/problems/" + std::string(r.name);
  body["title"] = r.title;
  body["status"] = r.status;
  body["detail"] = clean_utf8(detail);
  if (!errors.empty()) {
    json::array list;
    for (const FieldError& e : errors)
      list.push_back(json::object{{"pointer", clean_utf8(e.pointer)}, {"detail", clean_utf8(e.detail)}});
    body["errors"] = std::move(list);
  }
  Response response{
      .status = r.status, .content_type = "application/problem+json", .body = {}, .headers = {}, .stream = {}};
  response.body = json::serialize(body);
  return response;
}

// A message of the store's begins with its file, goes on with the statement, and ends with SQLite's number.
std::string told(const Error& error) {
  const std::size_t at = error.message.rfind(" (SQLite error ");
  if (at == std::string::npos || !error.message.substr(0, at).contains("office.db: ")) return error.message;
  return "the store could not do it" + error.message.substr(at) + "; the server's log says what it was";
}

Response problem(const Error& error) {
  const auto typed = [&](ProblemType type) {
    Response response = problem(type, told(error));
    if (told(error) != error.message) response.for_log = error.message;
    return response;
  };
  switch (error.code) {
    case ErrorCode::kMalformed:
      return typed(ProblemType::kMalformed);
    case ErrorCode::kTooLarge:
      return typed(ProblemType::kTooLarge);
    case ErrorCode::kNotFound:
      return typed(ProblemType::kNotFound);
    case ErrorCode::kUnsupported:
    case ErrorCode::kInvalid:
      return typed(ProblemType::kInvalid);
    case ErrorCode::kFenced:
      return typed(ProblemType::kConflict);
    case ErrorCode::kUnavailable:
      break;
  }
  Response response = typed(ProblemType::kBrokerUnavailable);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response store_problem(const Error& error) {
  Response response = problem(ProblemType::kStoreUnavailable, told(error));
  response.headers.emplace_back("Retry-After", "1");
  if (told(error) != error.message) response.for_log = error.message;
  return response;
}

void complete_problem(Response& response, const std::string& instance, const std::string& request_id) {
  if (response.content_type != "application/problem+json") return;
  json::error_code failed;
  json::value body = json::parse(response.body, failed);
  if (failed || !body.is_object()) return;
  if (!instance.empty()) body.as_object()["instance"] = instance;
  body.as_object()["request_id"] = request_id;
  response.body = json::serialize(body);
}

}  // namespace bartleby
