#include "tests/sim/office_checker.h"

#include <algorithm>
#include <array>

#include "codec/letter.h"
#include "office/arrival.h"
#include "office/audit.h"
#include "office/sql.h"

namespace bartleby::sim {
namespace {

// Each is 0 where counts and rows agree.
constexpr std::string_view kCounts =
    "SELECT (SELECT count(*) FROM (SELECT consumerId, count(id) AS n FROM job WHERE status = 1004 GROUP BY consumerId)"
    "   AS j LEFT JOIN dlq_summary d ON d.consumerId = j.consumerId WHERE d.dead_count IS NULL OR d.dead_count <> j.n),"
    " (SELECT coalesce(sum(dead_count), 0) FROM dlq_summary) - (SELECT count(*) FROM job WHERE status = 1004),"
    " (SELECT count(*) FROM dlq_summary WHERE dead_count < 0),"
    " (SELECT count(*) FROM counters c WHERE c.letters <>"
    "   (SELECT count(*) FROM letters l WHERE l.shelf = c.shelf AND l.state = c.state)),"
    " (SELECT coalesce(sum(letters), 0) FROM counters) - (SELECT count(*) FROM letters),"
    " (SELECT count(*) FROM issues i WHERE i.open <>"
    "   (SELECT count(*) FROM letters l WHERE l.issue = i.seq AND l.state = 0)),"
    " (SELECT count(*) FROM payloads p WHERE NOT EXISTS(SELECT 1 FROM letters l WHERE l.seq = p.letter)),"
    " (SELECT count(*) FROM lives p WHERE NOT EXISTS(SELECT 1 FROM letters l WHERE l.seq = p.letter)),"
    " (SELECT count(*) FROM letters l WHERE l.state <> 4 AND NOT EXISTS(SELECT 1 FROM payloads p"
    "   WHERE p.letter = l.seq AND p.life = l.payload_life)),"
    " (SELECT count(*) FROM operation_results r WHERE r.items <> (SELECT count(*) FROM operation_items i"
    "   WHERE i.operation = r.operation AND i.result = r.result)),"
    " (SELECT coalesce(sum(items), 0) FROM operation_results) - (SELECT count(*) FROM operation_items),"
    " (SELECT count(*) FROM walked w, summary_walk s WHERE w.letters <> (SELECT count(*) FROM letters l"
    "   WHERE l.shelf = w.shelf AND l.state = w.state AND l.seq <= s.walked_to)),"
    " (SELECT coalesce(sum(letters), 0) FROM walked) - (SELECT count(*) FROM letters, summary_walk"
    "   WHERE seq <= walked_to),"
    " (SELECT count(*) FROM walked_issues w, summary_walk s WHERE w.letters <> (SELECT count(*) FROM letters l"
    "   WHERE l.issue = w.issue AND l.state = 0 AND l.seq <= s.walked_to)),"
    " (SELECT coalesce(sum(letters), 0) FROM walked_issues) - (SELECT count(*) FROM letters, summary_walk"
    "   WHERE seq <= walked_to AND state = 0),"
    " (SELECT count(*) FROM letters l WHERE NOT EXISTS(SELECT 1 FROM shelves s WHERE s.id = l.shelf)),"
    " (SELECT count(*) FROM lives e WHERE NOT EXISTS(SELECT 1 FROM shelves s WHERE s.id = e.shelf))";
constexpr std::array<std::string_view, 17> kCountTexts = {"the summary of a consumer differs from its dead jobs",
                                                          "the summary differs from the dead jobs",
                                                          "the summary is negative",
                                                          "a counter differs from its letters",
                                                          "the counters differ from the letters",
                                                          "an issue's count differs from its letters",
                                                          "bytes of a letter that is gone",
                                                          "lives of a letter that is gone",
                                                          "a letter without its bytes",
                                                          "a count of results differs from its items",
                                                          "the counts of results differ from the items",
                                                          "what was walked differs from its letters",
                                                          "what was walked differs from the letters",
                                                          "what was walked of an issue differs from its letters",
                                                          "what was walked of issues differs from the letters",
                                                          "a letter without its shelf",
                                                          "a life without its shelf"};

std::optional<LetterCause> letter_cause(std::string_view text) {
  for (std::size_t i = 0; i < kLetterCauseNames.size(); ++i)
    if (kLetterCauseNames[i] == text) return static_cast<LetterCause>(i);
  return std::nullopt;
}

std::string place(const TopicPartition& tp, Offset at) {
  return tp.topic + "/" + std::to_string(tp.partition.v) + ":" + std::to_string(at.v);
}

}  // namespace

void OfficeChecker::broken(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

std::string OfficeChecker::name_of(std::int64_t letter) const {
  const auto found = ids_.find(letter);
  return found == ids_.end() ? "letter " + std::to_string(letter) : found->second;
}

// ---- What lies in the topics -------------------------------------------------------------------------

void OfficeChecker::made_anew(const TopicPartition& dlq) {
  dead_[dlq].clear();
  const auto at = now_.positions.find(dlq);
  if (at != now_.positions.end() && at->second.at.done_to > Offset(0)) anew_.insert(dlq);
}

void OfficeChecker::record_visible(const TopicPartition& tp, const LogRecord& record) {
  if (tp.topic == kOutcomesTopic) {
    if (const auto outcome = record.value ? outcome_from(*record.value) : fail(ErrorCode::kMalformed, ""))
      verdicts_[{outcome->letter, outcome->replays}].insert(outcome->verdict);
    return;
  }
  if (!dlqs_.contains(tp.topic)) return replayed(tp, record);
  Dead dead;
  dead.raw = id_by_place(kOfficeCluster, tp, record.offset, record.timestamp);
  if (const auto part = letter_part(record)) {
    dead.letter = part->letter;
    dead.part = true;
    dead.index = part->index;
    dead.count = part->count;
  } else if (const auto letter = join_letter({record})) {
    dead.letter = letter->id;
  }
  if (!dead.letter.empty() && !written_.insert(dead.letter).second && !dead.part) coverage_.saw(OfficeSeen::kCopy);
  written_.insert(dead.raw);
  note_bytes(record, dead);
  dead_[tp][record.offset] = std::move(dead);
}

void OfficeChecker::replayed(const TopicPartition& tp, const LogRecord& record) {
  const auto mark = replay_mark(record, {key_}, tp.topic);
  if (!mark) return broken("a record without a mark was sent to " + place(tp, record.offset));
  coverage_.saw(OfficeSeen::kSent);
  if (tp.topic.find(".replay.") != std::string::npos) coverage_.saw(OfficeSeen::kLane);
  if (!sent_.try_emplace({mark->letter, mark->replays}, mark->operation).second)
    return broken("sent twice: " + mark->letter + " life " + std::to_string(mark->replays));
  const auto op = std::ranges::find(now_.operations, mark->operation, [](const auto& o) { return o.second.id; });
  if (op == now_.operations.end()) return broken("sent by no operation: " + mark->letter);
  if (op->second.state != OperationState::kRunning)
    broken("sent though its operation is " + std::string(name(op->second.state)) + ": " + mark->letter);
  bool taken = false;
  for (const auto& [where, item] : now_.items)
    taken = taken || (where.first == op->first && item.result == ItemResult::kUnknown &&
                      name_of(item.letter) == mark->letter && item.replays + 1 == mark->replays);
  if (!taken) broken("sent without being taken: " + mark->letter);
  const auto origin = origins_.find(mark->lineage);
  if (origin == origins_.end()) return broken("sent with a lineage that nobody has: " + mark->letter);
  // A letter of a later life is all there is where the first was purged, or deleted before it was taken in.
  if (!record.key || origin->second.second != mark->letter) return;
  const Offset born = origin->second.first;
  const auto [last, first] = last_sent_.try_emplace({mark->operation, tp.topic, *record.key}, born);
  if (!first && last->second >= born) broken("out of order: " + mark->letter + " after a later one");
  last->second = born;
}

// ---- The store after a transaction -------------------------------------------------------------------

Result<void> OfficeChecker::look(Connection& connection, Picture& picture, std::vector<AuditEntry>& lines) {
  BARTLEBY_TRY(sql::each(
      connection,
      "SELECT l.seq, l.id, l.state, l.version, l.replays, l.dialect, s.dlq, l.dlq_partition, l.dlq_offset,"
      " l.lineage, s.consumer_group, l.job_partition, l.job_offset"
      " FROM letters l JOIN shelves s ON s.id = l.shelf",
      [&](Rows& r) {
        picture.letters[r.integer(0)] = {r.text(1),
                                         static_cast<LetterState>(r.integer(2)),
                                         r.integer(3),
                                         static_cast<std::uint32_t>(r.integer(4)),
                                         r.text(5),
                                         {r.text(6), Partition(static_cast<std::int32_t>(r.integer(7)))},
                                         Offset(r.integer(8)),
                                         r.text(9),
                                         r.text(10),
                                         {Partition(static_cast<std::int32_t>(r.integer(11))), Offset(r.integer(12))}};
      }));
  BARTLEBY_TRY(
      sql::each(connection, "SELECT id FROM life_ids", [&](Rows& r) { arrived_.insert(std::string(r.view(0))); }));
  BARTLEBY_TRY(look_at_archives(connection, picture));
  BARTLEBY_TRY(look_at_sinks(connection, picture));
  BARTLEBY_TRY(sql::each(connection,
                         "SELECT seq, id, kind, state, cursor, letters, settings, note, ended_at, started_at, dlq"
                         " FROM operations",
                         [&](Rows& r) {
                           const auto ended = r.maybe(8);
                           picture.operations[r.integer(0)] = {
                               r.text(1),
                               static_cast<OperationKind>(r.integer(2)),
                               static_cast<OperationState>(r.integer(3)),
                               r.integer(4),
                               r.integer(5),
                               r.text(6),
                               r.text(7),
                               ended ? std::optional(timestamp_ms(*ended)) : std::nullopt,
                               !r.is_null(9),
                               r.text(10),
                               {}};
                         }));
  BARTLEBY_TRY(sql::each(connection,
                         "SELECT operation, position, letter, replays, version, result, note FROM operation_items",
                         [&](Rows& r) {
                           const auto result = static_cast<ItemResult>(r.integer(5));
                           picture.items[{r.integer(0), r.integer(1)}] = {
                               r.integer(2), static_cast<std::uint32_t>(r.integer(3)), r.integer(4), result, r.text(6)};
                           ++picture.operations[r.integer(0)].results[static_cast<std::size_t>(result)];
                         }));
  BARTLEBY_TRY(sql::each(connection, "SELECT dlq, partition, next, done_to, missed, log_id FROM cursors", [&](Rows& r) {
    picture.positions[{r.text(0), Partition(static_cast<std::int32_t>(r.integer(1)))}] = {
        {Offset(r.integer(2)), Offset(r.integer(3)), r.text(5)}, r.integer(4)};
  }));
  return sql::each(
      connection,
      "SELECT seq, actor, action, subject, from_state, to_state, detail FROM audit_log WHERE seq > $1 ORDER BY seq",
      [&](Rows& r) {
        AuditEntry entry;
        entry.seq = r.integer(0);
        entry.actor = r.text(1);
        entry.action = r.text(2);
        entry.subject = r.text(3);
        entry.from = r.text(4);
        entry.to = r.text(5);
        entry.detail = r.text(6);
        lines.push_back(std::move(entry));
      },
      audit_seen_);
}

Result<void> OfficeChecker::look_at_counts(Connection& connection) {
  const auto row = sql::one(connection, kCounts, [&](Rows& r) {
    for (std::size_t i = 0; i < kCountTexts.size(); ++i)
      if (r.integer(static_cast<int>(i)) != 0) broken(std::string(kCountTexts[i]));
    return true;
  });
  if (!row) return std::unexpected(row.error());
  return sql::each(connection,
                   "SELECT 1 FROM lives e JOIN letters l ON l.seq = e.letter WHERE e.replays > l.payload_life LIMIT 1",
                   [&](Rows&) { coverage_.saw(OfficeSeen::kLateLife); });
}

void OfficeChecker::committed() {
  Picture fresh;
  std::vector<AuditEntry> lines;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    BARTLEBY_TRY(look(connection, fresh, lines));
    return look_at_counts(connection);
  });
  if (!read) return broken("the store cannot be read: " + read.error().message);
  std::swap(fresh, now_);
  const Picture& before = fresh;
  for (const auto& [seq, letter] : now_.letters) ids_.try_emplace(seq, letter.id);
  check_letters(before, lines);
  check_operations(before, lines);
  check_positions(before);
  check_archives(before);
  check_sinks(before);
  if (!lines.empty()) audit_seen_ = lines.back().seq;
}

