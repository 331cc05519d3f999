// `receiver`: an HTTP endpoint that fails and dawdles on purpose, to try handlers and retries against.
//
// One thread, one poll loop, loopback only. At most 8192 connections, or what the limit of open files leaves; further
// ones wait in the kernel. A connection on which nothing happens for two minutes is closed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <random>
#include <unordered_set>

#include "base/clock.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/flaky.h"
#include "cli/interrupt.h"
#include "cli/text.h"
#include "codec/duration_text.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kMaxConnections = 8192;
constexpr std::size_t kOtherFiles = 16;
constexpr std::size_t kMaxMessages = 1000000;  // told apart for the summary
constexpr Duration kIdle = std::chrono::minutes(2);

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Connection {
  Socket socket;
  RequestReader reader = {};
  std::string out = {};
  std::optional<Instant> due = {};  // a request waits for its answer
  Instant used;
  bool closing = false;  // after what is in `out`
  bool gone = false;
};

struct Counts {
  std::uint64_t requests = 0, good = 0, failed = 0, gone = 0, refused = 0;
};

// Without it a listener that cannot be accepted from would keep the loop awake.
std::size_t most_connections() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return kMaxConnections;
  const auto soft = static_cast<std::size_t>(files.rlim_cur);
  return std::min(kMaxConnections, soft > 2 * kOtherFiles ? soft - kOtherFiles : kOtherFiles);
}

class Receiver {
 public:
  Receiver(Flaky flaky, std::ostream& out, std::function<Timestamp()> wall)
      : flaky_(flaky), out_(out), wall_(std::move(wall)) {}

  // The port, which the kernel chooses for 0.
  std::expected<std::uint16_t, Failure> listen(std::uint16_t port) {
    listener_ = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), generic, sizeof address) != 0 || ::listen(listener_.get(), 1024) != 0)
      return refuse(exit_status::kError, "cannot listen on 127.0.0.1:" + std::to_string(port) + ": " +
                                             std::generic_category().message(errno) +
                                             (errno == EADDRINUSE ? "; choose another with --port" : ""));
    socklen_t length = sizeof address;
    ::getsockname(listener_.get(), generic, &length);
    return ntohs(address.sin_port);
  }

  void run() {
    while (!Interrupt::asked() && out_.good()) {
      wait();
      accept();
      const Instant now = system_now().steady;
      for (Connection& c : connections_) {
        if (c.due && *c.due <= now) answer(c);
        if (!c.gone) write(c);
        if (now - c.used > kIdle && !c.due) c.gone = true;
      }
      std::erase_if(connections_, [&](const Connection& c) { return c.gone; });
      out_.flush();
    }
  }

  std::string summary() const {
    const auto n = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
    std::string text = counted(n(counts_.requests), "request");
    if (!messages_.empty()) text += " of " + counted(n(messages_.size()), "message");
    text +=
        ": " + grouped(n(counts_.good)) + " answered 200, " + grouped(n(counts_.failed)) + " answered 500 on purpose";
    if (counts_.gone > 0) text += ", " + grouped(n(counts_.gone)) + " gone before their answer";
    if (counts_.refused > 0) text += ", " + grouped(n(counts_.refused)) + " refused";
    return text + "\n";
  }

 private:
  void wait() {
    std::vector<pollfd> waiting;
    waiting.push_back({Interrupt::descriptor(), POLLIN, 0});
    waiting.push_back({connections_.size() < most_ ? listener_.get() : -1, POLLIN, 0});
    Instant first = system_now().steady + std::chrono::seconds(1);
    for (const Connection& c : connections_) {
      short events = POLLRDHUP;
      if (!c.due && !c.closing) events |= POLLIN;
      if (!c.out.empty()) events |= POLLOUT;
      waiting.push_back({c.socket.get(), events, 0});
      if (c.due) first = std::min(first, *c.due);
    }
    const Duration span = std::max(Duration(0), first - system_now().steady);
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(span.count())) <= 0) return;
    std::size_t i = 2;
    for (Connection& c : connections_) {
      const short seen = waiting[i++].revents;
      if ((seen & POLLIN) != 0 && !c.due) {
        read(c);
      } else if ((seen & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
        if (c.due) say(c, "gone before the answer", counts_.gone);
        c.due.reset();
        c.gone = true;
      }
    }
  }

  void accept() {
    while (connections_.size() < most_) {
      Socket socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.get() < 0) return;
      connections_.push_back({.socket = std::move(socket), .used = system_now().steady});
    }
  }

  void read(Connection& c) {
    std::array<char, 65536> chunk{};
    const ssize_t got = ::read(c.socket.get(), chunk.data(), chunk.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      c.gone = true;
      return;
    }
    c.used = system_now().steady;
    c.reader.add({chunk.data(), static_cast<std::size_t>(got)});
    take(c);
  }

  // Goes on with what has arrived until a request waits for its answer.
  void take(Connection& c) {
    while (!c.due && !c.closing) {
      switch (c.reader.next()) {
        case RequestReader::Got::kMore:
          return;
        case RequestReader::Got::kHead:
          if (c.reader.request().expects_continue) c.out += "HTTP/1.1 100 Continue\r\n\r\n";
          break;
        case RequestReader::Got::kRequest:
          c.due = system_now().steady + flaky_.slow;
          break;
        case RequestReader::Got::kBad:
          refuse_request(c, 400);
          break;
        case RequestReader::Got::kTooLarge:
          refuse_request(c, 413);
          break;
      }
    }
  }

  void refuse_request(Connection& c, int status) {
    ++counts_.refused;
    ReceivedRequest unknown;
    unknown.keep = false;
    c.out += answer_to(unknown, status);
    c.closing = true;
    out_ << clock_text(wall_()) << "  "
         << (status == 413 ? "a request that is too large" : "not a request that it understands") << "  " << status
         << '\n';
  }

  void answer(Connection& c) {
    const ReceivedRequest& request = c.reader.request();
    if (fails(flaky_, request, counts_.requests)) {
      c.out += answer_to(request, 500);
      say(c, "500 on purpose", counts_.failed);
    } else {
      c.out += answer_to(request, 200);
      say(c, "200", counts_.good);
    }
    c.closing = !request.keep;
    c.due.reset();
    c.used = system_now().steady;
    take(c);
  }

  void say(const Connection& c, std::string_view what, std::uint64_t& count) {
    ++count;
    ++counts_.requests;
    const ReceivedRequest& request = c.reader.request();
    if (!request.id.empty() && messages_.size() < kMaxMessages) messages_.insert(hash64(request.id));
    out_ << request_line(request, wall_(), what) << '\n';
  }

  void write(Connection& c) {
    if (!c.out.empty()) {
      const ssize_t sent = ::send(c.socket.get(), c.out.data(), c.out.size(), MSG_NOSIGNAL);
      if (sent > 0) c.out.erase(0, static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EINTR) c.gone = true;
    }
    if (c.out.empty() && c.closing) c.gone = true;
  }

  const Flaky flaky_;
  std::ostream& out_;
  const std::function<Timestamp()> wall_;
  Socket listener_{-1};
  const std::size_t most_ = most_connections();
  std::vector<Connection> connections_;
  Counts counts_;
  std::unordered_set<std::uint64_t> messages_;
};

