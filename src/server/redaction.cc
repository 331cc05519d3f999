#include "server/redaction.h"

#include <algorithm>

#include "codec/json_tree.h"

namespace bartleby {
namespace {

constexpr std::size_t kDeepest = 64;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::vector<std::string> steps_of(std::string_view pointer) {
  std::vector<std::string> steps;
  while (pointer.starts_with('/')) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string step;
    for (std::size_t i = 0; i < end; ++i) {
      const bool escaped = pointer[i] == '~' && i + 1 < end;
      step += !escaped ? pointer[i] : pointer[i + 1] == '1' ? '/' : '~';
      if (escaped) ++i;
    }
    steps.push_back(std::move(step));
    pointer.remove_prefix(end);
  }
  return steps;
}

// `**` takes as few steps as possible and, where the rest does not fit, one more: linear but for the last `**`.
bool fits(const std::vector<std::string>& rule, const std::vector<std::string>& path) {
  std::size_t r = 0, p = 0, again_r = rule.size(), again_p = 0;
  while (p < path.size()) {
    if (r < rule.size() && rule[r] == "**") {
      again_r = r++;
      again_p = p;
    } else if (r < rule.size() && (rule[r] == "*" || rule[r] == path[p])) {
      ++r, ++p;
    } else if (again_r < rule.size()) {
      r = again_r + 1;
      p = ++again_p;
    } else {
      return false;
    }
  }
  while (r < rule.size() && rule[r] == "**") ++r;
  return r == rule.size();
}

// An object or a list, as far as its beginning tells; also behind a mark of UTF-8, or behind the five bytes of a schema
// registry. Any other text has no fields that a rule could name.
bool looks_like_json(std::string_view value) {
  if (value.size() > 5 && value[0] == '\0') value.remove_prefix(5);
  if (value.starts_with("\xef\xbb\xbf")) value.remove_prefix(3);
  const std::size_t first = value.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (value[first] == '{' || value[first] == '[');
}

}  // namespace

Redaction::Redaction(const RedactionRules& rules) {
  for (const std::string& pointer : rules.json) json_.push_back(steps_of(pointer));
  for (const std::string& header : rules.headers) headers_.push_back(lower(header));
}

Headers Redaction::headers(Headers headers) const {
  for (auto& [name, value] : headers)
    if (value && std::ranges::find(headers_, lower(name)) != headers_.end()) value = Bytes(kHidden);
  return headers;
}

bool Redaction::hides(const Steps& path) const {
  return std::ranges::any_of(json_, [&](const Steps& rule) { return fits(rule, path); });
}

bool Redaction::hides(std::string_view name) const {
  constexpr std::string_view kHeader = "header.";
  if (name.starts_with(kHeader))
    return std::ranges::find(headers_, lower(name.substr(kHeader.size()))) != headers_.end();
  if (json_.empty() || !name.starts_with('/')) return false;
  // What hides an object hides all that is in it.
  const Steps path = steps_of(name);
  for (Steps above;; above.push_back(path[above.size()])) {
    if (hides(above)) return true;
    if (above.size() == path.size()) return false;
  }
}

bool Redaction::redact(JsonTree& node, Steps& path) const {
  if (hides(path)) {
    node = JsonTree{
        .kind = JsonTree::Kind::kString, .text = "\"" + std::string(kHidden) + "\"", .items = {}, .members = {}};
    return true;
  }
  bool changed = false;
  const auto below = [&](std::string step, JsonTree& child) {
    path.push_back(std::move(step));
    changed |= redact(child, path);
    path.pop_back();
  };
  for (JsonMember& member : node.members) below(json_unquoted(member.first), member.second);
  std::size_t index = 0;
  for (JsonTree& item : node.items) below(std::to_string(index++), item);
  return changed;
}

Bytes Redaction::value(const Bytes& value) const {
  if (json_.empty() || !value) return value;
  auto tree = json_tree(*value, kDeepest);
  // What cannot be looked through is not shown: broken, too deep, or several values one after the other.
  if (!tree) return looks_like_json(*value) ? Bytes(kHiddenWhole) : value;
  Steps path;
  if (!redact(*tree, path)) return value;
  std::string shown;
  append_tree(shown, *tree);
  return Bytes(std::string_view(shown));
}

}  // namespace bartleby
