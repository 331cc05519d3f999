// All HTTP that the push handlers of this process do: one thread, one epoll, one libcurl multi handle.
//
// Anybody may `post`; `done` is called once per request, always on the loop's thread (after `stop`: on the caller's).
// It must not block, and must not be what destroys the loop. Owns sockets, easy handles (reused) and connections
// (reused, at most `max_in_flight`). Requests beyond that wait here, in order per target, no longer than their
// deadline. Not more than a few names are resolved at once per target: each costs a thread of its own. Never follows
// redirects, keeps no cookies, reads neither netrc nor proxy variables. Fails only by answering: see `Transport`.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "adapters/handler/http/http_reply.h"
#include "base/clock.h"
#include "base/error.h"

namespace bartleby {

struct HttpLoopOptions {
  std::size_t max_in_flight = 8192;  // lowered to what the limit of open files leaves
  std::size_t max_waiting = 100'000;
  std::size_t max_resolving = 16;                          // per target
  std::size_t max_large_replies = std::size_t{256} << 20;  // bytes of long answers in memory, all together
  TellTime clock = system_now;                             // the one that deadlines are given in
};

struct HttpTargetOptions {
  std::string url{};           // http or https
  bool allow_private = false;  // see address_guard.h
  std::string proxy{};         // its address is not guarded; with one, it is the proxy that resolves names
  std::string ca_file{};       // instead of the system's
  Duration connect_timeout{10000};
};

struct HttpTarget;  // of one loop; made by `HttpLoop::target`

struct HttpRequest {
  std::string headers;    // `Name: value`, already checked, each ended by a NUL
  std::string_view body;  // kept alive by `owner`
  std::shared_ptr<const void> owner;
  Instant deadline;
  std::function<bool()> unwanted;  // asked before it is sent; yes: answered as stopped
};

using HttpDone = std::move_only_function<void(HttpReply)>;

struct HttpLoopFigures {
  std::uint64_t in_flight = 0, waiting = 0, connections_made = 0, requests = 0;
};

class HttpLoop {
 public:
  explicit HttpLoop(HttpLoopOptions options = {});
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  // Refuses addresses that are none, or of another scheme.
  Result<std::shared_ptr<HttpTarget>> target(HttpTargetOptions options);

  void post(std::shared_ptr<HttpTarget> target, HttpRequest request, HttpDone done);

  // Closes all connections and answers everything with `kStopped`. Returns when no `done` runs any more.
  void stop();

  HttpLoopFigures figures() const;
  TellTime clock() const;

 private:
  class Core;
  struct Job {
    std::shared_ptr<HttpTarget> target;
    HttpRequest request;
    HttpDone done;
  };
  friend struct HttpTarget;

  std::unique_ptr<Core> core_;
  int wake_ = -1;
  std::mutex mutex_;
  std::vector<Job> incoming_;  // from any thread
  bool stopping_ = false;
  std::atomic<std::thread::id> thread_id_;  // once it runs
  std::thread thread_;
};

}  // namespace bartleby
