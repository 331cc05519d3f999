#include "wiring/config_check.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "codec/key_template.h"
#include "codec/network.h"
#include "model/failure.h"
#include "wiring/config_parse.h"
#include "wiring/config_values.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxItems = 1000;
constexpr std::size_t kMaxText = 4096;

using NodeKind = ConfigNode::Kind;

std::vector<std::string> kinds_of_failure() { return {kKindNames.begin(), kKindNames.end()}; }

bool looks_like_null(std::string_view text) { return text.empty() || text == "null" || text == "~"; }

// Where else in the section a key of this name exists; the nearest to the top.
std::string elsewhere(std::string_view name, const KeyTree& section) {
  std::deque<std::pair<const KeyTree*, std::string>> open{{&section, ""}};
  while (!open.empty()) {
    const auto [tree, path] = std::move(open.front());
    open.pop_front();
    for (const auto& [child, below] : tree->children) {
      if (child == name) return inside(path, child);
      open.emplace_back(&below, inside(path, child));
    }
    if (tree->any) open.emplace_back(tree->any.get(), inside(path, "NAME"));
  }
  return {};
}

bool within(std::int64_t value, const Key& key) { return value >= key.min && value <= key.max; }

bool is_value(const ConfigNode& node, const Key& key) {
  const std::string& text = node.text;
  switch (key.type) {
    case KeyType::kBool:
      return !node.quoted && parse_bool(text).has_value();
    case KeyType::kNumber:
    case KeyType::kNumbers: {
      const auto number = parse_number(text);
      return !node.quoted && number && within(*number, key);
    }
    case KeyType::kSize: {
      const auto size = parse_size(text);
      return size && within(static_cast<std::int64_t>(*size), key);
    }
    case KeyType::kDuration:
    case KeyType::kDurations: {
      const auto duration = duration_from_text(text);
      return duration && within(duration->count(), key);
    }
    case KeyType::kPercent: {
      const auto percent = parse_percent(text);
      return percent && within(*percent, key);
    }
    case KeyType::kRate: {
      const auto rate = parse_rate(text);
      return rate && within(*rate, key);
    }
    case KeyType::kChoice:
    case KeyType::kChoices: {
      const auto choices = choices_of(key);
      return std::ranges::find(choices, text) != choices.end();
    }
    case KeyType::kText:
    case KeyType::kTexts:
      return !text.empty() && text.size() <= kMaxText;
    case KeyType::kName:
    case KeyType::kNames:
      return is_name(text);
    case KeyType::kNetworks:
      return parse_network(text).has_value();
    case KeyType::kTemplate:
      return !template_mistake(text).has_value();
    case KeyType::kAddress:
      return parse_address(text).has_value();
    case KeyType::kUrl:
      return is_url(text);
    case KeyType::kRedisUrl:
      return parse_redis_url(text).has_value();
    case KeyType::kKeyTemplate:
      return text.size() <= 1000 && KeyTemplate::parse(text).has_value();
    case KeyType::kPointer:
      return is_pointer(text);
    case KeyType::kStart:
      return parse_start(text).has_value();
    case KeyType::kMap:
    case KeyType::kCases:
      return false;
  }
  return false;
}

// What one item of a list must be.
std::string wanted_item(const Key& key) {
  Key one = key;
  switch (key.type) {
    case KeyType::kChoices:
      one.type = KeyType::kChoice;
      break;
    case KeyType::kNumbers:
      one.type = KeyType::kNumber;
      break;
    case KeyType::kDurations:
      one.type = KeyType::kDuration;
      break;
    case KeyType::kTexts:
      one.type = KeyType::kText;
      break;
    case KeyType::kNames:
      one.type = KeyType::kName;
      break;
    case KeyType::kNetworks:
      return "a network such as 10.0.0.0/8, with nothing after its prefix";
    default:
      break;
  }
  return wanted(one);
}

}  // namespace

