// Letters: finding them, one with its bytes and its story. Everything here reads.
#include "office/letters.h"

#include "codec/query.h"
#include "office/audit.h"
#include "server/access.h"
#include "server/letter_orders.h"
#include "server/office_json.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kList = "letters";
constexpr std::size_t kMostInStory = 50;  // of each kind

constexpr std::string_view kLetters = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/Letter"})");
constexpr std::string_view kLetter = R"({"$ref": "#/components/schemas/Letter"})";
constexpr std::string_view kStory = R"({"type": "object", "additionalProperties": false,
  "required": ["id", "lives", "other_groups", "same_key", "audit"], "properties": {"id": {"type": "string"},
    "lives": {"type": "array", "description": "the oldest first, the present one last",
      "items": {"type": "object", "additionalProperties": false,
        "required": ["replays", "attempts", "error", "dlq", "origin", "died_at"], "properties": {
          "replays": {"type": "integer"}, "attempts": {"type": "integer"},
          "error": {"$ref": "#/components/schemas/Error"}, "dlq": {"$ref": "#/components/schemas/Place"},
          "origin": {"anyOf": [{"type": "null"}, {"$ref": "#/components/schemas/Place"}]},
          "died_at": {"$ref": "#/components/schemas/Time"}}}},
    "other_groups": {"type": "array", "description": "letters of the same message in other groups",
      "items": {"$ref": "#/components/schemas/Letter"}},
    "same_key": {"type": "array", "description": "the newest other letters with its key",
      "items": {"$ref": "#/components/schemas/Letter"}},
    "audit": {"type": "array", "description": "newest first", "items": {"$ref": "#/components/schemas/AuditLine"}}}})";

Response list_letters(const Services& services, const Request& request) {
  const auto paging = read_paging(request, kList);
  if (!paging) return paging.error();
  const auto query = parse_query(request.query_value("q").value_or(""));
  if (!query)
    return with_member(
        problem(ProblemType::kInvalidQuery,
                "at character " + std::to_string(query.error().position + 1) + ": " + query.error().message),
        "position", query.error().position);
  const View view = view_of(services, request);
  if (!view.payload && looks_into_messages(*query)) return lacks_scope(Scope::kPayload);
  const std::optional<LetterCursor> after = paging->after ? cursor_from_text(*paging->after) : std::nullopt;
  if (paging->after && !after) return bad_cursor();
  const Timestamp now = services.clock->now().wall;
  json::array items;
  std::optional<std::string> next;
  LetterCount count;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    connection.limit_time(kListLimit);
    const auto page = letter_page(connection, *query, now, after, paging->limit);
    if (!page) return std::unexpected(page.error());
    auto list = letters_json(connection, page->letters, view);
    if (!list) return std::unexpected(list.error());
    items = std::move(*list);
    if (page->next) next = cursor_text(*page->next);
    connection.limit_time(kCountLimit);
    const auto counted = count_letters(connection, *query, now);
    if (!counted && counted.error().code != ErrorCode::kTooLarge) return std::unexpected(counted.error());
    count = counted.value_or(LetterCount{static_cast<std::int64_t>(items.size()), false});
    return {};
  });
  if (!read && read.error().code == ErrorCode::kTooLarge)
    return with_member(problem(ProblemType::kInvalidQuery,
                               "too many letters would have to be looked at one by one; say more: dlq:, key:, issue:, "
                               "state: or since:"),
                       "position", 0);
  if (!read) return store_problem(read.error());
  return page_response(std::move(items), kList, next, count.value, count.exact);
}

// What the audit says of how a letter came into a state that people or operations have put it in.
json::value resolution_json(const StoredLetter& letter, const std::vector<AuditEntry>& lines) {
  if (letter.state == LetterState::kOpen || letter.state == LetterState::kReplaying) return nullptr;
  for (const AuditEntry& line : lines)
    if (line.to == name(letter.state))
      return json::object{
          {"how", line.action}, {"by", line.actor}, {"reason", line.reason}, {"at", json_time(line.at)}};
  return nullptr;
}

// Runs `work` with the letter of the request, or answers why not.
template <class Work>
Response with_letter(const Services& services, const Request& request, Work&& work) {
  const std::string& id = request.parameter("id");
  bool found = false;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto row = letter_row(connection, id);
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    found = true;
    return work(connection, (*row)->letter);
  });
  if (!read) return store_problem(read.error());
  return found ? Response{} : unknown_letter(id);
}

Response show_letter(const Services& services, const Request& request) {
  json::object body;
  Response refused = with_letter(services, request, [&](Connection& c, const StoredLetter& letter) -> Result<void> {
    IssueNames issues;
    const auto issue = issues.of(c, letter.issue);
    if (!issue) return std::unexpected(issue.error());
    const auto payload = letter_payload(c, letter.seq);
    if (!payload) return std::unexpected(payload.error());
    const auto lines = audit_page(c, letter.id, std::nullopt, kMostInStory);
    if (!lines) return std::unexpected(lines.error());
    const View view = view_of(services, request);
    body = letter_json(letter, *issue, view);
    if (json::value resolution = resolution_json(letter, *lines); !resolution.is_null())
      body["resolution"] = std::move(resolution);
    if (!*payload) return {};  // archived: the bytes are not here
    if (view.payload) {
      body["origin"].as_object()["headers"] = json_headers(view.redaction->headers((*payload)->headers));
      body["origin"].as_object()["key"] = json_bytes((*payload)->key);
      body["preview"] = preview_json(view.redaction->value((*payload)->value));
    }
    if (!(*payload)->stack.empty()) body["error"].as_object()["stack"] = (*payload)->stack;
    return {};
  });
  return body.empty() ? std::move(refused) : json_response(body);
}

