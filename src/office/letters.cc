#include "office/letters.h"

#include <algorithm>
#include <charconv>

#include "office/arrival.h"
#include "office/sql.h"

namespace bartleby {
namespace {

Result<QueryFacts> facts_of(Connection& connection, const Query& query, Timestamp now) {
  auto shelves = counted_shelves(connection);
  if (!shelves) return std::unexpected(shelves.error());
  QueryFacts facts{now, std::move(*shelves), {}};
  const auto number = [](Rows& row) { return row.integer(0); };
  for (const QueryTerm& term : query.terms) {
    std::vector<std::int64_t> found;
    if (term.field == QueryField::kIssue) {
      auto issue = sql::one(connection, "SELECT seq FROM issues WHERE id = $1", number, term.text);
      if (!issue) return std::unexpected(issue.error());
      if (*issue) found.push_back(**issue);
    } else if (term.field == QueryField::kError) {
      BARTLEBY_TRY(sql::each(
          connection, "SELECT seq FROM issues WHERE error_type = $1 LIMIT $2",
          [&](Rows& row) { found.push_back(row.integer(0)); }, term.text, kMaxIssuesOfType));
    } else {
      continue;
    }
    facts.issues[{term.field, term.text}] = std::move(found);
  }
  return facts;
}

Result<void> bind(Rows& rows, const std::vector<SqlParameter>& parameters) {
  for (const SqlParameter& parameter : parameters)
    if (const auto* text = std::get_if<std::string>(&parameter))
      rows << *text;
    else
      rows << Blob{std::get<SqlBytes>(parameter).bytes};
  return {};
}

// What the statements find, merged, in the order of the list; at most as many as one of them answers with.
Result<std::vector<LetterCursor>> places_of(Connection& connection, const LetterSql& sql) {
  std::vector<LetterCursor> places;
  std::optional<LetterCursor> above;
  for (std::size_t i = 0; i < sql.statements(); ++i) {
    const auto statement = connection.prepare(sql.text(i, above));
    if (!statement) return std::unexpected(statement.error());
    Rows rows(**statement);
    BARTLEBY_TRY(bind(rows, sql.parameters));
    for (;;) {
      const Result<bool> stepped = rows.next();
      if (!stepped) return std::unexpected(stepped.error());
      if (!*stepped) break;
      places.push_back({timestamp_ms(rows.integer(1)), rows.integer(0)});
    }
    if (sql.by_text) return places;
    std::ranges::sort(places, std::ranges::greater{}, [](const LetterCursor& p) { return std::pair(p.died, p.seq); });
    if (places.size() < sql.limit) continue;
    // There are enough: of the other runs only what comes before the last of these.
    places.resize(sql.limit);
    above = places.back();
  }
  return places;
}

// Whether it has these very headers. Of one that is archived the bytes are not here, and its words must do.
Result<bool> has_headers(Connection& connection, std::int64_t seq,
                         const std::vector<std::pair<std::string, std::string>>& headers) {
  if (headers.empty()) return true;
  const auto payload = letter_payload(connection, seq);
  if (!payload) return std::unexpected(payload.error());
  if (!*payload) return true;
  return std::ranges::all_of(headers, [&](const auto& wanted) {
    return std::ranges::any_of((*payload)->headers, [&](const auto& header) {
      return header.first == wanted.first && header.second && *header.second == wanted.second;
    });
  });
}

Place place_at(Rows& row, int column) {
  return {Partition(static_cast<std::int32_t>(row.integer(column))), Offset(row.integer(column + 1))};
}

}  // namespace

// ---- Pages -------------------------------------------------------------------------------------------

Result<LetterPage> letter_page(Connection& connection, const Query& query, Timestamp now,
                               const std::optional<LetterCursor>& after, std::size_t limit) {
  limit = std::clamp<std::size_t>(limit, 1, kMaxPage);
  const auto facts = facts_of(connection, query, now);
  if (!facts) return std::unexpected(facts.error());
  LetterPage page;
  std::optional<LetterCursor> from = after;
  for (;;) {
    // One more than asked for tells whether there is a next page.
    const LetterSql sql = letter_sql(query, *facts, connection.dialect(), from, limit + 1);
    const auto places = places_of(connection, sql);
    if (!places) return std::unexpected(places.error());
    for (const LetterCursor& place : *places) {
      if (page.letters.size() == limit) {
        page.next = from;
        return page;
      }
      from = place;
      ++page.looked;
      const auto has = has_headers(connection, place.seq, sql.headers);
      if (!has) return std::unexpected(has.error());
      if (!*has) continue;
      auto row = letter_row(connection, place.seq);
      if (!row) return std::unexpected(row.error());
      if (*row) page.letters.push_back(std::move((*row)->letter));
    }
    if (places->size() <= limit) return page;
    // Of headers only words are known: the rest of a page that is hard to fill comes with the next.
    if (page.looked < kMaxLooked) continue;
    page.next = from;
    return page;
  }
}

Result<LetterCount> count_letters(Connection& connection, const Query& query, Timestamp now) {
  const auto facts = facts_of(connection, query, now);
  if (!facts) return std::unexpected(facts.error());
  const LetterSql sql =
      letter_sql(query, *facts, connection.dialect(), std::nullopt, static_cast<std::size_t>(kMaxCounted) + 1);
  if (sql.exact) return LetterCount{*sql.exact, true};
  std::int64_t counted = 0;
  if (!sql.headers.empty()) {
    const auto places = places_of(connection, sql);
    if (!places) return std::unexpected(places.error());
    for (const LetterCursor& place : *places) {
      const auto has = has_headers(connection, place.seq, sql.headers);
      if (!has) return std::unexpected(has.error());
      counted += *has ? 1 : 0;
    }
    return LetterCount{std::min(counted, kMaxCounted), static_cast<std::int64_t>(places->size()) <= kMaxCounted};
  }
  for (std::size_t i = 0; i < sql.statements() && counted <= kMaxCounted; ++i) {
    const auto statement = connection.prepare("SELECT count(*) FROM (" + sql.text(i) + ") AS p");
    if (!statement) return std::unexpected(statement.error());
    Rows rows(**statement);
    BARTLEBY_TRY(bind(rows, sql.parameters));
    const Result<bool> stepped = rows.next();
    if (!stepped) return std::unexpected(stepped.error());
    counted += *stepped ? rows.integer(0) : 0;
  }
  return LetterCount{std::min(counted, kMaxCounted), counted <= kMaxCounted};
}

std::string cursor_text(const LetterCursor& cursor) {
  return std::to_string(ms(cursor.died)) + "." + std::to_string(cursor.seq);
}

std::optional<LetterCursor> cursor_from_text(std::string_view text) {
  std::int64_t died = 0, seq = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, bad] = std::from_chars(text.data(), end, died);
  if (bad != std::errc{} || dot == end || *dot != '.') return std::nullopt;
  const auto [stop, worse] = std::from_chars(dot + 1, end, seq);
  if (worse != std::errc{} || stop != end) return std::nullopt;
  return LetterCursor{timestamp_ms(died), seq};
}

