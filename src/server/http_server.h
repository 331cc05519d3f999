// The HTTP server: connections, limits and time-outs; what is asked goes to the router.
//
// Two pools of threads: a small one for connections and for routes that wait for no disk, which must not block for
// long, and one for the others, so that a slow disk holds up nobody but them and many writes share a commit. Everything
// is bounded before it is parsed: connections, header bytes, body bytes (before they are read, where the length is
// told), time for the headers, for the body and for the answer to be taken. A client that breaks a limit gets a problem
// document where it still listens. `stop` ends the accepting, closes idle connections at once and the others when their
// answer is written, but waits no longer than the drain, except for routes that wait for a disk; then nothing is left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "server/router.h"

namespace bartleby {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 1853;        // 0: any free one
  bool loopback_names_only = true;  // refuse requests to any other host name
  std::size_t threads = 2;
  std::size_t waiting_threads = 32;  // for routes that may wait for a disk; 0: they run with the others
  std::size_t max_connections = 2000;
  std::size_t max_header = 16 * 1024;
  std::size_t max_body = std::size_t{8} << 20;
  // From the first byte; for the next request on a kept connection it is idle_time.
  std::chrono::milliseconds header_time{10000};
  std::chrono::milliseconds body_time{30000};
  std::chrono::milliseconds write_time{30000};
  std::chrono::milliseconds idle_time{60000};
  std::chrono::milliseconds drain{5000};  // how long a stop waits for requests under way
};

class HttpServer {
 public:
  // Serving when it returns. The router must outlive the server.
  static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, const Router& router, Log& log);
  // In two steps: the port is taken, and whoever connects waits; `serve`, once, answers them.
  static Result<std::unique_ptr<HttpServer>> listen(ServerOptions options, const Router& router, Log& log);
  void serve();
  ~HttpServer();

  std::uint16_t port() const;
  void stop();

 private:
  struct Connection;
  struct State;
  explicit HttpServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace bartleby
