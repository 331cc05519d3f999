#include "wiring/office_key.h"

#include <sys/random.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/assert.h"
#include "base/whole_file.h"
#include "codec/percent.h"

namespace bartleby {
namespace {

constexpr const char* kKid = "local";
constexpr std::size_t kDigits = 64;

}  // namespace

std::string random_hex() {
  std::array<unsigned char, 8> bytes{};
  BARTLEBY_ASSERT(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return hex(bytes);
}

Result<OfficeKey> office_key(const std::string& data_dir) {
  const std::filesystem::path path = std::filesystem::path(data_dir) / "office.key";
  if (!std::filesystem::exists(path)) {
    const std::string secret = random_hex() + random_hex() + random_hex() + random_hex();
    if (auto kept = write_whole_file(path, secret, 0600); !kept) return std::unexpected(kept.error());
    return OfficeKey{kKid, secret};
  }
  std::ifstream file(path);
  std::string secret;
  std::getline(file, secret);
  const bool whole = secret.size() == kDigits && secret.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!whole)
    return fail(ErrorCode::kMalformed, path.string() +
                                           " is not the key that was kept there; put it back, or remove it:"
                                           " replays on their way are then handled as ordinary messages");
  return OfficeKey{kKid, secret};
}

}  // namespace bartleby
