// A program that a test starts and that says on its first line of output where it listens.
// Ended (its standard input closed, then killed) and waited for in the destructor; only ever this one process.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

namespace bartleby::test {

class Child {
 public:
  // `environment` has lines NAME=value that are added to this process's own.
  Child(std::vector<std::string> command, std::vector<std::string> environment = {}) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::vector<char*> arguments, variables;
    for (std::string& word : command) arguments.push_back(word.data());
    for (std::string& line : environment) variables.push_back(line.data());
    for (char** v = environ; *v != nullptr; ++v) variables.push_back(*v);
    arguments.push_back(nullptr);
    variables.push_back(nullptr);
    if (posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), variables.data()) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }

  ~Child() {
    close(in_);
    close(out_);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Empty: it could not be started, has ended, or said nothing in time.
  std::string first_line(std::chrono::seconds longest) {
    const auto until = std::chrono::steady_clock::now() + longest;
    std::string line;
    while (pid_ > 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd waiting = {out_, POLLIN, 0};
      char c = 0;
      if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) != 1 || read(out_, &c, 1) != 1)
        return "";
      if (c == '\n') return line;
      line += c;
    }
    return "";
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
};

}  // namespace bartleby::test
