// Dead jobs of one consumer: listed, sent again to it alone, deleted. Both tokens open these routes.
#include <algorithm>

#include "office/letter_changes.h"
#include "office/letters.h"
#include "office/operations.h"
#include "server/channel_access.h"
#include "server/job_state.h"
#include "server/office_json.h"
#include "server/operation_json.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kList = "dead jobs";
constexpr std::int64_t kAtOnce = 10000;  // letters in one transaction

constexpr std::string_view kJob = R"({"$ref": "#/components/schemas/Job"})";
constexpr std::string_view kJobs = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/Job"})");
constexpr std::string_view kRequeued = R"({"type": "object", "required": ["requeuedCount"],
  "additionalProperties": false, "properties": {"requeuedCount": {"type": "integer"},
    "left": {"type": "integer", "description": "dead jobs that are more than one operation takes: ask again for them"},
    "operation": {"type": "string", "description": "that carries it out"}}})";
constexpr std::string_view kDeleted = R"({"type": "object", "required": ["deletedCount"],
  "additionalProperties": false, "properties": {"deletedCount": {"type": "integer"}}})";
constexpr std::string_view kOperation = R"({"$ref": "#/components/schemas/Operation"})";

Query dead_of(const Consumer& consumer) {
  Query query;
  const auto add = [&](QueryField field, std::string text) {
    QueryTerm& term = query.terms.emplace_back();
    term.field = field;
    term.text = std::move(text);
  };
  add(QueryField::kGroup, consumer.worker());
  add(QueryField::kTopic, consumer.channel);
  add(QueryField::kState, "open");
  return query;
}

json::object job_json(const Place& place, const JobState& job) {
  json::object out{{"id", job_id(place)}, {"status", static_cast<int>(job.status)}, {"statusName", name(job.status)}};
  out["attempts"] = job.attempts;
  if (!job.letter) return out;
  out["letter"] = job.letter->id;
  if (!job.message_id.empty()) out["messageId"] = job.message_id;
  out["diedAt"] = json_time(job.letter->died_at);
  out["error"] = json::object{
      {"kind", name(job.letter->kind)}, {"type", job.letter->error_type}, {"message", job.letter->error_message}};
  return out;
}

Place place_of(const StoredLetter& letter) { return letter.job; }

Response list_dead(const Services& services, Request& request) {
  const auto found = open_consumer(services, request, Tokens::kBoth);
  if (!found) return found.error();
  const auto paging = read_paging(request, kList);
  if (!paging) return paging.error();
  const auto after = paging->after ? cursor_from_text(*paging->after) : std::nullopt;
  if (paging->after && !after) return bad_cursor();
  const Timestamp now = services.clock->now().wall;
  json::array items;
  std::optional<std::string> next;
  LetterCount count;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const Query query = dead_of(found->consumer);
    const auto page = letter_page(connection, query, now, after, paging->limit);
    if (!page) return std::unexpected(page.error());
    for (const StoredLetter& letter : page->letters) {
      auto id = broadcast_id(connection, letter);
      if (!id) return std::unexpected(id.error());
      items.push_back(job_json(place_of(letter), {JobStatus::kDead, letter.attempts, letter, std::move(*id)}));
    }
    if (page->next) next = cursor_text(*page->next);
    const auto counted = count_letters(connection, query, now);
    if (!counted) return std::unexpected(counted.error());
    count = *counted;
    return {};
  });
  if (!read) return store_problem(read.error());
  return page_response(std::move(items), kList, next, count.value, count.exact);
}