std::string inside(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::string got(const ConfigNode& node, const Key& key) {
  switch (node.kind) {
    case NodeKind::kNull:
      return "got null";
    case NodeKind::kList:
      return "got a list";
    case NodeKind::kMap:
      return "got a map";
    case NodeKind::kScalar:
      break;
  }
  if (key.secret || node.secret) return "got a secret of " + std::to_string(node.text.size()) + " bytes";
  return (node.quoted ? "got the text " : "got ") +
         quote(is_url_type(key.type) ? without_password(node.text) : node.text);
}

std::optional<ConfigNode> ConfigChecker::checked(ConfigNode node, const KeyTree& tree, const std::string& path) {
  return value(std::move(node), tree, path, {&tree, path});
}

std::optional<ConfigNode> ConfigChecker::value(ConfigNode node, const KeyTree& tree, const std::string& path,
                                               const Section& section) {
  const bool maps = tree.key == nullptr || tree.key->type == KeyType::kMap;
  if (!expand(node, maps || is_list(tree.key->type), path)) return std::nullopt;
  if (node.is_null()) return node;
  if (maps) return map(std::move(node), tree, path, section);
  if (is_list(tree.key->type)) return list(std::move(node), tree, path);
  if (!scalar(node, *tree.key, path)) return std::nullopt;
  return node;
}

bool ConfigChecker::expand(ConfigNode& node, bool structured, const std::string& path) {
  if (expander_ == nullptr || node.kind != NodeKind::kScalar || !node.text.contains('$')) return true;
  auto expanded = expander_->expand(node.text);
  if (!expanded) {
    mistakes_.add(node.origin, path, expanded.error());
    return false;
  }
  node.text = std::move(expanded->text);
  node.secret |= expanded->secret;
  if (!expanded->whole) return true;
  node.quoted = false;  // typed after it
  if (looks_like_null(node.text)) {
    node.kind = NodeKind::kNull;
  } else if (structured) {
    auto parsed = parse_yaml_value(node.text, node.origin);
    if (!parsed) {
      mistakes_.add(node.origin, path, parsed.error());
      return false;
    }
    node = std::move(*parsed);
  }
  return true;
}

const KeyTree* ConfigChecker::find(const ConfigEntry& entry, const KeyTree& tree, const std::string& path,
                                   const Section& section) {
  const std::string full = inside(path, entry.key);
  if (const KeyTree* child = tree.child(entry.key)) {
    if (child != tree.any.get()) return child;
    if (path.ends_with(".kinds")) {
      if (kind_named(entry.key)) return child;
      const std::string meant = nearest(entry.key, kinds_of_failure());
      mistakes_.add(entry.origin, full,
                    meant.empty() ? "unknown kind; there are " + join(kinds_of_failure(), ", ")
                                  : "unknown kind; did you mean " + meant + "?");
      return nullptr;
    }
    std::string name = entry.key;
    if (path == "dlqs") std::ranges::replace(name, '*', '_');  // these may be patterns
    if (is_name(name)) return child;
    mistakes_.add(entry.origin, path, "got the name " + quote(entry.key) + ", wants 1 to 200 letters, digits, . _ -");
    return nullptr;
  }
  std::string what = "unknown key";
  const std::string meant = nearest(entry.key, tree.names());
  if (entry.key == "<<") {
    what += "; merge keys are not used here: see defaults and policies";
  } else if (!meant.empty()) {
    what += "; did you mean " + meant + "?";
  } else if (const std::string other = elsewhere(entry.key, *section.tree); !other.empty()) {
    what += "; did you mean " + inside(section.path, other) + "?";
  } else if (tree.children.empty()) {
    what += "; there are none here";
  } else {
    what += "; known here: " + join(tree.names(), ", ");
  }
  const bool printable = is_name(entry.key) || entry.key == "<<";
  mistakes_.add(entry.origin, printable ? full : inside(path, quote(entry.key)), what);
  return nullptr;
}

std::optional<ConfigNode> ConfigChecker::map(ConfigNode node, const KeyTree& tree, const std::string& path,
                                             const Section& section) {
  if (!node.is_map()) {
    const Key none{};
    const Key& key = tree.key == nullptr ? none : *tree.key;
    mistakes_.add(node.origin, path, got(node, key) + ", wants a map");
    return std::nullopt;
  }
  ConfigNode out;
  out.kind = NodeKind::kMap;
  out.origin = node.origin;
  for (ConfigEntry& entry : node.entries) {
    if (expander_ != nullptr && entry.key.contains('$')) {
      auto expanded = expander_->expand(entry.key);
      if (!expanded) {
        mistakes_.add(entry.origin, inside(path, quote(entry.key)), expanded.error());
        out.refused = true;
        continue;
      }
      entry.key = std::move(expanded->text);
    }
    const auto first = std::ranges::find(out.entries, entry.key, &ConfigEntry::key);
    if (first != out.entries.end()) {
      mistakes_.add(entry.origin, inside(path, entry.key),
                    "given twice; first in line " + std::to_string(first->origin.line));
      continue;
    }
    const KeyTree* child = find(entry, tree, path, section);
    if (child == nullptr) {
      out.refused = true;
      continue;
    }
    const std::string full = inside(path, entry.key);
    const bool opens = child == tree.any.get() || full == "defaults";
    auto good = value(std::move(entry.value), *child, full, opens ? Section{child, full} : section);
    if (!good) {
      good.emplace();
      good->refused = true;
    }
    out.entries.push_back({std::move(entry.key), entry.origin, std::move(*good)});
  }
  one_of_each(out, tree, path);
  return out;
}

void ConfigChecker::one_of_each(const ConfigNode& node, const KeyTree& tree, const std::string& path) {
  std::map<OneOf, const ConfigEntry*> seen;
  for (const ConfigEntry& entry : node.entries) {
    const KeyTree* child = tree.child(entry.key);
    if (child->key == nullptr || child->key->one_of == OneOf::kNobody || entry.value.is_null()) continue;
    const auto [first, fresh] = seen.emplace(child->key->one_of, &entry);
    if (!fresh)
      mistakes_.add(entry.origin, inside(path, entry.key),
                    "given beside " + first->second->key + ", wants only one of them");
  }
}

std::optional<ConfigNode> ConfigChecker::list(ConfigNode node, const KeyTree& tree, const std::string& path) {
  const Key& key = *tree.key;
  if (node.kind != NodeKind::kList) {
    std::string what = got(node, key) + ", wants " + wanted(key);
    const bool special = node.text.find_first_of("*&!%@#{}[],:\"'`") != std::string::npos;  // of YAML
    const std::string quote = special && !node.text.contains('"') ? "\"" : "";
    if (node.kind == NodeKind::kScalar && is_value(node, key) && !node.secret)
      what += ": write [" + quote + node.text + quote + "]";
    mistakes_.add(node.origin, path, what);
    return std::nullopt;
  }
  if (node.items.size() > kMaxItems) {
    mistakes_.add(node.origin, path, "got a list of " + std::to_string(node.items.size()) + ", wants at most 1000");
    return std::nullopt;
  }
  if (node.items.empty() && key.type != KeyType::kCases && key.type != KeyType::kNumbers && !key.may_be_empty) {
    mistakes_.add(node.origin, path, "got an empty list, wants " + wanted(key));
    return std::nullopt;
  }
  const bool distinct = key.type != KeyType::kDurations && key.type != KeyType::kCases;
  std::vector<ConfigNode> items;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string full = path + "[" + std::to_string(i) + "]";
    if (key.type == KeyType::kCases) {
      auto good = value(std::move(node.items[i]), *tree.item, full, {tree.item.get(), full});
      if (good) items.push_back(std::move(*good));
      continue;
    }
    ConfigNode item = std::move(node.items[i]);
    if (!expand(item, false, full)) continue;
    if (!scalar(item, key, full)) continue;
    if (distinct && std::ranges::find(items, item.text, &ConfigNode::text) != items.end()) {
      mistakes_.add(item.origin, full, got(item, key) + " twice");
      continue;
    }
    items.push_back(std::move(item));
  }
  if (items.empty() && !node.items.empty()) return std::nullopt;
  node.items = std::move(items);
  return node;
}

