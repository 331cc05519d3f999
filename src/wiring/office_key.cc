#include "wiring/office_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/assert.h"

namespace bartleby {
namespace {

constexpr const char* kKid = "local";
constexpr std::size_t kDigits = 64;

// Whole or not at all: a crash in the middle must not leave half a key.
Result<void> keep(const std::filesystem::path& path, const std::string& secret) {
  const std::string fresh = path.string() + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written = file >= 0 &&
                       ::write(file, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()) &&
                       ::fsync(file) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  if (!written || ::rename(fresh.c_str(), path.c_str()) != 0)
    return fail(ErrorCode::kUnavailable,
                "cannot write " + path.string() + ": " + std::strerror(written ? errno : why) + "; is the disk full?");
  return {};
}

}  // namespace

std::string random_hex() {
  std::array<unsigned char, 8> bytes{};
  BARTLEBY_ASSERT(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

Result<OfficeKey> office_key(const std::string& data_dir) {
  const std::filesystem::path path = std::filesystem::path(data_dir) / "office.key";
  if (!std::filesystem::exists(path)) {
    const std::string secret = random_hex() + random_hex() + random_hex() + random_hex();
    if (auto kept = keep(path, secret); !kept) return std::unexpected(kept.error());
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