// To this consumer alone, by its private lane, as fast as it goes. What came back before does not stop it: a person
// has asked for these.
Response requeue(const Services& services, const Request& request, OperationRequest wanted) {
  std::int64_t matching = 0;
  if (wanted.query) {
    const auto counted = services.store->read([&](Connection& connection) -> Result<void> {
      const auto count = count_letters(connection, *wanted.query, services.clock->now().wall);
      if (!count) return std::unexpected(count.error());
      matching = count->value;
      return {};
    });
    if (!counted) return store_problem(counted.error());
  }
  wanted.kind = OperationKind::kReplay;
  wanted.settings = services.operations->defaults();
  wanted.settings.scope = ReplayScope::kGroup;
  wanted.settings.rate = 0;
  wanted.settings.canary = 0;
  wanted.settings.halt.percent = 100;
  wanted.starts_at_once = true;
  wanted.however_often = true;  // its owner asks for it each time
  const Actor actor = actor_of(request, "requeued");
  const auto plan = services.operations->plan(wanted, actor);
  if (!plan) return plan.error().code == ErrorCode::kUnavailable ? store_problem(plan.error()) : problem(plan.error());
  json::object body{{"requeuedCount", plan->letters}};
  if (const std::int64_t left = letters_left(matching, *plan); left > 0) body["left"] = left;
  if (plan->letters > 0) {
    const auto started = services.operations->start(plan->id, actor);
    if (!started) return store_problem(started.error());
    if (started->result != OperationChange::kDone) {
      if (const auto gone = services.operations->cancel(plan->id, actor); !gone) return store_problem(gone.error());
      return operation_refused(*started, plan->id, OperationCause::kStart);
    }
    body["operation"] = plan->id;
  } else if (const auto gone = services.operations->cancel(plan->id, actor); !gone) {
    return store_problem(gone.error());
  }
  return json_response(body, 202);
}

Response requeue_all(const Services& services, Request& request) {
  const auto found = open_consumer(services, request, Tokens::kBoth);
  if (!found) return found.error();
  OperationRequest wanted;
  wanted.query = dead_of(found->consumer);
  wanted.what_fits = true;
  return requeue(services, request, std::move(wanted));
}

// Too many for one transaction: an operation deletes them in slices, each with its counters, summary and audit.
Response delete_many(const Services& services, const Query& query, std::uint32_t max, const Actor& actor) {
  OperationRequest wanted;
  wanted.kind = OperationKind::kPurge;
  wanted.query = query;
  wanted.min_attempts = max;
  wanted.what_fits = true;
  wanted.settings = services.operations->defaults();
  const auto plan = services.operations->plan(wanted, actor);
  if (!plan) return plan.error().code == ErrorCode::kUnavailable ? store_problem(plan.error()) : problem(plan.error());
  const auto started = services.operations->start(plan->id, actor);
  if (!started) return store_problem(started.error());
  if (started->result != OperationChange::kDone) return operation_refused(*started, plan->id, OperationCause::kStart);
  Response answer = json_response(operation_json(started->operation, {.payload = false}), 202);
  answer.headers.emplace_back("Location", "/api/v1/operations/" + plan->id);
  return answer;
}

// Letters, counters, summary and audit in one transaction, where they are not too many.
Response delete_all(const Services& services, Request& request) {
  const auto found = open_consumer(services, request, Tokens::kBoth);
  if (!found) return found.error();
  const std::uint32_t max = services.max_attempts(found->consumer);
  const Query query = dead_of(found->consumer);
  const Timestamp now = services.clock->now().wall;
  const Actor actor = actor_of(request, "deleted by the consumer");
  std::int64_t deleted = 0;
  bool too_many = false;
  const auto written = change_letters(*services.store, actor, now, [&](LetterChanges& changes) -> Result<void> {
    deleted = 0;
    const auto count = count_letters(changes.connection(), query, now);
    if (!count) return std::unexpected(count.error());
    too_many = !count->exact || count->value > kAtOnce;
    std::optional<LetterCursor> after;
    do {
      if (too_many) return {};
      const auto page = letter_page(changes.connection(), query, now, after, kMaxPage);
      if (!page) return std::unexpected(page.error());
      for (const StoredLetter& letter : page->letters) {
        if (letter.attempts < max) continue;
        const auto changed = changes.change(letter.seq, {.state = LetterState::kOpen}, LetterCause::kPurge);
        if (!changed) return std::unexpected(changed.error());
        if (changed->result == ChangeResult::kDone) ++deleted;
      }
      after = page->next;
    } while (after);
    return {};
  });
  if (!written) return store_problem(written.error());
  if (too_many) return delete_many(services, query, max, actor);
  return json_response(json::object{{"deletedCount", deleted}});
}

struct OpenJob {
  Consumer consumer;
  Place place;
  JobState state;
};