// Every change of a letter has its lines in the audit, in the same transaction, and they follow the law.
void OfficeChecker::check_letters(const Picture& before, const std::vector<AuditEntry>& lines) {
  std::map<std::string_view, std::vector<const AuditEntry*>> by_subject;
  for (const AuditEntry& line : lines) by_subject[line.subject].push_back(&line);
  const auto follow = [&](const Letter& was, const Letter* is) {
    LetterState state = was.state;
    std::int64_t version = was.version;
    std::uint32_t lives = 0, taken_back = 0;
    const auto of_it = by_subject.find(was.id);
    for (const AuditEntry* line : of_it == by_subject.end() ? std::vector<const AuditEntry*>() : of_it->second) {
      const auto cause = letter_cause(line->action);
      const auto to = cause ? next_state(state, *cause) : std::nullopt;
      if (!to || name(state) != line->from || name(*to) != line->to)
        return broken("against the law: " + was.id + " " + line->action + " from " + line->from + " to " + line->to);
      if (cause == LetterCause::kCameBack) {
        ++lives;
        coverage_.saw(state == LetterState::kReplaying ? OfficeSeen::kCameBackReplaying
                      : state != LetterState::kOpen    ? OfficeSeen::kCameBackDealtWith
                                                       : OfficeSeen::kTakenIn);
      }
      if (cause == LetterCause::kReturned && line->detail.contains("taken_back")) {
        ++taken_back;
        taken_back_.insert({was.id, was.replays + taken_back});
        coverage_.saw(OfficeSeen::kTakenBack);
      }
      if (cause == LetterCause::kSucceeded) coverage_.saw(OfficeSeen::kResolved);
      if (cause == LetterCause::kDiscard) coverage_.saw(OfficeSeen::kDiscarded);
      if (cause == LetterCause::kRestore) coverage_.saw(OfficeSeen::kRestored);
      if (cause == LetterCause::kPurge) coverage_.saw(OfficeSeen::kPurged);
      state = *to;
      ++version;
    }
    if (is == nullptr) {
      if (state != LetterState::kGone) broken("gone without a purge: " + was.id);
    } else if (is->state != state || is->version != version) {
      broken("changed without a line in the audit: " + was.id);
    } else if (lives == 0 ? is->replays != was.replays + taken_back : is->replays < was.replays) {
      broken("another life without coming back: " + was.id);
    }
  };
  for (const auto& [seq, was] : before.letters) {
    const auto is = now_.letters.find(seq);
    follow(was, is == now_.letters.end() ? nullptr : &is->second);
  }
  for (const auto& [seq, letter] : now_.letters) {
    if (before.letters.contains(seq)) continue;
    check_arrival(before, letter);
    Letter first = letter;
    first.state = LetterState::kOpen;
    first.version = 1;
    follow(first, &letter);
  }
}

