// A real redis-server on a free port of this machine, for one test program or one test; ended with the object.
// Without redis-server `port` is 0, and whoever wanted it is skipped.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/scratch_folder.h"

extern char** environ;

namespace bartleby::support {

// A port that nobody had a moment ago.
inline std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ::bind(fd, reinterpret_cast<sockaddr*>(&at), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  ::close(fd);
  return ntohs(at.sin_port);
}

inline bool listens(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool yes = ::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  ::close(fd);
  return yes;
}

class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> more = {}, std::uint16_t at = 0) {
    const std::uint16_t wanted = at == 0 ? free_port() : at;
    std::vector<std::string> command = {
        "redis-server", "--bind", "127.0.0.1",    "--port",    std::to_string(wanted), "--save", "", "--appendonly",
        "no",           "--dir",  folder_.path(), "--logfile", folder_.path() + "/log"};
    command.insert(command.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawnp(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
      pid_ = -1;
      return;
    }
    for (int i = 0; i < 3000 && port_ == 0; ++i) {
      if (listens(wanted)) port_ = wanted;
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        port_ = 0;
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  ~RedisServer() { end(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // It keeps its connections and answers nothing more.
  void freeze() {
    if (pid_ > 0) ::kill(pid_, SIGSTOP);
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::uint16_t port() const { return port_; }

 private:
  ScratchFolder folder_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace bartleby::support
