// One letter replayed, discarded, restored; the same for operators who know it by its place in the dlq.
#include "server/letter_orders.h"

#include <algorithm>
#include <set>

#include "codec/query.h"
#include "office/letters.h"
#include "server/access.h"
#include "server/office_json.h"
#include "server/operation_json.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kOperation = R"({"$ref": "#/components/schemas/Operation"})";
constexpr std::string_view kLetters = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/Letter"})");
constexpr std::string_view kReplay = R"({"type": "object", "additionalProperties": false, "properties": {
  "reason": {"type": "string"}, "scope": {"enum": ["group", "topic"]}, "to": {"type": "string"},
  "rate": {"type": "integer"}, "canary": {"type": "integer"}, "halt": {"$ref": "#/components/schemas/Halt"},
  "edit": {"$ref": "#/components/schemas/Edit"}}})";
constexpr std::string_view kReason = R"({"type": "object", "additionalProperties": false, "properties": {
  "reason": {"type": "string"}}})";
constexpr std::string_view kWhich = R"({"type": "object", "additionalProperties": false,
  "description": "id, or topic and offset, with partition where several letters lie at this offset", "properties": {
    "id": {"type": "string"}, "topic": {"type": "string", "description": "the dlq, or the topic whose dlq it is"},
    "partition": {"type": "integer"}, "offset": {"type": "integer"}, "reason": {"type": "string"}}})";
constexpr std::string_view kNothing = R"({"type": "object", "required": ["letters"], "additionalProperties": false,
  "properties": {"letters": {"type": "integer"}, "left": {"type": "integer"},
    "excluded": {"type": "array", "items": {"type": "object",
    "required": ["why", "count"], "additionalProperties": false,
    "properties": {"why": {"type": "string"}, "count": {"type": "integer"}}}}}})";
constexpr std::string_view kOnItsWay = "The broker did not have it within 5 s; the operation tells when it has";

constexpr std::size_t kLongestTopic = 249;

std::expected<json::object, Response> optional_body(const Request& request) {
  return request.body.empty() ? std::expected<json::object, Response>() : read_object(request);
}

void replay_one(const Services& services, Request& request, Respond respond) {
  const auto body = optional_body(request);
  if (!body) return respond(body.error());
  Fields fields(*body);
  OperationSettings settings = services.operations->defaults();
  read_replay_settings(fields, request.body, settings);
  const std::string reason = fields.text("reason", kLongestReason).value_or("");
  if (auto no = fields.mistakes()) return respond(std::move(*no));
  // An edit can ask what a value is, and answer by what it does.
  if (!settings.edit.empty() && !request.caller.may(Scope::kPayload)) return respond(lacks_scope(Scope::kPayload));
  replay_letter(services, request.parameter("id"), std::move(settings), actor_of(request, reason), std::move(respond));
}

using Change = Response (*)(const Services&, const std::string&, const Actor&);

Response change_one(const Services& services, const Request& request, Change what) {
  const auto body = optional_body(request);
  if (!body) return body.error();
  Fields fields(*body);
  const std::string reason = fields.text("reason", kLongestReason).value_or("");
  if (auto no = fields.mistakes()) return *no;
  return what(services, request.parameter("id"), actor_of(request, reason));
}

// ---- by place ----------------------------------------------------------------------------------------

// The dlqs that a name means: itself, or those of the topic.
Result<std::set<std::string>> dlqs_of(Connection& connection, const std::string& name) {
  const auto shelves = counted_shelves(connection);
  if (!shelves) return std::unexpected(shelves.error());
  std::set<std::string> own, of_topic;
  for (const CountedShelf& one : *shelves) {
    if (one.shelf.label.dlq == name) own.insert(one.shelf.label.dlq);
    if (one.shelf.label.topic == name) of_topic.insert(one.shelf.label.dlq);
  }
  return own.empty() ? of_topic : own;
}

json::object place_json(const StoredLetter& letter) {
  return json::object{
      {"topic", letter.shelf.dlq}, {"partition", letter.dlq.partition.v}, {"offset", letter.dlq.offset.v}};
}

