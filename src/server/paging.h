// Lists in pages: `?limit=50&cursor=…` in, `{"items", "next", "count"}` out.
//
// A cursor is a place in a list, opaque to clients. It says of which list it is: that of another is refused. Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "server/json.h"

namespace bartleby {

constexpr std::size_t kDefaultPage = 50;
constexpr std::size_t kLargestPage = 500;

struct Paging {
  std::size_t limit = kDefaultPage;
  std::optional<std::string> after;  // what `page_response` was given as the place
};

// `list` names the list: a word that is the same for all pages of it.
std::expected<Paging, Response> read_paging(const Request& request, std::string_view list);
Response page_response(json::array items, std::string_view list, const std::optional<std::string>& next,
                       std::int64_t count, bool exact);
Response bad_cursor();

// The schema of such an answer, of items that `item` describes.
#define BARTLEBY_PAGE_OF(item)                                                             \
  R"({"type": "object", "required": ["items", "next", "count"], "additionalProperties": )" \
  R"(false, "properties": {"next": {"type": ["string", "null"]}, "count": {"$ref": )"      \
  R"("#/components/schemas/Count"}, "items": {"type": "array", "items": )" item "}}}"

}  // namespace bartleby
