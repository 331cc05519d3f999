#include "server/paging.h"

#include "codec/base64.h"

namespace bartleby {
namespace {

constexpr std::size_t kLongestCursor = 400;

std::string opaque(std::string_view list, std::string_view place) {
  std::string text;
  append_base64(text, std::string(list) + ":" + std::string(place), Base64::kBare);
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

std::optional<std::string> place_of(std::string_view list, std::string_view cursor) {
  if (cursor.size() > kLongestCursor) return std::nullopt;
  std::string text(cursor), plain;
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  if (!append_from_base64(plain, text, Base64::kBare)) return std::nullopt;
  const std::string start = std::string(list) + ":";
  if (!plain.starts_with(start)) return std::nullopt;
  return plain.substr(start.size());
}

}  // namespace

Response bad_cursor() {
  return problem(ProblemType::kInvalidQuery, "the cursor is not one of this list: begin without one",
                 {{"cursor", "not one of this list"}});
}

std::expected<Paging, Response> read_paging(const Request& request, std::string_view list) {
  Paging paging;
  if (const auto text = request.query_value("limit")) {
    const auto limit = whole_number(*text);
    if (!limit || *limit < 1 || *limit > static_cast<std::int64_t>(kLargestPage))
      return std::unexpected(problem(ProblemType::kInvalidQuery, "limit is a number from 1 to 500",
                                     {{"limit", "not a number from 1 to 500"}}));
    paging.limit = static_cast<std::size_t>(*limit);
  }
  if (const auto cursor = request.query_value("cursor")) {
    paging.after = place_of(list, *cursor);
    if (!paging.after) return std::unexpected(bad_cursor());
  }
  return paging;
}

Response page_response(json::array items, std::string_view list, const std::optional<std::string>& next,
                       std::int64_t count, bool exact) {
  json::object body{{"items", std::move(items)}};
  body["next"] = next ? json::value(opaque(list, *next)) : json::value(nullptr);
  body["count"] = json::object{{"value", count}, {"exact", exact}};
  return json_response(body);
}

}  // namespace bartleby
