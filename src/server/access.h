// Who calls, and whether they may: the guard of the router.
//
// Any thread. A caller is known by an API key, by a session's cookie, by the header of a proxy that is trusted, or by
// the key of `/internal/v1`; where none of these is configured everybody is `local` and may do everything, and the
// configuration then lets the server listen on loopback only. Secrets are compared as hashes, in constant time. Whoever
// fails often from one address has to wait. Every refusal is a problem document and is counted by its reason. A store
// that does not answer refuses (503): nobody is let in unknown.
#pragma once

#include <array>
#include <atomic>
#include <expected>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "codec/sha256.h"
#include "office/keys.h"
#include "ports/store.h"
#include "server/access_options.h"
#include "server/router.h"

namespace bartleby {

constexpr std::string_view kSessionCookie = "bartleby-session";

enum class AuthFailure : std::uint8_t {
  kMissing,
  kWrong,
  kRevoked,
  kExpired,
  kScope,
  kNetwork,
  kCrossSite,
  kTooMany,
};
constexpr std::array<std::string_view, 8> kAuthFailureNames = {"missing", "wrong",   "revoked",    "expired",
                                                               "scope",   "network", "cross_site", "too_many"};

class AccessControl {
 public:
  // The store may be absent where there are no keys.
  AccessControl(AccessOptions options, Store* store, const Clock& clock);

  // Sets the caller; an answer where they may not.
  std::optional<Response> admit(Request& request, const Access& wanted);

  // Whether a stream that was admitted may go on: keys and sessions end while it is open. A store that does not answer
  // ends nothing, nor do the wrong keys of a neighbour.
  bool still_admits(const Request& request, Scope wanted);

  // For the session's route: the key that somebody says, under the same limits as any other.
  std::expected<ApiKey, Response> key_said(const Request& request, std::string_view key);

  // For routes that look at tokens themselves: one more wrong one (403; 429 where there were too many, counted by
  // address and channel), and one that was left out (403), which is no guess and does not count.
  Response wrong_token(const Request& request, const std::string& channel, std::string_view detail);
  Response no_token(std::string_view detail);

  std::uint64_t failures(AuthFailure why) const { return failures_.at(static_cast<std::size_t>(why)).load(); }
  bool has_keys() const { return options_.keys; }
  // Whether the client speaks TLS with a proxy that we trust: the cookie is for TLS only then.
  bool over_tls(const Request& request) const;

 private:
  using Found = std::expected<std::optional<Caller>, Response>;

  Found identify(const Request& request);
  Found by_internal_key(const Request& request, std::string_view key);
  Found by_api_key(const Request& request, std::string_view header);
  Found by_session(const Request& request);
  std::optional<Caller> by_proxy(const Request& request) const;

  std::expected<FoundKey, Response> ask(const std::function<Result<FoundKey>(Connection&)>& question);
  std::optional<IpAddress> address_of(const Request& request) const;
  std::string source_of(const Request& request) const;  // whom failures are counted for
  std::optional<Response> too_many(const std::string& source);
  Response failed(const std::string& source, AuthFailure why, std::string_view detail);
  void note_failure(const std::string& source);
  Response refused(AuthFailure why, Response response);
  void note_used(const ApiKey& key);
  bool is_listed(std::string_view path) const;

  struct Bucket {
    double left = 0;
    Instant at{};
  };

  const AccessOptions options_;
  const Sha256 internal_hash_;
  Store* const store_;
  const Clock& clock_;
  std::array<std::atomic<std::uint64_t>, kAuthFailureNames.size()> failures_{};
  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;  // under the mutex; by source
  std::map<std::string, Instant> used_;    // under the mutex; when the use of a key was last written down
};

std::optional<std::string_view> session_cookie(const Request& request);

// 403 that names the scope.
Response lacks_scope(Scope scope);
Response lacks_scope(Scopes any);

}  // namespace bartleby