// ---- One letter --------------------------------------------------------------------------------------

Result<std::optional<LetterPayload>> letter_payload(Connection& connection, std::int64_t seq) {
  const auto row = sql::one(
      connection,
      "SELECT p.stack, p.bytes FROM letters l JOIN payloads p ON p.letter = l.seq AND p.life = l.payload_life"
      " WHERE l.seq = $1",
      [](Rows& r) { return std::pair(r.text(0), r.text(1)); }, seq);
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::optional<LetterPayload>();
  auto payload = unpacked((*row)->second);
  if (!payload) return std::unexpected(payload.error());
  payload->stack = (*row)->first;
  return std::optional(std::move(*payload));
}

Result<std::vector<EarlierLife>> earlier_lives(Connection& connection, std::int64_t seq) {
  std::vector<EarlierLife> lives;
  BARTLEBY_TRY(sql::each(
      connection,
      "SELECT replays, attempts, kind, dlq_partition, dlq_offset, origin_partition, origin_offset, error_type,"
      " error_message, died_at, origin_topic FROM lives WHERE letter = $1 ORDER BY replays",
      [&](Rows& row) {
        EarlierLife& life = lives.emplace_back();
        life.replays = static_cast<std::uint32_t>(row.integer(0));
        life.attempts = static_cast<std::uint32_t>(row.integer(1));
        life.kind = static_cast<Kind>(row.integer(2));
        life.dlq = place_at(row, 3);
        if (!row.is_null(5)) life.origin = place_at(row, 5);
        life.error_type = row.text(7);
        life.error_message = row.text(8);
        life.died_at = timestamp_ms(row.integer(9));
        life.origin_topic = row.text(10);
      },
      seq));
  return lives;
}

Result<std::vector<StoredLetter>> letters_at(Connection& connection, std::string_view dlq,
                                             std::optional<Partition> partition, Offset offset) {
  std::vector<StoredLetter> found;
  BARTLEBY_TRY(sql::each(
      connection, BARTLEBY_LETTER " WHERE l.dlq_offset = $1 AND s.dlq = $2 ORDER BY l.dlq_partition, l.seq",
      [&](Rows& row) {
        StoredLetter letter = read_letter_row(row).letter;
        if (!partition || letter.dlq.partition == *partition) found.push_back(std::move(letter));
      },
      offset.v, dlq));
  return found;
}

