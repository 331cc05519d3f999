// Server-sent events: what happens in the office, for a page that follows it. The first event is a snapshot.
//
// Nothing is pushed: each stream looks a few times a second at what is new. So a slow reader holds up nobody, and what
// it missed meanwhile comes as one event. `Last-Event-ID` continues where a stream broke off, as long as this process
// remembers; before that a client has the lists.
#include <algorithm>
#include <atomic>

#include "codec/heartbeat.h"
#include "office/issue_facts.h"
#include "office/letters.h"
#include "office/operation_row.h"
#include "server/access.h"
#include "server/json.h"
#include "server/problem.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::size_t kMostStreams = 100;
constexpr Duration kSilence{15000};       // then a comment says that the stream is alive
constexpr Duration kBetweenCounts{1000};  // letters are counted together for so long; so often others are looked at
constexpr Duration kBetweenLooks{5000};   // at whether the caller may still listen
constexpr std::size_t kMostOperations = 50;

struct Wanted {
  bool letters = false, issues = false, operations = false, workers = false;
};

std::expected<Wanted, Response> wanted_of(const Request& request) {
  const auto topics = request.query_value("topics");
  if (!topics) return Wanted{true, true, true, true};
  Wanted wanted;
  std::string_view rest = *topics;
  while (!rest.empty()) {
    const std::string_view topic = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), topic.size() + 1));
    if (topic == "letters")
      wanted.letters = true;
    else if (topic == "issues")
      wanted.issues = true;
    else if (topic == "operations")
      wanted.operations = true;
    else if (topic == "workers")
      wanted.workers = true;
    else
      return std::unexpected(problem(ProblemType::kInvalidQuery,
                                     "topics is a list of letters, issues, operations, workers",
                                     {{"topics", "not a list of these"}}));
  }
  return wanted;
}

std::string event_text(std::string_view type, const json::object& data, const std::string& id) {
  std::string text = "event: " + std::string(type) + "\n";
  if (!id.empty()) text += "id: " + id + "\n";
  return text + "data: " + json::serialize(data) + "\n\n";
}

json::object progress_of(const Operation& o) {
  json::object results;
  for (std::size_t r = 0; r < kItemResults; ++r)
    if (o.results[r] > 0) results[kItemResultNames[r]] = o.results[r];
  return json::object{{"id", o.id},           {"kind", name(o.kind)},   {"state", name(o.state)},
                      {"letters", o.letters}, {"dealt_with", o.cursor}, {"results", std::move(results)},
                      {"note", o.note}};
}

// What heartbeats say, without the times: those change with every one.
std::map<std::string, json::object> workers_now(const Services& services) {
  std::map<std::string, json::object> now;
  const auto beats = services.counters->heartbeats();
  if (!beats) return now;
  for (const Heartbeat& beat : *beats)
    if (const auto facts = heartbeat_from_text(beat.text))
      now[beat.type + " " + beat.instance] = json::object{{"worker", beat.type},
                                                          {"instance", beat.instance},
                                                          {"status", name(facts->status)},
                                                          {"consumer_lag", facts->consumer_lag},
                                                          {"partitions", facts->partitions},
                                                          {"parked", facts->parked},
                                                          {"pinned", facts->pinned}};
  return now;
}

class EventStream {
 public:
  EventStream(const Services& services, Request request, std::string life, Wanted wanted, std::uint64_t after)
      : services_(services), request_(std::move(request)), life_(std::move(life)), wanted_(wanted), seen_(after) {}

