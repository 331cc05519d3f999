// How many messages a second are on disk when they are sent one by one over HTTP, by many connections and by one.
// Everything a sender waits for is in it: the connection, the route, and the commit that it shares with the others.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "adapters/broker/embedded/embedded_broker.h"
#include "bench/benches.h"
#include "server/http_server.h"
#include "server/routes/routes.h"

namespace bartleby::bench {
namespace {

using Time = std::chrono::steady_clock;

constexpr const char* kFolder = "build/bench/http_append";
constexpr std::chrono::milliseconds kRun{1500};
constexpr std::size_t kMany = 64;
const std::string kRequest =
    "POST /api/v1/topics/t/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200\r\n\r\n" + std::string(200, 'v');

int connected_to(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

// Whether the message was taken.
bool send_one(int descriptor) {
  if (::send(descriptor, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(kRequest.size()))
    return false;
  std::string answer;
  char part[4096];
  while (!answer.ends_with('}')) {
    const ssize_t n = ::recv(descriptor, part, sizeof part, 0);
    if (n <= 0) return false;
    answer.append(part, static_cast<std::size_t>(n));
  }
  return answer.starts_with("HTTP/1.1 200");
}

double sent_by(std::size_t connections) {
  std::filesystem::remove_all(kFolder);
  embedded::Options options;
  options.folder = kFolder;
  auto broker = embedded::EmbeddedBroker::open(options);
  if (!broker) return 0;
  Services services;
  services.broker = broker->get();
  services.workers = [] { return std::vector<std::shared_ptr<Worker>>(); };
  Router router;
  add_topic_routes(router, services);
  Log log(LogFormat::kText, LogLevel::kError);
  auto server = HttpServer::start({.port = 0}, router, log);
  if (!server) return 0;
  std::atomic<std::size_t> taken{0};
  std::vector<std::thread> threads;
  const auto began = Time::now();
  for (std::size_t i = 0; i < connections; ++i)
    threads.emplace_back([&] {
      const int descriptor = connected_to((*server)->port());
      while (Time::now() - began < kRun && send_one(descriptor)) ++taken;
      ::close(descriptor);
    });
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(taken) / std::chrono::duration<double>(Time::now() - began).count();
}

}  // namespace

Row http_append() {
  std::array<double, kRepeats> many{}, two{}, one{};
  for (std::size_t i = 0; i < kRepeats; ++i) {
    one[i] = sent_by(1);
    two[i] = sent_by(2);
    many[i] = sent_by(kMany);
  }
  std::filesystem::remove_all(kFolder);
  const Figure figure = figure_of(many), peer = figure_of(one);
  Row row{.name = "http_append", .ours = figure.median, .peer = peer.median, .unit = "messages/s"};
  row.peer_name = "one connection";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.goal = ">= 4.0 x";
  row.met = row.ratio >= 4;
  row.spread = figure.spread;
  row.notes.push_back(
      text("%zu connections, one message of 200 bytes at a time; two connections %.0f/s; spread of the "
           "peer %.0f %%",
           kMany, figure_of(two).median, peer.spread * 100));
  return row;
}

}  // namespace bartleby::bench
