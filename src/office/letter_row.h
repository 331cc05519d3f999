// A letter's row, read in one way everywhere: the columns, and the letter and its shelf that they make.
// Inside transactions only.
#pragma once

#include <string_view>

#include "model/stored_letter.h"
#include "office/shelves.h"

namespace bartleby {

struct LetterRow {
  StoredLetter letter;
  Shelf shelf;
};

// Expects letters as `l` and shelves as `s`.
#define BARTLEBY_LETTER_COLUMNS                                                                                        \
  "l.seq, l.id, l.state, l.version, l.replays, l.issue, l.lineage, l.dlq_partition, l.dlq_offset, l.origin_partition," \
  " l.origin_offset, l.job_partition, l.job_offset, l.timestamp, l.key, l.size, l.instance, l.dialect, l.kind,"        \
  " l.attempts, l.error_type, l.error_message, l.first_failure_at, l.died_at, l.arrived_at, l.changed_at,"             \
  " l.undo_until, s.id, s.dlq, s.cluster, s.topic, s.consumer_group, s.worker, s.reason, s.consumer, l.origin_topic"
#define BARTLEBY_LETTER "SELECT " BARTLEBY_LETTER_COLUMNS " FROM letters l JOIN shelves s ON s.id = l.shelf"

LetterRow read_letter_row(Rows& row);

Result<std::optional<LetterRow>> letter_row(Connection& connection, std::int64_t seq);
// By the id of any of its lives.
Result<std::optional<LetterRow>> letter_row(Connection& connection, std::string_view id);

}  // namespace bartleby
