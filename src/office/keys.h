// API keys and sessions of browsers, in the store.
//
// A key is `bk_ID_SECRET`: `bk_ID` names it in lists and in the audit, and the store has only the SHA-256 of the whole.
// The secret is shown once, when the key is made; it is long and random, so a fast hash is enough. A session is a key
// in a cookie: it ends with its key. Both are bounded in number. Inside transactions of the caller; making and
// revoking leave a line in the audit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/access.h"
#include "model/audit_entry.h"
#include "ports/store.h"

namespace bartleby {

constexpr std::int64_t kMostKeys = 1000;
constexpr std::int64_t kMostSessions = 1000;
constexpr Duration kSessionTime{std::chrono::hours(12)};

struct ApiKey {
  std::string id;  // `bk_…`
  std::string name;
  std::string role;  // empty: scopes were chosen one by one
  Scopes scopes;
  Timestamp created_at;
  std::string created_by;
  std::optional<Timestamp> expires_at, last_used_at, revoked_at;
};

enum class KeyState : std::uint8_t { kGood, kWrong, kRevoked, kExpired };
KeyState state_of(const ApiKey& key, Timestamp now);

struct NewKey {
  std::string name;
  std::string role;
  Scopes scopes;
  std::optional<Timestamp> expires_at;
};

// 26 characters, 130 random bits.
std::string random_secret();

// The key in clear, once. kTooLarge: there are as many as may be, all of them in use, or one has this name.
Result<std::pair<ApiKey, std::string>> make_key(Connection& connection, const NewKey& wanted, const Actor& actor,
                                                Timestamp now);
Result<std::vector<ApiKey>> all_keys(Connection& connection);
// Nothing: there is no such key. Its sessions end with it. Doing it twice changes nothing.
Result<std::optional<ApiKey>> revoke_key(Connection& connection, const std::string& id, const Actor& actor,
                                         Timestamp now);
Result<void> note_use(Connection& connection, const std::string& id, Timestamp now);

struct FoundKey {
  KeyState state = KeyState::kWrong;  // unknown and wrong are the same
  ApiKey key;
};
Result<FoundKey> find_key(Connection& connection, std::string_view given, Timestamp now);

// The cookie's value, once. The oldest sessions give way to new ones. Begin and end have a line in the audit.
Result<std::string> make_session(Connection& connection, const ApiKey& key, const std::string& request_id,
                                 Timestamp now);
Result<FoundKey> find_session(Connection& connection, std::string_view cookie, Timestamp now);
Result<void> end_session(Connection& connection, std::string_view cookie, const std::string& request_id, Timestamp now);

}  // namespace bartleby
