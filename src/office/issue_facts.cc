#include "office/issue_facts.h"

#include <simdjson.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "codec/utf8.h"
#include "model/letter_state.h"
#include "office/letters.h"
#include "office/sql.h"

namespace bartleby {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxJson = std::size_t{64} << 10;  // of a value that is looked into
constexpr std::size_t kMaxDepth = 4;
constexpr std::size_t kMaxFacts = 64;  // of one letter
constexpr std::size_t kMaxText = 80;   // of a value that is shown

// The newest letters of an issue, the open ones before others.
template <class Row>
Result<void> newest(Connection& connection, std::int64_t issue, std::string_view text, std::size_t limit, Row&& row) {
  std::size_t seen = 0;
  for (std::size_t state = 0; state < kLetterStates && seen < limit; ++state)
    BARTLEBY_TRY(sql::each(
        connection, text,
        [&](Rows& r) {
          ++seen;
          row(r);
        },
        issue, state, limit - seen));
  return {};
}

// A letter's facts; a name counts once, whatever else the letter has under it.
class Facts {
 public:
  void add(std::string name, std::string_view value, bool of_payload) {
    if (facts_.size() >= kMaxFacts || value.size() > kMaxText || name.size() > kMaxText) return;
    facts_.emplace(std::move(name), std::pair(clean_utf8(value), of_payload));
  }

  void add(const std::string& at, dom::element value, std::size_t depth) {
    dom::object fields;
    if (value.get(fields) == simdjson::SUCCESS) {
      if (depth == kMaxDepth) return;
      for (const auto field : fields) add(at + "/" + escaped(field.key), field.value, depth + 1);
    } else if (!value.is_array() && !at.empty()) {
      add(at, simdjson::minify(value), true);
    }
  }

  const auto& all() const { return facts_; }

 private:
  static std::string escaped(std::string_view name) {
    std::string out;
    for (const char c : name) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
  }
  std::map<std::string, std::pair<std::string, bool>> facts_;
};

Facts facts_of(const StoredLetter& letter, const std::optional<LetterPayload>& payload, dom::parser& parser) {
  Facts facts;
  const auto known = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.add(name, value, false);
  };
  known("worker", letter.shelf.worker);
  known("instance", letter.instance);
  known("dlq", letter.shelf.dlq);
  known("topic", letter.shelf.topic);
  known("group", letter.shelf.group);
  known("reason", std::string(name(letter.shelf.reason)));
  if (letter.origin) known("partition", std::to_string(letter.origin->partition.v));
  known("attempts", std::to_string(letter.attempts));
  if (!payload) return facts;
  if (letter.key) facts.add("key", *letter.key, true);
  for (const auto& [header, value] : payload->headers)
    if (value) facts.add("header." + clean_utf8(header), *value, true);
  if (payload->value && payload->value->size() <= kMaxJson) {
    dom::element value;
    if (parser.parse(*payload->value).get(value) == simdjson::SUCCESS) facts.add("", value, 0);
  }
  return facts;
}

}  // namespace

Result<IssuePlaces> issue_places(Connection& connection, std::int64_t issue) {
  IssuePlaces places;
  std::set<std::int64_t> shelves;
  BARTLEBY_TRY(newest(connection, issue,
                      "SELECT shelf FROM letters WHERE issue = $1 AND state = $2 ORDER BY died_at DESC LIMIT $3",
                      kLookedAtForPlaces, [&](Rows& row) { shelves.insert(row.integer(0)); }));
  for (const std::int64_t id : shelves) {
    const auto shelf = shelf_numbered(connection, id);
    if (!shelf) return std::unexpected(shelf.error());
    if (!shelf->label.worker.empty()) places.workers.insert(shelf->label.worker);
    places.dlqs.insert(shelf->label.dlq);
  }
  return places;
}

Result<SharedFacts> issue_shared(Connection& connection, std::int64_t issue) {
  std::vector<StoredLetter> letters;
  BARTLEBY_TRY(newest(connection, issue,
                      BARTLEBY_LETTER " WHERE l.issue = $1 AND l.state = $2 ORDER BY l.died_at DESC LIMIT $3",
                      kLookedAtForShared, [&](Rows& row) { letters.push_back(read_letter_row(row).letter); }));
  std::map<std::pair<std::string, std::string>, SharedFact> counted;
  dom::parser parser;
  for (const StoredLetter& letter : letters) {
    const auto payload = letter_payload(connection, letter.seq);
    if (!payload) return std::unexpected(payload.error());
    const Facts facts = facts_of(letter, *payload, parser);
    for (const auto& [fact, value] : facts.all()) {
      SharedFact& one = counted[{fact, value.first}];
      one = {fact, value.first, one.letters + 1, value.second};
    }
  }
  SharedFacts shared{letters.size(), {}};
  for (auto& [where, fact] : counted)
    if (fact.letters >= 2 && fact.letters * 2 >= letters.size()) shared.facts.push_back(std::move(fact));
  std::ranges::sort(shared.facts, [](const SharedFact& a, const SharedFact& b) {
    return std::tie(b.letters, a.of_payload, a.name, a.value) < std::tie(a.letters, b.of_payload, b.name, b.value);
  });
  if (shared.facts.size() > kMaxShared) shared.facts.resize(kMaxShared);
  return shared;
}

Result<IssueCounts> issue_counts(Connection& connection) {
  IssueCounts counts{};
  BARTLEBY_TRY(sql::each(connection, "SELECT state, count(*) FROM issues GROUP BY state",
                         [&](Rows& row) { counts.at(static_cast<std::size_t>(row.integer(0))) = row.integer(1); }));
  return counts;
}

}  // namespace bartleby
