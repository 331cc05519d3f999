#include "office/intake.h"

#include <algorithm>

#include "office/mutants.h"

namespace bartleby {

void Intake::step(std::vector<IntakeEvent> events, Instant now, std::vector<IntakeCommand>& out) {
  for (IntakeEvent& event : events) std::visit([&](auto& one) { take(one, now, out); }, event);
  for (auto& [tp, dlq] : dlqs_)
    if (dlq.due <= now) due(tp, dlq, out);
}

Instant Intake::next_wake() const {
  Instant wake = kNever;
  for (const auto& [tp, dlq] : dlqs_)
    if (dlq.phase == Phase::kUnknown || dlq.phase == Phase::kIdle) wake = std::min(wake, dlq.due);
  return wake;
}

std::int64_t Intake::lag() const {
  std::int64_t behind = 0;
  for (const auto& [tp, dlq] : dlqs_)
    behind += std::max<std::int64_t>(0, dlq.log_end.v - (dlq.stored ? dlq.stored->done_to.v : 0));
  return behind;
}

Intake::Dlq* Intake::in_phase(const TopicPartition& tp, Phase phase) {
  const auto found = dlqs_.find(tp);
  return found == dlqs_.end() || found->second.phase != phase ? nullptr : &found->second;
}

// ---- Events ------------------------------------------------------------------------------------------

void Intake::take(const DlqFound& event, Instant now, std::vector<IntakeCommand>& out) {
  const auto [place, fresh] = dlqs_.try_emplace(event.dlq, limits_.parts);
  if (!fresh) return;
  place->second.due = now;
  due(place->first, place->second, out);
}

void Intake::take(PositionRead& event, Instant now, std::vector<IntakeCommand>& out) {
  Dlq* dlq = in_phase(event.dlq, Phase::kPositioning);
  if (dlq == nullptr) return;
  if (!event.answered) return failed(*dlq, now);
  dlq->stored = event.position;
  const IntakePosition at = event.position.value_or(IntakePosition{});
  dlq->position = at.next;
  dlq->done_to = at.done_to;
  dlq->parts.clear();
  read(event.dlq, *dlq, out);
}

void Intake::take(DlqRead& event, Instant now, std::vector<IntakeCommand>& out) {
  Dlq* dlq = in_phase(event.dlq, Phase::kReading);
  if (dlq == nullptr) return;
  if (!event.answered) return failed(*dlq, now);
  dlq->log_end = event.log_end;
  IntakeBatch batch{event.dlq, dlq->stored, {}, 0, {}};
  const bool anew = is_another(*dlq, event);
  if (anew) {
    // The topic was made anew: what was there is another topic's, and this one begins at its beginning. Ids have
    // the time in them, so old and new letters stay apart. What was read is from the middle of it.
    dlq->parts.clear();
    dlq->position = dlq->done_to = event.log_start;
    event.records.clear();
  }
  if (event.log_start > dlq->position) {
    // Retention was faster. Parts that wait have been read; what was not read is missed. What was gone before this
    // dlq was ever looked at is not.
    if (dlq->stored && !office_mutant(OfficeMutant::kMissedNotCounted))
      batch.missed = std::max<std::int64_t>(0, event.log_start.v - std::max(dlq->position, dlq->done_to).v);
    dlq->position = event.log_start;
  }
  for (LogRecord& record : event.records) {
    if (record.offset < dlq->position) continue;
    dlq->position = next(record.offset);
    look_at(event.dlq, *dlq, std::move(record), now, batch.letters);
  }
  // What is left up to the end are ends of transactions, or records that are gone. Of a new topic nothing was read yet.
  if (event.records.empty() && !anew) dlq->position = std::max(dlq->position, event.log_end);
  // As long as there is more to read the other parts may be in it, however long ago the first was read.
  give_up_parts(event.dlq, *dlq, event.records.empty() ? now : Instant{}, batch.letters);
  dlq->done_to = std::max(dlq->done_to, dlq->position);
  // Not `done_to`: after a start what lies between the two is still being read again.
  batch.after = {dlq->parts.first().value_or(dlq->position), dlq->done_to, event.log_id};
  if (event.log_id.empty() && dlq->stored) batch.after.log_id = dlq->stored->log_id;
  if (office_mutant(OfficeMutant::kPartsHoldNothingBack)) batch.after.next = dlq->position;
  dlq->retry = Duration(0);
  if (dlq->stored == batch.after && batch.letters.empty()) {
    if (!event.records.empty()) return read(event.dlq, *dlq, out);
    dlq->phase = Phase::kIdle;
    dlq->due = now + limits_.poll;
    return;
  }
  dlq->storing = batch.after;
  dlq->phase = Phase::kStoring;
  out.push_back(StoreBatch{std::move(batch)});
}

void Intake::take(const BatchStored& event, Instant now, std::vector<IntakeCommand>& out) {
  Dlq* dlq = in_phase(event.dlq, Phase::kStoring);
  if (dlq == nullptr) return;
  if (!event.done && !office_mutant(OfficeMutant::kFailedBatchTakenForStored)) return failed(*dlq, now);
  dlq->stored = dlq->storing;
  read(event.dlq, *dlq, out);
}

// By its id, where the broker tells one; it is told before the records are read, so these may be of a later log, which
// is then noticed at the next look and read from its beginning. Without ids only a shorter log is another one for
// certain. Not below `position`: after a start it may lie far below `done_to`.
bool Intake::is_another(const Dlq& dlq, const DlqRead& event) {
  if (event.log_end < dlq.done_to && !office_mutant(OfficeMutant::kNewTopicNotNoticed)) return true;
  if (!dlq.stored || dlq.stored->log_id.empty() || event.log_id.empty()) return false;
  return dlq.stored->log_id != event.log_id && !office_mutant(OfficeMutant::kLogIdNotCompared);
}

// ---- Records -----------------------------------------------------------------------------------------

// What ends below `done_to` was stored by the transaction that wrote it; only parts of letters that did not end there
// are wanted from that stretch.
void Intake::look_at(const TopicPartition& tp, Dlq& dlq, LogRecord record, Instant now, std::vector<Arrival>& letters) {
  const Offset at = record.offset;
  const Timestamp appended = record.timestamp;
  std::vector<LogRecord> whole;
  if (const std::optional<LetterPart> part = letter_part(record)) {
    auto complete = dlq.parts.add(std::move(record), *part, now);
    if (!complete) return;
    whole = std::move(*complete);
  } else {
    whole.push_back(std::move(record));
  }
  if (at < dlq.done_to && !office_mutant(OfficeMutant::kDoneToIgnored)) return;
  if (auto foreign = foreign_letter(whole.front())) {
    letters.push_back(foreign_arrival(cluster_, tp, whole.front(), std::move(*foreign)));
    return;
  }
  Result<Letter> letter = join_letter(whole);
  if (letter) {
    letters.push_back(arrival_of(tp, at, appended, std::move(*letter)));
    return;
  }
  for (const LogRecord& one : whole) letters.push_back(raw_arrival(cluster_, tp, one, letter.error().message));
}

void Intake::give_up_parts(const TopicPartition& tp, Dlq& dlq, Instant now, std::vector<Arrival>& letters) {
  while (const auto records = dlq.parts.give_up(now))
    for (const LogRecord& one : *records)
      letters.push_back(raw_arrival(cluster_, tp, one, "a part of a letter whose other parts did not come"));
}

// ---- Commands ----------------------------------------------------------------------------------------

void Intake::failed(Dlq& dlq, Instant now) {
  dlq.phase = Phase::kUnknown;
  dlq.retry = std::clamp(dlq.retry * 2, limits_.retry, limits_.max_retry);
  dlq.due = now + dlq.retry;
}

void Intake::read(const TopicPartition& tp, Dlq& dlq, std::vector<IntakeCommand>& out) {
  dlq.phase = Phase::kReading;
  out.push_back(ReadDlq{tp, dlq.position, limits_.records, limits_.bytes});
}

void Intake::due(const TopicPartition& tp, Dlq& dlq, std::vector<IntakeCommand>& out) {
  if (dlq.phase == Phase::kUnknown) {
    dlq.phase = Phase::kPositioning;
    out.push_back(ReadPosition{tp});
  } else if (dlq.phase == Phase::kIdle) {
    read(tp, dlq, out);
  }
}

}  // namespace bartleby
