// API keys, and sessions of browsers.
#include "office/keys.h"

#include <algorithm>
#include <array>

#include "codec/duration_text.h"
#include "codec/time_text.h"
#include "server/access.h"
#include "server/office_json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::size_t kLongestName = 100;
constexpr Duration kLongestLife{std::chrono::hours(24 * 3650)};
// Names that the audit has for others.
constexpr std::array<std::string_view, 6> kTaken = {"local", "internal", "anonymous", "intake", "office", "outcomes"};

#define BARTLEBY_KEY_FIELDS                                                                         \
  R"("id": {"type": "string"}, "name": {"type": "string"}, "role": {"type": ["string", "null"]}, )" \
  R"("scopes": {"type": "array", "items": {"type": "string"}}, )"                                   \
  R"("state": {"enum": ["good", "revoked", "expired"]}, )"                                          \
  R"("created_at": {"$ref": "#/components/schemas/Time"}, "created_by": {"type": "string"}, )"      \
  R"("expires_at": {"type": ["string", "null"]}, "last_used_at": {"type": ["string", "null"]}, )"   \
  R"("revoked_at": {"type": ["string", "null"]})"
#define BARTLEBY_KEY_REQUIRED                                                                           \
  R"("required": ["id", "name", "role", "scopes", "state", "created_at", "created_by", "expires_at", )" \
  R"("last_used_at", "revoked_at"])"

constexpr std::string_view kKeys = R"({"type": "object", "required": ["items", "next", "count"],
  "additionalProperties": false, "properties": {"next": {"type": "null"},
    "count": {"$ref": "#/components/schemas/Count"}, "items": {"type": "array", "items": {"type": "object",
      "additionalProperties": false, )" BARTLEBY_KEY_REQUIRED R"(, "properties": {)" BARTLEBY_KEY_FIELDS "}}}}}";
constexpr std::string_view kMade =
    R"({"type": "object", "additionalProperties": false, )" BARTLEBY_KEY_REQUIRED
    R"(, "properties": {"key": {"type": "string", "description": "in clear, this once"}, )" BARTLEBY_KEY_FIELDS "}}";
constexpr std::string_view kNew = R"({"type": "object", "required": ["name"], "additionalProperties": false,
  "description": "A name, and a role or scopes", "properties": {"name": {"type": "string", "maxLength": 100},
    "role": {"enum": ["viewer", "operator", "admin"]}, "scopes": {"type": "array", "items": {"enum":
      ["read", "payload", "replay", "discard", "approve", "ingest", "work", "admin"]}},
    "expires_in": {"$ref": "#/components/schemas/Duration"}, "reason": {"type": "string"}}})";
constexpr std::string_view kSession = R"({"type": "object", "required": ["actor", "scopes", "server"],
  "additionalProperties": false, "properties": {"actor": {"type": "string"},
    "scopes": {"type": "array", "items": {"type": "string"}}, "server": {"type": "object",
      "required": ["version", "cluster"], "additionalProperties": false, "properties": {"version": {"type": "string"},
        "cluster": {"type": "string"}}}, "expires_at": {"$ref": "#/components/schemas/Time"}}})";
constexpr std::string_view kLogin = R"({"type": "object", "required": ["key"], "additionalProperties": false,
  "properties": {"key": {"type": "string", "description": "an API key"}}})";

json::array names_json(Scopes scopes) {
  json::array out;
  for (const std::string_view scope : scopes.names()) out.push_back(json::string(scope));
  return out;
}

// Who somebody is and where: the page has it from here, since its own document is for everybody.
json::object session_json(const Services& services, const std::string& actor, Scopes scopes) {
  return json::object{{"actor", actor},
                      {"scopes", names_json(scopes)},
                      {"server", json::object{{"version", services.version}, {"cluster", services.cluster}}}};
}

