// A JSON text as a tree that keeps its words: numbers and strings stay as they were written.
//
// For edits (codec/json_patch.h). Strict RFC 8259 in UTF-8. Bounded in depth; as many nodes as the text has. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace bartleby {

struct JsonMember;
struct JsonTree {
  enum class Kind : std::uint8_t { kWord, kNumber, kString, kArray, kObject };  // a word: null, true, false

  Kind kind = Kind::kWord;
  std::string text;                 // of the first three, as written; of a string with its quotes
  std::vector<JsonTree> items;      // of an array
  std::vector<JsonMember> members;  // of an object
};

struct JsonMember {
  std::string first;  // the name as written, with its quotes
  JsonTree second;
};

Result<JsonTree> json_tree(std::string_view text, std::size_t max_depth);
void append_tree(std::string& out, const JsonTree& tree);
std::size_t tree_size(const JsonTree& tree);  // bytes that `append_tree` appends

// What a string that stands in quotes means.
std::string json_unquoted(std::string_view quoted);
// Equal as JSON: numbers by value however they are written, strings by what they mean, objects in any order.
bool json_equal(const JsonTree& a, const JsonTree& b);

}  // namespace bartleby
