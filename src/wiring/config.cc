#include "wiring/config.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "wiring/config_environment.h"
#include "wiring/config_keys.h"
#include "wiring/config_parse.h"
#include "wiring/config_read.h"
#include "wiring/config_resolve.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxSecretBytes = 65536;

// Never more than `limit` + 1 bytes, and never from something that can block or has no end.
std::expected<std::string, std::string> read_file(const std::string& path, std::size_t limit) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return std::unexpected(std::generic_category().message(errno));
  if (!S_ISREG(about.st_mode)) return std::unexpected("not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::unexpected("cannot be opened");
  std::string text(limit + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > limit) return std::unexpected("larger than " + size_text(limit));
  return text;
}

ConfigNode empty_map() {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kMap;
  return node;
}

// What the file says; an empty map where it says nothing or cannot be read.
ConfigNode file_layer(const ConfigSources& sources, Mistakes& mistakes) {
  if (!sources.file) return empty_map();
  auto tree = parse_yaml(sources.file->text, sources.file->name);
  if (!tree) {
    mistakes.add({std::make_shared<const std::string>(tree.error().where), 0, 0}, "", tree.error().what);
    return empty_map();
  }
  if (tree->is_null()) return empty_map();
  const FileReader real = [](const std::string& path) { return read_file(path, kMaxSecretBytes); };
  const Expander expander{sources.environment, sources.read ? sources.read : real};
  auto checked = ConfigChecker(mistakes, &expander).checked(std::move(*tree), key_tree(), "");
  if (!checked || !checked->is_map()) return empty_map();
  // `orders:` and nothing behind it is a worker with defaults.
  if (ConfigNode* workers = checked->find("workers"))
    for (ConfigEntry& entry : workers->entries)
      if (entry.value.is_null()) entry.value.kind = ConfigNode::Kind::kMap;
  return std::move(*checked);
}

}  // namespace

std::expected<ConfigFile, Mistake> read_config_file(const std::string& path) {
  auto text = read_file(path, kMaxConfigBytes);
  if (!text) return std::unexpected(Mistake{path, "", text.error()});
  return ConfigFile{path, std::move(*text)};
}

std::expected<Config, std::vector<Mistake>> load(const ConfigSources& sources) {
  Mistakes mistakes;
  ConfigNode said = file_layer(sources, mistakes);
  const bool unreadable = !mistakes.empty() && said.entries.empty();
  // Without the file there are no names, and every variable that uses one would look wrong.
  if (unreadable) return std::unexpected(mistakes.take());
  lay_over(said, variables_layer(sources.environment, said, mistakes), key_tree());
  lay_over(said, flags_layer(sources.flags, mistakes), key_tree());
  ConfigNode resolved = resolve(said, mistakes);
  check_rules(resolved, mistakes);
  if (!mistakes.empty()) return std::unexpected(mistakes.take());
  Config config = read_config(std::move(resolved));
  if (const ConfigNode* policies = said.find("policies"))
    for (const ConfigEntry& entry : policies->entries) config.policies.push_back(entry.key);
  return config;
}

}  // namespace bartleby