json::object key_json(const ApiKey& key, Timestamp now) {
  const KeyState state = state_of(key, now);
  json::object out{{"id", key.id}, {"name", key.name}};
  out["role"] = key.role.empty() ? json::value(nullptr) : json::value(key.role);
  out["scopes"] = names_json(key.scopes);
  out["state"] = state == KeyState::kGood ? "good" : state == KeyState::kRevoked ? "revoked" : "expired";
  out["created_at"] = json_time(key.created_at);
  out["created_by"] = key.created_by;
  out["expires_at"] = json_time(key.expires_at);
  out["last_used_at"] = json_time(key.last_used_at);
  out["revoked_at"] = json_time(key.revoked_at);
  return out;
}

Response list_keys(const Services& services) {
  json::array items;
  const Timestamp now = services.clock->now().wall;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto keys = all_keys(connection);
    if (!keys) return std::unexpected(keys.error());
    for (const ApiKey& key : *keys) items.push_back(key_json(key, now));
    return {};
  });
  if (!read) return store_problem(read.error());
  const std::size_t count = items.size();
  return json_response(json::object{
      {"items", std::move(items)}, {"next", nullptr}, {"count", json::object{{"value", count}, {"exact", true}}}});
}

std::optional<Scopes> read_scopes(Fields& fields) {
  const json::value* list = fields.value("scopes");
  if (list == nullptr) return std::nullopt;
  Scopes scopes;
  const bool good = list->is_array() && !list->as_array().empty() &&
                    std::ranges::all_of(list->as_array(), [&](const json::value& one) {
                      const auto scope = one.is_string() ? scope_named(one.as_string()) : std::nullopt;
                      if (scope) scopes |= *scope;
                      return scope.has_value();
                    });
  if (!good) fields.wrong("scopes", "must be a list of read, payload, replay, discard, approve, ingest, work, admin");
  return scopes;
}

