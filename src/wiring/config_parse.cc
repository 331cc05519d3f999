#include "wiring/config_parse.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "codec/utf8.h"

namespace bartleby {
namespace {

struct Refused {
  Refused(Origin at, std::string why) : origin(std::move(at)), what(std::move(why)) {}

  Origin origin;
  std::string what;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::shared_ptr<const std::string> name) : name_(std::move(name)) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(node_at(mark), anchor); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    ConfigNode node = node_at(mark);
    // yaml-cpp's "!" is its word for quotes (and for an explicit `!`), "?" for none.
    if (tag != "!" && tag != "?" && !tag.empty()) refuse_tag(node.origin, tag);
    node.kind = ConfigNode::Kind::kScalar;
    node.text = value;
    node.quoted = tag == "!";
    if (!node.quoted && (value == "null" || value == "~" || value == "Null" || value == "NULL" || value.empty()))
      node.kind = ConfigNode::Kind::kNull;
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refused(node_at(mark).origin, "an alias inside its own anchor");
    if (depth() + found->second.depth > kMaxConfigDepth) refuse_depth(node_at(mark).origin);
    count(found->second.nodes, node_at(mark).origin);
    ConfigNode copy = found->second.node;
    std::size_t nodes = found->second.nodes;
    int levels = found->second.depth;
    attach(std::move(copy), YAML::NullAnchor, nodes, levels);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, ConfigNode::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, ConfigNode::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

  ConfigNode take_root() { return root_ ? std::move(*root_) : ConfigNode{}; }

 private:
  struct Open {
    ConfigNode node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::optional<ConfigNode> key;  // of a map, while its value is awaited
    std::size_t nodes = 1;
    int depth = 0;  // of what is inside
  };
  struct Anchored {
    ConfigNode node;
    std::size_t nodes;
    int depth;
  };

  int depth() const { return static_cast<int>(open_.size()); }

  ConfigNode node_at(const YAML::Mark& mark) const {
    ConfigNode node;
    node.origin = {name_, mark.line + 1, mark.column + 1};
    return node;
  }

  [[noreturn]] static void refuse_tag(const Origin& origin, const std::string& tag) {
    throw Refused(origin, "tag " + quote(tag) + ": tags are not used here");
  }
  [[noreturn]] static void refuse_depth(const Origin& origin) {
    throw Refused(origin, "nested deeper than " + std::to_string(kMaxConfigDepth) + " levels");
  }

  void count(std::size_t nodes, const Origin& origin) {
    nodes_ += nodes;
    if (nodes_ > kMaxConfigNodes)
      throw Refused(origin, "more than " + std::to_string(kMaxConfigNodes) + " values, aliases counted in full");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, ConfigNode::Kind kind) {
    ConfigNode node = node_at(mark);
    if (tag != "?" && !tag.empty()) refuse_tag(node.origin, tag);
    if (depth() >= kMaxConfigDepth) refuse_depth(node.origin);
    count(1, node.origin);
    node.kind = kind;
    open_.push_back({std::move(node), anchor, std::nullopt});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    attach(std::move(done.node), done.anchor, done.nodes, done.depth + 1);
  }

  void add(ConfigNode node, YAML::anchor_t anchor) {
    count(1, node.origin);
    attach(std::move(node), anchor, 1, 0);
  }

  void attach(ConfigNode node, YAML::anchor_t anchor, std::size_t nodes, int levels) {
    if (anchor != YAML::NullAnchor) {
      count(nodes, node.origin);  // the copy that is kept
      anchors_.insert_or_assign(anchor, Anchored{node, nodes, levels});
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    parent.nodes += nodes;
    parent.depth = std::max(parent.depth, levels);
    if (parent.node.kind == ConfigNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (node.kind != ConfigNode::Kind::kScalar) throw Refused(node.origin, "a key must be a text");
      parent.key = std::move(node);
    } else {
      parent.node.entries.push_back({std::move(parent.key->text), parent.key->origin, std::move(node)});
      parent.key.reset();
    }
  }

  std::shared_ptr<const std::string> name_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::optional<ConfigNode> root_;
  std::size_t nodes_ = 0;
};

// What the library would misread: 0x04 is its own sign for the end of the text.
std::optional<std::string> foreign_bytes(std::string_view line) {
  if (!is_utf8(line)) return "bytes that are not UTF-8";
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\r') || byte == 0x7f) return "a control character";
  }
  return std::nullopt;
}

std::optional<Refused> look_at_bytes(std::string_view text, const std::shared_ptr<const std::string>& name) {
  if (text.size() > kMaxConfigBytes)
    return Refused{{name, 1, 1}, "larger than " + std::to_string(kMaxConfigBytes >> 20) + "MB"};
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto what = foreign_bytes(text.substr(0, end))) return Refused{{name, line, 1}, *what};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

std::expected<ConfigNode, Refused> parse(std::string_view text, const std::shared_ptr<const std::string>& name) {
  if (auto refused = look_at_bytes(text, name)) return std::unexpected(std::move(*refused));
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    TreeBuilder builder(name);
    if (!parser.HandleNextDocument(builder)) return ConfigNode{};
    ConfigNode root = builder.take_root();
    TreeBuilder second(name);
    if (parser.HandleNextDocument(second)) {
      Origin origin = second.take_root().origin;
      if (!origin.name) origin = {name, 1, 1};
      return std::unexpected(Refused{origin, "a second document; one file holds one"});
    }
    return root;
  } catch (const YAML::ParserException& e) {
    return std::unexpected(Refused{{name, e.mark.line + 1, e.mark.column + 1}, "not YAML: " + e.msg});
  } catch (const YAML::Exception& e) {  // too deep for the library
    return std::unexpected(Refused{{name, e.mark.line + 1, e.mark.column + 1}, "not YAML: " + e.msg});
  } catch (Refused& refused) {
    return std::unexpected(std::move(refused));
  } catch (const std::exception& e) {
    return std::unexpected(Refused{{name, 1, 1}, std::string("not YAML: ") + e.what()});
  }
}

void move_to(ConfigNode& node, const Origin& origin) {
  node.origin = origin;
  for (ConfigNode& item : node.items) move_to(item, origin);
  for (ConfigEntry& entry : node.entries) {
    entry.origin = origin;
    move_to(entry.value, origin);
  }
}

}  // namespace

std::expected<ConfigNode, Mistake> parse_yaml(std::string_view text, const std::string& name) {
  auto tree = parse(text, std::make_shared<const std::string>(name));
  if (!tree) return std::unexpected(Mistake{tree.error().origin.text(), "", tree.error().what});
  if (!tree->origin.name) tree->origin = {std::make_shared<const std::string>(name), 1, 1};
  return std::move(*tree);
}

std::expected<ConfigNode, std::string> parse_yaml_value(std::string_view text, const Origin& origin) {
  auto tree = parse(text, origin.name);
  if (!tree) return std::unexpected(std::move(tree.error().what));
  move_to(*tree, origin);
  return std::move(*tree);
}

}  // namespace bartleby