// The one letter at this place.
std::expected<std::string, Response> letter_at(const Services& services, const std::string& topic,
                                               std::optional<std::int64_t> partition, std::int64_t offset) {
  std::vector<StoredLetter> found;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto dlqs = dlqs_of(connection, topic);
    if (!dlqs) return std::unexpected(dlqs.error());
    std::optional<Partition> where;
    if (partition) where = Partition(static_cast<std::int32_t>(*partition));
    for (const std::string& dlq : *dlqs) {
      auto at = letters_at(connection, dlq, where, Offset(offset));
      if (!at) return std::unexpected(at.error());
      std::ranges::move(*at, std::back_inserter(found));
    }
    return {};
  });
  if (!read) return std::unexpected(store_problem(read.error()));
  if (found.size() == 1) return found.front().id;
  if (found.empty())
    return std::unexpected(problem(ProblemType::kNotFound, "no letter lies at offset " + std::to_string(offset) +
                                                               " of " + topic.substr(0, kLongestTopic)));
  json::array candidates;
  for (const StoredLetter& letter : found)
    candidates.push_back(json::object{{"id", letter.id}, {"state", name(letter.state)}, {"dlq", place_json(letter)}});
  const bool one_dlq = std::ranges::all_of(
      found, [&](const StoredLetter& letter) { return letter.shelf.dlq == found.front().shelf.dlq; });
  const std::string detail = std::to_string(found.size()) + " letters lie at offset " + std::to_string(offset) +
                             (one_dlq ? "; say the partition" : "; name the dlq");
  return std::unexpected(
      with_member(problem(ProblemType::kAmbiguousOffset, detail,
                          {{one_dlq ? "/partition" : "/topic", one_dlq ? "is needed here" : "has several dlqs"}}),
                  "candidates", std::move(candidates)));
}

Query query_of(Connection& connection, const std::string& topic, Result<void>& read) {
  Query query;
  QueryTerm state;
  state.field = QueryField::kState;
  state.text = name(LetterState::kOpen);
  query.terms.push_back(std::move(state));
  if (topic.empty()) return query;
  const auto dlqs = dlqs_of(connection, topic);
  if (!dlqs) {
    read = std::unexpected(dlqs.error());
    return query;
  }
  QueryTerm term;
  term.field = dlqs->empty() || dlqs->contains(topic) ? QueryField::kDlq : QueryField::kTopic;
  term.text = topic;
  query.terms.push_back(std::move(term));
  return query;
}

Response review(const Services& services, const Request& request) {
  const auto paging = read_paging(request, "dlq");
  if (!paging) return paging.error();
  const auto after = paging->after ? cursor_from_text(*paging->after) : std::nullopt;
  if (paging->after && !after) return bad_cursor();
  const std::string topic(request.query_value("topic").value_or(""));
  const Timestamp now = services.clock->now().wall;
  json::array items;
  std::optional<std::string> next;
  LetterCount count;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    Result<void> known;
    const Query query = query_of(connection, topic, known);
    if (!known) return known;
    const auto page = letter_page(connection, query, now, after, paging->limit);
    if (!page) return std::unexpected(page.error());
    auto list = letters_json(connection, page->letters, view_of(services, request));
    if (!list) return std::unexpected(list.error());
    items = std::move(*list);
    if (page->next) next = cursor_text(*page->next);
    const auto counted = count_letters(connection, query, now);
    if (!counted) return std::unexpected(counted.error());
    count = *counted;
    return {};
  });
  if (!read) return store_problem(read.error());
  return page_response(std::move(items), "dlq", next, count.value, count.exact);
}

void replay_at(const Services& services, Request& request, Respond respond) {
  const auto body = read_object(request);
  if (!body) return respond(body.error());
  Fields fields(*body);
  auto id = fields.text("id", 100);
  const auto topic = fields.text("topic", kLongestTopic);
  const auto partition = fields.integer("partition", 0, INT32_MAX);
  const auto offset = fields.integer("offset", 0, INT64_MAX);
  const std::string reason = fields.text("reason", kLongestReason).value_or("");
  if (id ? topic || partition || offset : !topic || !offset) fields.wrong("id", "say either id, or topic and offset");
  if (auto no = fields.mistakes()) return respond(std::move(*no));
  if (!id) {
    auto found = letter_at(services, *topic, partition, *offset);
    if (!found) return respond(std::move(found.error()));
    id = std::move(*found);
  }
  OperationSettings settings = services.operations->defaults();
  settings.scope = ReplayScope::kTopic;  // the topic that it came from, whoever else reads it
  replay_letter(services, *id, std::move(settings), actor_of(request, reason), std::move(respond));
}

