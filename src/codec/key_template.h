// A key made of a record: text with places, such as `ticket:retry_count:{/ticket_id}`.
//
// `{/json/pointer}` is a field of the JSON value, `{header:x}` a header, `{key}` the record's key; all else stands for
// itself. Reading a template names its mistake in words. A record that lacks one of the fields has no key, nor has one
// whose key would be empty or longer than `kMaxFilledKey`. Plain data; any thread, with fields of its own.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/record_field.h"

namespace bartleby {

constexpr std::size_t kMaxFilledKey = 1024;

class KeyTemplate {
 public:
  static std::expected<KeyTemplate, std::string> parse(std::string_view text);

  std::optional<std::string> fill(const LogRecord& record, RecordFields& fields) const;

  bool operator==(const KeyTemplate&) const = default;

 private:
  struct Part {
    enum class What : std::uint8_t { kText, kJson, kHeader, kKey } what = What::kText;
    std::string text{};  // itself, a pointer, or a name

    bool operator==(const Part&) const = default;
  };

  std::vector<Part> parts_;
};

}  // namespace bartleby
