// Holds a tree against the table of keys: unknown keys, keys given twice, wrong types, values out of range, all of them
// at once; and replaces `${VAR}`, `${VAR:-default}` and `${file:/path}` on the way.
//
// What comes back has only keys of the table, each value of its type. What was wrong is null and marked as refused,
// so that one mistake is told once.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "wiring/config_keys.h"
#include "wiring/config_node.h"

namespace bartleby {

using Environment = std::map<std::string, std::string, std::less<>>;
// The content of a file, or why there is none. For `${file:…}`.
using FileReader = std::function<std::expected<std::string, std::string>(const std::string& path)>;

struct Expander {
  const Environment& environment;
  const FileReader& read;

  struct Expanded {
    std::string text;
    bool whole = false;   // the text was one expansion and nothing else
    bool secret = false;  // came from a file
  };
  std::expected<Expanded, std::string> expand(std::string_view text) const;
};

class ConfigChecker {
 public:
  // Without an expander texts are taken as they are.
  ConfigChecker(Mistakes& mistakes, const Expander* expander) : mistakes_(mistakes), expander_(expander) {}

  // nullopt: nothing of it can be used; why is among the mistakes.
  std::optional<ConfigNode> checked(ConfigNode node, const KeyTree& tree, const std::string& path);

 private:
  // Where a key that is unknown here is looked for: the keys of the same worker, policy, …
  struct Section {
    const KeyTree* tree;
    std::string path;
  };

  std::optional<ConfigNode> value(ConfigNode node, const KeyTree& tree, const std::string& path,
                                  const Section& section);
  std::optional<ConfigNode> map(ConfigNode node, const KeyTree& tree, const std::string& path, const Section& section);
  std::optional<ConfigNode> list(ConfigNode node, const KeyTree& tree, const std::string& path);
  bool scalar(const ConfigNode& node, const Key& key, const std::string& path);
  bool expand(ConfigNode& node, bool structured, const std::string& path);
  const KeyTree* find(const ConfigEntry& entry, const KeyTree& tree, const std::string& path, const Section& section);
  void one_of_each(const ConfigNode& node, const KeyTree& tree, const std::string& path);

  Mistakes& mistakes_;
  const Expander* expander_;
};

// `got "many"`: the value as a person wrote it; secrets stay unsaid.
std::string got(const ConfigNode& node, const Key& key);

// Lays `over` on `base`: maps by key, everything else replaces. Where `over` says one of several alternatives
// (`schedule`, `linear`, …), the others disappear.
void lay_over(ConfigNode& base, const ConfigNode& over, const KeyTree& tree);

std::string inside(const std::string& path, std::string_view key);

}  // namespace bartleby
