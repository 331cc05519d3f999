// A file that one process at a time holds locked, as long as the object lives.
//
// The lock is the kernel's (flock), so it ends with the process, however that ends. The file stays and names the
// pid of its last holder; who comes second gets an error with it (kFenced).
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace bartleby {

class LockFile {
 public:
  static Result<LockFile> take(const std::string& path);

  LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LockFile& operator=(LockFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~LockFile();

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace bartleby
