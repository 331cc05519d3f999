#include <algorithm>
#include <map>

#include "wiring/config.h"
#include "wiring/config_keys.h"

namespace bartleby {
namespace {

struct Leaf {
  std::string text;
  Applies applies = Applies::kNextStart;

  bool operator==(const Leaf& other) const { return text == other.text; }
};
using Leaves = std::map<std::string, Leaf>;

void collect(const ConfigNode& node, const KeyTree& tree, const std::string& path, Leaves& out) {
  const Applies applies = tree.key == nullptr ? Applies::kNextStart : tree.key->applies;
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      out[path] = {"null", applies};
      break;
    case ConfigNode::Kind::kScalar:
      out[path] = {"=" + node.text, applies};
      break;
    case ConfigNode::Kind::kMap:
      if (node.entries.empty()) out[path] = {"{}", applies};
      for (const ConfigEntry& entry : node.entries)
        collect(entry.value, *tree.child(entry.key), inside(path, entry.key), out);
      break;
    case ConfigNode::Kind::kList:
      if (tree.item) {
        out[path] = {std::to_string(node.items.size()), applies};
        for (std::size_t i = 0; i < node.items.size(); ++i)
          collect(node.items[i], *tree.item, path + "[" + std::to_string(i) + "]", out);
      } else {
        std::string all;
        for (const ConfigNode& item : node.items) all += std::to_string(item.text.size()) + ":" + item.text;
        out[path] = {all, applies};
      }
      break;
  }
}

Leaves leaves_of(const ConfigNode* node, const KeyTree& tree) {
  Leaves out;
  if (node != nullptr) collect(*node, tree, "", out);
  return out;
}

// Keys that differ, with what a change of them does.
std::vector<std::pair<std::string, Applies>> differing(const Leaves& old, const Leaves& fresh) {
  std::map<std::string, Applies> out;
  for (const auto& [key, leaf] : old)
    if (const auto other = fresh.find(key); other == fresh.end() || !(other->second == leaf)) out[key] = leaf.applies;
  for (const auto& [key, leaf] : fresh)
    if (!old.contains(key)) out[key] = leaf.applies;
  return {out.begin(), out.end()};
}

WorkerChange compare(const std::string& name, const ConfigNode* old, const ConfigNode* fresh) {
  if (old == nullptr) return {name, Change::kAdded, {}};
  if (fresh == nullptr) return {name, Change::kRemoved, {}};
  const KeyTree& tree = *key_tree().child("workers")->any;
  WorkerChange out{name, Change::kUnchanged, {}};
  for (const auto& [key, applies] : differing(leaves_of(old, tree), leaves_of(fresh, tree))) {
    out.keys.push_back(key);
    if (applies != Applies::kLive) {
      out.change = Change::kRestart;
    } else if (out.change == Change::kUnchanged) {
      out.change = Change::kLive;
    }
  }
  return out;
}

const ConfigNode* worker_in(const Config& config, const std::string& name) {
  const ConfigNode* workers = config.effective.find("workers");
  return workers == nullptr ? nullptr : workers->find(name);
}

}  // namespace

ConfigDiff diff(const Config& old, const Config& fresh) {
  ConfigDiff out;
  for (const WorkerConfig& worker : fresh.workers)
    out.workers.push_back(compare(worker.name, worker_in(old, worker.name), worker_in(fresh, worker.name)));
  for (const WorkerConfig& worker : old.workers)
    if (worker_in(fresh, worker.name) == nullptr) out.workers.push_back({worker.name, Change::kRemoved, {}});
  ConfigNode before = old.effective;
  ConfigNode after = fresh.effective;
  before.erase("workers");
  after.erase("workers");
  for (const auto& [key, applies] : differing(leaves_of(&before, key_tree()), leaves_of(&after, key_tree())))
    (applies == Applies::kLive ? out.live : out.next_start).push_back(key);
  return out;
}

}  // namespace bartleby
