#include "office/keys.h"

#include <sys/random.h>

#include <array>

#include "base/assert.h"
#include "codec/hmac.h"
#include "codec/json_text.h"
#include "codec/sha256.h"
#include "office/audit.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::size_t kIdLetters = 10;
constexpr std::size_t kLongestGiven = 200;

#define BARTLEBY_KEY_COLUMNS \
  "k.id, k.name, k.role, k.scopes, k.created_at, k.created_by, k.expires_at, k.last_used_at, k.revoked_at, k.hash"

std::optional<Timestamp> time_in(Rows& row, int column) {
  const auto at = row.maybe(column);
  return at ? std::optional(timestamp_ms(*at)) : std::nullopt;
}

struct StoredKey {
  ApiKey key;
  std::string hash;
};

StoredKey read_key(Rows& row) {
  StoredKey out;
  ApiKey& key = out.key;
  key.id = row.text(0);
  key.name = row.text(1);
  key.role = row.text(2);
  key.scopes = Scopes(static_cast<std::uint32_t>(row.integer(3)) & Scopes::all().bits);
  key.created_at = timestamp_ms(row.integer(4));
  key.created_by = row.text(5);
  key.expires_at = time_in(row, 6);
  key.last_used_at = time_in(row, 7);
  key.revoked_at = time_in(row, 8);
  out.hash = row.text(9);
  return out;
}

std::string hash_of(std::string_view text) {
  const Sha256 hash = sha256(text);
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

std::string random_letters(std::size_t count) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<unsigned char, 32> random;  // a byte for each letter: five bits of it are used
  BARTLEBY_ASSERT(count <= random.size());
  BARTLEBY_ASSERT(::getrandom(random.data(), count, 0) == static_cast<ssize_t>(count));
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += kAlphabet[random[i] & 31U];
  return out;
}

Result<std::int64_t> count_of(Connection& connection, std::string_view statement) {
  auto count = sql::one(connection, statement, [](Rows& row) { return row.integer(0); });
  if (!count) return std::unexpected(count.error());
  return count->value_or(0);
}

Result<void> write_audit(Connection& connection, const Actor& actor, Timestamp now, std::string_view action,
                         const ApiKey& key) {
  AuditEntry line;
  line.at = now;
  line.actor = actor.name;
  line.action = action;
  line.subject = key.id;
  line.reason = actor.reason;
  line.request_id = actor.request_id;
  {
    JsonObject detail(line.detail);
    detail.text("name", key.name);
    std::string scopes;
    for (const std::string_view scope : key.scopes.names()) scopes += (scopes.empty() ? "" : " ") + std::string(scope);
    detail.text("scopes", scopes);
  }
  AuditChain audit(connection);
  BARTLEBY_TRY(audit.append(std::move(line)));
  return audit.finish();
}

}  // namespace

std::string random_secret() { return random_letters(26); }

KeyState state_of(const ApiKey& key, Timestamp now) {
  if (key.revoked_at) return KeyState::kRevoked;
  return key.expires_at && *key.expires_at <= now ? KeyState::kExpired : KeyState::kGood;
}

Result<std::pair<ApiKey, std::string>> make_key(Connection& connection, const NewKey& wanted, const Actor& actor,
                                                Timestamp now) {
  const auto count = count_of(connection, "SELECT count(*) FROM keys");
  if (!count) return std::unexpected(count.error());
  if (*count >= kMostKeys) {
    // Those that open nothing any more have been kept for the list only.
    BARTLEBY_TRY(sql::execute(connection,
                              "DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE revoked_at IS NOT NULL"
                              " OR expires_at <= $1 ORDER BY created_at LIMIT 1)",
                              ms(now)));
    if (connection.changes() == 0)
      return fail(ErrorCode::kTooLarge, "there are " + std::to_string(kMostKeys) +
                                            " keys, all of them in use: revoke one with `bartleby keys revoke`");
  }
  // A name stands in the audit: it must mean one key at a time.
  auto namesake = sql::one(
      connection,
      "SELECT id FROM keys WHERE name = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
      [](Rows& row) { return row.text(0); }, wanted.name, ms(now));
  if (!namesake) return std::unexpected(namesake.error());
  if (*namesake)
    return fail(ErrorCode::kTooLarge, "the key " + **namesake + " has this name: revoke it, or choose another name");
  ApiKey key;
  key.id = "bk_" + random_letters(kIdLetters);
  key.name = wanted.name;
  key.role = wanted.role;
  key.scopes = wanted.scopes;
  key.created_at = now;
  key.created_by = actor.name;
  key.expires_at = wanted.expires_at;
  std::string secret = key.id + "_" + random_secret();
  const std::string hash = hash_of(secret);
  const std::optional<std::int64_t> expires = key.expires_at ? std::optional(ms(*key.expires_at)) : std::nullopt;
  BARTLEBY_TRY(sql::execute(connection,
                            "INSERT INTO keys(id, name, hash, role, scopes, created_at, created_by, expires_at)"
                            " VALUES($1, $2, $3, $4, $5, $6, $7, $8)",
                            key.id, key.name, Blob{hash}, key.role, key.scopes.bits, ms(now), key.created_by, expires));
  BARTLEBY_TRY(write_audit(connection, actor, now, "make-key", key));
  return std::pair(std::move(key), std::move(secret));
}

