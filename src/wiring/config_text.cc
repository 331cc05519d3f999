#include "wiring/config_text.h"

#include <algorithm>
#include <cctype>

#include "codec/json_text.h"
#include "wiring/config_environment.h"
#include "wiring/config_keys.h"
#include "wiring/config_values.h"

namespace bartleby {
namespace {

using NodeKind = ConfigNode::Kind;

std::string counted(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

bool is_plain(std::string_view text) {
  if (text.empty() || text == "null" || text == "Null" || text == "NULL") return false;
  const auto letter_or_digit = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (!letter_or_digit(text.front()) && text.front() != '/' && text.front() != '.') return false;
  if (text.ends_with(':')) return false;
  return std::ranges::all_of(
      text, [&](char c) { return letter_or_digit(c) || std::string_view("._/-:%").find(c) != std::string_view::npos; });
}

std::string yaml_text(std::string_view text, bool in_list) {
  if (is_plain(text) && !(in_list && text.find(':') != std::string_view::npos)) return std::string(text);
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("${")) escaped += '$';
    escaped += text[i];
  }
  std::string out;
  append_json_text(out, escaped);
  return out;
}

std::string shown(const ConfigNode& node, const Key& key, bool in_list) {
  if (key.secret || node.secret) return "\"***\"";
  return yaml_text(is_url_type(key.type) ? without_password(node.text) : node.text, in_list);
}

struct Line {
  std::string text;
  std::string origin;  // empty: nothing to say
};

class Printer {
 public:
  void map(const ConfigNode& node, const KeyTree& tree, const std::string& indent) {
    for (const ConfigEntry& entry : node.entries) {
      const KeyTree& child = *tree.child(entry.key);
      const std::string head = indent + yaml_text(entry.key, false) + ":";
      const ConfigNode& value = entry.value;
      switch (value.kind) {
        case NodeKind::kNull:
          add(head + " null", value);
          break;
        case NodeKind::kScalar:
          add(head + " " + shown(value, *child.key, false), value);
          break;
        case NodeKind::kMap:
          if (value.entries.empty()) {
            add(head + " {}", value);
          } else {
            lines_.push_back({head, ""});
            map(value, child, indent + "  ");
          }
          break;
        case NodeKind::kList:
          if (child.item) {
            lines_.push_back({head, ""});
            cases(value, *child.item, indent + "  ");
          } else {
            add(head + " [" + items(value, *child.key) + "]", value);
          }
          break;
      }
    }
  }

  std::vector<std::pair<std::string, std::string>> lines() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const Line& line : lines_) out.emplace_back(line.text, line.origin);
    return out;
  }

  std::string text() const {
    constexpr std::size_t kWidest = 70;
    std::size_t column = 0;
    for (const Line& line : lines_)
      if (!line.origin.empty() && line.text.size() <= kWidest) column = std::max(column, line.text.size());
    std::string out;
    for (const Line& line : lines_) {
      out += line.text;
      if (!line.origin.empty()) {
        out.append(line.text.size() < column ? column - line.text.size() : 0, ' ');
        out += "  # " + line.origin;
      }
      out += '\n';
    }
    return out;
  }

 private:
  void add(std::string text, const ConfigNode& node) { lines_.push_back({std::move(text), node.origin.text()}); }

  static std::string items(const ConfigNode& list, const Key& key) {
    std::vector<std::string> words;
    words.reserve(list.items.size());
    for (const ConfigNode& item : list.items) words.push_back(shown(item, key, true));
    return join(words, ", ");
  }

  void cases(const ConfigNode& list, const KeyTree& item, const std::string& indent) {
    for (const ConfigNode& one : list.items) {
      const std::size_t first = lines_.size();
      map(one, item, indent + "  ");
      if (first < lines_.size()) lines_[first].text[indent.size()] = '-';
    }
  }

  std::vector<Line> lines_;
};

// The names that variables can use; placeholders where there are none.
ConfigNode names_of(const Config& config) {
  ConfigNode root;
  root.kind = NodeKind::kMap;
  const auto add = [&](const char* where, const std::string& name) {
    ConfigNode& map = root.at(where);
    map.kind = NodeKind::kMap;
    map.at(name).kind = NodeKind::kMap;
  };
  for (const WorkerConfig& worker : config.workers) add("workers", worker.name);
  for (const BrokerConfig& broker : config.brokers) add("brokers", broker.name);
  for (const std::string& policy : config.policies) add("policies", policy);
  if (config.workers.empty()) add("workers", "<WORKER>");
  if (config.policies.empty()) add("policies", "<POLICY>");
  return root;
}

}  // namespace

std::string config_check_text(const std::vector<Mistake>& mistakes) {
  std::string out;
  for (const Mistake& mistake : mistakes) out += mistake.text() + "\n";
  return out + counted(mistakes.size(), "mistake") + "\n";
}

std::string config_check_text(const Config& config) {
  return "ok: " + counted(config.workers.size(), "worker") + ", " + counted(config.brokers.size(), "broker") +
         ", listening on " + config.listen.text() + ", data in " + config.data_dir + "\n";
}

std::string config_show_text(const Config& config) {
  Printer printer;
  printer.map(config.effective, key_tree(), "");
  return printer.text();
}

std::vector<std::pair<std::string, std::string>> config_lines(const Config& config) {
  Printer printer;
  printer.map(config.effective, key_tree(), "");
  return printer.lines();
}

std::string config_env_text(const Config& config) {
  std::vector<Variable> all = variables_for(names_of(config));
  std::erase_if(all, [](const Variable& variable) {
    return variable.tree->key->type == KeyType::kMap && variable.path.back() != "guard";
  });
  std::size_t widest = 0;
  std::size_t longest = 0;
  for (const Variable& variable : all) {
    widest = std::max(widest, variable.name.size());
    longest = std::max(longest, variable.key().size());
  }
  std::string out;
  for (const Variable& variable : all) {
    const std::string key = variable.key();
    out += variable.name + std::string(widest - variable.name.size() + 2, ' ') + key +
           std::string(longest - key.size() + 2, ' ') + wanted(*variable.tree->key) + "\n";
  }
  return out;
}

}  // namespace bartleby