std::expected<OpenJob, Response> open_job(const Services& services, Request& request) {
  auto found = open_consumer(services, request, Tokens::kBoth);
  if (!found) return std::unexpected(std::move(found.error()));
  const std::string& id = request.parameter("job");
  const auto place = job_place(id);
  const Response unknown = problem(ProblemType::kNotFound, "no job " + id.substr(0, 100));
  if (!place) return std::unexpected(unknown);
  auto state = job_state(services, found->consumer, *place);
  if (!state) return std::unexpected(store_problem(state.error()));
  if (!*state) return std::unexpected(unknown);
  return OpenJob{std::move(found->consumer), *place, std::move(**state)};
}

Response wrong_state(const OpenJob& job, std::string_view why) {
  return with_member(problem(ProblemType::kWrongState, why), "state", json::string(name(job.state.status)));
}

Response show_job(const Services& services, Request& request) {
  const auto job = open_job(services, request);
  return job ? json_response(job_json(job->place, job->state)) : job.error();
}

Response delete_job(const Services& services, Request& request) {
  const auto job = open_job(services, request);
  if (!job) return job.error();
  if (job->state.status != JobStatus::kDead) return wrong_state(*job, "only a dead job can be deleted");
  const std::uint32_t max = services.max_attempts(job->consumer);
  if (job->state.attempts < max)
    return wrong_state(*job, "its retries are not exhausted: " + std::to_string(job->state.attempts) + " of " +
                                 std::to_string(max) + " attempts");
  ChangeResult result = ChangeResult::kDone;
  const auto written =
      change_letters(*services.store, actor_of(request, "deleted by the consumer"), services.clock->now().wall,
                     [&](LetterChanges& changes) -> Result<void> {
                       const auto changed = changes.change(
                           job->state.letter->seq, {.state = LetterState::kOpen, .version = job->state.letter->version},
                           LetterCause::kPurge);
                       if (!changed) return std::unexpected(changed.error());
                       result = changed->result;
                       return {};
                     });
  if (!written) return store_problem(written.error());
  if (result == ChangeResult::kNotFound) return problem(ProblemType::kNotFound, "it was deleted meanwhile");
  if (result != ChangeResult::kDone) return wrong_state(*job, "it was requeued meanwhile");
  Response done;
  done.status = 204;
  return done;
}

Response requeue_job(const Services& services, Request& request) {
  const auto job = open_job(services, request);
  if (!job) return job.error();
  if (job->state.status != JobStatus::kDead) return wrong_state(*job, "only a dead job can be requeued");
  OperationRequest wanted;
  wanted.ids = {job->state.letter->id};
  return requeue(services, request, std::move(wanted));
}

}  // namespace

void add_consumer_job_routes(Router& router, const Services& services) {
  const Access both = Access::tokens("channel-and-consumer-token");
  const std::string dlq = "/channel/{channel}/consumer/{consumer}/dlq";
  const std::string job = "/channel/{channel}/consumer/{consumer}/job/{job}";
  router.add("GET", dlq,
             {.access = both,
              .summary = "Its dead jobs, the latest first",
              .query = {{"limit", "integer", "up to 500; 50"}, {"cursor", "string", "`next` of the page before"}},
              .answer = kJobs},
             [&services](Request& request) { return list_dead(services, request); });
  router.add("POST", dlq,
             {.access = both,
              .summary = "Send all its dead jobs again, to it alone",
              .query = {kWhy},
              .success = 202,
              .answer = kRequeued},
             [&services](Request& request) { return requeue_all(services, request); });
  router.add("DELETE", dlq,
             {.access = both,
              .summary = "Delete its dead jobs whose retries are exhausted",
              .query = {kWhy},
              .answer = kDeleted,
              .others = {{202, "More than 10,000: the operation deletes them in slices", kOperation}}},
             [&services](Request& request) { return delete_all(services, request); });
  router.add("GET", job, {.access = both, .summary = "One job", .answer = kJob},
             [&services](Request& request) { return show_job(services, request); });
  router.add(
      "DELETE", job,
      {.access = both, .summary = "Delete a dead job whose retries are exhausted", .query = {kWhy}, .success = 204},
      [&services](Request& request) { return delete_job(services, request); });
  router.add("POST", job + "/requeue-dead-job",
             {.access = both, .summary = "Send a dead job again", .query = {kWhy}, .success = 202, .answer = kRequeued},
             [&services](Request& request) { return requeue_job(services, request); });
}

}  // namespace bartleby
