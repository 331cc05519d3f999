#include "adapters/archive/files/file_archive.h"

#include <algorithm>

#include "base/whole_file.h"

namespace bartleby {
namespace {

bool plain(const std::string& name) {
  constexpr auto kAllowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, kAllowed);
}

}  // namespace

Result<void> FileArchive::put(const std::string& name, std::string_view bytes) {
  if (!plain(name)) return fail(ErrorCode::kInvalid, "no name for an archive: " + name);
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed)
    return fail(ErrorCode::kUnavailable, "cannot make the folder " + folder_.string() + ": " + failed.message());
  return write_whole_file(folder_ / name, bytes, 0600);
}

Result<std::string> FileArchive::get(const std::string& name, std::size_t limit) {
  if (!plain(name)) return fail(ErrorCode::kInvalid, "no name for an archive: " + name);
  return read_whole_file(folder_ / name, limit);
}

Result<void> FileArchive::remove(const std::string& name) {
  if (!plain(name)) return fail(ErrorCode::kInvalid, "no name for an archive: " + name);
  std::error_code failed;
  std::filesystem::remove(folder_ / (name + kUnfinished), failed);  // of a writer that died
  if (std::filesystem::remove(folder_ / name, failed)) return {};
  if (!failed) return fail(ErrorCode::kNotFound, "there is no " + (folder_ / name).string());
  return fail(ErrorCode::kUnavailable, "cannot delete " + (folder_ / name).string() + ": " + failed.message());
}

}  // namespace bartleby
