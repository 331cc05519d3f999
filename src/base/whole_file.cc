#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace bartleby {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<Error> refuse(std::string_view doing, const std::filesystem::path& path, int why) {
  return fail(ErrorCode::kUnavailable,
              "cannot " + std::string(doing) + " " + path.string() + ": " + std::generic_category().message(why));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0;
}

}  // namespace

Result<void> write_whole_file(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  const std::string fresh = path.string() + kUnfinished;
  const auto give_up = [&](int why) {
    ::unlink(fresh.c_str());
    return refuse("write", path, why);
  };
  {
    const Descriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (!file.open() || !write_all(file.get(), bytes)) return give_up(errno);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return give_up(errno);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.open() || ::fsync(parent.get()) != 0) return refuse("keep the name of", path, errno);
  return {};
}

Result<std::string> read_whole_file(const std::filesystem::path& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) return fail(ErrorCode::kNotFound, path.string() + " is not there");
  struct stat about{};
  if (!file.open() || ::fstat(file.get(), &about) != 0) return refuse("read", path, errno);
  if (static_cast<std::uint64_t>(about.st_size) > limit)
    return fail(ErrorCode::kTooLarge, path.string() + " has more than " + std::to_string(limit) + " bytes");
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refuse("read", path, errno);
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace bartleby
