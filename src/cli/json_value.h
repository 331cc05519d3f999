// A JSON document as a tree, for what a server answered: asked for fields by name, and written again.
//
// Asking for what is not there gives a null or a fallback, never an error: an older or newer server may leave fields
// out. Integers stay exact to 64 bits; fields keep their order. Reading is bounded in depth (64).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace bartleby::cli {

class JsonValue {
 public:
  using List = std::vector<JsonValue>;
  using Fields = std::vector<std::pair<std::string, JsonValue>>;

  JsonValue() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, JsonValue>)
  explicit JsonValue(T&& value) : value_(std::forward<T>(value)) {}

  static Result<JsonValue> parse(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_object() const { return std::holds_alternative<Fields>(value_); }

  const JsonValue& operator[](std::string_view field) const;  // null where there is none
  bool has(std::string_view field) const;                     // also where it is null
  const List& items() const;                                  // empty where it is no list

  std::string text(std::string_view field, std::string_view fallback = "") const;
  std::int64_t integer(std::string_view field, std::int64_t fallback = 0) const;
  bool truth(std::string_view field) const;

  const std::string* if_text() const { return std::get_if<std::string>(&value_); }
  std::optional<std::int64_t> if_integer() const;
  // A string, or what {"base64": …} stands for; nullopt for null and for anything else.
  std::optional<std::string> if_bytes() const;

  std::string compact() const;
  std::string pretty() const;

 private:
  void write(std::string& out, std::size_t indent, bool pretty) const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, List, Fields> value_;
};

}  // namespace bartleby::cli
