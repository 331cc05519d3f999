#include <algorithm>

#include "codec/utf8.h"
#include "wiring/config_check.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxExpanded = 65536;

bool is_variable(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::ranges::all_of(name, [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

std::string without_newline(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

// What stands between `${` and `}`.
std::expected<std::string, std::string> one(std::string_view inner, const Expander& expander) {
  if (inner.starts_with("file:")) {
    const std::string path(inner.substr(5));
    auto content = expander.read(path);
    if (!content) return std::unexpected("cannot read " + path + ": " + content.error());
    if (!is_utf8(*content)) return std::unexpected(path + " is not UTF-8");
    return without_newline(std::move(*content));
  }
  const std::size_t colon = inner.find(":-");
  const std::string_view name = inner.substr(0, colon);
  if (!is_variable(name)) return std::unexpected(quote(name) + " is no name of a variable");
  const auto found = expander.environment.find(name);
  if (colon == std::string_view::npos) {
    if (found == expander.environment.end()) {
      return std::unexpected("variable " + std::string(name) + " is not set; ${" + std::string(name) +
                             ":-…} gives it a default");
    }
    return found->second;
  }
  if (found == expander.environment.end() || found->second.empty()) return std::string(inner.substr(colon + 2));
  return found->second;
}

}  // namespace

std::expected<Expander::Expanded, std::string> Expander::expand(std::string_view text) const {
  Expanded out;
  const std::string_view all = text;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out.text += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    if (text.starts_with("$${")) {  // a literal ${
      out.text += "${";
      text.remove_prefix(3);
      continue;
    }
    if (!text.starts_with("${")) {
      out.text += '$';
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = text.find('}');
    if (end == std::string_view::npos) return std::unexpected("a ${ without its }");
    auto value = one(text.substr(2, end - 2), *this);
    if (!value) return std::unexpected(std::move(value.error()));
    if (!is_utf8(*value)) return std::unexpected(quote(text.substr(0, end + 1)) + " is not UTF-8");
    out.secret |= text.starts_with("${file:");
    out.whole = text.size() == all.size() && end + 1 == text.size();
    out.text += *value;
    if (out.text.size() > kMaxExpanded) return std::unexpected("longer than 64KB after its expansions");
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace bartleby
