// The HTTP server with real sockets: what becomes of connections at a stop, and of answers that nobody takes.
#include "server/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <latch>
#include <optional>
#include <thread>

namespace bartleby {
namespace {

Response text(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}

// A client that speaks bytes; waits for at most half a minute.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{30, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void get(const std::string& path) { ask("GET " + path); }
  void ask(const std::string& what) {
    const std::string request = what + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    EXPECT_EQ(::send(socket_, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  }
  // Up to `end`, or until the other side closes, cleanly or not.
  std::string read_until(const std::string& end) {
    std::string text;
    char part[4096];
    closed_ = false;
    while (!text.contains(end)) {
      const ssize_t n = ::recv(socket_, part, sizeof part, 0);
      closed_ = n == 0;
      if (n <= 0) break;
      text.append(part, static_cast<std::size_t>(n));
    }
    return text;
  }
  bool closed_cleanly() {
    read_until("\n\n never");
    return closed_;
  }

 private:
  int socket_;
  bool closed_ = false;
};

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    router_.add("GET", "/now", {.access = Access::open(), .summary = "answers at once"},
                [](Request&) { return text("now!"); });
    router_.add("GET", "/later", {.access = Access::open(), .summary = "answers when the test says so"},
                [this](Request& request, Respond respond) {
                  if (prepare_) prepare_(*request.departure);
                  asked_.set_value(std::move(respond));
                });
  }

  void start(ServerOptions options = {}) {
    options.port = 0;
    server_ = std::move(*HttpServer::start(std::move(options), router_, log_));
  }

  Log log_{LogFormat::kText, LogLevel::kError};
  std::promise<Respond> asked_;
  std::function<void(Request::Departure&)> prepare_;
  Router router_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, RoutesThatWaitForADiskHoldUpNobodyElse) {
  constexpr int kWriters = 8;  // more than there are threads for connections
  std::latch begun(kWriters), disk(1);
  router_.add("POST", "/write", {.access = Access::open(), .summary = "answers when the disk does"}, [&](Request&) {
    begun.count_down();
    disk.wait();
    return text("written");
  });
  start();
  std::vector<std::unique_ptr<Client>> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.push_back(std::make_unique<Client>(server_->port()));
    writers.back()->ask("POST /write");
  }
  begun.wait();  // all of them at once: they share what they wait for
  Client other(server_->port());
  other.get("/now");
  EXPECT_TRUE(other.read_until("now!").starts_with("HTTP/1.1 200"));
  disk.count_down();
  for (const auto& writer : writers) EXPECT_TRUE(writer->read_until("written").contains("written"));
}

TEST_F(HttpServerTest, LongReadsAndStreamsHoldUpNobodyWhoWaitsForNothing) {
  constexpr int kThreads = 4;  // of routes that may wait
  std::latch begun(kThreads), store(1);
  const auto look = [&] {
    begun.count_down();
    store.wait();
  };
  router_.add("GET", "/read", {.access = Access::open(), .summary = "answers when the store does"}, [&](Request&) {
    look();
    return text("read");
  });
  router_.add("GET", "/news", {.access = Access::open(), .summary = "tells when the store does"}, [&](Request&) {
    Response response;
    response.stream = [&, told = false]() mutable -> std::optional<std::string> {
      if (std::exchange(told, true)) return std::nullopt;
      look();
      return "news";
    };
    return response;
  });
  router_.add("GET", "/alive", {.access = Access::open(), .summary = "looks at nothing", .at_once = true},
              [](Request&) { return text("alive!"); });
  start({.waiting_threads = kThreads});
  std::vector<std::unique_ptr<Client>> readers;
  for (int i = 0; i < kThreads; ++i) {
    readers.push_back(std::make_unique<Client>(server_->port()));
    readers.back()->get(i < 2 ? "/news" : "/read");
  }
  begun.wait();
  for (int i = 0; i < 4; ++i) {
    Client other(server_->port());
    other.get("/alive");
    EXPECT_TRUE(other.read_until("alive!").starts_with("HTTP/1.1 200"));
  }
  store.count_down();
  for (int i = 0; i < kThreads; ++i) {
    const std::string wanted = i < 2 ? "news" : "read";
    EXPECT_TRUE(readers[static_cast<std::size_t>(i)]->read_until(wanted).contains(wanted));
  }
}

