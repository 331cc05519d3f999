// The files of archives, in memory, between the office and a seed's faults.
//
// A call may fail before anything happened, be done and answered with an error, or end the process before or after it.
// What is put is there whole or not at all. `removing` is told of every file before it goes. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "ports/archive.h"
#include "tests/sim/office_faults.h"

namespace bartleby::sim {

class SimArchive : public Archive {
 public:
  explicit SimArchive(OfficeFate& fate) : fate_(fate) {}

  std::function<void(const std::string& name)> removing;
  const std::map<std::string, std::string>& files() const { return files_; }

  Result<void> put(const std::string& name, std::string_view bytes) override {
    return fate_.asked([&]() -> Result<void> {
      files_[name] = bytes;
      return {};
    });
  }
  Result<std::string> get(const std::string& name, std::size_t limit) override {
    return fate_.asked([&]() -> Result<std::string> {
      const auto found = files_.find(name);
      if (found == files_.end()) return fail(ErrorCode::kNotFound, "no file " + name);
      if (found->second.size() > limit) return fail(ErrorCode::kTooLarge, name);
      return found->second;
    });
  }
  Result<void> remove(const std::string& name) override {
    return fate_.asked([&]() -> Result<void> {
      if (!files_.contains(name)) return fail(ErrorCode::kNotFound, "no file " + name);
      if (removing) removing(name);
      files_.erase(name);
      return {};
    });
  }

 private:
  OfficeFate& fate_;
  std::map<std::string, std::string> files_;
};

}  // namespace bartleby::sim
