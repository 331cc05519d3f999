#include "codec/problem.h"

#include <simdjson.h>

namespace bartleby {
namespace {

constexpr std::size_t kMaxDepth = 64;

std::string text_of(simdjson::dom::object object, std::string_view field) {
  std::string_view text;
  if (object.at_key(field).get(text) != simdjson::SUCCESS) return {};
  return std::string(text);
}

}  // namespace

std::optional<ErrorText> error_from_problem(std::string_view json) {
  simdjson::dom::parser parser;
  if (parser.allocate(json.size(), kMaxDepth) != simdjson::SUCCESS) return std::nullopt;
  simdjson::dom::object object;
  if (parser.parse(json.data(), json.size()).get(object) != simdjson::SUCCESS) return std::nullopt;
  ErrorText error;
  error.type = text_of(object, "type");
  if (error.type == "about:blank") error.type.clear();
  error.message = text_of(object, "title");
  const std::string detail = text_of(object, "detail");
  if (!error.message.empty() && !detail.empty()) error.message += ": ";
  error.message += detail;
  error.stack = text_of(object, "stack");
  return error;
}

}  // namespace bartleby