Response replay_all(const Services& services, const Request& request) {
  const std::string topic(request.query_value("topic").value_or(""));
  if (topic.empty())
    return problem(ProblemType::kInvalidQuery, "say which dlq: ?topic=orders.dlq", {{"topic", "is missing"}});
  OperationRequest wanted;
  wanted.starts_at_once = true;
  wanted.what_fits = true;
  wanted.settings = services.operations->defaults();
  std::int64_t matching = 0;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    Result<void> known;
    wanted.query = query_of(connection, topic, known);
    if (!known) return known;
    const auto count = count_letters(connection, *wanted.query, services.clock->now().wall);
    if (!count) return std::unexpected(count.error());
    matching = count->value;
    return {};
  });
  if (!read) return store_problem(read.error());
  const Actor actor = actor_of(request, "replay-all");
  const auto planned = services.operations->plan(wanted, actor);
  if (!planned)
    return planned.error().code == ErrorCode::kUnavailable ? store_problem(planned.error()) : problem(planned.error());
  const auto withdraw = [&](Response answer) {
    if (const auto gone = services.operations->cancel(planned->id, actor); !gone) return store_problem(gone.error());
    return answer;
  };
  const std::int64_t left = letters_left(matching, *planned);
  if (planned->letters == 0) {
    json::object nothing{{"letters", 0}};
    if (left > 0) nothing["left"] = left;
    json::array excluded;
    for (const Excluded& one : planned->report.excluded)
      excluded.push_back(json::object{{"why", one.why}, {"count", one.letters}});
    if (!excluded.empty()) nothing["excluded"] = std::move(excluded);
    return withdraw(json_response(nothing));
  }
  const auto started = services.operations->start(planned->id, actor);
  if (!started) return store_problem(started.error());
  if (started->result != OperationChange::kDone)
    return withdraw(operation_refused(*started, planned->id, OperationCause::kStart));
  json::object body = operation_json(started->operation, view_of(services, request));
  if (left > 0) body["left"] = left;
  Response answer = json_response(body, 202);
  answer.headers.emplace_back("Location", "/api/v1/operations/" + planned->id);
  return answer;
}

Response discard_at(const Services& services, const Request& request) {
  const auto offset = whole_number(request.parameter("offset"));
  if (!offset) return problem(ProblemType::kMalformed, "the offset is a number", {{"offset", "is not a number"}});
  std::optional<std::int64_t> partition;
  if (const auto said = request.query_value("partition")) {
    partition = whole_number(*said);
    if (!partition || *partition > INT32_MAX)
      return problem(ProblemType::kMalformed, "the partition is a number", {{"partition", "is not a number"}});
  }
  const auto id = letter_at(services, request.parameter("topic"), partition, *offset);
  if (!id) return id.error();
  return discard_letter(services, *id, actor_of(request, ""));
}

}  // namespace

void add_letter_order_routes(Router& router, const Services& services) {
  router.add("POST", "/api/v1/letters/{id}:replay",
             {.access = Scope::kReplay,
              .summary = "Send it again; answered when the broker has it",
              .body = kReplay,
              .answer = kReplayedAnswer,
              .others = {{202, kOnItsWay, kOperation}}},
             [&services](Request& request, Respond respond) { replay_one(services, request, std::move(respond)); });
  router.add("POST", "/api/v1/letters/{id}:discard",
             {.access = Scope::kDiscard,
              .summary = "It is not wanted any more; can be undone for a while",
              .body = kReason,
              .answer = kDiscardedAnswer},
             [&services](Request& request) { return change_one(services, request, discard_letter); });
  router.add("POST", "/api/v1/letters/{id}:restore",
             {.access = Scope::kDiscard, .summary = "It is open again", .body = kReason, .answer = kRestoredAnswer},
             [&services](Request& request) { return change_one(services, request, restore_letter); });
  router.add("GET", "/internal/v1/dlq",
             {.access = Scope::kRead,
              .summary = "Open letters for review, the latest death first",
              .query = {{"topic", "string", "the dlq, or the topic whose dlq it is; all where none is said"},
                        {"limit", "integer", "up to 500; 50"},
                        {"cursor", "string", "`next` of the page before"}},
              .answer = kLetters},
             [&services](Request& request) { return review(services, request); });
  router.add("POST", "/internal/v1/dlq/replay",
             {.access = Scope::kReplay,
              .summary = "Send one letter again, by id or by its place in the dlq",
              .body = kWhich,
              .answer = kReplayedAnswer,
              .others = {{202, kOnItsWay, kOperation}}},
             [&services](Request& request, Respond respond) { replay_at(services, request, std::move(respond)); });
  router.add("POST", "/internal/v1/dlq/replay-all",
             {.access = Scope::kReplay,
              .summary = "Send all open letters of a dlq again; `left` are more than one operation takes",
              .query = {{"topic", "string", "the dlq, or the topic whose dlq it is", true}, kWhy},
              .success = 202,
              .answer = kOperation,
              .others = {{200, "There was nothing to send", kNothing}}},
             [&services](Request& request) { return replay_all(services, request); });
  router.add("DELETE", "/internal/v1/dlq/{topic}/{offset}",
             {.access = Scope::kDiscard,
              .summary = "Discard the letter at this offset of the dlq; can be undone for a while",
              .query = {{"partition", "integer", "where several letters lie at this offset"}, kWhy},
              .answer = kDiscardedAnswer},
             [&services](Request& request) { return discard_at(services, request); });
}

}  // namespace bartleby
