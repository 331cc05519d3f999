// One field of a record as text: of its JSON value by a pointer, or a header by its name.
//
// JSON strings are their content; numbers, true and false as they are written; null, objects and arrays are no text.
// A value that is no JSON has no fields. Of the JSON only as much is read as it takes to find the field, so a fault
// behind it may go unnoticed. A header that is given twice counts by its first value. Keeps its memory from record to
// record, and reads each value once. One per thread; a text lives until the next call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/record.h"

namespace bartleby {

class RecordFields {
 public:
  RecordFields();
  ~RecordFields();
  RecordFields(RecordFields&&) noexcept;
  RecordFields& operator=(RecordFields&&) noexcept;

  // Whose fields are asked for from now on; it must live as long.
  void of(const LogRecord& record);
  std::optional<std::string_view> json(const std::string& pointer);  // RFC 6901
  std::optional<std::string_view> header(const std::string& name) const;

 private:
  struct Reader;

  std::unique_ptr<Reader> reader_;
};

}  // namespace bartleby
