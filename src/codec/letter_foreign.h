// Letters that other programs wrote, told from their bytes: what they say of the message and of its death.
//
// Known are the JSON envelope and `dlq_metadata` (codec/letter_dialect.h), which carry no headers of ours then: no
// group, no lineage, and of the origin no more than the text says. Nothing in them is believed: what is of another type
// than it should be is left out, and without the parts that make the dialect it is none of them. Pure.
#pragma once

#include <optional>
#include <string>

#include "codec/letter.h"

namespace bartleby {

struct ForeignLetter {
  LetterDialect dialect = LetterDialect::kEnvelope;
  std::string topic;                   // empty: it does not say
  std::optional<Partition> partition;  // these two together
  std::optional<Offset> offset;
  Bytes key, value;  // the message's own
  std::string instance;
  ErrorText error;             // bounded
  std::uint32_t attempts = 0;  // 0: it does not say
  std::optional<Timestamp> first_failure, last_failure;
};

// Nothing: it is a record of ours (`bartleby-v`), or of nobody that is known here.
std::optional<ForeignLetter> foreign_letter(const LogRecord& record);

}  // namespace bartleby
