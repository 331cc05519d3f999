#include "wiring/config_environment.h"

#include <unistd.h>

#include <algorithm>

#include "codec/utf8.h"
#include "model/failure.h"
#include "wiring/config_parse.h"
#include "wiring/config_values.h"

namespace bartleby {
namespace {

constexpr std::string_view kPrefix = "BARTLEBY__";

std::vector<std::string> keys_of(const ConfigNode& root, std::string_view name) {
  std::vector<std::string> out;
  if (const ConfigNode* map = root.find(name))
    for (const ConfigEntry& entry : map->entries) out.push_back(entry.key);
  return out;
}

// The names that may stand for `*` here.
std::vector<std::string> names_at(const std::vector<std::string>& path, const ConfigNode& root) {
  if (path.back() == "kinds") return {kKindNames.begin(), kKindNames.end()};
  if (path.back() == "expect") {
    std::vector<std::string> names = keys_of(root, "workers");
    if (const ConfigNode* heartbeats = root.find("heartbeats"))
      for (std::string& name : keys_of(*heartbeats, "expect"))
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    return names;
  }
  const ConfigNode* above = &root;
  for (std::size_t i = 0; i + 1 < path.size() && above != nullptr; ++i) above = above->find(path[i]);
  std::vector<std::string> names;
  if (above != nullptr) names = keys_of(*above, path.back());
  if (names.empty() && path.back() == "brokers") names.emplace_back("main");
  return names;
}

void collect(const KeyTree& tree, const ConfigNode& root, std::vector<std::string>& path, std::vector<Variable>& out) {
  if (!path.empty()) out.push_back({variable_name(path), path, &tree});
  const auto below = [&](const std::string& name, const KeyTree& child) {
    path.push_back(name);
    collect(child, root, path, out);
    path.pop_back();
  };
  for (const auto& [name, child] : tree.children) below(name, child);
  if (!tree.any) return;
  for (const std::string& name : names_at(path, root)) below(name, *tree.any);
}

// The value as its key wants it: text, or YAML where that is a list or a map.
std::optional<ConfigNode> read_value(const std::string& text, const KeyTree& tree, const Origin& origin,
                                     const std::string& key, Mistakes& mistakes) {
  ConfigNode node;
  node.origin = origin;
  if (text.empty() || text == "null" || text == "~") return node;
  if (!is_utf8(text)) {
    mistakes.add(origin, key, "bytes that are not UTF-8");
    return std::nullopt;
  }
  if (tree.key == nullptr || tree.key->type == KeyType::kMap || is_list(tree.key->type)) {
    auto parsed = parse_yaml_value(text, origin);
    if (!parsed) {
      mistakes.add(origin, key, parsed.error());
      return std::nullopt;
    }
    node = std::move(*parsed);
  } else {
    node.kind = ConfigNode::Kind::kScalar;
    node.text = text;
  }
  return ConfigChecker(mistakes, nullptr).checked(std::move(node), tree, key);
}

void put(ConfigNode& root, const std::vector<std::string>& path, const ConfigNode& value) {
  ConfigNode* at = &root;
  const KeyTree* tree = &key_tree();
  for (const std::string& name : path) {
    at->kind = ConfigNode::Kind::kMap;
    at->origin = value.origin;
    at = &at->at(name);
    tree = tree->child(name);
  }
  lay_over(*at, value, *tree);
}

ConfigNode empty_map() {
  ConfigNode root;
  root.kind = ConfigNode::Kind::kMap;
  return root;
}

}  // namespace

std::string Variable::key() const { return join(path, "."); }

std::string variable_name(const std::vector<std::string>& path) {
  std::string out = "BARTLEBY";
  for (const std::string& name : path) {
    out += "__";
    for (const char c : name) {
      const bool lower = c >= 'a' && c <= 'z';
      out += c == '-' || c == '.' ? '_' : lower ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return out;
}

std::vector<Variable> variables_for(const ConfigNode& root) {
  std::vector<Variable> out;
  std::vector<std::string> path;
  collect(key_tree(), root, path, out);
  return out;
}

ConfigNode variables_layer(const Environment& environment, const ConfigNode& file, Mistakes& mistakes) {
  constexpr std::size_t kSearched = 5000;
  ConfigNode root = empty_map();
  const auto ours = [](const auto& variable) { return variable.first.starts_with(kPrefix); };
  if (std::ranges::none_of(environment, ours)) return root;
  const std::vector<Variable> known = variables_for(file);
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kPrefix)) continue;
    const Origin origin{std::make_shared<const std::string>(clean_utf8(name)), 0, 0};
    std::vector<const Variable*> meant;
    for (const Variable& variable : known)
      if (variable.name == name) meant.push_back(&variable);
    if (meant.empty()) {
      std::vector<std::string> names;
      names.reserve(known.size());
      for (const Variable& variable : known) names.push_back(variable.name.substr(kPrefix.size()));
      const std::string near = names.size() > kSearched ? std::string() : nearest(name.substr(kPrefix.size()), names);
      mistakes.add(origin, "",
                   "unknown variable; " + (near.empty() ? "`bartleby config env` lists all"
                                                        : "did you mean " + std::string(kPrefix) + near + "?"));
    } else if (meant.size() > 1) {
      mistakes.add(origin, "", "could mean " + meant[0]->key() + " or " + meant[1]->key());
    } else if (auto node = read_value(value, *meant[0]->tree, origin, meant[0]->key(), mistakes)) {
      put(root, meant[0]->path, *node);
    }
  }
  return root;
}

ConfigNode flags_layer(std::span<const ConfigFlag> flags, Mistakes& mistakes) {
  ConfigNode root = empty_map();
  for (const ConfigFlag& flag : flags) {
    const Origin origin{std::make_shared<const std::string>(flag.flag), 0, 0};
    const KeyTree* tree = &key_tree();
    for (const std::string& name : flag.path) tree = tree == nullptr || !is_name(name) ? nullptr : tree->child(name);
    const std::string key = join(flag.path, ".");
    if (tree == nullptr || flag.path.empty()) {
      mistakes.add(origin, key, "unknown key");
    } else if (auto node = read_value(flag.value, *tree, origin, key, mistakes)) {
      put(root, flag.path, *node);
    }
  }
  return root;
}

Environment process_environment() {
  Environment variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace bartleby