Ran run_receiver(const Arguments& arguments, const CliContext& context) {
  const auto port = arguments.number("--port", 3000, 0, 65535);
  if (!port) return std::unexpected(port.error());
  const auto seed = arguments.number("--seed", static_cast<std::int64_t>(std::random_device()()), 0, INT64_MAX);
  if (!seed) return std::unexpected(seed.error());
  const std::string fail_text = arguments.value("--fail").value_or("0%");
  const auto rate = percent_from(fail_text);
  if (!rate) return refuse(exit_status::kUsage, "--fail is a share like 20%, not '" + shown(fail_text) + "'");
  const std::string slow_text = arguments.value("--slow").value_or("0s");
  const auto slow = duration_from_text(slow_text);
  if (!slow || *slow > std::chrono::hours(1))
    return refuse(exit_status::kUsage, "--slow is a time like 2s, at most 1h, not '" + shown(slow_text) + "'");

  Interrupt interrupt;
  Receiver receiver({*rate, *slow, static_cast<std::uint64_t>(*seed)}, *context.out, context.now);
  const auto listening = receiver.listen(static_cast<std::uint16_t>(*port));
  if (!listening) return std::unexpected(listening.error());
  *context.err << "listening on http://127.0.0.1:" << *listening << ", fails " << shown(fail_text);
  if (*slow > Duration(0)) *context.err << ", answers after " << span_text(*slow);
  *context.err << ", seed " << *seed << "; stop with Ctrl-C\n" << std::flush;
  receiver.run();
  *context.out << receiver.summary();
  return exit_status::kOk;
}

}  // namespace

std::vector<Command> receiver_commands() {
  return {{.name = "receiver",
           .summary = "a flaky HTTP endpoint to try handlers and retries against",
           .options = {{"--port", 0, "PORT", "where to listen, on 127.0.0.1; else 3000, 0 = any that is free"},
                       {"--fail", 0, "SHARE", "how many attempts get a 500: 20%"},
                       {"--slow", 0, "TIME", "answer after this long: 2s"},
                       {"--seed", 0, "N", "the same attempts fail again for the same seed"}},
           .details =
               "Prints a line per request: the message, the attempt, what it was answered. Whether an attempt fails\n"
               "depends on seed, message and attempt alone.",
           .examples = {"bartleby receiver", "bartleby receiver --port 3000 --fail 20% --slow 500ms --seed 7"},
           .run = run_receiver}};
}

}  // namespace bartleby::cli
