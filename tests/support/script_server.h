// A server that a script of the project starts and stops (scripts/kafka, scripts/ferretdb), in a folder of its own.
//
// Where the variable names one that runs already, that one is taken and left alone. The address is what `start` prints;
// it is empty where the server cannot be had, and the script has said why on stderr. Whoever can have it must be able
// to start it: a failed start is tried once more, because another process may have taken a port in between, and then
// `not_started` says that no test may be skipped for it. One thread.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/support/scratch_folder.h"

namespace bartleby::support {

class ScriptServer {
 public:
  ScriptServer(std::string script, const char* variable) : script_(std::move(script)) {
    if (const char* given = std::getenv(variable); given != nullptr) {
      address_ = given;
      return;
    }
    if (!call("get")) return;
    started_ = true;
    auto there = call("start", folder());
    if (!there) {
      call("stop", folder());
      there = call("start", folder());
    }
    not_started_ = !there;
    address_ = there.value_or("");
  }
  ~ScriptServer() {
    if (started_) call("stop", folder());
  }
  ScriptServer(const ScriptServer&) = delete;
  ScriptServer& operator=(const ScriptServer&) = delete;

  const std::string& address() const { return address_; }
  bool not_started() const { return not_started_; }
  // Where the script keeps what it knows of it; empty for one that ran already.
  std::string folder() const { return started_ ? folder_.path() + "/server" : std::string(); }

 private:
  // What it prints, without the line's end; nothing when it fails.
  std::optional<std::string> call(const std::string& what, const std::string& folder = {}) const {
    const std::string where = folder.empty() ? "" : " '" + folder + "'";
    std::FILE* pipe = ::popen(("'" + script_ + "' " + what + where).c_str(), "r");
    if (pipe == nullptr) return std::nullopt;
    std::string all;
    std::array<char, 256> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr) all += part.data();
    if (::pclose(pipe) != 0) return std::nullopt;
    while (!all.empty() && all.back() == '\n') all.pop_back();
    return all;
  }

  const std::string script_;
  support::ScratchFolder folder_;
  bool started_ = false, not_started_ = false;
  std::string address_;
};

}  // namespace bartleby::support
