#include "wiring/first_key.h"

#include <algorithm>
#include <filesystem>

#include "base/whole_file.h"
#include "office/keys.h"

namespace bartleby {

Result<void> first_admin_key(Store& store, const std::string& data_dir, const Clock& clock, Log& log) {
  const std::filesystem::path path = std::filesystem::path(data_dir) / "first-admin.key";
  const Timestamp now = clock.now().wall;
  bool made = false;
  auto written = store.write([&](Connection& connection) -> Result<void> {
    const auto keys = all_keys(connection);
    if (!keys) return std::unexpected(keys.error());
    const auto administrates = [&](const ApiKey& key) {
      return state_of(key, now) == KeyState::kGood && key.scopes.has(Scope::kAdmin);
    };
    if (std::ranges::any_of(*keys, administrates)) return {};
    const NewKey wanted{.name = "first-admin", .role = "admin", .scopes = Scopes::all(), .expires_at = {}};
    const auto key =
        make_key(connection, wanted, {.name = "office", .reason = "no key may administrate", .request_id = {}}, now);
    if (!key) return std::unexpected(key.error());
    made = true;
    return write_whole_file(path, key->second + "\n", 0600);  // a key that nobody can read must not stay
  });
  if (!written) return written;
  if (made)
    log.warning("first_admin_key", {{"file", path.string()},
                                    {"why", "no key may administrate yet"},
                                    {"next", "BARTLEBY_KEY=$(cat FILE) bartleby keys new NAME --role admin"}});
  return {};
}

}  // namespace bartleby
