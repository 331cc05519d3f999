// Writing JSON by hand: numbers, strings and bytes appended to a std::string, nothing else allocated.
//
// Whatever is given, the result is valid JSON: text is repaired where it is not UTF-8, and bytes that are
// not UTF-8 become {"base64": "…"}, which keeps them exact.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace bartleby {

template <std::integral T>
void append_number(std::string& out, T value) {
  char digits[24];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end.ptr);
}

void append_json_text(std::string& out, std::string_view text);
void append_json_bytes(std::string& out, std::string_view bytes);

// `{"name":value,…}`: the commas, and the closing brace when it ends.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  // The caller appends the value next. Names are ours and need no escaping.
  void name(std::string_view name) {
    out_ += empty_ ? "\"" : ",\"";
    out_ += name;
    out_ += "\":";
    empty_ = false;
  }

  template <std::integral T>
  void number(std::string_view field, T value) {
    name(field);
    append_number(out_, value);
  }

  void text(std::string_view field, std::string_view value) {
    name(field);
    append_json_text(out_, value);
  }

  void yes(std::string_view field) {
    name(field);
    out_ += "true";
  }

 private:
  std::string& out_;
  bool empty_ = true;
};

}  // namespace bartleby
