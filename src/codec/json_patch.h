// Edits of JSON texts by JSON Patch (RFC 6902: add, remove, replace, move, copy, test) with JSON Pointers (RFC 6901).
//
// What an edit does not touch keeps its text: numbers of any size and precision, escapes in strings, the order of
// fields; only blanks between them go. Pure. Bounded: patches in bytes and steps, documents in depth, results in bytes,
// however often a patch copies. An error says which step and why; nothing is changed in part.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace bartleby {

constexpr std::size_t kMaxPatch = std::size_t{16} << 10;  // bytes
constexpr std::size_t kMaxPatchSteps = 100;
constexpr std::size_t kMaxPatchDepth = 64;                  // of documents and patches
constexpr std::size_t kMaxPatched = std::size_t{16} << 20;  // bytes of a result

class JsonPatch {
 public:
  // kTooLarge over a limit, kMalformed where it is no patch.
  static Result<JsonPatch> parse(std::string_view text);

  // kMalformed: the document is no JSON; kInvalid: the patch does not apply to it; kTooLarge.
  Result<std::string> apply(std::string_view document) const;

 private:
  struct Steps;
  explicit JsonPatch(std::shared_ptr<const Steps> steps) : steps_(std::move(steps)) {}

  std::shared_ptr<const Steps> steps_;
};

// The text of one member of an object, without blanks; empty where there is none. For what must not be read as numbers
// of a language. kMalformed: not an object.
Result<std::string> json_member(std::string_view object, std::string_view name);

}  // namespace bartleby