Response new_key(const Services& services, const Request& request) {
  const auto body = read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  const Timestamp now = services.clock->now().wall;
  NewKey wanted;
  wanted.name = fields.text("name", kLongestName).value_or("");
  if (wanted.name.empty() || std::ranges::find(kTaken, wanted.name) != kTaken.end() ||
      wanted.name.starts_with("channel:") || wanted.name.starts_with("consumer:"))
    fields.wrong("name",
                 "says whose key it is, in 1 to 100 characters; not one of local, internal, anonymous, "
                 "intake, office, outcomes, and not channel:… or consumer:…, which tokens are");
  wanted.role = fields.text("role", 20).value_or("");
  const auto scopes = read_scopes(fields);
  if (wanted.role.empty() == !scopes.has_value())
    fields.wrong("role", "say role (viewer, operator or admin) or scopes, one of them");
  if (const auto role = role_named(wanted.role))
    wanted.scopes = *role;
  else if (!wanted.role.empty())
    fields.wrong("role", "must be viewer, operator or admin");
  if (scopes) wanted.scopes = *scopes;
  if (const auto life = fields.duration("expires_in", kLongestLife)) wanted.expires_at = now + *life;
  const std::string reason = fields.text("reason", 1000).value_or("");
  if (auto mistakes = fields.mistakes()) return *mistakes;
  // Who has less cannot make more of it.
  if (!request.caller.scopes.has_all(wanted.scopes)) return lacks_scope(wanted.scopes);
  std::optional<std::pair<ApiKey, std::string>> made;
  std::optional<Error> refused;
  const auto written = services.store->write([&](Connection& connection) -> Result<void> {
    auto key = make_key(connection, wanted, actor_of(request, reason), now);
    if (!key) {
      refused = key.error();
      return std::unexpected(key.error());
    }
    made = std::move(*key);
    return {};
  });
  if (refused && refused->code == ErrorCode::kTooLarge) return problem(ProblemType::kConflict, refused->message);
  if (!written) return store_problem(written.error());
  json::object out = key_json(made->first, now);
  out["key"] = made->second;
  Response response = json_response(out, 201);
  response.headers.emplace_back("Location", "/api/v1/keys/" + made->first.id);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

Response revoke(const Services& services, const Request& request) {
  std::optional<ApiKey> key;
  const auto written = services.store->write([&](Connection& connection) -> Result<void> {
    auto found = revoke_key(connection, request.parameter("id"), actor_of(request, ""), services.clock->now().wall);
    if (!found) return std::unexpected(found.error());
    key = std::move(*found);
    return {};
  });
  if (!written) return store_problem(written.error());
  if (!key) return problem(ProblemType::kNotFound, "no key " + request.parameter("id").substr(0, 100));
  Response done;
  done.status = 204;
  return done;
}

std::string cookie_text(std::string_view value, std::int64_t seconds, bool secure) {
  return std::string(kSessionCookie) + "=" + std::string(value) +
         "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(seconds) + (secure ? "; Secure" : "");
}

Response log_in(const Services& services, const Request& request) {
  if (!services.access->has_keys())
    return problem(ProblemType::kWrongState, "there are no keys here (auth.keys: none): nobody needs a session");
  const auto body = read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  const std::string said = fields.text("key", 200).value_or("");
  if (said.empty()) fields.wrong("key", "an API key: bk_…");
  if (auto mistakes = fields.mistakes()) return *mistakes;
  const auto key = services.access->key_said(request, said);
  if (!key) return key.error();
  const Timestamp now = services.clock->now().wall;
  std::string cookie;
  const auto written = services.store->write([&](Connection& connection) -> Result<void> {
    auto made = make_session(connection, *key, request.request_id, now);
    if (!made) return std::unexpected(made.error());
    cookie = std::move(*made);
    return {};
  });
  if (!written) return store_problem(written.error());
  json::object session = session_json(services, key->name, key->scopes);
  session["expires_at"] = json_time(now + kSessionTime);
  Response response = json_response(session);
  response.headers.emplace_back("Set-Cookie",
                                cookie_text(cookie, kSessionTime.count() / 1000, services.access->over_tls(request)));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

Response log_out(const Services& services, const Request& request) {
  if (const auto cookie = session_cookie(request)) {
    const auto written = services.store->write([&](Connection& connection) {
      return end_session(connection, *cookie, request.request_id, services.clock->now().wall);
    });
    if (!written) return store_problem(written.error());
  }
  Response done;
  done.status = 204;
  done.headers.emplace_back("Set-Cookie", cookie_text("", 0, services.access->over_tls(request)));
  return done;
}

}  // namespace

void add_key_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/keys",
             {.access = Scope::kAdmin, .summary = "API keys, those that are over among them", .answer = kKeys},
             [&services](Request&) { return list_keys(services); });
  router.add("POST", "/api/v1/keys",
             {.access = Scope::kAdmin,
              .summary = "Make a key; the answer has it in clear, this once",
              .body = kNew,
              .success = 201,
              .answer = kMade,
              .keeps_answer = false},
             [&services](Request& request) { return new_key(services, request); });
  router.add("DELETE", "/api/v1/keys/{id}",
             {.access = Scope::kAdmin, .summary = "Revoke a key and end its sessions", .query = {kWhy}, .success = 204},
             [&services](Request& request) { return revoke(services, request); });
  router.add(
      "GET", "/api/v1/session",
      {.access = Access::any_of(Scopes::all()), .summary = "Who you are and what you may do", .answer = kSession},
      [&services](Request& request) {
        return json_response(session_json(services, request.caller.name, request.caller.scopes));
      });
  router.add("POST", "/api/v1/session",
             {.access = Access::open(),
              .summary = "A cookie for a key, for browsers; it ends after 12 hours or with the key",
              .body = kLogin,
              .answer = kSession,
              .keeps_answer = false},
             [&services](Request& request) { return log_in(services, request); });
  router.add("DELETE", "/api/v1/session",
             {.access = Access::any_of(Scopes::all()), .summary = "End the session", .success = 204},
             [&services](Request& request) { return log_out(services, request); });
}

}  // namespace bartleby