bool ConfigChecker::scalar(const ConfigNode& node, const Key& key, const std::string& path) {
  if (node.kind == NodeKind::kScalar && is_value(node, key)) return true;
  const std::string wants = is_list(key.type) ? wanted_item(key) : wanted(key);
  std::string what = got(node, key) + ", wants " + wants;
  if (node.kind == NodeKind::kScalar && key.type == KeyType::kTemplate) {
    what = got(node, key) + ": " + *template_mistake(node.text);
  } else if (node.kind == NodeKind::kScalar && key.type == KeyType::kKeyTemplate && node.text.size() <= 1000) {
    what = got(node, key) + ", which " + KeyTemplate::parse(node.text).error();
  } else if (node.kind == NodeKind::kScalar && node.text.starts_with("rediss://")) {
    what += ": TLS is not there";
  } else if (node.kind == NodeKind::kScalar && !key.choices.empty()) {
    const std::string meant = nearest(node.text, choices_of(key));
    if (!meant.empty()) what += "; did you mean " + meant + "?";
  }
  mistakes_.add(node.origin, path, what);
  return false;
}

void lay_over(ConfigNode& base, const ConfigNode& over, const KeyTree& tree) {
  if (!base.is_map() || !over.is_map()) {
    base = over;
    return;
  }
  for (const ConfigEntry& entry : over.entries) {
    const KeyTree* child = tree.child(entry.key);
    if (child == nullptr) continue;
    const OneOf group = child->key == nullptr ? OneOf::kNobody : child->key->one_of;
    if (group != OneOf::kNobody && !entry.value.is_null()) {
      std::erase_if(base.entries, [&](const ConfigEntry& other) {
        const KeyTree* sibling = tree.child(other.key);
        return other.key != entry.key && sibling != nullptr && sibling->key != nullptr && sibling->key->one_of == group;
      });
    }
    ConfigNode* mine = base.find(entry.key);
    if (mine == nullptr) {
      base.entries.push_back(entry);
    } else {
      lay_over(*mine, entry.value, *child);
    }
  }
}

}  // namespace bartleby
