// Attempts that something outside finishes: claim (pull), finish and extend (pull and 202 pending). The token is the
// permission.
#include "codec/emit.h"
#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr Duration kLongestExtension = std::chrono::hours(24);

constexpr std::string_view kClaim = R"({"type": "object", "additionalProperties": false, "properties": {
  "max": {"type": "integer"}, "wait": {"$ref": "#/components/schemas/Duration"}, "instance": {"type": "string"}}})";
constexpr std::string_view kClaimed = R"({"type": "object", "required": ["attempts"], "additionalProperties": false,
  "properties": {"attempts": {"type": "array", "items": {"type": "object", "additionalProperties": false,
    "required": ["token", "deadline", "attempt", "message", "idempotency_key"], "properties": {
      "token": {"type": "string"}, "deadline": {"$ref": "#/components/schemas/Time"}, "attempt": {"type": "integer"},
      "max_attempts": {"type": "integer"}, "id": {"type": "string"}, "idempotency_key": {"type": "string"},
      "message": {"type": "object", "additionalProperties": false,
        "required": ["topic", "partition", "offset", "key", "timestamp", "headers", "value"], "properties": {
          "topic": {"type": "string"}, "partition": {"type": "integer"}, "offset": {"type": "integer"},
          "key": {"$ref": "#/components/schemas/Bytes"}, "timestamp": {"$ref": "#/components/schemas/Time"},
          "headers": {"$ref": "#/components/schemas/Headers"}, "value": {"$ref": "#/components/schemas/Bytes"}}}}}}}})";
constexpr std::string_view kFinish = R"({"type": "object", "required": ["outcome"], "additionalProperties": false,
  "properties": {"outcome": {"enum": ["done", "skip", "retry", "reject", "logical-failure"]},
    "retry_after": {"$ref": "#/components/schemas/Duration"}, "error": {"$ref": "#/components/schemas/Error"},
    "emit": {"$ref": "#/components/schemas/Emit"}}})";
constexpr std::string_view kExtend = R"({"type": "object", "required": ["by"], "additionalProperties": false,
  "properties": {"by": {"$ref": "#/components/schemas/Duration"}}})";
constexpr std::string_view kExtended = R"({"type": "object", "required": ["deadline"], "additionalProperties": false,
  "properties": {"deadline": {"$ref": "#/components/schemas/Time"}}})";

json::object claimed_json(const Claimed& c) {
  const AttemptIn& a = *c.attempt;
  json::object message{{"topic", a.tp.topic},
                       {"partition", a.tp.partition.v},
                       {"offset", a.record->offset.v},
                       {"key", json_bytes(a.record->key)},
                       {"timestamp", json_time(a.record->timestamp)},
                       {"headers", json_headers(a.record->headers)},
                       {"value", json_bytes(a.record->value)}};
  return json::object{{"token", a.token},
                      {"deadline", json_time(c.deadline)},
                      {"attempt", a.number},
                      {"max_attempts", a.max},
                      {"id", a.message_id()},
                      {"idempotency_key", a.idempotency_key()},
                      {"message", std::move(message)}};
}

void claim(const Services& services, Request& request, Respond respond) {
  const std::string& name = request.parameter("name");
  if (!services.worker(name)) return respond(problem(ProblemType::kNotFound, "no worker " + name));
  const auto handler = services.pull(name);
  if (!handler)
    return respond(
        problem(ProblemType::kWrongState, "worker " + name + " is not pulled: its handler is not {pull: {}}"));
  const auto body = read_object(request);
  if (!body) return respond(body.error());
  Fields fields(*body);
  ClaimRequest wanted;
  wanted.max = static_cast<std::size_t>(fields.integer("max", 1, 500).value_or(1));
  wanted.wait = fields.duration("wait", std::chrono::seconds(60)).value_or(Duration(0));
  wanted.instance = fields.text("instance", 200).value_or("");
  if (auto mistakes = fields.mistakes()) return respond(std::move(*mistakes));
  // Either the claim answers later, or it is refused now: the one respond must serve both.
  auto shared = std::make_shared<Respond>(std::move(respond));
  const auto departure = request.departure;
  const auto started = handler->claim(wanted, [shared, departure, &services](const std::vector<Claimed>& claimed) {
    json::array attempts;
    std::vector<std::string> tokens;
    for (const Claimed& c : claimed) {
      attempts.push_back(claimed_json(c));
      tokens.push_back(c.attempt->token);
    }
    // Whoever has not received them cannot work on them: others may, now and not when the deadline is over.
    if (departure && !tokens.empty())
      departure->undelivered = [open = services.open_attempts, tokens = std::move(tokens)] {
        for (const std::string& token : tokens) open->finish(token, Decision::not_run());
      };
    (*shared)(json_response(json::object{{"attempts", std::move(attempts)}}));
  });
  if (!started) return (*shared)(problem(ProblemType::kTooMany, started.error().message));
  // Nothing may be given to a client that has gone: it would count as an attempt that timed out.
  if (request.departure) request.departure->abandon = [handler, id = *started] { return handler->abandon(id); };
}

