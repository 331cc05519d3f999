#include "wiring/config_resolve.h"

#include <algorithm>

#include "base/assert.h"
#include "wiring/config_check.h"
#include "wiring/config_parse.h"

namespace bartleby {
namespace {

using NodeKind = ConfigNode::Kind;

ConfigNode map_at(const Origin& origin) {
  ConfigNode node;
  node.kind = NodeKind::kMap;
  node.origin = origin;
  return node;
}

ConfigNode text_node(std::string text) {
  ConfigNode node;
  node.kind = NodeKind::kScalar;
  node.text = std::move(text);
  return node;
}

ConfigNode fallback_of(const Key& key) {
  if (is_list(key.type)) {
    auto parsed = parse_yaml_value(key.fallback, {});
    BARTLEBY_ASSERT(parsed.has_value());
    return std::move(*parsed);
  }
  return text_node(std::string(key.fallback));
}

bool has_fallback(const KeyTree& tree) {
  if (tree.key != nullptr && !tree.key->fallback.empty()) return true;
  return std::ranges::any_of(tree.children, [](const auto& child) {
    return (child.tree.key == nullptr || child.tree.key->one_of == OneOf::kNobody) && has_fallback(child.tree);
  });
}

// Whether the map says another of the alternatives that this key belongs to.
bool decided_otherwise(const ConfigNode& map, const KeyTree& tree, const std::string& name, OneOf group) {
  return std::ranges::any_of(map.entries, [&](const ConfigEntry& entry) {
    const KeyTree* other = tree.child(entry.key);
    return entry.key != name && !entry.value.is_null() && other->key != nullptr && other->key->one_of == group;
  });
}

// The map with defaults where nothing was said, in the order of the table. Null stays only where it means "off".
ConfigNode complete(const ConfigNode& map, const KeyTree& tree) {
  ConfigNode out = map_at(map.origin);
  out.refused = map.refused;
  for (const auto& [name, child] : tree.children) {
    const ConfigNode* said = map.find(name);
    const Key& key = *child.key;
    const bool absent = said == nullptr || said->is_null();
    Origin key_origin = said == nullptr ? Origin{} : said->origin;
    if (said != nullptr && said->is_null() && (name == "guard" || name == "retention" || said->refused)) {
      out.entries.push_back({name, key_origin, *said});
    } else if (key.type == KeyType::kMap) {
      if (absent && (key.one_of != OneOf::kNobody || !has_fallback(child))) continue;
      const ConfigNode nothing = map_at({});
      out.entries.push_back({name, key_origin, complete(absent ? nothing : *said, child)});
    } else if (!absent) {
      out.entries.push_back({name, key_origin, *said});
    } else if (!key.fallback.empty() && key.type != KeyType::kCases &&
               (key.one_of == OneOf::kNobody || !decided_otherwise(map, tree, name, key.one_of))) {
      out.entries.push_back({name, {}, fallback_of(key)});
    }
  }
  if (!tree.any) return out;
  for (const ConfigEntry& entry : map.entries) {
    if (entry.value.is_null() || tree.child(entry.key) != tree.any.get()) continue;
    ConfigEntry copy = entry;
    if (entry.value.is_map()) copy.value = complete(entry.value, *tree.any);
    out.entries.push_back(std::move(copy));
  }
  return out;
}

class Resolver {
 public:
  Resolver(const ConfigNode& said, Mistakes& mistakes) : said_(said), mistakes_(mistakes) {}

  ConfigNode worker(const std::string& name, const ConfigNode& own, const std::string& first_broker) {
    const KeyTree& tree = *key_tree().child("workers")->any;
    ConfigNode out = map_at(own.origin);
    if (const ConfigNode* defaults = said_.find("defaults"); defaults != nullptr && defaults->is_map()) {
      lay_over(out, *defaults, tree);
      out.refused = defaults->refused;
    }
    const ConfigNode* policy = own.find("policy");
    if (policy == nullptr) policy = out.find("policy");
    lay_policy(out, policy, tree, policy == own.find("policy") ? "workers." + name + ".policy" : "defaults.policy");
    lay_over(out, own, tree);
    out.refused |= own.refused;
    out.erase("policy");

    const ConfigNode cases = out.find("cases") == nullptr ? ConfigNode{} : *out.find("cases");
    const ConfigNode base = out;
    fill_in(out, name, first_broker);
    out = complete(out, tree);
    if (!cases.items.empty()) {
      ConfigNode& list = out.at("cases");
      list.items.clear();
      for (std::size_t i = 0; i < cases.items.size(); ++i)
        list.items.push_back(
            one_case(base, cases.items[i], name, "workers." + name + ".cases[" + std::to_string(i) + "]"));
    } else {
      out.erase("cases");
    }
    return out;
  }

