// One connection to a Redis server, by hiredis, with a thread of its own that keeps it.
//
// Whoever asks hands over a few commands and waits for their replies, never longer than twice the limit; what others
// ask meanwhile goes out in the same round (pipelined). Nobody but the thread connects, resolves names or reads: while
// the server is away everybody is answered at once with kUnavailable, and the thread tries again, later each time. A
// round that takes longer than the limit, bytes that are no replies, or too many of them end the connection, because
// nobody could tell any more which reply belongs to whom. A failure does not say that nothing was done. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/time.h"

struct redisContext;  // NOLINT(readability-identifier-naming): hiredis's

namespace bartleby::redis {

struct LinkOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string user, password;  // empty: none is said
  std::uint32_t database = 0;
  Duration limit{500};           // of one round
  Duration connect_limit{1000};  // of a connection, its greeting included
  Duration first_pause{100}, longest_pause{5000};
  Duration idle{1000};                              // after so long without a question it is asked whether it is there
  std::size_t max_queued = 20'000;                  // commands
  std::size_t max_reply = std::size_t{64} << 20;    // bytes of one round
  std::function<void(const Result<void>&)> told{};  // when it goes and when it is back; on the link's thread
};

struct Reply {
  enum class Type : std::uint8_t { kText, kNumber, kNull, kList, kStatus, kError };
  Type type = Type::kNull;
  std::string text{};  // of kText, kStatus and kError
  std::int64_t number = 0;
  std::vector<Reply> items{};
};

using Command = std::vector<std::string>;

class Link {
 public:
  explicit Link(LinkOptions options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // One reply for each command, in their order; an error of the server is a reply.
  Result<std::vector<Reply>> ask(std::vector<Command> commands);
  // As last known; waits for nobody. Before the first connection it is not there.
  Result<void> reachable() const;
  // What it answered makes no sense, or it is not the one that takes writes: the thread connects anew.
  void distrust(const std::string& why);

 private:
  struct Batch {
    std::vector<Command> commands;
    std::vector<Reply> replies;
    Error error{};
    enum class State : std::uint8_t { kWaits, kDone, kFailed } state = State::kWaits;
  };
  using Batches = std::vector<std::shared_ptr<Batch>>;
  using Clock = std::chrono::steady_clock;
  struct Closed {
    void operator()(redisContext* context) const;
  };

  void work();
  Result<void> connect();
  Result<void> round(const Batches& batches, Clock::time_point until);
  Result<void> exchange(std::size_t expected, std::vector<Reply>& replies, Clock::time_point until);
  Result<void> wait_io(bool to_write, Clock::time_point until);
  void answer(const Batches& batches, const Result<void>& result);
  void set_state(const Result<void>& state);
  std::string where() const { return options_.host + ":" + std::to_string(options_.port); }

  const LinkOptions options_;
  std::unique_ptr<redisContext, Closed> context_;  // the thread's alone

  mutable std::mutex mutex_;
  std::condition_variable asked_, answered_;
  std::deque<std::shared_ptr<Batch>> queue_;
  std::size_t queued_ = 0;  // commands in it
  Result<void> state_;
  std::string distrusted_;
  bool stopping_ = false;
  std::thread thread_;  // last
};

}  // namespace bartleby::redis
