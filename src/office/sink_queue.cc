#include "office/sink_queue.h"

#include <algorithm>

#include "office/arrival.h"
#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {
namespace {

#define BARTLEBY_SINK_COLUMNS                                                                                        \
  "id, replays, shelf, lineage, dlq_partition, dlq_offset, origin_partition, origin_offset, timestamp, instance,"    \
  " dialect, kind, attempts, error_type, error_message, first_failure_at, died_at, arrived_at, published_at, stack," \
  " bytes"
#define BARTLEBY_NEXT_IN_QUEUE "(SELECT coalesce(max(number), 0) + 1 FROM sink_queue WHERE sink = $1)"

// Under the number of the life that died: a letter that is taken back counts one more since. `arrives`: by being taken
// in; else it was here before, and when a later life came is known of its death alone.
Result<void> queue_one(Connection& connection, const std::string& sink, std::int64_t seq, Timestamp published,
                       bool arrives) {
  return sql::execute(connection,
                      "INSERT INTO sink_queue(sink, number, " BARTLEBY_SINK_COLUMNS
                      ")"
                      " SELECT $1, " BARTLEBY_NEXT_IN_QUEUE
                      ", l.id, CASE WHEN $4 = 1 THEN l.replays ELSE l.payload_life END, l.shelf, l.lineage,"
                      " l.dlq_partition, l.dlq_offset, l.origin_partition, l.origin_offset, l.timestamp, l.instance,"
                      " l.dialect, l.kind, l.attempts, l.error_type, l.error_message, l.first_failure_at, l.died_at,"
                      " CASE WHEN $5 = 1 THEN l.changed_at WHEN EXISTS (SELECT 1 FROM lives e WHERE"
                      " e.letter = l.seq) THEN l.died_at ELSE l.arrived_at END, $3, p.stack, p.bytes"
                      " FROM letters l JOIN payloads p ON p.letter = l.seq AND p.life = l.payload_life"
                      " WHERE l.seq = $2",
                      sink, seq, ms(published), office_mutant(OfficeMutant::kTakenBackIsNextLife) ? 1 : 0,
                      arrives ? 1 : 0);
}

// Of a life that is over less is known; that it was taken in is as old as its death here.
Result<void> queue_earlier(Connection& connection, const std::string& sink, std::int64_t seq, std::int64_t replays) {
  return sql::execute(connection,
                      "INSERT INTO sink_queue(sink, number, " BARTLEBY_SINK_COLUMNS
                      ")"
                      " SELECT $1, " BARTLEBY_NEXT_IN_QUEUE
                      ", l.id, e.replays, e.shelf, l.lineage, e.dlq_partition, e.dlq_offset, e.origin_partition,"
                      " e.origin_offset, l.timestamp, l.instance, l.dialect, e.kind, e.attempts, e.error_type,"
                      " e.error_message, NULL, e.died_at, e.died_at, e.died_at, p.stack, p.bytes"
                      " FROM letters l JOIN lives e ON e.letter = l.seq"
                      " JOIN payloads p ON p.letter = l.seq AND p.life = e.payload_life"
                      " WHERE l.seq = $2 AND e.replays = $3",
                      sink, seq, replays);
}

struct Feed {
  std::string dlq;
  std::int64_t next = 0, until = 0;
};

struct Found {
  std::int64_t seq = 0;
  Timestamp died{};
};

SinkLetter read_life(Rows& row) {
  SinkLetter life;
  StoredLetter& letter = life.letter;
  letter.id = row.text(1);
  letter.replays = static_cast<std::uint32_t>(row.integer(2));
  letter.shelf = {row.text(3), row.text(4), row.text(5), row.text(6), row.text(7), static_cast<Reason>(row.integer(8))};
  letter.lineage = row.text(9);
  letter.dlq = {Partition(static_cast<std::int32_t>(row.integer(10))), Offset(row.integer(11))};
  if (!row.is_null(12))
    letter.origin = Place{Partition(static_cast<std::int32_t>(row.integer(12))), Offset(row.integer(13))};
  if (const auto at = row.maybe(14)) letter.timestamp = timestamp_ms(*at);
  letter.instance = row.text(15);
  letter.dialect = row.text(16);
  letter.kind = static_cast<Kind>(row.integer(17));
  letter.attempts = static_cast<std::uint32_t>(row.integer(18));
  letter.error_type = row.text(19);
  letter.error_message = row.text(20);
  if (const auto at = row.maybe(21)) letter.first_failure_at = timestamp_ms(*at);
  letter.died_at = timestamp_ms(row.integer(22));
  letter.arrived_at = timestamp_ms(row.integer(23));
  life.published_at = timestamp_ms(row.integer(24));
  return life;
}

}  // namespace

