// Reading letters: one with its bytes and lives, pages of many, counts, and what each dlq and consumer has.
//
// Inside a read of the store. No list scans: pages walk indexes from a cursor on, counts come from counters; a count
// that no counter knows is counted up to a limit and says so.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/query.h"
#include "model/stored_letter.h"
#include "office/letter_row.h"
#include "office/query_sql.h"

namespace bartleby {

constexpr std::size_t kMaxPage = 500;
constexpr std::int64_t kMaxCounted = 10000;
constexpr std::size_t kMaxLooked = 10000;  // letters whose headers are looked at for one page
constexpr Duration kListLimit{3000};       // for a page of a list that people ask for
constexpr Duration kCountLimit{1000};      // for how many there are besides

struct LetterPage {
  std::vector<StoredLetter> letters;  // newest first
  std::optional<LetterCursor> next;   // absent: this is the last page; a page before it may be short, or empty
  std::size_t looked = 0;             // letters that were looked at for it
};

struct LetterCount {
  std::int64_t value = 0;
  bool exact = true;  // false: at least
};

Result<LetterPage> letter_page(Connection& connection, const Query& query, Timestamp now,
                               const std::optional<LetterCursor>& after, std::size_t limit);
Result<LetterCount> count_letters(Connection& connection, const Query& query, Timestamp now);

// A cursor as people carry it around, and back; nothing where it is none of ours.
std::string cursor_text(const LetterCursor& cursor);
std::optional<LetterCursor> cursor_from_text(std::string_view text);

// Nothing where the bytes are not here: the letter is archived.
Result<std::optional<LetterPayload>> letter_payload(Connection& connection, std::int64_t seq);

// A life before the present one.
struct EarlierLife {
  std::uint32_t replays = 0;
  std::uint32_t attempts = 0;
  Kind kind = Kind::kTransient;
  Place dlq;
  std::optional<Place> origin;
  std::string origin_topic;  // as of `StoredLetter`
  std::string error_type, error_message;
  Timestamp died_at;
};
Result<std::vector<EarlierLife>> earlier_lives(Connection& connection, std::int64_t seq);

// By the place of the newest life's record in its dlq. Several where the partition is not said.
Result<std::vector<StoredLetter>> letters_at(Connection& connection, std::string_view dlq,
                                             std::optional<Partition> partition, Offset offset);
// A dead job: by the place of the first life's record. `consumer` is the id inside (`consumer_of`).
Result<std::optional<StoredLetter>> letter_of_job(Connection& connection, std::string_view consumer, Place job);

// First and last death of open letters, by consumer (`consumer_of`); those that have none are not in it.
using Deaths = std::map<std::string, std::pair<Timestamp, Timestamp>>;
Result<Deaths> deaths_by_consumer(Connection& connection);

// Everything of one lineage, in all groups, the oldest arrival first.
Result<std::vector<StoredLetter>> letters_of_lineage(Connection& connection, std::string_view lineage,
                                                     std::size_t limit);

struct DlqState {
  std::string name;
  DlqClass dlq_class = DlqClass::kNormal;
  std::array<std::int64_t, kLetterStates> letters{};
  std::optional<Timestamp> oldest;  // death of the oldest open letter
};
Result<std::vector<DlqState>> dlq_states(Connection& connection);

// A row of `dlq_summary`, in the words of channels and consumers.
struct ConsumerStatus {
  std::string channel_id, channel_name, consumer_id, consumer_name;
  std::int64_t dead_count = 0;
  std::string inside{};  // the consumer's id in the store (`consumer_of`)
};
Result<std::vector<ConsumerStatus>> dlq_status(Connection& connection);

Result<std::vector<CountedShelf>> counted_shelves(Connection& connection);

}  // namespace bartleby
