// Which records a worker or one of its cases takes: one field of the JSON value, or one header, compared with texts.
//
// JSON strings are compared by their content; numbers, true and false as they are written; null, objects and arrays
// equal nothing. A value that is no JSON does not match. Of the JSON only as much is read as it takes to find the
// field, so a fault behind it may go unnoticed. A header that is given twice counts by its first value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  Matcher();
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  bool matches(const Match& match, const LogRecord& record);

  // The first that matches decides; an absent one matches everything. nullopt: none does.
  std::optional<std::size_t> first(const std::vector<std::optional<Match>>& cases, const LogRecord& record);

 private:
  struct Reader;

  std::unique_ptr<Reader> reader_;
};

}  // namespace bartleby