void OfficeChecker::check_arrival(const Picture& before, const Letter& letter) {
  coverage_.saw(letter.dialect == "raw" ? OfficeSeen::kRaw : OfficeSeen::kTakenIn);
  if (!written_.contains(letter.id)) broken("a letter that nobody wrote: " + letter.id);
  // A copy of a first life may come after its letter was purged and a later life has become one; a later life of a
  // letter that is here is no letter of its own.
  for (const auto& [seq, other] : before.letters)
    if (letter.replays > 0 && other.id != letter.id && other.lineage == letter.lineage && other.group == letter.group &&
        now_.letters.contains(seq))
      broken("one message is two letters: " + letter.id + " and " + other.id);
  // Where the letter of the first life was removed, that of a later one is the same job.
  if (letter.replays == 0) jobs_[{letter.lineage, letter.group}] = letter.job;
  if (const auto job = jobs_.find({letter.lineage, letter.group}); job != jobs_.end()) {
    if (letter.replays > 0) coverage_.saw(OfficeSeen::kLaterLifeAlone);
    if (job->second != letter.job) broken("another job than its first life was: " + letter.id);
  }
  // One that was purged and written again is a new one with the old name.
  if (!arrived_.insert(letter.id).second)
    std::erase_if(sent_, [&](const auto& one) {
      if (one.first.first == letter.id) sent_before_.insert(one.first);
      return one.first.first == letter.id;
    });
  if (letter.dialect == "raw" || anew_.contains(letter.dlq)) return;
  const auto was = before.positions.find(letter.dlq);
  if (was != before.positions.end() && letter.at < was->second.at.done_to)
    broken("taken in again from below the position: " + letter.id);
}

