// A server that a script of the project starts and stops (scripts/kafka, scripts/ferretdb), in a folder of its own.
//
// Where the variable names one that runs already, that one is taken and left alone. The address is what `start` prints;
// it is empty where the server cannot be had, and the script has said why on stderr. One thread.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
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
    started_ = true;
    address_ = call("start");
  }
  ~ScriptServer() {
    if (started_) call("stop");
  }
  ScriptServer(const ScriptServer&) = delete;
  ScriptServer& operator=(const ScriptServer&) = delete;

  const std::string& address() const { return address_; }
  // Where the script keeps what it knows of it; empty for one that ran already.
  std::string folder() const { return started_ ? folder_.path() + "/server" : std::string(); }

 private:
  // What it prints, without the line's end; empty when it fails.
  std::string call(const std::string& what) const {
    std::FILE* pipe = ::popen(("'" + script_ + "' " + what + " '" + folder_.path() + "/server'").c_str(), "r");
    if (pipe == nullptr) return {};
    std::string all;
    std::array<char, 256> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr) all += part.data();
    if (::pclose(pipe) != 0) return {};
    while (!all.empty() && all.back() == '\n') all.pop_back();
    return all;
  }

  const std::string script_;
  support::ScratchFolder folder_;
  bool started_ = false;
  std::string address_;
};

}  // namespace bartleby::support