 private:
  void lay_policy(ConfigNode& out, const ConfigNode* name, const KeyTree& tree, const std::string& path) {
    if (name == nullptr || name->is_null()) return;
    const ConfigNode* policies = said_.find("policies");
    const ConfigNode* policy = policies == nullptr ? nullptr : policies->find(name->text);
    if (policy != nullptr) {
      if (policy->is_map()) lay_over(out, *policy, tree);
      return;
    }
    std::vector<std::string> names;
    if (policies != nullptr)
      for (const ConfigEntry& entry : policies->entries) names.push_back(entry.key);
    const std::string meant = nearest(name->text, names);
    std::string what = "got " + quote(name->text) + ", wants one of policies";
    if (!meant.empty()) {
      what += "; did you mean " + meant + "?";
    } else {
      what += names.empty() ? ", and there are none" : ": " + join(names, ", ");
    }
    mistakes_.add(name->origin, path, what);
  }

  static void fill_in(ConfigNode& worker, const std::string& name, const std::string& first_broker) {
    const auto absent = [&](std::string_view key) {
      const ConfigNode* node = worker.find(key);
      return node == nullptr || (node->is_null() && !node->refused);
    };
    if (absent("topics")) {
      ConfigNode topics;
      topics.kind = NodeKind::kList;
      topics.items.push_back(text_node(name));
      worker.at("topics") = topics;
    }
    if (absent("broker")) worker.at("broker") = text_node(first_broker);
    if (absent("group")) worker.at("group") = text_node(name);
    fill_in_handler(worker, name);
  }

  static void fill_in_handler(ConfigNode& node, const std::string& name) {
    const ConfigNode* said = node.find("handler");
    if (said != nullptr && (!said->is_null() || said->refused)) return;
    ConfigNode handler = map_at({});
    handler.entries.push_back({"builtin", {}, text_node(name)});
    node.at("handler") = handler;
  }

  ConfigNode one_case(const ConfigNode& worker, const ConfigNode& own, const std::string& name,
                      const std::string& path) {
    const KeyTree& tree = *key_tree().child("workers")->any->child("cases")->item;
    ConfigNode out = map_at(own.origin);
    for (const char* key : {"handler", "retry"})
      if (const ConfigNode* inherited = worker.find(key)) out.entries.push_back({key, inherited->origin, *inherited});
    lay_policy(out, own.find("policy"), tree, path + ".policy");
    lay_over(out, own, tree);
    out.refused = own.refused;
    out.erase("policy");
    fill_in_handler(out, name);
    return complete(out, tree);
  }

  const ConfigNode& said_;
  Mistakes& mistakes_;
};

}  // namespace

ConfigNode resolve(const ConfigNode& said, Mistakes& mistakes) {
  ConfigNode top = said;
  const ConfigNode* workers = said.find("workers");
  for (const char* key : {"workers", "defaults", "policies"}) top.erase(key);
  ConfigNode* brokers = top.find("brokers");
  if (brokers == nullptr || (!brokers->refused && brokers->entries.empty())) {
    ConfigNode main = map_at({});
    main.entries.push_back({"embedded", {}, map_at({})});
    ConfigNode all = map_at({});
    all.entries.push_back({"main", {}, main});
    top.at("brokers") = all;
    brokers = top.find("brokers");
  }
  std::string first_broker;
  for (const ConfigEntry& broker : brokers->entries)
    if (first_broker.empty() && !broker.value.is_null()) first_broker = broker.key;

  ConfigNode out = complete(top, key_tree());
  for (const char* key : {"workers", "defaults", "policies"}) out.erase(key);
  if (out.find("advertise") == nullptr && out.find("listen")->kind == NodeKind::kScalar) {
    const auto after = std::ranges::find(out.entries, "listen", &ConfigEntry::key);
    out.entries.insert(after + 1, {"advertise", {}, text_node("http://" + out.find("listen")->text)});
  }
  if (workers == nullptr || workers->entries.empty()) return out;
  ConfigNode resolved = map_at(workers->origin);
  Resolver resolver(said, mistakes);
  for (const ConfigEntry& entry : workers->entries) {
    if (!entry.value.is_map()) continue;
    resolved.entries.push_back({entry.key, entry.origin, resolver.worker(entry.key, entry.value, first_broker)});
  }
  out.entries.push_back({"workers", workers->origin, std::move(resolved)});
  return out;
}

}  // namespace bartleby
