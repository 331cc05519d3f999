#include "codec/json_tree.h"

#include <algorithm>
#include <charconv>

#include "codec/utf8.h"

namespace bartleby {
namespace {

class Reader {
 public:
  Reader(std::string_view text, std::size_t max_depth) : text_(text), max_depth_(max_depth) {}

  Result<JsonTree> whole() {
    JsonTree tree;
    if (!value(tree, 0)) return std::unexpected(Error{ErrorCode::kMalformed, why_});
    blanks();
    if (at_ != text_.size()) return fail(ErrorCode::kMalformed, "more than one JSON value");
    return tree;
  }

 private:
  bool wrong(const std::string& what) {
    why_ = "not JSON at byte " + std::to_string(at_) + ": " + what;
    return false;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  bool value(JsonTree& out, std::size_t depth) {
    if (depth > max_depth_) return wrong("nested deeper than " + std::to_string(max_depth_));
    blanks();
    switch (peek()) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"':
        out.kind = JsonTree::Kind::kString;
        return string(out.text);
      default:
        break;
    }
    for (const std::string_view word : {"null", "true", "false"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        out.kind = JsonTree::Kind::kWord;
        out.text = word;
        return true;
      }
    out.kind = JsonTree::Kind::kNumber;
    return number(out.text);
  }

  bool array(JsonTree& out, std::size_t depth) {
    out.kind = JsonTree::Kind::kArray;
    ++at_;
    blanks();
    if (take(']')) return true;
    do {
      if (!value(out.items.emplace_back(), depth + 1)) return false;
      blanks();
    } while (take(','));
    return take(']') || wrong("expected , or ]");
  }

  bool object(JsonTree& out, std::size_t depth) {
    out.kind = JsonTree::Kind::kObject;
    ++at_;
    blanks();
    if (take('}')) return true;
    do {
      blanks();
      auto& [name, member] = out.members.emplace_back();
      if (peek() != '"') return wrong("expected a name in quotes");
      if (!string(name)) return false;
      blanks();
      if (!take(':')) return wrong("expected :");
      if (!value(member, depth + 1)) return false;
      blanks();
    } while (take(','));
    return take('}') || wrong("expected , or }");
  }

  bool string(std::string& out) {
    const std::size_t from = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return wrong("a control character in a string");
      if (text_[at_] == '\\' && !escape()) return wrong("an unknown escape");
      ++at_;
    }
    if (!take('"')) return wrong("a string without end");
    out = text_.substr(from, at_ - from);
    return true;
  }

  // Ends on its last character.
  bool escape() {
    ++at_;
    const char c = peek();
    if (c != 'u') return c != '\0' && std::string_view("\"\\/bfnrt").contains(c);
    for (int i = 0; i < 4; ++i) {
      ++at_;
      if (at_ >= text_.size() || !std::string_view("0123456789abcdefABCDEF").contains(text_[at_])) return false;
    }
    return true;
  }

  bool digits() {
    const std::size_t from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > from;
  }

  bool number(std::string& out) {
    const std::size_t from = at_;
    take('-');
    if (!take('0') && !digits()) return wrong("expected a value");
    if (take('.') && !digits()) return wrong("expected a digit");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return wrong("expected a digit");
    }
    out = text_.substr(from, at_ - from);
    return true;
  }

  std::string_view text_;
  const std::size_t max_depth_;
  std::size_t at_ = 0;
  std::string why_;
};

std::uint32_t hex4(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + 4, value, 16);
  return value;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// A number as its digits without zeros at either end, and the power of ten that they are multiplied with.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
  bool known = true;  // false: an exponent beyond counting

  bool operator==(const Decimal&) const = default;
};

Decimal decimal_of(std::string_view text) {
  Decimal d;
  if (text.starts_with('-')) d.negative = true, text.remove_prefix(1);
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    std::int32_t value = 0;
    const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), value);
    d.known = read.ec == std::errc{};
    d.exponent = value;
    text = text.substr(0, e);
  }
  for (const char c : text)
    if (c != '.') d.digits += c;
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos)
    d.exponent -= static_cast<std::int64_t>(text.size() - dot - 1);
  d.digits.erase(0, std::min(d.digits.find_first_not_of('0'), d.digits.size()));
  while (d.digits.ends_with('0')) d.digits.pop_back(), ++d.exponent;
  if (d.digits.empty()) return {};
  return d;
}

bool same_number(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const Decimal x = decimal_of(a), y = decimal_of(b);
  return x.known && y.known && x == y;
}

bool same_members(const JsonTree& a, const JsonTree& b) {
  if (a.members.size() != b.members.size()) return false;
  const auto sorted = [](const JsonTree& tree) {
    std::vector<std::pair<std::string, const JsonTree*>> all;
    for (const auto& [name, member] : tree.members) all.emplace_back(json_unquoted(name), &member);
    std::ranges::sort(all);  // members of one name stay in their order: the later lies higher
    return all;
  };
  const auto x = sorted(a), y = sorted(b);
  return std::ranges::equal(
      x, y, [](const auto& p, const auto& q) { return p.first == q.first && json_equal(*p.second, *q.second); });
}

}  // namespace

Result<JsonTree> json_tree(std::string_view text, std::size_t max_depth) {
  if (!is_utf8(text)) return fail(ErrorCode::kMalformed, "not JSON: not UTF-8");
  return Reader(text, max_depth).whole();
}

void append_tree(std::string& out, const JsonTree& tree) {
  switch (tree.kind) {
    case JsonTree::Kind::kArray: {
      out += '[';
      for (const JsonTree& item : tree.items) {
        if (&item != tree.items.data()) out += ',';
        append_tree(out, item);
      }
      out += ']';
      return;
    }
    case JsonTree::Kind::kObject: {
      out += '{';
      for (const auto& member : tree.members) {
        if (&member != tree.members.data()) out += ',';
        out += member.first;
        out += ':';
        append_tree(out, member.second);
      }
      out += '}';
      return;
    }
    default:
      out += tree.text;
  }
}

std::size_t tree_size(const JsonTree& tree) {
  std::size_t size = tree.text.size();
  if (tree.kind == JsonTree::Kind::kArray || tree.kind == JsonTree::Kind::kObject) size += 2;
  for (const JsonTree& item : tree.items) size += tree_size(item) + 1;
  for (const auto& [name, member] : tree.members) size += name.size() + tree_size(member) + 2;
  const std::size_t parts = tree.items.size() + tree.members.size();
  return parts > 0 ? size - 1 : size;  // one comma fewer than parts
}

std::string json_unquoted(std::string_view quoted) {
  std::string out;
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    switch (const char c = text[++i]) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        std::uint32_t code = hex4(text.substr(i + 1));
        i += 4;
        // Two halves make one character; a half alone stays a half, which no name of a pointer can equal.
        if (code >= 0xD800 && code < 0xDC00 && text.substr(i + 1).starts_with("\\u"))
          if (const std::uint32_t low = hex4(text.substr(i + 3)); low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            i += 6;
          }
        append_utf8(out, code);
        break;
      }
      default:
        out += c;
    }
  }
  return out;
}

bool json_equal(const JsonTree& a, const JsonTree& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case JsonTree::Kind::kWord:
      return a.text == b.text;
    case JsonTree::Kind::kNumber:
      return same_number(a.text, b.text);
    case JsonTree::Kind::kString:
      return a.text == b.text || json_unquoted(a.text) == json_unquoted(b.text);
    case JsonTree::Kind::kArray:
      return std::ranges::equal(a.items, b.items, json_equal);
    case JsonTree::Kind::kObject:
      return same_members(a, b);
  }
  return false;
}

}  // namespace bartleby
