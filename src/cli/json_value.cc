#include "cli/json_value.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "codec/base64.h"
#include "codec/json_text.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kDepth = 64;

JsonValue tree(const simdjson::dom::element& element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::ARRAY: {
      JsonValue::List list;
      const simdjson::dom::array items = element.get_array().value_unsafe();  // a loop does not keep a temporary alive
      for (const simdjson::dom::element item : items) list.push_back(tree(item));
      return JsonValue(std::move(list));
    }
    case element_type::OBJECT: {
      JsonValue::Fields fields;
      const simdjson::dom::object members = element.get_object().value_unsafe();
      for (const auto& [name, value] : members) fields.emplace_back(std::string(name), tree(value));
      return JsonValue(std::move(fields));
    }
    case element_type::INT64:
      return JsonValue(element.get_int64().value_unsafe());
    case element_type::UINT64:
      return JsonValue(element.get_uint64().value_unsafe());
    case element_type::DOUBLE:
      return JsonValue(element.get_double().value_unsafe());
    case element_type::STRING:
      return JsonValue(std::string(element.get_string().value_unsafe()));
    case element_type::BOOL:
      return JsonValue(element.get_bool().value_unsafe());
    case element_type::NULL_VALUE:
      return {};
  }
  return {};
}

}  // namespace

Result<JsonValue> JsonValue::parse(std::string_view text) {
  simdjson::dom::parser parser;
  if (const auto failed = parser.allocate(text.size(), kDepth))
    return fail(ErrorCode::kTooLarge, simdjson::error_message(failed));
  const auto parsed = parser.parse(text.data(), text.size());
  if (parsed.error()) return fail(ErrorCode::kMalformed, simdjson::error_message(parsed.error()));
  return tree(parsed.value_unsafe());
}

const JsonValue& JsonValue::operator[](std::string_view field) const {
  static const JsonValue kNull;
  if (const Fields* fields = std::get_if<Fields>(&value_))
    for (const auto& [name, value] : *fields)
      if (name == field) return value;
  return kNull;
}

bool JsonValue::has(std::string_view field) const {
  const Fields* fields = std::get_if<Fields>(&value_);
  return fields != nullptr && std::ranges::any_of(*fields, [&](const auto& one) { return one.first == field; });
}

const JsonValue::List& JsonValue::items() const {
  static const List kNone;
  const List* list = std::get_if<List>(&value_);
  return list == nullptr ? kNone : *list;
}

std::string JsonValue::text(std::string_view field, std::string_view fallback) const {
  const std::string* found = (*this)[field].if_text();
  return found == nullptr ? std::string(fallback) : *found;
}

std::int64_t JsonValue::integer(std::string_view field, std::int64_t fallback) const {
  return (*this)[field].if_integer().value_or(fallback);
}

bool JsonValue::truth(std::string_view field) const {
  const bool* found = std::get_if<bool>(&(*this)[field].value_);
  return found != nullptr && *found;
}

std::optional<std::int64_t> JsonValue::if_integer() const {
  const std::int64_t* found = std::get_if<std::int64_t>(&value_);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<std::string> JsonValue::if_bytes() const {
  if (const std::string* found = if_text()) return *found;
  if (const std::string* encoded = (*this)["base64"].if_text()) {
    std::string bytes;
    if (append_from_base64(bytes, *encoded, Base64::kPadded)) return bytes;
  }
  return std::nullopt;
}

void JsonValue::write(std::string& out, std::size_t indent, bool pretty) const {
  const auto line = [&](std::size_t depth) {
    if (!pretty) return;
    out += '\n';
    out.append(depth * 2, ' ');
  };
  if (const bool* truth = std::get_if<bool>(&value_)) {
    out += *truth ? "true" : "false";
  } else if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
    append_number(out, *integer);
  } else if (const auto* large = std::get_if<std::uint64_t>(&value_)) {
    append_number(out, *large);
  } else if (const auto* number = std::get_if<double>(&value_)) {
    std::array<char, 32> digits{};
    out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), *number).ptr);
  } else if (const std::string* text = if_text()) {
    append_json_text(out, *text);
  } else if (const List* list = std::get_if<List>(&value_)) {
    out += '[';
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (i > 0) out += ',';
      line(indent + 1);
      (*list)[i].write(out, indent + 1, pretty);
    }
    if (!list->empty()) line(indent);
    out += ']';
  } else if (const Fields* fields = std::get_if<Fields>(&value_)) {
    out += '{';
    for (std::size_t i = 0; i < fields->size(); ++i) {
      if (i > 0) out += ',';
      line(indent + 1);
      append_json_text(out, (*fields)[i].first);
      out += pretty ? ": " : ":";
      (*fields)[i].second.write(out, indent + 1, pretty);
    }
    if (!fields->empty()) line(indent);
    out += '}';
  } else {
    out += "null";
  }
}

std::string JsonValue::compact() const {
  std::string out;
  write(out, 0, false);
  return out;
}

std::string JsonValue::pretty() const {
  std::string out;
  write(out, 0, true);
  return out;
}

}  // namespace bartleby::cli