Result<std::vector<ApiKey>> all_keys(Connection& connection) {
  std::vector<ApiKey> keys;
  BARTLEBY_TRY(sql::each(connection, "SELECT " BARTLEBY_KEY_COLUMNS " FROM keys k ORDER BY k.created_at, k.id",
                         [&](Rows& row) { keys.push_back(read_key(row).key); }));
  return keys;
}

Result<std::optional<ApiKey>> revoke_key(Connection& connection, const std::string& id, const Actor& actor,
                                         Timestamp now) {
  auto found = sql::one(connection, "SELECT " BARTLEBY_KEY_COLUMNS " FROM keys k WHERE k.id = $1", read_key, id);
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::optional<ApiKey>();
  ApiKey key = std::move((*found)->key);
  if (key.revoked_at) return std::optional(std::move(key));
  key.revoked_at = now;
  BARTLEBY_TRY(sql::execute(connection, "UPDATE keys SET revoked_at = $2 WHERE id = $1", id, ms(now)));
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM sessions WHERE key = $1", id));
  BARTLEBY_TRY(write_audit(connection, actor, now, "revoke-key", key));
  return std::optional(std::move(key));
}

Result<void> note_use(Connection& connection, const std::string& id, Timestamp now) {
  return sql::execute(connection, "UPDATE keys SET last_used_at = $2 WHERE id = $1", id, ms(now));
}

Result<FoundKey> find_key(Connection& connection, std::string_view given, Timestamp now) {
  FoundKey out;
  if (!given.starts_with("bk_") || given.size() > kLongestGiven) return out;
  const std::string id(given.substr(0, given.find('_', 3)));
  auto found = sql::one(connection, "SELECT " BARTLEBY_KEY_COLUMNS " FROM keys k WHERE k.id = $1", read_key, id);
  if (!found) return std::unexpected(found.error());
  // An id that does not exist is compared too: how long it takes tells nobody whether it does.
  const std::string wanted = *found ? (*found)->hash : std::string(sizeof(Sha256), '\0');
  if (!same_bytes(hash_of(given), wanted)) return out;
  out.key = std::move((*found)->key);
  out.state = state_of(out.key, now);
  return out;
}

Result<std::string> make_session(Connection& connection, const ApiKey& key, const std::string& request_id,
                                 Timestamp now) {
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM sessions WHERE expires_at <= $1", ms(now)));
  const auto count = count_of(connection, "SELECT count(*) FROM sessions");
  if (!count) return std::unexpected(count.error());
  if (*count >= kMostSessions)
    BARTLEBY_TRY(sql::execute(connection,
                              "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions ORDER BY expires_at"
                              " LIMIT $1)",
                              *count - kMostSessions + 1));
  std::string cookie = random_secret() + random_secret();
  const std::string hash = hash_of(cookie);
  BARTLEBY_TRY(sql::execute(connection,
                            "INSERT INTO sessions(hash, key, created_at, expires_at) VALUES($1, $2, $3, $4)",
                            Blob{hash}, key.id, ms(now), ms(now + kSessionTime)));
  BARTLEBY_TRY(write_audit(connection, {key.name, "", request_id}, now, "log_in", key));
  return cookie;
}

// The cookie is found by its hash, which tells nothing of the cookie: there is nothing to compare in constant time.
Result<FoundKey> find_session(Connection& connection, std::string_view cookie, Timestamp now) {
  FoundKey out;
  if (cookie.empty() || cookie.size() > kLongestGiven) return out;
  const std::string hash = hash_of(cookie);
  auto found = sql::one(connection,
                        "SELECT " BARTLEBY_KEY_COLUMNS
                        " FROM sessions s JOIN keys k ON k.id = s.key WHERE s.hash = $1 AND s.expires_at > $2",
                        read_key, Blob{hash}, ms(now));
  if (!found) return std::unexpected(found.error());
  if (!*found) return out;
  out.key = std::move((*found)->key);
  out.state = state_of(out.key, now);
  return out;
}

Result<void> end_session(Connection& connection, std::string_view cookie, const std::string& request_id,
                         Timestamp now) {
  const auto found = find_session(connection, cookie, now);
  if (!found) return std::unexpected(found.error());
  const std::string hash = hash_of(cookie);
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM sessions WHERE hash = $1", Blob{hash}));
  if (found->key.id.empty()) return {};  // there was none
  return write_audit(connection, {found->key.name, "", request_id}, now, "log_out", found->key);
}

}  // namespace bartleby
