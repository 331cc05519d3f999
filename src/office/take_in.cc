#include "office/take_in.h"

#include "base/hash.h"
#include "codec/sha256.h"
#include "codec/utf8.h"
#include "office/mutants.h"
#include "office/operation_row.h"
#include "office/sink_queue.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::size_t kHashBytes = 16;

std::optional<std::int64_t> stored(const std::optional<Timestamp>& time) {
  return time ? std::optional(ms(*time)) : std::nullopt;
}

// Lists go by this time. One that is far ahead would stand above everything else for ever.
Timestamp believable(Timestamp died, Timestamp now) { return died > now + std::chrono::hours(24) ? now : died; }

ErrorText error_of(const Arrival& a) { return {a.letter.error_type, a.letter.error_message, a.payload.stack}; }

std::string hash_of(std::string_view bytes) {
  const Sha256 digest = sha256(bytes);
  return {reinterpret_cast<const char*>(digest.data()), kHashBytes};
}

// `{topic}.replay.{group}` of this group; empty: it is no such name.
std::string lane_source(const std::string& topic, const std::string& group) {
  const std::string ending = ".replay." + group;
  if (group.empty() || topic.size() <= ending.size() || !topic.ends_with(ending)) return "";
  return topic.substr(0, topic.size() - ending.size());
}

std::optional<std::int64_t> key_hash(const LetterPayload& payload) {
  if (!payload.key) return std::nullopt;
  return static_cast<std::int64_t>(hash64(*payload.key));
}

Result<void> put_words(Connection& connection, std::int64_t seq, const Arrival& a) {
  const std::string error = a.letter.error_type + " " + a.letter.error_message;
  const std::string key = a.letter.key && is_utf8(*a.letter.key) ? *a.letter.key : "";
  return sql::execute(connection, connection.dialect().text_insert(), seq, error, key, words_of(a.payload.headers));
}

Result<void> put_payload(Connection& connection, std::int64_t seq, std::uint32_t life, const Arrival& a,
                         std::string_view bytes) {
  return sql::execute(connection, "INSERT INTO payloads(letter, life, stack, bytes) VALUES($1, $2, $3, $4)", seq, life,
                      a.payload.stack, Blob{bytes});
}

// The topic that this life's record lay in, if that is not its shelf's.
std::string elsewhere(const StoredLetter& letter, const Shelf& shelf) {
  const std::string& topic = letter.shelf.topic;
  return !letter.origin || topic == shelf.label.topic ? "" : topic;
}

}  // namespace