void OfficeChecker::crashed() {
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    const auto verdict = verify_audit(connection);
    if (!verdict) return std::unexpected(verdict.error());
    if (!verdict->good) broken("the audit's chain is broken: " + verdict->problem);
    return {};
  });
  if (!read) broken("the audit cannot be read: " + read.error().message);
}

// ---- Positions ---------------------------------------------------------------------------------------

void OfficeChecker::check_positions(const Picture& before) {
  for (const auto& [tp, is] : now_.positions) {
    if (!dlqs_.contains(tp.topic)) continue;
    const auto was = before.positions.find(tp);
    if (was != before.positions.end() && was->second.at == is.at && was->second.missed == is.missed) continue;
    check_position(tp, was == before.positions.end() ? std::nullopt : std::optional(was->second), is);
  }
}

void OfficeChecker::check_position(const TopicPartition& tp, const std::optional<Position>& was, const Position& is) {
  const std::string dlq = tp.topic + "/" + std::to_string(tp.partition.v);
  IntakePosition from = was ? was->at : IntakePosition{};
  const bool another = was && !was->at.log_id.empty() && was->at.log_id != is.at.log_id;
  if (another || is.at.next < from.next || is.at.done_to < from.done_to) {
    if (anew_.erase(tp) == 0 && !another) return broken("the position fell: " + dlq);
    coverage_.saw(another ? OfficeSeen::kNewLog : OfficeSeen::kNewTopic);
    from = {};
  }
  if (is.at.next > is.at.done_to) broken("the position has passed what is stored: " + dlq);
  if (is.at.next < is.at.done_to) coverage_.saw(OfficeSeen::kHeldBack);
  const Offset start = cluster_.log(tp).start();
  const std::int64_t missed = was && !another ? std::max<std::int64_t>(0, start.v - from.done_to.v) : 0;
  if (missed > 0) coverage_.saw(OfficeSeen::kMissed);
  if (is.missed - (was ? was->missed : 0) != missed)
    broken("missed " + std::to_string(missed) + " and counted " + std::to_string(is.missed - (was ? was->missed : 0)) +
           ": " + dlq);
  must_be_settled(tp, std::max(from.done_to, start), is.at.done_to, false);
  must_be_settled(tp, std::max(from.next, start), is.at.next, true);
}

bool OfficeChecker::all_parts_are_there(const TopicPartition& tp, const Dead& part) const {
  std::set<std::size_t> found;
  const auto& records = dead_.at(tp);
  for (auto at = records.lower_bound(cluster_.log(tp).start()); at != records.end(); ++at)
    if (at->second.part && at->second.letter == part.letter) found.insert(at->second.index);
  return found.size() == part.count;
}

void OfficeChecker::must_be_settled(const TopicPartition& tp, Offset from, Offset to, bool parts) {
  const auto& records = dead_[tp];
  for (auto at = records.lower_bound(from); at != records.end() && at->first < to; ++at) {
    const Dead& dead = at->second;
    if (dead.part != parts) continue;
    const bool raw = arrived_.contains(dead.raw), whole = arrived_.contains(dead.letter);
    if (!raw && !whole) broken("passed and not taken in: " + place(tp, at->first));
    if (parts && !whole && all_parts_are_there(tp, dead)) broken("torn apart: " + dead.letter);
    if (parts) coverage_.saw(raw ? OfficeSeen::kPartsGivenUp : OfficeSeen::kJoined);
  }
}

}  // namespace bartleby::sim
