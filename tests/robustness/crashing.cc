// A worker whose messages can kill it: what a message says is what happens. For tests/robustness/crashes.py
// and kafka_waits.py.
#include <bartleby/bartleby.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// Deep enough for every stack, and never optimised into a loop.
int overflow(int depth) {
  volatile char page[4096];
  std::memset(const_cast<char*>(page), depth, sizeof page);
  return depth <= 0 ? page[0] : overflow(depth - 1) + page[depth % 4096];
}

void use_all_memory() {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::size_t{2} << 30;
  ::setrlimit(RLIMIT_AS, &limit);
  std::vector<char*> blocks;
  for (;;) {
    auto* block = static_cast<char*>(std::malloc(std::size_t{64} << 20));
    if (block == nullptr) std::abort();  // as a runtime without exceptions does
    std::memset(block, 1, std::size_t{64} << 20);
    blocks.push_back(block);
  }
}

bartleby::Outcome handle(const bartleby::Message& message, bartleby::Attempt&) {
  const std::string_view what = message.value();
  if (what == "segv") {
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  }
  if (what == "abort") std::abort();
  if (what == "exit") ::_exit(3);
  if (what == "overflow") return overflow(100000) == 7 ? bartleby::skip("") : bartleby::done();
  if (what == "memory") use_all_memory();
  // The others take a moment, so that some of them run when one of these strikes.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return bartleby::done();
}

// Says so where one is handled that comes before what this process has handled of its key.
void look_at_order(const bartleby::Message& message) {
  static std::mutex mutex;
  static std::map<std::string, int> handled;
  const int number = std::atoi(std::string(message.value().substr(1)).c_str());
  const std::lock_guard lock(mutex);
  const auto [last, first] = handled.try_emplace(std::string(message.key()), number);
  if (!first && number < last->second) std::fprintf(stderr, "disorder: m%d after m%d\n", number, last->second);
  last->second = number;
}

}  // namespace

int main(int argc, char** argv) {
  bartleby::Program program;
  // Another worker that is never idle: what dies beside it must still be found.
  program.handle("busy", [](const bartleby::Message&, bartleby::Attempt&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return bartleby::done();
  });
  program.handle("orders", handle);
  // Nothing but the first message fails, once. Numbers of a key must grow.
  program.handle("quick", [](const bartleby::Message& message, bartleby::Attempt& attempt) {
    look_at_order(message);
    if (message.value() == "m0" && attempt.number() == 1) return bartleby::retry("Not yet", "the first one");
    return bartleby::done();
  });
  return program.main(argc, argv);
}