Result<std::optional<IntakePosition>> TakeIn::position(const TopicPartition& dlq) {
  std::optional<IntakePosition> found;
  auto read = store_.read([&](Connection& connection) -> Result<void> {
    auto row = sql::one(
        connection, "SELECT next, done_to, log_id FROM cursors WHERE dlq = $1 AND partition = $2",
        [](Rows& r) { return IntakePosition{Offset(r.integer(0)), Offset(r.integer(1)), r.text(2)}; }, dlq.topic,
        dlq.partition.v);
    if (!row) return std::unexpected(row.error());
    found = *row;
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return found;
}

Result<void> TakeIn::know_dlq(const std::string& dlq, DlqClass dlq_class, Timestamp now) {
  return store_.write([&](Connection& connection) {
    return sql::execute(connection,
                        "INSERT INTO dlqs(name, class, seen_at) VALUES($1, $2, $3)"
                        " ON CONFLICT(name) DO UPDATE SET class = excluded.class",
                        dlq, static_cast<int>(dlq_class), ms(now));
  });
}

Result<IntakeReport> TakeIn::store(const IntakeBatch& batch, Timestamp now) {
  now_ = now;
  report_ = {};
  tally_ = {};
  shelves_.forget();
  sinks_ = sinks_of_ ? sinks_of_(batch.dlq.topic) : std::vector<std::string>();
  const bool apart = office_mutant(OfficeMutant::kPositionBeforeLetters);
  if (apart) BARTLEBY_TRY(store_.write([&](Connection& connection) { return move_position(connection, batch); }));
  const bool queued_late = office_mutant(OfficeMutant::kQueuedAfterLetters) && !batch.letters.empty();
  std::vector<std::string> late;
  std::int64_t seq = 0;
  auto written = store_.write([&](Connection& connection) -> Result<void> {
    audit_.emplace(connection);
    if (!apart) BARTLEBY_TRY(move_position(connection, batch));
    if (batch.letters.empty()) return {};
    BARTLEBY_TRY(follow_feeds(connection, batch.dlq.topic, sinks_));
    const auto first = sql::take_numbers(connection, "letter", static_cast<std::int64_t>(batch.letters.size()));
    if (!first) return std::unexpected(first.error());
    if (queued_late) late = std::exchange(sinks_, {});
    seq = *first;
    for (const Arrival& arrival : batch.letters) BARTLEBY_TRY(take(connection, batch.dlq, arrival, seq++));
    auto news = issues_.finish(connection, *audit_, now);
    if (!news) return std::unexpected(news.error());
    report_.news = std::move(*news);
    BARTLEBY_TRY(tally_.apply(connection));
    return audit_->finish();
  });
  audit_.reset();
  if (written && queued_late)
    written = store_.write([&](Connection& connection) -> Result<void> {
      for (const Arrival& arrival : batch.letters)
        BARTLEBY_TRY(queue_letter(connection, --seq, arrival.published_at, late));
      return {};
    });
  if (written) return std::move(report_);
  issues_.forget();
  return std::unexpected(written.error());
}

Result<void> TakeIn::move_position(Connection& connection, const IntakeBatch& b) {
  if (b.before)
    BARTLEBY_TRY(sql::execute(connection,
                              office_mutant(OfficeMutant::kPositionNotCompared)
                                  ? "UPDATE cursors SET next = $3, done_to = $4, missed = missed + $5, log_id = $6"
                                    " WHERE dlq = $1 AND partition = $2 AND $7 = $7 AND $8 = $8 AND $9 = $9"
                                  : "UPDATE cursors SET next = $3, done_to = $4, missed = missed + $5, log_id = $6"
                                    " WHERE dlq = $1 AND partition = $2 AND next = $7 AND done_to = $8 AND log_id = $9",
                              b.dlq.topic, b.dlq.partition.v, b.after.next.v, b.after.done_to.v, b.missed,
                              b.after.log_id, b.before->next.v, b.before->done_to.v, b.before->log_id));
  else
    BARTLEBY_TRY(sql::execute(connection,
                              "INSERT INTO cursors(dlq, partition, next, done_to, missed, log_id)"
                              " VALUES($1, $2, $3, $4, $5, $6) ON CONFLICT(dlq, partition) DO NOTHING",
                              b.dlq.topic, b.dlq.partition.v, b.after.next.v, b.after.done_to.v, b.missed,
                              b.after.log_id));
  if (connection.changes() == 1) return {};
  return fail(ErrorCode::kUnavailable,
              b.dlq.topic + "/" + std::to_string(b.dlq.partition.v) +
                  ": somebody else has taken in these letters, or this batch is stored already");
}

Result<void> TakeIn::take(Connection& connection, const TopicPartition& dlq, const Arrival& arrival, std::int64_t seq) {
  const StoredLetter& letter = arrival.letter;
  if (letter.replays > 0) {
    const auto taken = take_life(connection, arrival);
    if (!taken) return std::unexpected(taken.error());
    if (*taken) return {};
  }
  const auto job = first_place(connection, letter);
  if (!job) return std::unexpected(job.error());
  auto inserted = insert(connection, arrival, *job, letter.id, seq);
  if (!inserted) return std::unexpected(inserted.error());
  if (*inserted) {
    ++report_.stored;
    return {};
  }
  // Of the same life: a letter that came back has other bytes now, and the bytes themselves may be in an archive.
  const auto same = sql::one(
      connection,
      "SELECT l.payload_hash, p.bytes, e.payload_hash FROM letters l"
      " LEFT JOIN payloads p ON p.letter = l.seq AND p.life = $2"
      " LEFT JOIN lives e ON e.letter = l.seq AND e.replays = $2 WHERE l.id = $1",
      [](Rows& row) {
        if (!row.is_null(2)) return row.text(2);
        return row.is_null(1) ? row.text(0) : hash_of(row.view(1));
      },
      letter.id, letter.replays);
  if (!same) return std::unexpected(same.error());
  if (*same && **same == hash_of(packed(arrival.payload))) {
    ++report_.duplicates;
    return {};
  }
  // Offsets are used again when a topic is made anew; two letters must not become one.
  const std::string id = id_by_place(cluster_, {dlq.topic, letter.dlq.partition}, letter.dlq.offset, letter.died_at);
  inserted = insert(connection, arrival, *job, id, seq);
  if (!inserted) return std::unexpected(inserted.error());
  if (!*inserted) return ++report_.duplicates, Result<void>();
  ++report_.incidents;
  ++report_.stored;
  return {};
}

// Answers with false where the id is taken.
Result<bool> TakeIn::insert(Connection& connection, const Arrival& arrival, Place job, const std::string& id,
                            std::int64_t seq) {
  const StoredLetter& l = arrival.letter;
  const Timestamp died = believable(l.died_at, now_);
  const auto shelf = shelf_of(connection, l, nullptr);
  if (!shelf) return std::unexpected(shelf.error());
  // Of a letter that is here already the issue is here too, so nothing is made in vain.
  const auto issue = issues_.find(connection, l.kind, error_of(arrival), died, now_);
  if (!issue) return std::unexpected(issue.error());
  const std::string bytes = packed(arrival.payload);
  const std::string hash = hash_of(bytes);
  {
    auto statement = connection.statement(
        "INSERT INTO letters(seq, id, shelf, issue, state, version, replays, attempts, kind, lineage, dlq_partition,"
        " dlq_offset, origin_partition, origin_offset, job_partition, job_offset, timestamp, key, key_hash, size,"
        " payload_hash, payload_life, instance, dialect, error_type, error_message, first_failure_at, died_at,"
        " arrived_at, changed_at, origin_topic)"
        " VALUES($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $6, $21,"
        " $22, $23, $24, $25, $26, $27, $27, $28) ON CONFLICT(id) DO NOTHING");
    if (!statement) return std::unexpected(statement.error());
    const std::string elsewhere_topic = elsewhere(l, *shelf);  // outlives the row, which looks at it
    Rows row(**statement);
    row << seq << id << shelf->id << *issue << static_cast<int>(LetterState::kOpen) << l.replays << l.attempts
        << static_cast<int>(l.kind) << l.lineage << l.dlq.partition.v << l.dlq.offset.v;
    if (l.origin)
      row << l.origin->partition.v << l.origin->offset.v;
    else
      row << std::nullopt << std::nullopt;
    row << job.partition.v << job.offset.v << stored(l.timestamp);
    if (l.key)
      row << Blob{*l.key};
    else
      row << std::nullopt;
    row << key_hash(arrival.payload) << l.size << Blob{hash} << l.instance << l.dialect << l.error_type
        << l.error_message << stored(l.first_failure_at) << ms(died) << ms(now_) << elsewhere_topic;
    if (auto ran = row.run(); !ran) return std::unexpected(ran.error());
  }
  if (connection.changes() == 0) return false;
  issues_.count(*issue, died, now_);
  BARTLEBY_TRY(put_payload(connection, seq, l.replays, arrival, bytes));
  BARTLEBY_TRY(put_words(connection, seq, arrival));
  tally_.move(*shelf, *issue, seq, std::nullopt, LetterState::kOpen);
  BARTLEBY_TRY(queue_letter(connection, seq, arrival.published_at, sinks_));
  return true;
}

// Where it lies. A private lane is no topic of its own: by its name, or by who reads it, it is that of its source. Of a
// letter that is here already the topic is known, and where there is no room for another shelf it stays where it is.
Result<Shelf> TakeIn::shelf_of(Connection& connection, const StoredLetter& letter, const LetterRow* earlier) {
  ShelfLabel label = letter.shelf;
  std::string source = source_of_ ? source_of_(label.topic) : "";
  if (source.empty()) source = lane_source(label.topic, label.group);
  if (earlier != nullptr)
    label.topic = earlier->shelf.label.topic;
  else if (!source.empty())
    label.topic = source;
  auto shelf = shelves_.shelf(connection, label);
  if (!shelf) return std::unexpected(shelf.error());
  if (*shelf) return std::move(**shelf);
  ++report_.overflowed;
  return earlier != nullptr ? earlier->shelf : shelves_.overflow(connection, label, cluster_);
}

// Of a later life whose letter was removed: offsets of a private lane are not those of its source, and by them it would
// be another job, and stand elsewhere in the order of its key.
Result<Place> TakeIn::first_place(Connection& connection, const StoredLetter& letter) {
  if (letter.replays == 0) return letter.job;
  const auto found = sql::one(
      connection, "SELECT job_partition, job_offset FROM first_places WHERE lineage = $1 AND consumer_group = $2",
      [](Rows& row) { return Place{Partition(static_cast<std::int32_t>(row.integer(0))), Offset(row.integer(1))}; },
      letter.lineage, letter.shelf.group);
  if (!found) return std::unexpected(found.error());
  return found->value_or(letter.job);
}

// The letter of its lineage and group: the one of the life before it, or else one that has gone on.
Result<std::optional<LetterRow>> TakeIn::other_life(Connection& connection, const StoredLetter& l) {
  return sql::one(connection,
                  BARTLEBY_LETTER
                  " WHERE l.lineage = $1 AND s.consumer_group = $2"
                  " ORDER BY CASE WHEN l.replays < $3 THEN 0 ELSE 1 END, l.replays DESC LIMIT 1",
                  read_letter_row, l.lineage, l.shelf.group, l.replays);
}

// False: it is a letter of its own.
Result<bool> TakeIn::take_life(Connection& connection, const Arrival& arrival) {
  const StoredLetter& letter = arrival.letter;
  const auto number = [](Rows& row) { return row.integer(0); };
  const auto known = sql::one(connection, "SELECT letter FROM life_ids WHERE id = $1", number, letter.id);
  if (!known) return std::unexpected(known.error());
  if (*known) {
    ++report_.duplicates;
    return true;
  }
  const auto itself = sql::one(connection, "SELECT seq FROM letters WHERE id = $1", number, letter.id);
  if (!itself) return std::unexpected(itself.error());
  if (*itself) return false;
  const auto other = other_life(connection, letter);
  if (!other) return std::unexpected(other.error());
  if (!*other) return false;
  if ((*other)->letter.replays >= letter.replays) return take_late(connection, **other, arrival);
  BARTLEBY_TRY(bring_back(connection, **other, arrival));
  return true;
}

// Somebody took the letter back while this life was on its way, and it has died after that. Where nothing newer was
// sent it brings the letter back as it would have; else it is a life of its story. False: that life is there already.
Result<bool> TakeIn::take_late(Connection& connection, const LetterRow& row, const Arrival& arrival) {
  if (office_mutant(OfficeMutant::kLateLifeNotKnown)) return false;
  const StoredLetter& old = row.letter;
  const StoredLetter& l = arrival.letter;
  const auto number = [](Rows& r) { return r.integer(0); };
  const auto newest = sql::one(connection, "SELECT payload_life FROM letters WHERE seq = $1", number, old.seq);
  if (!newest) return std::unexpected(newest.error());
  const auto told =
      sql::one(connection, "SELECT 1 FROM lives WHERE letter = $1 AND replays = $2", number, old.seq, l.replays);
  if (!told) return std::unexpected(told.error());
  if (*told || newest->value_or(0) == l.replays) return false;
  const bool newer_sent = old.state == LetterState::kReplaying || old.state == LetterState::kResolved;
  if (old.replays == l.replays && !newer_sent) {
    BARTLEBY_TRY(bring_back(connection, row, arrival));
    return true;
  }
  const Timestamp died = believable(l.died_at, now_);
  const auto shelf = shelf_of(connection, l, &row);
  if (!shelf) return std::unexpected(shelf.error());
  const auto issue = issues_.find(connection, l.kind, error_of(arrival), died, now_);
  if (!issue) return std::unexpected(issue.error());
  issues_.count(*issue, died, now_);
  BARTLEBY_TRY(
      sql::execute(connection,
                   "INSERT INTO lives(letter, replays, shelf, issue, attempts, kind, dlq_partition, dlq_offset,"
                   " origin_partition, origin_offset, error_type, error_message, died_at, payload_life, origin_topic)"
                   " VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $2, $14)",
                   old.seq, l.replays, shelf->id, *issue, l.attempts, static_cast<int>(l.kind), l.dlq.partition.v,
                   l.dlq.offset.v, l.origin ? std::optional<std::int64_t>(l.origin->partition.v) : std::nullopt,
                   l.origin ? std::optional(l.origin->offset.v) : std::nullopt, l.error_type, l.error_message, ms(died),
                   elsewhere(l, *shelf)));
  BARTLEBY_TRY(sql::execute(connection, "INSERT INTO life_ids(id, letter) VALUES($1, $2)", l.id, old.seq));
  BARTLEBY_TRY(put_payload(connection, old.seq, l.replays, arrival, packed(arrival.payload)));
  if (!office_mutant(OfficeMutant::kLateLifeNotQueued))
    BARTLEBY_TRY(queue_life(connection, old.seq, l.replays, sinks_));
  ++report_.came_back;
  return true;
}

// The same letter, one life later: its story so far goes to `lives`, and it is open again whatever it was.
Result<void> TakeIn::bring_back(Connection& connection, const LetterRow& row, const Arrival& arrival) {
  const StoredLetter& old = row.letter;
  const StoredLetter& l = arrival.letter;
  const Timestamp died = believable(l.died_at, now_);
  const auto shelf = shelf_of(connection, l, &row);
  if (!shelf) return std::unexpected(shelf.error());
  const auto issue = issues_.find(connection, l.kind, error_of(arrival), died, now_);
  if (!issue) return std::unexpected(issue.error());
  issues_.count(*issue, died, now_);
  const std::string bytes = packed(arrival.payload);
  const bool keep = office_mutant(OfficeMutant::kCameBackStaysAsItWas) && old.state != LetterState::kReplaying;
  const LetterState to = keep ? old.state : LetterState::kOpen;

  // Under the number of the life that died: a letter that was taken back counts one more since.
  BARTLEBY_TRY(
      sql::execute(connection,
                   "INSERT INTO lives(letter, replays, shelf, issue, attempts, kind, dlq_partition, dlq_offset,"
                   " origin_partition, origin_offset, error_type, error_message, died_at, payload_life, payload_hash,"
                   " origin_topic) SELECT seq, payload_life, shelf, issue, attempts, kind, dlq_partition, dlq_offset,"
                   " origin_partition, origin_offset, error_type, error_message, died_at, payload_life, payload_hash,"
                   " origin_topic FROM letters WHERE seq = $1",
                   old.seq));
  BARTLEBY_TRY(sql::execute(connection, "INSERT INTO life_ids(id, letter) VALUES($1, $2)", l.id, old.seq));
  BARTLEBY_TRY(sql::execute(
      connection,
      "UPDATE letters SET state = $20, version = version + 1, replays = $2, shelf = $3, issue = $4, attempts = $5,"
      " kind = $6, dlq_partition = $7, dlq_offset = $8, origin_partition = $9, origin_offset = $10, size = $11,"
      " payload_hash = $12, payload_life = $2, instance = $13, error_type = $14, error_message = $15,"
      " first_failure_at = $16, died_at = $17, changed_at = $18, key_hash = $19, dialect = $21, undo_until = NULL,"
      " origin_topic = $22 WHERE seq = $1",
      old.seq, l.replays, shelf->id, *issue, l.attempts, static_cast<int>(l.kind), l.dlq.partition.v, l.dlq.offset.v,
      l.origin ? std::optional<std::int64_t>(l.origin->partition.v) : std::nullopt,
      l.origin ? std::optional(l.origin->offset.v) : std::nullopt, l.size, Blob{hash_of(bytes)}, l.instance,
      l.error_type, l.error_message, stored(l.first_failure_at), ms(died), ms(now_), key_hash(arrival.payload),
      static_cast<int>(to), l.dialect, elsewhere(l, *shelf)));
  BARTLEBY_TRY(sql::execute(connection, "UPDATE letters SET key = $2 WHERE seq = $1 AND key_hash IS NOT NULL", old.seq,
                            Blob{l.key ? std::string_view(*l.key) : std::string_view()}));
  BARTLEBY_TRY(put_payload(connection, old.seq, l.replays, arrival, bytes));
  BARTLEBY_TRY(sql::execute(connection, connection.dialect().text_delete(), old.seq));
  BARTLEBY_TRY(put_words(connection, old.seq, arrival));
  BARTLEBY_TRY(settle_items(connection, old.seq, old.replays, ItemResult::kCameBack, now_));
  tally_.move(row.shelf, old.issue, old.seq, old.state, std::nullopt);
  tally_.move(*shelf, *issue, old.seq, std::nullopt, to);
  BARTLEBY_TRY(audit_->append({0, now_, "intake", std::string(name(LetterCause::kCameBack)), old.id,
                               std::string(name(old.state)), std::string(name(to)), "", "", ""}));
  if (!office_mutant(OfficeMutant::kLaterLifeNotQueued))
    BARTLEBY_TRY(queue_letter(connection, old.seq, arrival.published_at, sinks_));
  ++report_.came_back;
  return {};
}

}  // namespace bartleby
