#include "adapters/sink/mongodb/bson_value.h"

#include <charconv>
#include <map>

#include "codec/json_text.h"
#include "codec/utf8.h"

namespace bartleby::mongodb {
namespace {

// Digits without leading and trailing zeros, and the power of ten of the last of them: equal for equal numbers.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;

  bool operator==(const Decimal&) const = default;
};

Decimal decimal(std::string_view text) {
  Decimal out;
  std::int64_t shift = 0;
  bool fraction = false;
  std::size_t i = 0;
  if (i < text.size() && text[i] == '-') {
    out.negative = true;
    ++i;
  }
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    if (fraction) --shift;
    if (out.digits.empty() && text[i] == '0') continue;
    out.digits += text[i];
  }
  if (i < text.size()) {
    ++i;
    if (i < text.size() && text[i] == '+') ++i;
    std::int64_t power = 0;
    const auto read = std::from_chars(text.data() + i, text.data() + text.size(), power);
    if (read.ec != std::errc()) power = 1'000'000'000'000;  // no double is near
    shift += power;
  }
  while (!out.digits.empty() && out.digits.back() == '0') {
    out.digits.pop_back();
    ++shift;
  }
  out.exponent = out.digits.empty() ? 0 : shift;
  if (out.digits.empty()) out.negative = false;
  return out;
}

}  // namespace

void append_bytes(bson_t& to, std::string_view name, std::string_view bytes) {
  if (is_utf8(bytes))
    append_text(to, name, bytes);
  else
    bson_append_binary(&to, name.data(), length(name), BSON_SUBTYPE_BINARY,
                       reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<std::uint32_t>(bytes.size()));
}

std::string BsonWriter::text(std::string_view quoted) {
  std::string plain = json_unquoted(quoted);
  if (is_utf8(plain)) return plain;
  exact_ = false;  // half of a surrogate pair
  return clean_utf8(plain, {.bytes = plain.size() * 3 + 3});
}

std::string BsonWriter::field(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '$' && i == 0)
      out += "\uFF04";
    else if (name[i] == '.')
      out += "\uFF0E";
    else if (name[i] == '\0')
      out += "\u2400";
    else
      out += name[i];
  }
  if (out.empty()) out = "_";
  if (out != name) exact_ = false;
  return out;
}

void BsonWriter::append_number(bson_t& to, std::string_view name, const std::string& digits) {
  const char* end = digits.data() + digits.size();
  if (std::int64_t whole = 0; digits.find_first_of(".eE") == std::string::npos) {
    const auto read = std::from_chars(digits.data(), end, whole);
    if (read.ec == std::errc() && read.ptr == end) return append_integer(to, name, whole);
  }
  double real = 0;
  const auto read = std::from_chars(digits.data(), end, real);
  if (read.ec != std::errc() || read.ptr != end) {
    exact_ = false;
    return append_text(to, name, digits);
  }
  char shortest[64];
  const auto written = std::to_chars(shortest, shortest + sizeof shortest, real);
  if (decimal(digits) != decimal({shortest, static_cast<std::size_t>(written.ptr - shortest)})) exact_ = false;
  bson_append_double(&to, name.data(), length(name), real);
}

void BsonWriter::append(bson_t& to, std::string_view name, const JsonTree& value, int depth) {
  using Kind = JsonTree::Kind;
  const bool nests = value.kind == Kind::kObject || value.kind == Kind::kArray;
  if (nests && depth >= kMaxNesting) {
    exact_ = false;
    std::string whole;
    append_tree(whole, value);
    return append_text(to, name, whole);
  }
  bson_t child = BSON_INITIALIZER;
  switch (value.kind) {
    case Kind::kWord:
      if (value.text == "null")
        bson_append_null(&to, name.data(), length(name));
      else
        bson_append_bool(&to, name.data(), length(name), value.text == "true");
      return;
    case Kind::kNumber:
      return append_number(to, name, value.text);
    case Kind::kString:
      return append_text(to, name, text(value.text));
    case Kind::kArray: {
      bson_append_array_begin(&to, name.data(), length(name), &child);
      std::string place;
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        place.clear();
        bartleby::append_number(place, i);
        append(child, place, value.items[i], depth + 1);
      }
      bson_append_array_end(&to, &child);
      return;
    }
    case Kind::kObject: {
      bson_append_document_begin(&to, name.data(), length(name), &child);
      const auto members = members_that_count(value);
      if (members.size() != value.members.size()) exact_ = false;
      for (const JsonMember* one : members) append(child, field(text(one->first)), one->second, depth + 1);
      bson_append_document_end(&to, &child);
      return;
    }
  }
}

std::vector<const JsonMember*> members_that_count(const JsonTree& object) {
  std::map<std::string, const JsonMember*> last;
  std::vector<std::string> names;
  for (const JsonMember& one : object.members) {
    names.push_back(json_unquoted(one.first));
    last[names.back()] = &one;
  }
  std::vector<const JsonMember*> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (last[names[i]] == &object.members[i]) out.push_back(&object.members[i]);
  return out;
}

}  // namespace bartleby::mongodb
