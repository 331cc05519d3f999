#include "server/access.h"

#include <algorithm>

#include "base/assert.h"
#include "codec/hmac.h"
#include "server/json.h"

namespace bartleby {
namespace {

constexpr std::string_view kInternal = "/internal/v1/";
constexpr double kBurst = 20;                             // failures at once from one source
constexpr Duration kPerFailure{std::chrono::seconds(6)};  // after which one more is let through
constexpr std::size_t kMostSources = 10000;
constexpr Duration kNoteUseEvery{std::chrono::minutes(1)};
constexpr std::size_t kLongestName = 200;
constexpr Scopes kInternalScopes{Scope::kRead, Scope::kReplay, Scope::kDiscard, Scope::kIngest};

bool same(const Sha256& a, const Sha256& b) {
  return same_bytes({reinterpret_cast<const char*>(a.data()), a.size()},
                    {reinterpret_cast<const char*>(b.data()), b.size()});
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// A cookie goes with every request of a browser, whoever made it send it: only a page of ours may change something.
bool from_our_page(const Request& request) {
  if (request.method == "GET" || request.method == "HEAD") return true;
  if (const auto site = request.header("sec-fetch-site")) return *site == "same-origin" || *site == "none";
  const std::string host(request.header("host").value_or(""));
  const auto origin = request.header("origin");
  return origin && (*origin == "http://" + host || *origin == "https://" + host);
}

Response unauthenticated(std::string_view detail) {
  Response response = problem(ProblemType::kUnauthenticated, detail);
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"bartleby\"");
  return response;
}

std::string_view without_bearer(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = header[i] >= 'A' && header[i] <= 'Z' ? static_cast<char>(header[i] - 'A' + 'a') : header[i];
    if (c != kScheme[i]) return {};
  }
  return trimmed(header.substr(kScheme.size()));
}

}  // namespace

