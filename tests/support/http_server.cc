#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <memory>

#include "base/assert.h"

namespace bartleby::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

int listen_on_loopback(int& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  BARTLEBY_ASSERT(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  BARTLEBY_ASSERT(listen(fd, 8192) == 0);
  BARTLEBY_ASSERT(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

std::string ServerRequest::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers)
    if (lowered(name) == lower_name) return value;
  return {};
}

bool ServerRequest::has(std::string_view lower_name) const {
  return std::ranges::any_of(headers, [&](const auto& h) { return lowered(h.first) == lower_name; });
}

std::string http_answer(int status, std::string_view headers, std::string_view body) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Length: " + std::to_string(body.size());
  out += "\r\n";
  out += headers;
  if (!headers.empty()) out += "\r\n";
  out += "\r\n";
  return out += body;
}

int closed_port() {
  int port = 0;
  close(listen_on_loopback(port));
  return port;
}

struct HttpServer::Connection {
  int fd = -1;
  std::string in{}, out{};
  std::deque<ServerStep> steps{};
  bool wants_out = false;
  std::multimap<Clock::time_point, int>::iterator timer{};
  bool timed = false;
};

class HttpServer::Loop {
 public:
  explicit Loop(HttpServer& server) : server_(server), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  ~Loop() {
    for (auto& [fd, connection] : connections_) close(fd);
    close(epoll_);
  }

  void run() {
    watch(server_.listen_, EPOLLIN, EPOLL_CTL_ADD);
    watch(server_.wake_, EPOLLIN, EPOLL_CTL_ADD);
    while (true) {
      int timeout = -1;
      if (!timers_.empty()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - Clock::now());
        timeout = static_cast<int>(std::max<std::int64_t>(0, left.count()));
      }
      std::array<epoll_event, 256> events;
      const int n = epoll_wait(epoll_, events.data(), 256, timeout);
      for (int i = 0; i < n; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == server_.wake_) return;
        if (fd == server_.listen_) {
          accept_all();
        } else if (const auto c = connections_.find(fd); c != connections_.end()) {
          if (!read_from(*c->second)) end(fd, false);
        }
      }
      while (!timers_.empty() && timers_.begin()->first <= Clock::now()) {
        const int fd = timers_.begin()->second;
        timers_.erase(timers_.begin());
        Connection& c = *connections_.at(fd);
        c.timed = false;
        reset_ = false;
        c.steps.front().pause = {};
        if (!advance(c)) end(fd, reset_);
      }
    }
  }

 private:
  void watch(int fd, std::uint32_t what, int how) const {
    epoll_event event = {};
    event.events = what;
    event.data.fd = fd;
    epoll_ctl(epoll_, how, fd, &event);
  }

  void accept_all() {
    while (true) {
      const int fd = accept4(server_.listen_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      ++server_.connections_;
      ++server_.open_;
      connections_.emplace(fd, std::make_unique<Connection>(Connection{.fd = fd}));
      watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }
  }

  void end(int fd, bool reset) {
    const auto c = connections_.find(fd);
    if (c->second->timed) timers_.erase(c->second->timer);
    if (reset) {
      const linger now = {1, 0};
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    close(fd);
    connections_.erase(c);
    --server_.open_;
  }

  // False: the connection is over; `reset_` says how.
  bool read_from(Connection& c) {
    reset_ = false;
    std::array<char, 65536> buffer;
    while (true) {
      const ssize_t n = recv(c.fd, buffer.data(), buffer.size(), 0);
      if (n == 0) return false;
      if (n < 0) break;
      c.in.append(buffer.data(), static_cast<std::size_t>(n));
    }
    if (errno != EAGAIN) return false;
    if (c.in.starts_with('\x16')) return false;  // the first byte of TLS, which is not spoken here
    const bool alive = advance(c);
    if (!alive && reset_) {
      const linger now = {1, 0};
      setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    return alive;
  }

  bool advance(Connection& c) {
    while (true) {
      if (!c.out.empty()) {
        const ssize_t n = send(c.fd, c.out.data(), c.out.size(), MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) return false;
        c.out.erase(0, static_cast<std::size_t>(std::max<ssize_t>(0, n)));
        if (!c.out.empty() && !c.wants_out) watch(c.fd, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
        c.wants_out = !c.out.empty();
        if (c.wants_out) return true;
        watch(c.fd, EPOLLIN, EPOLL_CTL_MOD);
      }
      if (c.timed) return true;
      if (c.steps.empty()) {
        ServerRequest request;
        if (!take_request(c, request)) return true;
        ++server_.requests_;
        for (ServerStep& step : server_.script_(request)) c.steps.push_back(std::move(step));
        continue;
      }
      ServerStep& step = c.steps.front();
      if (step.pause.count() > 0) {
        c.timer = timers_.emplace(Clock::now() + step.pause, c.fd);
        c.timed = true;
        return true;
      }
      if (!step.bytes.empty()) c.out += step.bytes;
      if (step.after == After::kForever) continue;
      const After after = step.after;
      if (after != After::kNext && !c.out.empty()) {
        step.bytes.clear();  // sent first, then the end
        continue;
      }
      if (after != After::kNext) {
        reset_ = after == After::kReset;
        return false;
      }
      c.steps.pop_front();
    }
  }

  static bool take_request(Connection& c, ServerRequest& request) {
    const std::size_t head = c.in.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    std::size_t at = c.in.find("\r\n");
    request.line = c.in.substr(0, at);
    const std::size_t blank = request.line.find(' ');
    request.path = request.line.substr(blank + 1, request.line.rfind(' ') - blank - 1);
    std::size_t length = 0;
    while (at < head) {
      at += 2;
      const std::size_t next = c.in.find("\r\n", at);
      const std::string_view line(c.in.data() + at, next - at);
      const std::size_t colon = line.find(':');
      std::string_view value = line.substr(std::min(line.size(), colon + 1));
      while (value.starts_with(' ')) value.remove_prefix(1);
      request.headers.emplace_back(line.substr(0, colon), value);
      if (lowered(request.headers.back().first) == "content-length")
        std::from_chars(value.data(), value.data() + value.size(), length);
      at = next;
    }
    if (c.in.size() < head + 4 + length) return false;
    request.body = c.in.substr(head + 4, length);
    c.in.erase(0, head + 4 + length);
    return true;
  }

  HttpServer& server_;
  int epoll_;
  std::map<int, std::unique_ptr<Connection>> connections_;
  std::multimap<Clock::time_point, int> timers_;
  bool reset_ = false;
};

HttpServer::HttpServer(ServerScript script) : script_(std::move(script)) {
  listen_ = listen_on_loopback(port_);
  wake_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { Loop(*this).run(); });
}

HttpServer::~HttpServer() {
  const std::uint64_t one = 1;
  BARTLEBY_ASSERT(write(wake_, &one, sizeof one) == sizeof one);
  thread_.join();
  close(listen_);
  close(wake_);
}

std::string HttpServer::url(std::string_view path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
}

}  // namespace bartleby::test