Response value_of_letter(const Services& services, const Request& request) {
  Response answer;
  Response refused = with_letter(services, request, [&](Connection& c, const StoredLetter& letter) -> Result<void> {
    const auto payload = letter_payload(c, letter.seq);
    if (!payload) return std::unexpected(payload.error());
    if (!*payload) {
      answer = problem(ProblemType::kGone, "the bytes of " + letter.id + " lie in an archive");
      return {};
    }
    answer.content_type = "application/octet-stream";
    answer.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + letter.id + ".bin\"");
    if (const Bytes& value = (*payload)->value)
      answer.body = *value;
    else
      answer.headers.emplace_back("Bartleby-Null", "true");
    return {};
  });
  return refused.status == 200 ? std::move(answer) : std::move(refused);
}

json::object place_json(const std::string& topic, const Place& place) {
  return json::object{{"topic", topic}, {"partition", place.partition.v}, {"offset", place.offset.v}};
}

json::object life_json(const StoredLetter& letter, const EarlierLife& life) {
  json::object out{{"replays", life.replays}, {"attempts", life.attempts}};
  out["error"] = json::object{{"kind", name(life.kind)}, {"type", life.error_type}, {"message", life.error_message}};
  out["dlq"] = place_json(letter.shelf.dlq, life.dlq);
  const std::string& topic = life.origin_topic.empty() ? letter.shelf.topic : life.origin_topic;
  out["origin"] = life.origin ? json::value(place_json(topic, *life.origin)) : json::value(nullptr);
  out["died_at"] = json_time(life.died_at);
  return out;
}

Result<json::array> lives_json(Connection& connection, const StoredLetter& l) {
  const auto earlier = earlier_lives(connection, l.seq);
  if (!earlier) return std::unexpected(earlier.error());
  json::array lives;
  for (const EarlierLife& life : *earlier) lives.push_back(life_json(l, life));
  lives.push_back(life_json(
      l, {l.replays, l.attempts, l.kind, l.dlq, l.origin, l.origin_topic, l.error_type, l.error_message, l.died_at}));
  return lives;
}

Result<json::array> without(Connection& connection, std::vector<StoredLetter> letters, const StoredLetter& letter,
                            const View& view) {
  std::erase_if(letters, [&](const StoredLetter& one) { return one.seq == letter.seq; });
  return letters_json(connection, letters, view);
}

Result<json::array> same_key_json(Connection& connection, const StoredLetter& letter, Timestamp now, const View& view) {
  if (!letter.key) return json::array{};
  const auto payload = letter_payload(connection, letter.seq);
  if (!payload) return std::unexpected(payload.error());
  Query query;
  QueryTerm& term = query.terms.emplace_back();
  term.field = QueryField::kKey;
  // The row has a long key's beginning only; the index knows all of it.
  term.text = *payload && (*payload)->key ? *(*payload)->key : *letter.key;
  auto page = letter_page(connection, query, now, std::nullopt, kMostInStory);
  if (!page) return std::unexpected(page.error());
  return without(connection, std::move(page->letters), letter, view);
}

Response story_of_letter(const Services& services, const Request& request) {
  const View view = view_of(services, request);
  json::object body;
  Response refused = with_letter(services, request, [&](Connection& c, const StoredLetter& letter) -> Result<void> {
    auto lives = lives_json(c, letter);
    if (!lives) return std::unexpected(lives.error());
    auto lineage = letters_of_lineage(c, letter.lineage, kMostInStory);
    if (!lineage) return std::unexpected(lineage.error());
    auto others = without(c, std::move(*lineage), letter, view);
    if (!others) return std::unexpected(others.error());
    auto same_key = same_key_json(c, letter, services.clock->now().wall, view);
    if (!same_key) return std::unexpected(same_key.error());
    const auto lines = audit_page(c, letter.id, std::nullopt, kMostInStory);
    if (!lines) return std::unexpected(lines.error());
    json::array audit;
    for (const AuditEntry& line : *lines) audit.push_back(audit_json(line, view));
    body = {{"id", letter.id}, {"lives", std::move(*lives)}, {"other_groups", std::move(*others)}};
    body["same_key"] = std::move(*same_key);
    body["audit"] = std::move(audit);
    return {};
  });
  return body.empty() ? std::move(refused) : json_response(body);
}

}  // namespace

void add_letter_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/letters",
             {.access = Scope::kRead,
              .summary = "Letters, the latest death first; with words in the query, the latest arrival first",
              .query = {{"q", "string",
                         "dlq: worker: group: topic: key: error: reason: issue: state: header.x: since: "
                         "before: replays: text: and words; -field: means not"},
                        {"limit", "integer", "up to 500; 50"},
                        {"cursor", "string", "`next` of the page before"}},
              .answer = kLetters},
             [&services](Request& request) { return list_letters(services, request); });
  router.add("GET", "/api/v1/letters/{id}",
             {.access = Scope::kRead,
              .summary = "One letter by the id of any of its lives, with headers and the value's first 200 bytes",
              .answer = kLetter},
             [&services](Request& request) { return show_letter(services, request); });
  router.add("GET", "/api/v1/letters/{id}/value",
             {.access = Scope::kPayload,
              .summary = "Its value, byte for byte; Bartleby-Null: true where there is none",
              .answer_type = "application/octet-stream",
              .answer = R"({"type": "string"})"},
             [&services](Request& request) { return value_of_letter(services, request); });
  router.add("GET", "/api/v1/letters/{id}/story",
             {.access = Scope::kRead,
              .summary = "Its lives, other letters of its message and its key, what was done to it",
              .answer = kStory},
             [&services](Request& request) { return story_of_letter(services, request); });
}

}  // namespace bartleby