Result<void> follow_feeds(Connection& connection, const std::string& dlq, std::span<const std::string> sinks) {
  std::vector<std::string> there;
  BARTLEBY_TRY(sql::each(
      connection, "SELECT sink FROM sink_feeds WHERE dlq = $1", [&](Rows& row) { there.push_back(row.text(0)); }, dlq));
  for (const std::string& sink : there)
    if (std::ranges::find(sinks, sink) == sinks.end() && !office_mutant(OfficeMutant::kFeedOutlivesSink))
      BARTLEBY_TRY(sql::execute(connection, "DELETE FROM sink_feeds WHERE dlq = $1 AND sink = $2", dlq, sink));
  for (const std::string& sink : sinks)
    if (std::ranges::find(there, sink) == there.end())
      BARTLEBY_TRY(sql::execute(connection,
                                office_mutant(OfficeMutant::kFeedNotFilled)
                                    ? "INSERT INTO sink_feeds(sink, dlq, next, until) VALUES($1, $2, 0, 0)"
                                    : "INSERT INTO sink_feeds(sink, dlq, next, until)"
                                      " SELECT $1, $2, 0, next FROM numbers WHERE name = 'letter'",
                                sink, dlq));
  return {};
}

Result<void> queue_letter(Connection& connection, std::int64_t seq, Timestamp published,
                          std::span<const std::string> sinks) {
  for (const std::string& sink : sinks) BARTLEBY_TRY(queue_one(connection, sink, seq, published, true));
  return {};
}

Result<void> queue_life(Connection& connection, std::int64_t seq, std::int64_t replays,
                        std::span<const std::string> sinks) {
  for (const std::string& sink : sinks) BARTLEBY_TRY(queue_earlier(connection, sink, seq, replays));
  return {};
}

Result<bool> fill_queue(Connection& connection, const std::string& sink, std::int64_t numbers) {
  const auto feed = sql::one(
      connection, "SELECT dlq, next, until FROM sink_feeds WHERE sink = $1 AND next < until ORDER BY dlq LIMIT 1",
      [](Rows& row) { return Feed{row.text(0), row.integer(1), row.integer(2)}; }, sink);
  if (!feed) return std::unexpected(feed.error());
  if (!*feed) return false;
  const auto& [dlq, from, until] = **feed;
  const std::int64_t to = std::min(from + numbers, until);
  std::vector<Found> letters;
  BARTLEBY_TRY(sql::each(
      connection,
      "SELECT l.seq, l.died_at FROM letters l JOIN shelves s ON s.id = l.shelf"
      " WHERE l.seq >= $1 AND l.seq < $2 AND s.dlq = $3 ORDER BY l.seq",
      [&](Rows& row) { letters.push_back({row.integer(0), timestamp_ms(row.integer(1))}); }, from, to, dlq));
  for (const Found& letter : letters) {
    std::vector<std::int64_t> earlier;
    BARTLEBY_TRY(sql::each(
        connection, "SELECT replays FROM lives WHERE letter = $1 ORDER BY replays",
        [&](Rows& row) { earlier.push_back(row.integer(0)); }, letter.seq));
    if (office_mutant(OfficeMutant::kEarlierLivesNotFilled)) earlier.clear();
    for (const std::int64_t replays : earlier) BARTLEBY_TRY(queue_earlier(connection, sink, letter.seq, replays));
    BARTLEBY_TRY(queue_one(connection, sink, letter.seq, letter.died, false));
  }
  BARTLEBY_TRY(sql::execute(connection, "UPDATE sink_feeds SET next = $3 WHERE sink = $1 AND dlq = $2", sink, dlq, to));
  return true;
}

Result<SinkBacklog> sink_backlog(Connection& connection, const std::string& sink) {
  SinkBacklog backlog;
  // Rows leave at the front and come at the end, so the numbers have no gaps.
  const auto ends = sql::one(
      connection, "SELECT min(number), max(number) FROM sink_queue WHERE sink = $1",
      [](Rows& row) { return row.is_null(0) ? std::int64_t{0} : row.integer(1) - row.integer(0) + 1; }, sink);
  if (!ends) return std::unexpected(ends.error());
  backlog.waiting = ends->value_or(0);
  const auto oldest = sql::one(
      connection, "SELECT arrived_at FROM sink_queue WHERE sink = $1 ORDER BY number LIMIT 1",
      [](Rows& row) { return timestamp_ms(row.integer(0)); }, sink);
  if (!oldest) return std::unexpected(oldest.error());
  backlog.oldest = *oldest;
  const auto refused = sql::one(
      connection, "SELECT count(*) FROM sink_refused WHERE sink = $1", [](Rows& row) { return row.integer(0); }, sink);
  if (!refused) return std::unexpected(refused.error());
  backlog.refused = refused->value_or(0);
  auto why = sql::one(
      connection, "SELECT why FROM sink_refused WHERE sink = $1 ORDER BY number DESC LIMIT 1",
      [](Rows& row) { return row.text(0); }, sink);
  if (!why) return std::unexpected(why.error());
  backlog.last_reason = std::move(*why);
  return backlog;
}

