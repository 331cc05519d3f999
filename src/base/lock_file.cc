#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace bartleby {
namespace {

std::unexpected<Error> cannot(const std::string& path, const char* what) {
  return fail(ErrorCode::kUnavailable, path + ": cannot " + what + ": " + std::generic_category().message(errno));
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return cannot(path, "open");
  LockFile file(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return cannot(path, "lock");
    std::array<char, 32> holder{};
    const ssize_t size = ::pread(descriptor, holder.data(), holder.size() - 1, 0);
    std::string pid(holder.data(), static_cast<std::size_t>(size > 0 ? size : 0));
    while (!pid.empty() && pid.back() == '\n') pid.pop_back();
    return fail(ErrorCode::kFenced, path + ": held by the process with pid " + (pid.empty() ? "unknown" : pid));
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, pid.data(), pid.size(), 0) < 0)
    return cannot(path, "write");
  return file;
}

LockFile::~LockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace bartleby
