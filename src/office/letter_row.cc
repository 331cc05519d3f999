#include "office/letter_row.h"

#include "office/sql.h"

namespace bartleby {
namespace {

std::optional<Timestamp> time_at(Rows& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return timestamp_ms(row.integer(column));
}

Place place_at(Rows& row, int column) {
  return {Partition(static_cast<std::int32_t>(row.integer(column))), Offset(row.integer(column + 1))};
}

}  // namespace

LetterRow read_letter_row(Rows& row) {
  LetterRow found;
  StoredLetter& l = found.letter;
  l.seq = row.integer(0);
  l.id = row.text(1);
  l.state = static_cast<LetterState>(row.integer(2));
  l.version = row.integer(3);
  l.replays = static_cast<std::uint32_t>(row.integer(4));
  l.issue = row.integer(5);
  l.lineage = row.text(6);
  l.dlq = place_at(row, 7);
  if (!row.is_null(9)) l.origin = place_at(row, 9);
  l.job = place_at(row, 11);
  l.timestamp = time_at(row, 13);
  if (!row.is_null(14)) l.key = row.text(14);
  l.size = static_cast<std::size_t>(row.integer(15));
  l.instance = row.text(16);
  l.dialect = row.text(17);
  l.kind = static_cast<Kind>(row.integer(18));
  l.attempts = static_cast<std::uint32_t>(row.integer(19));
  l.error_type = row.text(20);
  l.error_message = row.text(21);
  l.first_failure_at = time_at(row, 22);
  l.died_at = timestamp_ms(row.integer(23));
  l.arrived_at = timestamp_ms(row.integer(24));
  l.changed_at = timestamp_ms(row.integer(25));
  l.undo_until = time_at(row, 26);
  found.shelf.id = row.integer(27);
  found.shelf.label = {row.text(28), row.text(29), row.text(30),
                       row.text(31), row.text(32), static_cast<Reason>(row.integer(33))};
  found.shelf.consumer = row.text(34);
  l.shelf = found.shelf.label;
  l.origin_topic = row.text(35);
  return found;
}

Result<std::optional<LetterRow>> letter_row(Connection& connection, std::int64_t seq) {
  return sql::one(connection, BARTLEBY_LETTER " WHERE l.seq = $1", read_letter_row, seq);
}

Result<std::optional<LetterRow>> letter_row(Connection& connection, std::string_view id) {
  auto found = sql::one(connection, BARTLEBY_LETTER " WHERE l.id = $1", read_letter_row, id);
  if (!found || *found) return found;
  return sql::one(connection, BARTLEBY_LETTER " WHERE l.seq = (SELECT letter FROM life_ids WHERE id = $1)",
                  read_letter_row, id);
}

}  // namespace bartleby
