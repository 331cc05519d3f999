// Which records a worker or one of its cases takes: one field of the JSON value, or one header, compared with texts.
//
// What a field is as text, and what has none, is said in codec/record_field.h; what has none does not match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/record_field.h"
#include "model/record.h"

namespace bartleby {

struct Match {
  enum class Field : std::uint8_t { kJson, kHeader };

  Field field = Field::kJson;
  std::string name;               // a JSON pointer (RFC 6901), or the name of a header
  std::vector<std::string> in{};  // any of these

  bool operator==(const Match&) const = default;
};

// Evaluates; keeps its memory from record to record. One per thread.
class Matcher {
 public:
  bool matches(const Match& match, const LogRecord& record);

  // The first that matches decides; an absent one matches everything. nullopt: none does.
  std::optional<std::size_t> first(const std::vector<std::optional<Match>>& cases, const LogRecord& record);

 private:
  bool holds(const Match& match);

  RecordFields fields_;
};

}  // namespace bartleby
