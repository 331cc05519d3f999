// YAML text → tree. The only place that knows the YAML library.
//
// Bounded: 1 MB of text, 32 levels, 100,000 nodes counting every use of an alias. Not taken: bytes that are not
// UTF-8, control characters, tags, more than one document. Nothing is thrown.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "wiring/config_node.h"

namespace bartleby {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
constexpr int kMaxConfigDepth = 32;
constexpr std::size_t kMaxConfigNodes = 100000;

// The first thing that is wrong, or the tree; a text without any content is null. Keys are as written: not expanded,
// possibly given twice.
std::expected<ConfigNode, Mistake> parse_yaml(std::string_view text, const std::string& name);

// A value from a variable or a flag, where a list or a map is wanted. All nodes are at `origin`.
std::expected<ConfigNode, std::string> parse_yaml_value(std::string_view text, const Origin& origin);

}  // namespace bartleby