  // Nothing: the stream ends, because the key or the session of who listens has ended.
  std::optional<std::string> next() {
    const Instant now = services_.clock->now().steady;
    if (began_ && now - looked_ >= kBetweenLooks) {
      looked_ = now;
      if (!services_.access->still_admits(request_, Scope::kRead)) return std::nullopt;
    }
    std::string text;
    if (!began_) {
      began_ = true;
      looked_ = now;
      taken_ = services_.news->taken_in();  // before the snapshot: what comes between the two is told twice, not never
      counted_ = now;
      text += snapshot();
    }
    if (wanted_.issues) text += issues();
    if (now - counted_ >= kBetweenCounts) {
      counted_ = now;
      if (wanted_.letters) text += letters();
      if (wanted_.operations) text += operations();
      if (wanted_.workers) text += workers();
    }
    if (text.empty() && now - spoke_ >= kSilence) text = ": nothing new\n\n";
    if (!text.empty()) spoke_ = now;
    return text;
  }

 private:
  std::string id() const { return life_ + "-" + std::to_string(seen_); }

  std::string snapshot() {
    json::object letters, issues, operations;
    const auto read = services_.store->read([&](Connection& connection) -> Result<void> {
      const auto dlqs = dlq_states(connection);
      if (!dlqs) return std::unexpected(dlqs.error());
      for (const DlqState& dlq : *dlqs) letters[dlq.name] = dlq.letters[static_cast<std::size_t>(LetterState::kOpen)];
      const auto counts = issue_counts(connection);
      if (!counts) return std::unexpected(counts.error());
      for (std::size_t s = 0; s < counts->size(); ++s) issues[kIssueStateNames[s]] = (*counts)[s];
      if (!wanted_.operations) return {};
      const auto by_state = operation_counts(connection);
      if (!by_state) return std::unexpected(by_state.error());
      for (std::size_t s = 0; s < kOperationStateNames.size(); ++s) {
        std::int64_t all = 0;
        for (const auto& of_kind : *by_state) all += of_kind[s];
        operations[kOperationStateNames[s]] = all;
      }
      const auto newest = operation_page(connection, {}, std::nullopt, 1);
      if (!newest) return std::unexpected(newest.error());
      if (!newest->empty()) newest_ = newest->front().seq;
      const auto open = open_operations(connection);
      if (!open) return std::unexpected(open.error());
      for (const Operation& o : *open) operations_[o.id] = progress_of(o);
      return {};
    });
    json::object data;
    if (!read) data["trouble"] = told(read.error());
    if (read && wanted_.letters) data["letters"] = std::move(letters);
    if (read && wanted_.issues) data["issues"] = std::move(issues);
    if (read && wanted_.operations) data["operations"] = std::move(operations);
    if (wanted_.workers) {
      workers_ = workers_now(services_);
      json::array workers;
      for (const auto& [id, worker] : workers_) workers.push_back(worker);
      data["workers"] = std::move(workers);
    }
    return event_text("snapshot", data, id());
  }

  static Result<std::vector<Operation>> open_operations(Connection& connection) {
    return operation_page(connection,
                          {OperationState::kPlanned, OperationState::kAwaitingApproval, OperationState::kRunning,
                           OperationState::kPaused, OperationState::kHalted},
                          std::nullopt, kMostOperations);
  }

  // Those that are not over, those that were not when this stream looked last, and those that are new since.
  std::string operations() {
    std::vector<Operation> found;
    const auto read = services_.store->read([&](Connection& connection) -> Result<void> {
      auto open = open_operations(connection);
      if (!open) return std::unexpected(open.error());
      found = std::move(*open);
      const auto known = [&](const std::string& id) {
        return std::ranges::find(found, id, &Operation::id) != found.end();
      };
      for (const auto& [id, told] : operations_) {
        if (known(id)) continue;
        auto one = operation_by_id(connection, id);
        if (!one) return std::unexpected(one.error());
        if (*one) found.push_back(std::move(**one));
      }
      auto newest = operation_page(connection, {}, std::nullopt, 1);
      if (!newest) return std::unexpected(newest.error());
      if (newest->empty() || newest->front().seq <= newest_) return {};
      const std::int64_t last = newest->front().seq;
      newest = operation_page(connection, {}, std::nullopt, kMostOperations);
      if (!newest) return std::unexpected(newest.error());
      for (Operation& o : *newest)
        if (o.seq > newest_ && !known(o.id)) found.push_back(std::move(o));
      newest_ = last;
      return {};
    });
    if (!read) return "";  // the next look may find them
    std::string text;
    std::map<std::string, json::object> now;
    for (const Operation& o : found) {
      json::object progress = progress_of(o);
      if (const auto told = operations_.find(o.id); told == operations_.end() || told->second != progress)
        text += event_text("operation", progress, "");
      if (!o.ended_at) now[o.id] = std::move(progress);
    }
    operations_ = std::move(now);
    return text;
  }