std::optional<std::string_view> session_cookie(const Request& request) {
  for (std::string_view rest : request.header_values("cookie"))
    while (!rest.empty()) {
      const std::size_t end = rest.find(';');
      const std::string_view one = trimmed(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      const std::size_t equals = one.find('=');
      if (equals != std::string_view::npos && one.substr(0, equals) == kSessionCookie) return one.substr(equals + 1);
    }
  return std::nullopt;
}

Response lacks_scope(Scope scope) { return lacks_scope(Scopes{scope}); }

Response lacks_scope(Scopes any) {
  std::string list;
  for (const std::string_view scope : any.names()) list += (list.empty() ? "" : " or ") + std::string(scope);
  return with_member(problem(ProblemType::kForbidden, "this needs the scope " + list), "scope", json::value(list));
}

AccessControl::AccessControl(AccessOptions options, Store* store, const Clock& clock)
    : options_(std::move(options)),
      internal_hash_(sha256(options_.internal ? options_.internal->key : "")),
      store_(store),
      clock_(clock) {
  BARTLEBY_ASSERT(!options_.keys || store_ != nullptr);
}

bool AccessControl::is_listed(std::string_view path) const {
  return std::ranges::any_of(options_.open_paths, [&](const std::string& open) {
    return path == open || (path.starts_with(open) && path[open.size()] == '/');
  });
}

std::optional<Response> AccessControl::admit(Request& request, const Access& wanted) {
  request.caller = {.name = "anonymous", .scopes = {}, .known = false};
  if (wanted.kind() == Access::Kind::kOpen) return std::nullopt;
  if (wanted.kind() == Access::Kind::kListed && is_listed(request.path)) return std::nullopt;
  Found found = identify(request);
  if (!found) return std::move(found.error());
  if (*found) request.caller = std::move(**found);
  if (wanted.kind() == Access::Kind::kTokens) return std::nullopt;
  if (!*found)
    return refused(AuthFailure::kMissing,
                   unauthenticated("this needs an API key: Authorization: Bearer bk_…, or a session"));
  if (!request.caller.scopes.has_any(wanted.scopes()))
    return refused(AuthFailure::kScope, lacks_scope(wanted.scopes()));
  return std::nullopt;
}

bool AccessControl::still_admits(const Request& request, Scope wanted) {
  const Found found = identify(request);
  if (!found) return found.error().status == 503 || found.error().status == 429;
  return *found && (*found)->scopes.has_any(Scopes{wanted});
}

AccessControl::Found AccessControl::identify(const Request& request) {
  const bool internal = options_.internal && request.path.starts_with(kInternal);
  if (internal) {
    const auto said = request.header_values("x-internal-api-key");
    if (said.size() > 1) return std::unexpected(failed(source_of(request), AuthFailure::kWrong, "two keys were said"));
    if (said.size() == 1) return by_internal_key(request, said.front());
  }
  if (options_.keys) {
    const auto said = request.header_values("authorization");
    if (said.size() > 1) return std::unexpected(failed(source_of(request), AuthFailure::kWrong, "two keys were said"));
    if (said.size() == 1) return by_api_key(request, said.front());
    Found session = by_session(request);
    if (!session || *session) return session;
  }
  if (options_.proxy)
    if (auto caller = by_proxy(request)) return caller;
  // What the internal key guards is not open to whoever has none.
  if (!options_.keys && !options_.proxy && !internal) return Caller{};
  return std::nullopt;
}

AccessControl::Found AccessControl::by_internal_key(const Request& request, std::string_view key) {
  const std::string source = source_of(request);
  if (auto wait = too_many(source)) return std::unexpected(std::move(*wait));
  if (!same(sha256(key), internal_hash_))
    return std::unexpected(failed(source, AuthFailure::kWrong, "X-Internal-Api-Key is not the key"));
  const auto address = address_of(request);
  if (!address || !any_contains(options_.internal->networks, *address))
    return std::unexpected(
        refused(AuthFailure::kNetwork,
                problem(ProblemType::kForbidden, (address ? address->text() : "an address that cannot be read") +
                                                     " is in none of internal.api.allowed-networks")));
  return Caller{.name = "internal", .scopes = kInternalScopes, .known = true};
}

AccessControl::Found AccessControl::by_api_key(const Request& request, std::string_view header) {
  auto key = key_said(request, without_bearer(header));
  if (!key) return std::unexpected(std::move(key.error()));
  return Caller{.name = key->name, .scopes = key->scopes, .known = true};
}

std::expected<ApiKey, Response> AccessControl::key_said(const Request& request, std::string_view key) {
  const std::string source = source_of(request);
  if (auto wait = too_many(source)) return std::unexpected(std::move(*wait));
  auto found = ask([&](Connection& connection) { return find_key(connection, key, clock_.now().wall); });
  if (!found) return std::unexpected(std::move(found.error()));
  switch (found->state) {
    case KeyState::kWrong:
      return std::unexpected(failed(source, AuthFailure::kWrong, "there is no such API key"));
    case KeyState::kRevoked:
      return std::unexpected(failed(source, AuthFailure::kRevoked, "the key " + found->key.id + " was revoked"));
    case KeyState::kExpired:
      return std::unexpected(failed(source, AuthFailure::kExpired, "the key " + found->key.id + " has expired"));
    case KeyState::kGood:
      break;
  }
  note_used(found->key);
  return std::move(found->key);
}

AccessControl::Found AccessControl::by_session(const Request& request) {
  const auto cookie = session_cookie(request);
  if (!cookie) return std::nullopt;
  auto found = ask([&](Connection& connection) { return find_session(connection, *cookie, clock_.now().wall); });
  if (!found) return std::unexpected(std::move(found.error()));
  // An old cookie is nobody's fault: it is as if it were not there.
  if (found->state != KeyState::kGood) return std::nullopt;
  if (!from_our_page(request))
    return std::unexpected(refused(
        AuthFailure::kCrossSite,
        problem(ProblemType::kForbidden, "with a session only pages of this server may do this; others send a key")));
  note_used(found->key);
  return Caller{.name = found->key.name, .scopes = found->key.scopes, .known = true};
}

std::optional<Caller> AccessControl::by_proxy(const Request& request) const {
  const auto peer = parse_ip(request.peer);
  if (!peer || !any_contains(options_.proxy->trusted, *peer)) return std::nullopt;
  const auto user = request.header_values(options_.proxy->user);
  if (user.size() != 1 || user.front().empty() || user.front().size() > kLongestName) return std::nullopt;
  Caller caller{.name = std::string(user.front()), .scopes = {}, .known = true};
  for (std::string_view rest : request.header_values(options_.proxy->groups))
    while (!rest.empty()) {
      const std::size_t end = rest.find(',');
      const auto role = options_.proxy->roles.find(std::string(trimmed(rest.substr(0, end))));
      if (role != options_.proxy->roles.end()) caller.scopes |= role->second;
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  return caller;
}

std::expected<FoundKey, Response> AccessControl::ask(const std::function<Result<FoundKey>(Connection&)>& question) {
  FoundKey out;
  const auto read = store_->read([&](Connection& connection) -> Result<void> {
    auto found = question(connection);
    if (!found) return std::unexpected(found.error());
    out = std::move(*found);
    return {};
  });
  if (!read) return std::unexpected(store_problem(read.error()));
  return out;
}

std::optional<IpAddress> AccessControl::address_of(const Request& request) const {
  const auto forwarded = request.header_values("x-forwarded-for");
  return client_address(request.peer, forwarded, options_.trusted_proxies);
}

std::string AccessControl::source_of(const Request& request) const {
  const auto address = address_of(request);
  return address ? address->text() : request.peer;
}

bool AccessControl::over_tls(const Request& request) const {
  const auto peer = parse_ip(request.peer);
  return peer && any_contains(options_.trusted_proxies, *peer) && request.header("x-forwarded-proto") == "https";
}

std::optional<Response> AccessControl::too_many(const std::string& source) {
  const std::lock_guard lock(mutex_);
  const auto found = buckets_.find(source);
  if (found == buckets_.end()) return std::nullopt;
  Bucket& bucket = found->second;
  const Instant now = clock_.now().steady;
  const double more = static_cast<double>((now - bucket.at).count()) / static_cast<double>(kPerFailure.count());
  bucket.left = std::min(kBurst, bucket.left + more);
  bucket.at = now;
  if (bucket.left >= 1) return std::nullopt;
  Response response = problem(ProblemType::kTooMany, "too many wrong keys from " + source + ": wait a few seconds");
  response.headers.emplace_back("Retry-After", std::to_string(kPerFailure.count() / 1000));
  return refused(AuthFailure::kTooMany, std::move(response));
}

void AccessControl::note_failure(const std::string& source) {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_.now().steady;
  if (buckets_.size() >= kMostSources) {
    // Whoever has been quiet long enough has a full bucket again, as if it were new.
    std::erase_if(buckets_, [&](const auto& b) { return now - b.second.at > kPerFailure * kBurst; });
    if (buckets_.size() >= kMostSources) buckets_.clear();
  }
  buckets_.try_emplace(source, Bucket{kBurst, now}).first->second.left -= 1;
}

Response AccessControl::failed(const std::string& source, AuthFailure why, std::string_view detail) {
  note_failure(source);
  return refused(why, unauthenticated(detail));
}

Response AccessControl::wrong_token(const Request& request, const std::string& channel, std::string_view detail) {
  const std::string source = source_of(request) + " for channel " + channel;
  if (auto wait = too_many(source)) return std::move(*wait);
  note_failure(source);
  return refused(AuthFailure::kWrong, problem(ProblemType::kForbidden, detail));
}

Response AccessControl::no_token(std::string_view detail) {
  return refused(AuthFailure::kMissing, problem(ProblemType::kForbidden, detail));
}

Response AccessControl::refused(AuthFailure why, Response response) {
  failures_.at(static_cast<std::size_t>(why)).fetch_add(1, std::memory_order_relaxed);
  return response;
}

// Once a minute for a key that is in use all the time. That it cannot be written keeps nobody out.
void AccessControl::note_used(const ApiKey& key) {
  const Now now = clock_.now();
  {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = used_.try_emplace(key.id, now.steady);
    if (!fresh && now.steady - at->second < kNoteUseEvery) return;
    at->second = now.steady;
    if (used_.size() > static_cast<std::size_t>(kMostKeys)) used_.clear();
  }
  (void)store_->write([&](Connection& connection) { return note_use(connection, key.id, now.wall); });
}

}  // namespace bartleby
