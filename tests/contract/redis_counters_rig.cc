// A real Redis under the contract: one server for the program, which ends with it; and what only a server can do wrong:
// be away, come back empty, take no writes, hold something else, answer nonsense or not at all.
#include <gtest/gtest.h>

#ifdef BARTLEBY_HAS_REDIS

#include <unistd.h>

#include <atomic>
#include <thread>

#include "adapters/counters/redis/redis_counters.h"
#include "tests/contract/counters_contract.h"
#include "tests/support/redis_server.h"

namespace bartleby::contract {
namespace {

using support::RedisServer;

const char* const kNone = "there is no redis-server here (Debian: redis-server)";

redis::Options options_of(std::uint16_t port) {
  redis::Options options;
  options.link.port = port;
  options.link.limit = Duration(5000);  // of a busy machine
  options.link.connect_limit = Duration(5000);
  options.link.first_pause = Duration(5);
  options.link.longest_pause = Duration(50);
  options.link.idle = Duration(50);
  return options;
}

// Waits until the cache says so; false: in vain.
template <class Says>
bool soon(Says says) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!says()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class RedisCountersRig : public CountersRig {
 public:
  RedisCountersRig() : counters_(options_of(server().port())) {
    if (server().port() != 0) soon([this] { return counters_.reachable().has_value(); });
  }

  static RedisServer& server() {
    static RedisServer one;
    return one;
  }
  std::string why_not() const override { return server().port() == 0 ? kNone : ""; }
  Counters& counters() override { return counters_; }
  void pass(Duration time) override { std::this_thread::sleep_for(time); }
  std::string fresh(const std::string& what) override {
    static std::atomic<int> names = 0;
    return what + "-" + std::to_string(::getpid()) + "-" + std::to_string(++names);
  }

 private:
  redis::RedisCounters counters_;
};

INSTANTIATE_TEST_SUITE_P(Redis, CountersContract,
                         testing::Values(CountersRigFactory{"Redis",
                                                            [] { return std::make_unique<RedisCountersRig>(); }}),
                         [](const auto& instance) { return instance.param.name; });

// What a test does by hand.
redis::Reply told(redis::Link& link, redis::Command command) {
  auto replies = link.ask({std::move(command)});
  return replies ? replies->front() : redis::Reply{redis::Reply::Type::kError, replies.error().message};
}

TEST(RedisCounters, OneThatIsAwayFailsAtOnceAndIsFoundWhenItComes) {
  if (RedisCountersRig::server().port() == 0) GTEST_SKIP() << kNone;
  const std::uint16_t port = support::free_port();
  redis::RedisCounters counters(options_of(port));
  ASSERT_TRUE(soon([&] { return counters.reachable().error().message.contains("refused"); }));
  EXPECT_EQ(counters.increment("k", Duration(1000)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(counters.put_heartbeat({"t", "1", "x"}, Duration(1000)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(counters.heartbeats({}).error().code, ErrorCode::kUnavailable);
  RedisServer server({}, port);
  ASSERT_TRUE(soon([&] { return counters.increment("k", Duration(1000)).has_value(); }));
  EXPECT_TRUE(counters.reachable());
}

TEST(RedisCounters, OneThatWasKilledComesBackEmpty) {
  auto server = std::make_unique<RedisServer>();
  if (server->port() == 0) GTEST_SKIP() << kNone;
  redis::RedisCounters counters(options_of(server->port()));
  ASSERT_TRUE(soon([&] { return counters.increment("k", Duration(100000)).has_value(); }));
  const std::uint16_t port = server->port();
  server.reset();
  ASSERT_TRUE(soon([&] { return !counters.reachable(); }));  // nobody had to ask it
  EXPECT_FALSE(counters.count("k"));
  server = std::make_unique<RedisServer>(std::vector<std::string>{}, port);
  ASSERT_TRUE(soon([&] { return counters.count("k").has_value(); }));
  EXPECT_EQ(counters.count("k").value(), 0);
}

TEST(RedisCounters, WhatHoldsSomethingElseIsLeftAsItIs) {
  RedisServer server;
  if (server.port() == 0) GTEST_SKIP() << kNone;
  redis::Link link(options_of(server.port()).link);
  redis::RedisCounters counters(options_of(server.port()));
  ASSERT_TRUE(soon([&] { return link.reachable() && counters.reachable(); }));
  told(link, {"RPUSH", "list", "x"});
  told(link, {"SET", "text", "many"});
  told(link, {"SET", "large", "9223372036854775807"});
  for (const char* key : {"list", "text"}) {
    EXPECT_EQ(counters.increment(key, Duration(1000)).error().code, ErrorCode::kMalformed) << key;
    EXPECT_EQ(counters.count(key).error().code, ErrorCode::kMalformed) << key;
    EXPECT_EQ(told(link, {"PTTL", key}).number, -1) << "it was given an expiry";
  }
  EXPECT_EQ(counters.increment("large", Duration(1000)).error().code, ErrorCode::kMalformed);
  told(link, {"RPUSH", "worker:t:1", "x"});
  EXPECT_FALSE(counters.heartbeat("t", "1"));
  told(link, {"SET", "bartleby:heartbeats", "x"});
  EXPECT_FALSE(counters.put_heartbeat({"t", "2", "x"}, Duration(1000)));
  EXPECT_FALSE(counters.heartbeats({}));
  EXPECT_TRUE(counters.reachable()) << "others are well";
  EXPECT_EQ(counters.increment("fine", Duration(1000)).value(), 1);
}

TEST(RedisCounters, OneThatTakesNoWritesIsSaidToAndLeftForAnother) {
  RedisServer server;
  if (server.port() == 0) GTEST_SKIP() << kNone;
  redis::Link link(options_of(server.port()).link);
  redis::Options options = options_of(server.port());
  options.look_for_writer = Duration(0);
  redis::RedisCounters counters(options);
  ASSERT_TRUE(soon([&] { return link.reachable() && counters.reachable(); }));
  told(link, {"REPLICAOF", "127.0.0.1", "1"});
  ASSERT_TRUE(soon([&] {
    const auto refused = counters.increment("k", Duration(1000));
    return !refused && refused.error().message.contains("READONLY");
  }));
  EXPECT_FALSE(counters.reachable());
  told(link, {"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(soon([&] { return counters.increment("k", Duration(1000)) && counters.reachable(); }));
}

TEST(RedisCounters, HeartbeatsComeBackByThemselvesAfterAFlush) {
  RedisServer server;
  if (server.port() == 0) GTEST_SKIP() << kNone;
  redis::Link link(options_of(server.port()).link);
  redis::RedisCounters counters(options_of(server.port()));
  ASSERT_TRUE(soon([&] { return link.reachable() && counters.reachable(); }));
  ASSERT_TRUE(counters.put_heartbeat({"t", "1", "x"}, Duration(100000)));
  told(link, {"FLUSHALL"});
  EXPECT_TRUE(counters.heartbeats({})->empty());
  ASSERT_TRUE(counters.put_heartbeat({"t", "1", "y"}, Duration(100000)));
  EXPECT_EQ(counters.heartbeats({})->size(), 1U);
}

TEST(RedisCounters, APasswordAndADatabaseAreSaid) {
  RedisServer server({"--requirepass", "s3cret pass"});
  if (server.port() == 0) GTEST_SKIP() << kNone;
  redis::Options options = options_of(server.port());
  redis::RedisCounters without(options);
  options.link.password = "s3cret pass";
  options.link.database = 3;
  redis::RedisCounters with(options);
  ASSERT_TRUE(soon([&] { return with.reachable().has_value(); }));
  EXPECT_EQ(with.increment("k", Duration(1000)).value(), 1);
  EXPECT_TRUE(soon([&] { return without.reachable().error().message.contains("NOAUTH"); }));
}

// A server of our own that answers the greeting, and everything else with what it is given; empty: with nothing.
class WrongServer {
 public:
  explicit WrongServer(std::string answer) : answer_(std::move(answer)) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ::bind(fd_, reinterpret_cast<sockaddr*>(&at), size);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    ::listen(fd_, 16);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~WrongServer() {
    ::shutdown(fd_, SHUT_RDWR);
    stopping_ = true;
    thread_.join();
    ::close(fd_);
  }
  std::uint16_t port() const { return port_; }

 private:
  void serve() {
    while (!stopping_) {
      const int one = ::accept(fd_, nullptr, nullptr);
      if (one < 0) return;
      timeval limit{0, 20000};
      ::setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      std::array<char, 4096> in{};
      bool greeted = false;
      while (!stopping_) {
        const ssize_t n = ::recv(one, in.data(), in.size(), 0);
        if (n < 0 && errno == EAGAIN) continue;  // on Linux also what would block
        if (n <= 0) break;
        const std::string& out = greeted ? answer_ : kPong;
        greeted = true;
        if (!out.empty() && ::send(one, out.data(), out.size(), MSG_NOSIGNAL) < 0) break;
      }
      ::close(one);
    }
  }

  const std::string kPong = "+PONG\r\n";
  const std::string answer_;
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

TEST(RedisCounters, NonsenseIsAnErrorAndNothingElse) {
  const std::vector<std::string> answers = {
      "",                                // never
      "hello\r\n",                       // no such type
      "$-7\r\n",                         // no such length
      "$5\r\nab",                        // half of it
      ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",  // more than was asked
      "*2147483647\r\n",                 // a list that no memory holds
      "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
      "$536870912\r\n" + std::string(100000, 'x'),
      std::string("\0\xff\r\n\0", 5),
      "-\r\n",
      "+OK\r\n",
      ":99999999999999999999999999\r\n",
  };
  for (const std::string& answer : answers) {
    WrongServer server(answer);
    redis::Options options = options_of(server.port());
    options.link.limit = Duration(150);
    options.link.idle = Duration(60000);
    redis::RedisCounters counters(options);
    const auto named = answer.substr(0, 30);
    ASSERT_TRUE(soon([&] { return counters.reachable().has_value(); })) << named;
    EXPECT_FALSE(counters.increment("k", Duration(1000))) << named;
    EXPECT_FALSE(counters.put_heartbeat({"t", "1", "x"}, Duration(1000))) << named;
    EXPECT_FALSE(counters.heartbeats({})) << named;
    EXPECT_FALSE(counters.heartbeat("t", "1")) << named;
  }
}

TEST(RedisCounters, MoreThanTheQueueHoldsIsRefused) {
  WrongServer server("");
  redis::Options options = options_of(server.port());
  options.link.max_queued = 3;
  redis::Link link(options.link);
  ASSERT_TRUE(soon([&] { return link.reachable().has_value(); }));
  const auto refused = link.ask({{"GET", "a"}, {"GET", "b"}, {"GET", "c"}, {"GET", "d"}});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.contains("waiting already"));
}

}  // namespace
}  // namespace bartleby::contract

#else

TEST(RedisCounters, NotBuilt) { GTEST_SKIP() << "built without Redis: there is no hiredis here (libhiredis-dev)"; }

#endif
