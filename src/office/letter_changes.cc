#include "office/letter_changes.h"

#include "office/arrival.h"
#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {

Result<Changed> LetterChanges::change(std::int64_t seq, const Seen& seen, LetterCause cause,
                                      const ChangeOptions& options) {
  const auto found = sql::one(
      connection_, "SELECT id, state, version, replays, issue, shelf FROM letters WHERE seq = $1",
      [&](Rows& row) {
        return Before{seq,
                      row.text(0),
                      static_cast<LetterState>(row.integer(1)),
                      row.integer(2),
                      static_cast<std::uint32_t>(row.integer(3)),
                      row.integer(4),
                      row.integer(5)};
      },
      seq);
  if (!found) return std::unexpected(found.error());
  if (!*found) return Changed{ChangeResult::kNotFound};
  return change(**found, seen, cause, options);
}

Result<ChangedLetter> LetterChanges::change(std::string_view id, const Seen& seen, LetterCause cause,
                                            const ChangeOptions& options) {
  auto found = letter_row(connection_, id);
  if (!found) return std::unexpected(found.error());
  if (!*found) return ChangedLetter{ChangeResult::kNotFound, {}};
  StoredLetter& letter = (*found)->letter;
  const Before before{letter.seq,     letter.id,    letter.state,      letter.version,
                      letter.replays, letter.issue, (*found)->shelf.id};
  shelves_.try_emplace(before.shelf, std::move((*found)->shelf));
  const auto changed = change(before, seen, cause, options);
  if (!changed) return std::unexpected(changed.error());
  if (changed->result == ChangeResult::kDone) {
    letter.state = changed->state;
    letter.changed_at = now_;
    letter.version = changed->version;
    letter.undo_until = changed->state == LetterState::kDiscarded ? options.undo_until : std::nullopt;
  }
  return ChangedLetter{changed->result, std::move(letter)};
}

Result<Changed> LetterChanges::change(const Before& letter, const Seen& seen, LetterCause cause,
                                      const ChangeOptions& options) {
  const auto not_done = [&](ChangeResult why) { return Changed{why, letter.state, letter.version}; };
  if ((seen.replays && *seen.replays != letter.replays) ||
      (seen.version && *seen.version != letter.version && !office_mutant(OfficeMutant::kVersionNotCompared)))
    return not_done(ChangeResult::kStale);
  const auto to = next_state(letter.state, cause);
  if (!to || (seen.state && *seen.state != letter.state)) return not_done(ChangeResult::kWrongState);
  if (letter.state == LetterState::kArchived && cause == LetterCause::kRestore && options.lives == nullptr)
    return fail(ErrorCode::kInvalid, "an archived letter is restored from its archive, with its bytes");

  BARTLEBY_TRY(*to == LetterState::kGone ? remove(letter) : update(letter, *to, options));
  // The row was read in this very transaction, and there is one that writes at a time. On a store where that is not
  // so, this is what notices.
  if (connection_.changes() != 1) return not_done(ChangeResult::kStale);
  const auto lies_on = shelf(letter.shelf);
  if (!lies_on) return std::unexpected(lies_on.error());
  if (*to != LetterState::kGone || !office_mutant(OfficeMutant::kPurgeNotCounted))
    tally_.move(**lies_on, letter.issue, letter.seq, letter.state, to);
  if (cause != LetterCause::kSucceeded || !office_mutant(OfficeMutant::kSilentChange))
    BARTLEBY_TRY(
        audit_.append({0, now_, actor_.name, std::string(name(cause)), letter.id, std::string(name(letter.state)),
                       std::string(name(*to)), actor_.reason, actor_.request_id, options.detail}));
  return Changed{ChangeResult::kDone, *to, letter.version + 1};
}

Result<const Shelf*> LetterChanges::shelf(std::int64_t id) {
  auto known = shelves_.find(id);
  if (known == shelves_.end()) {
    auto read = shelf_numbered(connection_, id);
    if (!read) return std::unexpected(read.error());
    known = shelves_.emplace(id, std::move(*read)).first;
  }
  return &known->second;
}

