// Archives as files in one folder, which is made when the first one is written.
//
// Any thread. Each is written beside its name, made durable and then renamed: whole or not at all.
#pragma once

#include <filesystem>

#include "ports/archive.h"

namespace bartleby {

class FileArchive : public Archive {
 public:
  explicit FileArchive(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Result<void> put(const std::string& name, std::string_view bytes) override;
  Result<std::string> get(const std::string& name, std::size_t limit) override;
  Result<void> remove(const std::string& name) override;

 private:
  const std::filesystem::path folder_;
};

}  // namespace bartleby
