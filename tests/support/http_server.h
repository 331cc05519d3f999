// A web server for tests on a free port of the loopback, whose every byte and pause the test decides.
//
// One thread, any number of connections. The script is called on that thread for each request and says what to
// send: steps, each after a pause. Ends and joins in its destructor.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bartleby::test {

struct ServerRequest {
  std::string line;  // POST /run HTTP/1.1
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;  // as they came
  std::string body;

  std::string header(std::string_view lower_name) const;  // the first; empty where there is none
  bool has(std::string_view lower_name) const;
};

enum class After : std::uint8_t {
  kNext,     // the next step, or the next request
  kClose,    // end the connection
  kReset,    // end it with a reset
  kForever,  // send these bytes again and again
};

struct ServerStep {
  std::string bytes{};
  std::chrono::milliseconds pause{0};  // before they are sent
  After after = After::kNext;
};

using ServerScript = std::function<std::vector<ServerStep>(const ServerRequest&)>;

// A whole answer; `headers` are complete lines separated by \r\n.
std::string http_answer(int status, std::string_view headers, std::string_view body);

class HttpServer {
 public:
  explicit HttpServer(ServerScript script);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  std::string url(std::string_view path = "/run") const;
  std::uint64_t connections() const { return connections_; }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t open_now() const { return open_; }

 private:
  struct Connection;
  class Loop;

  ServerScript script_;
  int listen_ = -1, wake_ = -1, port_ = 0;
  std::atomic<std::uint64_t> connections_{0}, requests_{0}, open_{0};
  std::thread thread_;
};

// A port on which nobody listens.
int closed_port();

}  // namespace bartleby::test