  std::string workers() {
    std::string text;
    auto now = workers_now(services_);
    for (const auto& [id, worker] : now)
      if (const auto told = workers_.find(id); told == workers_.end() || told->second != worker)
        text += event_text("worker", worker, "");
    for (const auto& [id, worker] : workers_)
      if (!now.contains(id))
        text += event_text(
            "worker", {{"worker", worker.at("worker")}, {"instance", worker.at("instance")}, {"status", "MISSING"}},
            "");
    workers_ = std::move(now);
    return text;
  }

  std::string issues() {
    std::string text;
    for (const News::Numbered& one : services_.news->issues_after(seen_)) {
      seen_ = one.number;
      text += event_text("issue", json::object{{"id", one.issue.id}, {"state", name(one.issue.state)}}, id());
    }
    return text;
  }

  std::string letters() {
    std::string text;
    auto taken = services_.news->taken_in();
    for (const auto& [dlq, now] : taken) {
      const News::Taken before = taken_[dlq];
      if (now == before) continue;
      text += event_text(
          "letter.arrived",
          {{"dlq", dlq}, {"letters", now.stored - before.stored}, {"came_back", now.came_back - before.came_back}}, "");
    }
    taken_ = std::move(taken);
    return text;
  }

  const Services& services_;
  const Request request_;
  const std::string life_;
  const Wanted wanted_;
  std::uint64_t seen_;
  std::map<std::string, News::Taken> taken_;
  std::map<std::string, json::object> operations_, workers_;  // as they were told
  std::int64_t newest_ = 0;                                   // of operations, by number
  bool began_ = false;
  Instant looked_{}, counted_{}, spoke_{};
};

// Where a broken stream goes on; the present where the id is of another process or of a future.
std::uint64_t place_after(const Request& request, const std::string& life, std::uint64_t last) {
  const std::string_view id = request.header("last-event-id").value_or("");
  if (!id.starts_with(life + "-")) return last;
  const auto number = whole_number(id.substr(life.size() + 1));
  return number ? std::min(static_cast<std::uint64_t>(*number), last) : last;
}

}  // namespace

void add_event_route(Router& router, const Services& services) {
  const auto streams = std::make_shared<std::atomic<std::size_t>>(0);
  const std::string life = std::to_string(ms(services.clock->now().wall));
  router.add("GET", "/api/v1/events",
             {.access = Scope::kRead,
              .summary = "Server-sent events: snapshot, then letter.arrived (counts), issue, operation, worker",
              .query = {{"topics", "string", "letters, issues, operations, workers; all where nothing is said"}},
              .answer_type = "text/event-stream",
              .answer = R"({"type": "string"})"},
             [&services, streams, life](Request& request) {
               const auto wanted = wanted_of(request);
               if (!wanted) return wanted.error();
               if (++*streams > kMostStreams) {
                 --*streams;
                 Response full =
                     problem(ProblemType::kTooMany, "there are " + std::to_string(kMostStreams) + " streams already");
                 full.headers.emplace_back("Retry-After", "10");
                 return full;
               }
               const std::shared_ptr<void> seat(nullptr, [streams](void*) { --*streams; });
               const auto stream = std::make_shared<EventStream>(services, request, life, *wanted,
                                                                 place_after(request, life, services.news->last()));
               Response response;
               response.content_type = "text/event-stream";
               response.headers.emplace_back("Cache-Control", "no-store");
               response.stream = [stream, seat] { return stream->next(); };
               return response;
             });
}

}  // namespace bartleby