Result<std::optional<StoredLetter>> letter_of_job(Connection& connection, std::string_view consumer, Place job) {
  return sql::one(
      connection,
      BARTLEBY_LETTER
      " WHERE l.job_offset = $1 AND l.job_partition = $2 AND s.consumer = $3 ORDER BY l.seq DESC LIMIT 1",
      [](Rows& row) { return read_letter_row(row).letter; }, job.offset.v, job.partition.v, consumer);
}

Result<Deaths> deaths_by_consumer(Connection& connection) {
  Deaths deaths;
  BARTLEBY_TRY(sql::each(connection,
                         "SELECT s.consumer, (SELECT min(died_at) FROM letters WHERE shelf = s.id AND state = 0),"
                         " (SELECT max(died_at) FROM letters WHERE shelf = s.id AND state = 0) FROM shelves s",
                         [&](Rows& row) {
                           if (row.is_null(1)) return;
                           const Timestamp first = timestamp_ms(row.integer(1)), last = timestamp_ms(row.integer(2));
                           auto& [oldest, newest] = deaths.try_emplace(row.text(0), first, last).first->second;
                           oldest = std::min(oldest, first);
                           newest = std::max(newest, last);
                         }));
  return deaths;
}

Result<std::vector<StoredLetter>> letters_of_lineage(Connection& connection, std::string_view lineage,
                                                     std::size_t limit) {
  std::vector<StoredLetter> found;
  BARTLEBY_TRY(sql::each(
      connection, BARTLEBY_LETTER " WHERE l.lineage = $1 ORDER BY l.seq LIMIT $2",
      [&](Rows& row) { found.push_back(read_letter_row(row).letter); }, lineage, limit));
  return found;
}

// ---- Counts ------------------------------------------------------------------------------------------

Result<std::vector<CountedShelf>> counted_shelves(Connection& connection) {
  auto shelves = all_shelves(connection);
  if (!shelves) return std::unexpected(shelves.error());
  std::vector<CountedShelf> counted;
  std::map<std::int64_t, std::size_t> where;
  for (Shelf& shelf : *shelves) {
    where[shelf.id] = counted.size();
    counted.push_back({std::move(shelf), {}});
  }
  BARTLEBY_TRY(sql::each(connection, "SELECT shelf, state, letters FROM counters", [&](Rows& row) {
    const auto found = where.find(row.integer(0));
    const auto state = static_cast<std::size_t>(row.integer(1));
    if (found != where.end() && state < kLetterStates) counted[found->second].letters[state] = row.integer(2);
  }));
  return counted;
}

Result<std::vector<DlqState>> dlq_states(Connection& connection) {
  std::map<std::string, DlqState> dlqs;
  BARTLEBY_TRY(sql::each(connection, "SELECT name, class FROM dlqs", [&](Rows& row) {
    DlqState& dlq = dlqs[row.text(0)];
    dlq.dlq_class = static_cast<DlqClass>(row.integer(1));
  }));
  auto shelves = counted_shelves(connection);
  if (!shelves) return std::unexpected(shelves.error());
  for (const CountedShelf& one : *shelves) {
    DlqState& dlq = dlqs[one.shelf.label.dlq];
    for (std::size_t s = 0; s < kLetterStates; ++s) dlq.letters[s] += one.letters[s];
    if (one.letters[static_cast<std::size_t>(LetterState::kOpen)] == 0) continue;
    const auto oldest = sql::one(
        connection, "SELECT died_at FROM letters WHERE shelf = $1 AND state = 0 ORDER BY died_at LIMIT 1",
        [](Rows& row) { return timestamp_ms(row.integer(0)); }, one.shelf.id);
    if (!oldest) return std::unexpected(oldest.error());
    if (*oldest) dlq.oldest = std::min(dlq.oldest.value_or(**oldest), **oldest);
  }
  std::vector<DlqState> out;
  for (auto& [dlq_name, dlq] : dlqs) {
    dlq.name = dlq_name;
    out.push_back(std::move(dlq));
  }
  return out;
}

Result<std::vector<ConsumerStatus>> dlq_status(Connection& connection) {
  std::vector<ConsumerStatus> rows;
  std::map<std::string, std::string> channels;
  BARTLEBY_TRY(sql::each(connection,
                         "SELECT channelId, channelName, consumerId, consumerName, dead_count FROM dlq_summary ORDER "
                         "BY channelId, consumerId",
                         [&](Rows& row) {
                           rows.push_back({row.text(0), row.text(1), "", row.text(3), row.integer(4), row.text(2)});
                           channels[rows.back().inside] = rows.back().channel_id;
                         }));
  const auto shown = shown_consumers(channels);
  for (ConsumerStatus& row : rows) row.consumer_id = shown.at(row.inside);
  return rows;
}

}  // namespace bartleby
