#include "server/json.h"

#include <algorithm>

#include "codec/base64.h"
#include "codec/duration_text.h"
#include "codec/time_text.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

constexpr std::size_t kDepth = 64;

// Members in the text of a document that has been parsed: each has one colon outside of strings.
std::size_t members_written(std::string_view text) {
  std::size_t members = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      in_string = !in_string;
    else if (!in_string && text[i] == ':')
      ++members;
  }
  return members;
}

std::size_t members_of(const json::value& value) {
  std::size_t members = 0;
  if (const json::array* list = value.if_array())
    for (const json::value& one : *list) members += members_of(one);
  if (const json::object* object = value.if_object())
    for (const auto& member : *object) members += 1 + members_of(member.value());
  return members;
}

}  // namespace

Response json_response(const json::value& body, int status) {
  Response r;
  r.status = status;
  r.body = json::serialize(body);
  return r;
}

Response with_member(Response response, std::string_view name, json::value value) {
  json::value body = json::parse(response.body);
  body.as_object()[name] = std::move(value);
  response.body = json::serialize(body);
  return response;
}

json::value json_bytes(const Bytes& bytes) {
  if (!bytes) return nullptr;
  if (is_utf8(*bytes)) return json::string(*bytes);
  std::string text;
  append_base64(text, *bytes, Base64::kPadded);
  return json::object{{"base64", text}};
}

json::value json_time(std::optional<Timestamp> at) {
  if (!at) return nullptr;
  return json::string(time_text(*at));
}

json::array json_headers(const Headers& headers) {
  json::array list;
  for (const auto& [name, value] : headers)
    list.push_back(json::array{json_bytes(Bytes(std::string_view(name))), json_bytes(value)});
  return list;
}

bool gives_a_name_twice(std::string_view text, const json::value& parsed) {
  return members_written(text) != members_of(parsed);
}

std::expected<json::object, Response> read_object(const Request& request) {
  json::parse_options options;
  options.max_depth = kDepth;
  json::error_code failed;
  json::value body = json::parse(request.body, failed, {}, options);
  if (failed == json::error::too_deep)
    return std::unexpected(
        problem(ProblemType::kMalformed, "the JSON is nested deeper than " + std::to_string(kDepth)));
  if (failed) return std::unexpected(problem(ProblemType::kMalformed, "the body is not JSON: " + failed.message()));
  if (gives_a_name_twice(request.body, body))
    return std::unexpected(problem(ProblemType::kMalformed, "the JSON gives a name twice in one object"));
  if (!body.is_object())
    return std::unexpected(problem(ProblemType::kInvalid, "the body must be a JSON object", {{"", "not an object"}}));
  return std::move(body.as_object());
}

const json::value* Fields::take(std::string_view name) {
  known_.emplace_back(name);
  const json::value* found = object_.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

const json::value* Fields::value(std::string_view name) { return take(name); }

void Fields::wrong(std::string_view name, std::string detail) {
  errors_.push_back({at_ + "/" + std::string(name), std::move(detail)});
}

std::optional<std::string> Fields::text(std::string_view name, std::size_t longest) {
  const json::value* v = take(name);
  if (v == nullptr) return std::nullopt;
  if (!v->is_string()) return wrong(name, "must be a string"), std::nullopt;
  if (v->as_string().size() > longest)
    return wrong(name, "must be no longer than " + std::to_string(longest) + " bytes"), std::nullopt;
  return std::string(v->as_string());
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const json::value* v = take(name);
  if (v == nullptr) return std::nullopt;
  json::error_code failed;
  const auto number = v->is_double() ? 0 : v->to_number<std::int64_t>(failed);
  if (v->is_double() || failed || number < least || number > most)
    return wrong(name, "must be an integer from " + std::to_string(least) + " to " + std::to_string(most)),
           std::nullopt;
  return number;
}

std::optional<bool> Fields::truth(std::string_view name) {
  const json::value* v = take(name);
  if (v == nullptr) return std::nullopt;
  if (!v->is_bool()) return wrong(name, "must be true or false"), std::nullopt;
  return v->as_bool();
}

std::optional<Duration> Fields::duration(std::string_view name, Duration longest) {
  const auto given = text(name, 32);
  if (!given) return std::nullopt;
  const auto d = duration_from_text(*given);
  if (!d || *d > longest)
    return wrong(name, "must be a duration such as 250ms, 10s, 5m, 1h, at most " +
                           std::to_string(longest.count() / 1000) + "s"),
           std::nullopt;
  return d;
}

std::optional<Bytes> Fields::bytes(std::string_view name) {
  known_.emplace_back(name);
  const json::value* v = object_.if_contains(name);
  if (v == nullptr) return std::nullopt;
  if (v->is_null()) return Bytes();
  if (v->is_string()) return Bytes(std::string_view(v->as_string()));
  if (v->is_object() && v->as_object().size() == 1 && v->as_object().contains("base64") &&
      v->at("base64").is_string()) {
    std::string decoded;
    if (append_from_base64(decoded, std::string_view(v->at("base64").as_string()), Base64::kPadded))
      return Bytes(std::string_view(decoded));
  }
  wrong(name, "must be a string or {\"base64\": \"…\"}");
  return std::nullopt;
}

std::optional<Response> Fields::mistakes() {
  for (const auto& field : object_)
    if (std::ranges::find(known_, std::string_view(field.key())) == known_.end())
      wrong(clean_utf8(field.key(), {.bytes = 100}), "is not a field of this request");
  if (errors_.empty()) return std::nullopt;
  std::string detail = errors_.front().pointer + " " + errors_.front().detail;
  return problem(ProblemType::kInvalid, std::move(detail), errors_);
}

}  // namespace bartleby