Result<std::vector<QueuedLetter>> queued_letters(Connection& connection, const std::string& sink, std::size_t letters,
                                                 std::size_t bytes) {
  std::vector<QueuedLetter> found;
  std::size_t taken = 0;
  const auto statement = connection.statement(
      "SELECT q.number, q.id, q.replays, s.dlq, s.cluster, s.topic, s.consumer_group, s.worker, s.reason, q.lineage,"
      " q.dlq_partition, q.dlq_offset, q.origin_partition, q.origin_offset, q.timestamp, q.instance, q.dialect, q.kind,"
      " q.attempts, q.error_type, q.error_message, q.first_failure_at, q.died_at, q.arrived_at, q.published_at, "
      "q.stack,"
      " q.bytes FROM sink_queue q JOIN shelves s ON s.id = q.shelf WHERE q.sink = $1 ORDER BY q.number LIMIT $2");
  if (!statement) return std::unexpected(statement.error());
  Rows rows(**statement);
  rows << sink << letters;
  while (taken <= bytes) {
    const Result<bool> stepped = rows.next();
    if (!stepped) return std::unexpected(stepped.error());
    if (!*stepped) break;
    QueuedLetter& one = found.emplace_back(rows.integer(0), read_life(rows));
    if (auto payload = unpacked(rows.view(26)))
      one.life.payload = std::move(*payload);
    else
      one.damaged = payload.error().message;
    one.life.payload.stack = rows.text(25);
    taken += one.life.payload.value ? one.life.payload.value->size() : 0;
  }
  return found;
}

Result<void> leave_queue(Connection& connection, const std::string& sink, std::span<const std::int64_t> numbers) {
  for (const std::int64_t number : numbers)
    BARTLEBY_TRY(sql::execute(connection, "DELETE FROM sink_queue WHERE sink = $1 AND number = $2", sink, number));
  return {};
}

Result<void> put_aside(Connection& connection, const std::string& sink, std::int64_t number, const std::string& why,
                       Timestamp now) {
  BARTLEBY_TRY(sql::execute(connection,
                            "INSERT INTO sink_refused(sink, number, why, at, " BARTLEBY_SINK_COLUMNS ")"
                            " SELECT sink, (SELECT coalesce(max(number), 0) + 1 FROM sink_refused WHERE sink = $1),"
                            " $3, $4, " BARTLEBY_SINK_COLUMNS " FROM sink_queue WHERE sink = $1 AND number = $2",
                            sink, number, why, ms(now)));
  return leave_queue(connection, sink, {&number, 1});
}

Result<std::int64_t> queue_refused_again(Connection& connection, const std::string& sink, std::size_t letters) {
  std::vector<std::int64_t> numbers;
  BARTLEBY_TRY(sql::each(
      connection, "SELECT number FROM sink_refused WHERE sink = $1 ORDER BY number LIMIT $2",
      [&](Rows& row) { numbers.push_back(row.integer(0)); }, sink, letters));
  for (const std::int64_t number : numbers) {
    BARTLEBY_TRY(sql::execute(connection,
                              "INSERT INTO sink_queue(sink, number, " BARTLEBY_SINK_COLUMNS
                              ") SELECT $1, " BARTLEBY_NEXT_IN_QUEUE ", " BARTLEBY_SINK_COLUMNS
                              " FROM sink_refused WHERE sink = $1 AND number = $2",
                              sink, number));
    BARTLEBY_TRY(sql::execute(connection, "DELETE FROM sink_refused WHERE sink = $1 AND number = $2", sink, number));
  }
  return static_cast<std::int64_t>(numbers.size());
}

Result<std::vector<std::string>> sinks_with_letters(Connection& connection) {
  std::vector<std::string> found;
  BARTLEBY_TRY(
      sql::each(connection, "SELECT DISTINCT sink FROM sink_queue", [&](Rows& row) { found.push_back(row.text(0)); }));
  return found;
}

}  // namespace bartleby
