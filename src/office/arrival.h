// A letter on its way into the store: what intake made of one record of a dlq, or of several that were parts of one.
//
// Texts are clean UTF-8 and bounded here, whatever the record said. A letter that another program wrote has its own
// coordinates in the dlq for a name: it does not say enough of where the message came from. A record that nobody can
// decode is a letter too, raw: its own coordinates, its bytes, reason UNKNOWN, and what was wrong as its error.
#pragma once

#include <string>

#include "codec/letter.h"
#include "codec/letter_foreign.h"
#include "model/stored_letter.h"

namespace bartleby {

struct Arrival {
  StoredLetter letter;  // without numbers of the store: seq, issue, arrived_at
  LetterPayload payload;
  Timestamp published_at{};  // when its record came into the dlq
};

// `at`: where the letter's last record lies in its dlq. `letter` comes from `join_letter`, which bounds its error.
Arrival arrival_of(const TopicPartition& dlq, Offset at, Timestamp appended, Letter letter);
Arrival foreign_arrival(const std::string& cluster, const TopicPartition& dlq, const LogRecord& record,
                        ForeignLetter letter);
Arrival raw_arrival(const std::string& cluster, const TopicPartition& dlq, const LogRecord& record,
                    const std::string& why);

// The id that a letter gets by its record's own place: unknown origin, or a second one with the same id.
std::string id_by_place(const std::string& cluster, const TopicPartition& dlq, Offset offset, Timestamp appended);

// Key, value and headers as the bytes that are stored; compressed where that helps.
std::string packed(const LetterPayload& payload);
Result<LetterPayload> unpacked(std::string_view bytes);  // without the stack

// Headers as words, for the full-text index: names and values of those that are text.
std::string words_of(const Headers& headers);

}  // namespace bartleby
