// What a running operation does to the store: each call is one transaction that is done whole or not at all, and that
// compares the cursor first, so that a step that is repeated after a crash changes nothing twice.
//
// Any thread. A step that finds the operation elsewhere than its caller has seen answers with kUnavailable: look again.
#pragma once

#include <map>
#include <string>

#include "office/letter_changes.h"
#include "office/operation_run.h"
#include "ports/broker.h"
#include "ports/store.h"

namespace bartleby {

// The durable picture, without the broker's cursor.
Result<OperationSeen> look_at_operation(Store& store, std::int64_t seq);

// How many letters were changed, and how many were left alone.
struct Dealt {
  std::int64_t changed = 0, skipped = 0;
};

Result<Dealt> take_letters(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to, Timestamp now);
// `places`: by position, where the records landed, as far as that is known.
Result<void> write_down(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to,
                        const std::map<std::int64_t, Written>& places, Timestamp now);
// Of an operation that is not running: nothing of [from, to) was sent. Paused, they wait again; cancelled, not.
Result<void> give_back(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to, Timestamp now);
Result<void> return_letter(Store& store, std::int64_t seq, std::int64_t at, const std::string& why, Timestamp now);
Result<Dealt> change_slice(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to, Timestamp now);
Result<void> move_by_itself(Store& store, std::int64_t seq, OperationCause cause, const std::string& note,
                            Timestamp now);

// A letter that was sent, whose operation is over and of which nobody told what became, is open again. It counts as
// replayed once more, so that a late word about the first is not taken for one about the next. Nothing: it may not be
// taken back, because its operation goes on or it was not sent.
Result<std::optional<ChangedLetter>> take_back(LetterChanges& changes, const StoredLetter& letter, Timestamp now);

}  // namespace bartleby
