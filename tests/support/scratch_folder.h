// A folder of its own for one test, below the system's folder for temporary files or `above`; gone when the object is.
// Asserts that it could be made.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/assert.h"

namespace bartleby::support {

class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& above = std::filesystem::temp_directory_path()) {
    std::string pattern = (above / "bartleby-test-XXXXXX").string();
    BARTLEBY_ASSERT(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace bartleby::support