TEST_F(HttpServerTest, ARouteThatThrowsIsAnsweredAllTheSame) {
  router_.add("GET", "/throws", {.access = Access::open(), .summary = "throws"},
              [](Request&) -> Response { throw std::runtime_error("out of paper"); });
  start();
  Client client(server_->port());
  client.get("/throws");
  EXPECT_TRUE(client.read_until("out of paper").starts_with("HTTP/1.1 503"));
  client.read_until("}");
  client.get("/now");
  EXPECT_TRUE(client.read_until("now!").contains("200"));
}

TEST_F(HttpServerTest, WhoConnectsBeforeItServesIsAnsweredWhenItDoes) {
  server_ = std::move(*HttpServer::listen({.port = 0}, router_, log_));
  Client early(server_->port());
  early.get("/now");
  server_->serve();
  EXPECT_TRUE(early.read_until("now!").starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, OneThatNeverServedStops) {
  server_ = std::move(*HttpServer::listen({.port = 0}, router_, log_));
  server_->stop();
}

TEST_F(HttpServerTest, AStopClosesIdleConnectionsCleanly) {
  start();
  Client fresh(server_->port());
  Client used(server_->port());
  used.get("/now");
  EXPECT_TRUE(used.read_until("now!").starts_with("HTTP/1.1 200"));
  server_->stop();
  EXPECT_TRUE(used.closed_cleanly());
  EXPECT_TRUE(fresh.closed_cleanly());
}

TEST_F(HttpServerTest, AnAnswerUnderWayAtAStopIsStillGiven) {
  start({.drain = std::chrono::minutes(1)});
  Client client(server_->port());
  client.get("/later");
  Respond respond = asked_.get_future().get();
  Client idle(server_->port());
  idle.get("/now");
  idle.read_until("now!");
  std::thread stopping([this] { server_->stop(); });
  EXPECT_TRUE(idle.closed_cleanly());  // so the stop has begun
  respond(text("here it is"));
  EXPECT_TRUE(client.read_until("here it is").contains("here it is"));
  EXPECT_TRUE(client.closed_cleanly());
  stopping.join();
}

TEST_F(HttpServerTest, AStopDoesNotWaitForARouteThatNeverAnswers) {
  start({.drain = std::chrono::milliseconds(10)});
  Client client(server_->port());
  client.get("/later");
  const Respond respond = asked_.get_future().get();
  server_->stop();
  client.read_until("never");  // returns: the connection is closed
}

TEST_F(HttpServerTest, AnAnswerThatNobodyTakesIsToldToItsRoute) {
  std::promise<void> undelivered;
  prepare_ = [&](Request::Departure& departure) { departure.undelivered = [&] { undelivered.set_value(); }; };
  start();
  Client client(server_->port());
  client.get("/later");
  Respond respond = asked_.get_future().get();
  client.close();
  respond(text("too late"));
  EXPECT_EQ(undelivered.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST_F(HttpServerTest, AnAnswerThatIsTakenIsNotCalledUndelivered) {
  bool undelivered = false;
  prepare_ = [&](Request::Departure& departure) { departure.undelivered = [&] { undelivered = true; }; };
  start();
  Client client(server_->port());
  client.get("/later");
  asked_.get_future().get()(text("in time"));
  EXPECT_TRUE(client.read_until("in time").contains("in time"));
  server_->stop();
  EXPECT_FALSE(undelivered);
}

TEST_F(HttpServerTest, CountsRequestsByRouteAndStatus) {
  start();
  Client client(server_->port());
  client.get("/now");
  client.read_until("now!");
  client.get("/nowhere");
  client.read_until("no such path");
  server_->stop();
  EXPECT_EQ(router_.routes()[0].figures->by_code[200 - RouteFigures::kFirstCode].load(), 1U);
  EXPECT_EQ(router_.routes()[1].figures->by_code[200 - RouteFigures::kFirstCode].load(), 0U);
  EXPECT_EQ(router_.unrouted().by_code[404 - RouteFigures::kFirstCode].load(), 1U);
}

}  // namespace
}  // namespace bartleby
