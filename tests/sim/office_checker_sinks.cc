// What a sink is promised: every life that was taken in while its dlq had the sink is on its way to it or there, with
// the bytes that its dlq had, whatever became of its letter meanwhile; and what the store had when a dlq got the sink.
#include <algorithm>

#include "office/arrival.h"
#include "office/sql.h"
#include "tests/sim/office_checker.h"

namespace bartleby::sim {
namespace {

std::string named(const std::string& letter, std::uint32_t life) { return letter + " life " + std::to_string(life); }
std::string named(const SimSink::Life& life) { return named(life.first, life.second); }

}  // namespace

// ---- What was written --------------------------------------------------------------------------------

void OfficeChecker::tell(const std::string& dlq, bool told) {
  if (told)
    told_.insert(dlq), ever_told_.insert(dlq);
  else
    told_.erase(dlq);
}

void OfficeChecker::note_bytes(const LogRecord& record, const Dead& dead) {
  raw_bytes_[dead.raw] = {record.key, record.value, record.headers, ""};
  std::vector<LogRecord> whole{record};
  if (dead.part) {
    auto& parts = parts_[dead.letter];
    parts.try_emplace(dead.index, record);
    if (parts.size() != dead.count) return;
    whole.clear();
    for (const auto& [index, part] : parts) whole.push_back(part);
  }
  auto letter = join_letter(whole);
  if (!letter) return;
  auto& known = bytes_of_lives_[{letter->lineage, letter->facts.group, letter->facts.replays}];
  LetterPayload payload{std::move(letter->record.key), std::move(letter->record.value),
                        std::move(letter->record.headers), std::move(letter->facts.error.stack)};
  if (std::ranges::find(known, payload) == known.end()) known.push_back(std::move(payload));
}

void OfficeChecker::given(const SinkLetter& life) {
  const StoredLetter& letter = life.letter;
  const std::string name = named(letter.id, letter.replays);
  if (!ever_told_.contains(letter.shelf.dlq)) broken("given to a sink that its dlq never had: " + name);
  if (!lives_seen_.contains({letter.id, letter.replays})) broken("given to the sink and never taken in: " + name);
  if (letter.dialect == "raw") {
    const auto raw = raw_bytes_.find(letter.id);
    if (raw == raw_bytes_.end()) return broken("given to the sink and written by nobody: " + name);
    if (raw->second != life.payload) broken("given to the sink with other bytes: " + name);
    return;
  }
  const auto known = bytes_of_lives_.find({letter.lineage, letter.shelf.group, letter.replays});
  if (known == bytes_of_lives_.end()) return broken("given to the sink and written by nobody: " + name);
  if (std::ranges::find(known->second, life.payload) == known->second.end())
    broken("given to the sink with other bytes: " + name);
  const auto now = std::ranges::find(now_.letters, letter.id, [](const auto& one) { return one.second.id; });
  if (now == now_.letters.end())
    coverage_.saw(OfficeSeen::kSinkAfterPurge);
  else if (now->second.state == LetterState::kArchived)
    coverage_.saw(OfficeSeen::kSinkAfterArchive);
}

// ---- The store after a transaction -------------------------------------------------------------------

Result<void> OfficeChecker::look_at_sinks(Connection& connection, Picture& picture) {
  BARTLEBY_TRY(sql::each(connection,
                         "SELECT l.seq, l.id, l.payload_life, s.dlq, p.letter FROM letters l"
                         " JOIN shelves s ON s.id = l.shelf"
                         " LEFT JOIN payloads p ON p.letter = l.seq AND p.life = l.payload_life"
                         " UNION ALL SELECT l.seq, l.id, e.replays, s.dlq, p.letter FROM lives e"
                         " JOIN letters l ON l.seq = e.letter JOIN shelves s ON s.id = e.shelf"
                         " LEFT JOIN payloads p ON p.letter = e.letter AND p.life = e.payload_life",
                         [&](Rows& r) {
                           picture.lives[{r.integer(0), static_cast<std::uint32_t>(r.integer(2))}] = {
                               r.text(1), r.text(3), !r.is_null(4)};
                         }));
  BARTLEBY_TRY(sql::each(connection,
                         "SELECT id, replays, 0 FROM sink_queue UNION ALL SELECT id, replays, 1 FROM sink_refused",
                         [&](Rows& r) {
                           picture.for_sink.insert({r.text(0), static_cast<std::uint32_t>(r.integer(1))});
                           ++(r.integer(2) == 0 ? picture.queued : picture.put_aside);
                         }));
  return sql::each(connection, "SELECT dlq, next, until FROM sink_feeds",
                   [&](Rows& r) { picture.feeds[r.text(0)] = {r.integer(1), r.integer(2)}; });
}

void OfficeChecker::check_sinks(const Picture& before) {
  for (const auto& [number, life] : now_.lives) {
    if (before.lives.contains(number)) continue;
    lives_seen_.insert({life.letter, number.second});
    if (told_.contains(life.dlq)) for_sink_.insert({life.letter, number.second});
  }
  for (const auto& [dlq, feed] : now_.feeds)
    if (!before.feeds.contains(dlq)) feed_added(before, dlq);
  for (const auto& [dlq, feed] : before.feeds)
    if (!now_.feeds.contains(dlq)) {
      if (told_.contains(dlq)) broken("a feed is gone though its dlq has the sink: " + dlq);
      owed_.erase(dlq);
    }
  for (auto& [dlq, owed] : owed_) check_owed(now_.feeds.at(dlq), owed);
  std::erase_if(for_sink_, [&](const SimSink::Life& life) { return sink_.lives().contains(life); });
  for (const SimSink::Life& life : for_sink_)
    if (!now_.for_sink.contains(life)) broken("neither in the sink nor on its way there: " + named(life));
}

// Whose bytes are in an archive is not owed.
void OfficeChecker::feed_added(const Picture& before, const std::string& dlq) {
  if (!told_.contains(dlq)) broken("a feed that nobody wants: " + dlq);
  for (const auto& [number, life] : before.lives) {
    if (life.dlq != dlq || !now_.lives.contains(number)) continue;
    (life.here ? owed_[dlq] : not_owed_).insert(number);
    coverage_.saw(feeds_seen_.contains(dlq) ? OfficeSeen::kFeedAgain : OfficeSeen::kFeedLater);
  }
  feeds_seen_.insert(dlq);
}

// Nor is what was purged or archived before the feed came to it.
void OfficeChecker::check_owed(const Feed& feed, std::set<LifeNumber>& owed) {
  std::erase_if(owed, [&](const LifeNumber& number) {
    const auto life = now_.lives.find(number);
    const bool here = life != now_.lives.end() && life->second.here;
    if (!here) not_owed_.insert(number);
    if (here && feed.next <= number.first && feed.next < feed.until) return false;
    if (here) for_sink_.insert({life->second.letter, number.second});
    if (here && now_.letters.at(number.first).replays > number.second) coverage_.saw(OfficeSeen::kFilledEarlierLife);
    return true;
  });
}

bool OfficeChecker::sink_has_all() const {
  return now_.queued + now_.put_aside == 0 && std::ranges::all_of(told_, [&](const std::string& dlq) {
           const auto feed = now_.feeds.find(dlq);
           return feed != now_.feeds.end() && feed->second.next >= feed->second.until;
         });
}

void OfficeChecker::check_sink_at_the_end() {
  for (const std::string& dlq : told_) {
    const auto feed = now_.feeds.find(dlq);
    if (feed == now_.feeds.end() || feed->second.next < feed->second.until)
      broken("the sink was never told of what was there: " + dlq);
  }
  for (const SimSink::Life& life : for_sink_)
    if (!sink_.lives().contains(life)) broken("never reached the sink: " + named(life));
  for (const auto& [number, life] : now_.lives)
    if (life.here && told_.contains(life.dlq) && !not_owed_.contains(number) &&
        !sink_.lives().contains({life.letter, number.second}))
      broken("in the store and never in the sink: " + named(life.letter, number.second));
  if (now_.queued > 0) broken("letters wait for the sink for ever");
  if (now_.put_aside > 0) broken("letters stay put aside for ever");
}

}  // namespace bartleby::sim
