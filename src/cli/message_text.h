// A message of a topic as text for people; a dead letter with its story.
//
// A letter is recognised by its headers (codec/letter.h). One that is compressed is unpacked; of one in parts, each
// part is shown as such. Headers that claim to be a letter's and are not are shown as they are.
#pragma once

#include <cstddef>
#include <string>

#include "cli/json_value.h"
#include "model/record.h"

namespace bartleby::cli {

struct MessageView {
  Timestamp now;
  bool colours = false;
  std::size_t longest = 2000;  // characters of a value; the rest is counted
};

// As the API gives it: partition, offset, timestamp, key, value, headers.
LogRecord record_of(const JsonValue& item);
std::string message_text(std::int64_t partition, const LogRecord& record, const MessageView& view);

}  // namespace bartleby::cli
