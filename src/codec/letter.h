// A dead message as records of its dlq: its story in headers, its value verbatim (dialect `record`) or in one of the
// forms that other programs expect (codec/letter_dialect.h), from which the very same bytes are read back.
//
// A letter that is too large goes down a ladder: whole, with the stack cut, compressed (zstd), in parts.
// All parts are one atomic write; `join_letter` puts them together again. Letter and message ids are
// hashes of where the message came from, so that the same death has the same id whoever writes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/failure.h"
#include "model/record.h"

namespace bartleby {

// Where a message died and how; everything the headers say.
struct LetterFacts {
  std::string cluster;
  std::string topic;
  Partition partition;
  Offset offset;
  Timestamp timestamp;
  std::string group;
  std::string worker;
  std::string instance;
  std::string lineage;        // message id of the first life; empty: this is the first
  std::uint32_t replays = 0;  // lives before this one
  Reason reason = Reason::kUnknown;
  Kind kind = Kind::kTransient;
  std::uint32_t attempts = 0;
  Timestamp first_failure;
  Timestamp last_failure;
  ErrorText error;

  bool operator==(const LetterFacts&) const = default;
};

// `msg_` / `ltr_` + 26 base32 characters of a SHA-256.
std::string message_id(const LetterFacts& facts);
std::string letter_id(const LetterFacts& facts);

enum class LetterForm : std::uint8_t { kWhole, kStackCut, kCompressed, kParts };

enum class LetterDialect : std::uint8_t { kRecord, kEnvelope, kDlqMetadata };
constexpr std::array<std::string_view, 3> kLetterDialectNames = {"record", "envelope", "dlq_metadata"};
constexpr std::string_view name(LetterDialect d) { return kLetterDialectNames[static_cast<std::size_t>(d)]; }
std::optional<LetterDialect> letter_dialect_named(std::string_view text);

struct LetterTarget {
  std::string topic;
  std::int32_t partitions = 1;
  std::size_t part_bytes = 512 * 1024;  // of one part's value
  LetterDialect dialect = LetterDialect::kRecord;
};

// Everything `record` holds is kept byte for byte. Headers of ours that the message already carries
// (an earlier life) are replaced, never added to. `published`: when it is written; absent: when it failed last. A value
// that the dialect has no form for goes in `record`.
std::vector<Record> letter_records(const LetterFacts& facts, const LogRecord& record, LetterForm form,
                                   const LetterTarget& target, Timestamp published = {});

struct Letter {
  LetterFacts facts;
  LetterDialect dialect = LetterDialect::kRecord;  // that it was written in
  std::string id;
  std::string lineage;  // `message_id` of the facts
  LogRecord record;     // key, value and headers as they were; offset and timestamp of the origin
};

// What a record says about itself as a part of a letter.
struct LetterPart {
  std::string letter;
  std::size_t index = 0;  // from 1
  std::size_t count = 0;
};

// Nothing where it is whole, or where what it says makes no sense.
std::optional<LetterPart> letter_part(const LogRecord& record);

// One letter from all its records, in any order. Names the missing part where one is missing.
Result<Letter> join_letter(const std::vector<LogRecord>& records);

}  // namespace bartleby
