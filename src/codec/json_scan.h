// Where the members of a JSON object lie in its text: found without building anything, so that their bytes can be taken
// out or put in exactly as they are.
//
// Strict RFC 8259 in UTF-8, no half of a surrogate pair alone: what passes here every other reader can read. Bounded in
// depth, not recursive. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace bartleby {

constexpr std::size_t kMaxScanDepth = 500;  // readers of other languages end at 1000

// Whether the text is one JSON value, blanks around it allowed.
bool is_json(std::string_view text);

// All three are parts of the text that was scanned.
struct JsonPlace {
  std::string_view name;   // as written, with its quotes
  std::string_view value;  // without blanks around it
  std::string_view slot;   // everything between the colon and the comma or brace
};

// Tells each member of the object that `text` is, in order; answers with where its closing brace is. Nothing: it is no
// JSON object, and what was told before means nothing.
std::optional<std::size_t> scan_object(std::string_view text, const std::function<void(const JsonPlace&)>& member);

}  // namespace bartleby