// The letter's own row goes last: its `changes` are what the caller looks at.
Result<void> LetterChanges::remove(const Before& letter) {
  if (!office_mutant(OfficeMutant::kPurgeLeavesBytes))
    BARTLEBY_TRY(sql::execute(connection_, "DELETE FROM payloads WHERE letter = $1", letter.seq));
  // Not only of an archived one: earlier lives of a letter that came back may still lie in an archive.
  BARTLEBY_TRY(leave_archive(letter.seq));
  BARTLEBY_TRY(sql::execute(connection_, "DELETE FROM lives WHERE letter = $1", letter.seq));
  BARTLEBY_TRY(sql::execute(connection_, "DELETE FROM life_ids WHERE letter = $1", letter.seq));
  BARTLEBY_TRY(sql::execute(connection_, connection_.dialect().text_delete(), letter.seq));
  const bool was_sent = letter.replays > 0 || letter.state == LetterState::kResolved;
  if (was_sent && !office_mutant(OfficeMutant::kFirstPlaceForgotten)) BARTLEBY_TRY(remember_place(letter.seq));
  return sql::execute(connection_,
                      "DELETE FROM letters WHERE seq = $1 AND state = $2 AND replays = $3 AND version = $4", letter.seq,
                      static_cast<int>(letter.state), letter.replays, letter.version);
}

// What was sent of it may lie in a private lane and die there, or be handled there once more where somebody moves the
// offsets back. That is a letter of its own then, but the same job.
Result<void> LetterChanges::remember_place(std::int64_t letter) {
  return sql::execute(connection_,
                      "INSERT INTO first_places(lineage, consumer_group, job_partition, job_offset, removed_at)"
                      " SELECT l.lineage, s.consumer_group, l.job_partition, l.job_offset, $2"
                      " FROM letters l JOIN shelves s ON s.id = l.shelf WHERE l.seq = $1"
                      " ON CONFLICT(lineage, consumer_group) DO UPDATE SET removed_at = excluded.removed_at",
                      letter, ms(now_));
}

// Its bytes leave the archive's file too, by and by: office/archive_upkeep.h.
Result<void> LetterChanges::leave_archive(std::int64_t letter) {
  if (!office_mutant(OfficeMutant::kLeftStaysInArchive))
    BARTLEBY_TRY(sql::execute(connection_,
                              "INSERT INTO archives_left(archive) SELECT archive FROM archived WHERE letter = $1"
                              " ON CONFLICT(archive) DO NOTHING",
                              letter));
  return sql::execute(connection_, "DELETE FROM archived WHERE letter = $1", letter);
}

Result<void> LetterChanges::update(const Before& letter, LetterState to, const ChangeOptions& options) {
  if (to == LetterState::kArchived)
    BARTLEBY_TRY(sql::execute(connection_, "DELETE FROM payloads WHERE letter = $1", letter.seq));
  if (letter.state == LetterState::kArchived && options.lives != nullptr)
    for (const LifeBytes& life : *options.lives)
      BARTLEBY_TRY(sql::execute(connection_, "INSERT INTO payloads(letter, life, stack, bytes) VALUES($1, $2, $3, $4)",
                                letter.seq, life.life, life.payload.stack, Blob{packed(life.payload)}));
  if (letter.state == LetterState::kArchived) BARTLEBY_TRY(leave_archive(letter.seq));
  const auto undo =
      to == LetterState::kDiscarded && options.undo_until ? std::optional(ms(*options.undo_until)) : std::nullopt;
  return sql::execute(connection_,
                      "UPDATE letters SET state = $5, version = version + 1, changed_at = $6, undo_until = $7"
                      " WHERE seq = $1 AND state = $2 AND replays = $3 AND version = $4",
                      letter.seq, static_cast<int>(letter.state), letter.replays, letter.version, static_cast<int>(to),
                      ms(now_), undo);
}

Result<void> LetterChanges::finish() {
  BARTLEBY_TRY(tally_.apply(connection_));
  return audit_.finish();
}

Result<void> change_letters(Store& store, const Actor& actor, Timestamp now,
                            const std::function<Result<void>(LetterChanges&)>& work) {
  return store.write([&](Connection& connection) -> Result<void> {
    LetterChanges changes(connection, actor, now);
    if (auto done = work(changes); !done) return done;
    return changes.finish();
  });
}

}  // namespace bartleby