std::optional<Fate> fate_named(std::string_view text) {
  if (text == "done") return Fate::kDone;
  if (text == "skip") return Fate::kSkip;
  if (text == "retry") return Fate::kRetry;
  if (text == "reject") return Fate::kReject;
  if (text == "logical-failure") return Fate::kLogicalFailure;
  return std::nullopt;
}

Response gone() {
  return problem(
      ProblemType::kGone,
      "this attempt is no longer yours: finished, past its deadline, or its partition moved. Undo, or rely on "
      "the idempotency key");
}

Response finish(const Services& services, Request& request) {
  const auto body = read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  Decision decision;
  const auto outcome = fields.text("outcome", 20);
  if (const auto fate = fate_named(outcome.value_or("")))
    decision.fate = *fate;
  else
    fields.wrong("outcome", "must be done, skip, retry, reject or logical-failure");
  if (decision.fate == Fate::kReject) decision.kind = Kind::kPermanent;
  decision.after = fields.duration("retry_after", std::chrono::hours(24));
  if (const json::value* error = fields.value("error")) {
    if (!error->is_object()) {
      fields.wrong("error", "must be an object");
    } else {
      Fields texts(error->as_object(), "/error");
      decision.error = {texts.text("type").value_or(""), texts.text("message").value_or(""),
                        texts.text("stack").value_or("")};
      if (auto mistakes = texts.mistakes()) return *mistakes;
    }
  }
  if (decision.error.type.empty() && decision.error.message.empty() && decision.fate != Fate::kDone &&
      decision.fate != Fate::kSkip)
    decision.error = {"Unexplained", "finished with " + *outcome + " and no error", ""};
  if (const json::value* emit = fields.value("emit")) {
    auto records = emit_from_json(json::serialize(json::object{{"emit", *emit}}));
    if (!records)
      fields.wrong("emit", records.error().message);
    else
      decision.emit = std::move(*records);
  }
  if (auto mistakes = fields.mistakes()) return *mistakes;
  if (services.open_attempts->finish(request.parameter("token"), std::move(decision)) == OpenAttempts::Finish::kGone)
    return gone();
  Response done;
  done.status = 204;
  return done;
}

Response extend(const Services& services, Request& request) {
  const auto body = read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  const auto by = fields.duration("by", kLongestExtension);
  if (!by) fields.wrong("by", "say by how much: \"60s\"");
  if (auto mistakes = fields.mistakes()) return *mistakes;
  const auto deadline = services.open_attempts->extend(request.parameter("token"), *by);
  if (deadline) return json_response(json::object{{"deadline", json_time(*deadline)}});
  if (deadline.error() == OpenAttempts::NotExtended::kGone) return gone();
  return problem(ProblemType::kWrongState,
                 "the request that brought this attempt is not answered yet, and ends with the deadline it came with: "
                 "answer it with 202 and Bartleby-Outcome: pending first, then extend");
}

}  // namespace

void add_attempt_routes(Router& router, const Services& services) {
  router.add("POST", "/api/v1/workers/{name}/attempts:claim",
             {.access = Scope::kWork,
              .summary = "Take attempts of a pull worker, or wait for some",
              .body = kClaim,
              .answer = kClaimed,
              .keeps_answer = false,
              .at_once = true},
             [&services](Request& request, Respond respond) { claim(services, request, std::move(respond)); });
  router.add("POST", "/api/v1/attempts/{token}:finish",
             {.access = Access::open(), .summary = "Say how an attempt ended", .body = kFinish, .success = 204},
             [&services](Request& request) { return finish(services, request); });
  router.add(
      "POST", "/api/v1/attempts/{token}:extend",
      {.access = Access::open(), .summary = "Move the deadline of an attempt", .body = kExtend, .answer = kExtended},
      [&services](Request& request) { return extend(services, request); });
}

}  // namespace bartleby
