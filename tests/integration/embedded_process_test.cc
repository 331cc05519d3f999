// The embedded broker and whole processes: killed while they produce, kept out of a folder, stopped by a limit of
// the system on the size of files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "adapters/broker/embedded/embedded_broker.h"
#include "adapters/broker/embedded/log_reader.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::embedded {
namespace {

constexpr int kProducers = 8;

Options in(const support::ScratchFolder& folder) {
  Options options;
  options.folder = folder.path();
  return options;
}

std::unique_ptr<EmbeddedBroker> opened(const Options& options) {
  auto broker = EmbeddedBroker::open(options);
  EXPECT_TRUE(broker.has_value()) << broker.error().message;
  return broker ? std::move(*broker) : nullptr;
}

// One process of its own, ended with the test.
class Child {
 public:
  template <class Work>
  explicit Child(Work work) {
    EXPECT_EQ(::pipe(pipe_), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(pipe_[0]);
      work(pipe_[1]);
      ::_exit(0);
    }
    ::close(pipe_[1]);
  }
  ~Child() {
    kill();
    ::close(pipe_[0]);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }
  int output() const { return pipe_[0]; }

 private:
  pid_t pid_ = 0;
  int pipe_[2] = {-1, -1};
};

struct Acknowledged {
  std::int32_t partition;
  std::int64_t offset;
  std::int64_t value;
};

TEST(EmbeddedProcess, WhatWasAcknowledgedIsThereAfterAKill) {
  for (int times = 0; times < 5; ++times) {
    const support::ScratchFolder folder;
    Child child([&](int out) {
      auto broker = EmbeddedBroker::open(in(folder));
      TopicSpec spec;
      spec.name = "t";
      spec.partitions = kProducers;
      if (!broker || !(*broker)->ensure_topics({spec})) ::_exit(1);
      std::vector<std::thread> producers;
      for (std::int32_t p = 0; p < kProducers; ++p)
        producers.emplace_back([&, p] {
          for (std::int64_t i = 0;; ++i) {
            const auto offsets = (*broker)->produce({{"t", Partition(p), std::to_string(i), std::to_string(i), {}}});
            if (!offsets) ::_exit(2);
            const Acknowledged told{p, offsets->at(0).offset.v, i};
            if (::write(out, &told, sizeof told) != sizeof told) ::_exit(3);  // whole: shorter than PIPE_BUF
          }
        });
      for (std::thread& producer : producers) producer.join();
    });
    std::vector<Acknowledged> all;
    Acknowledged told{};
    while (all.size() < 300 && ::read(child.output(), &told, sizeof told) == sizeof told) all.push_back(told);
    ASSERT_GE(all.size(), 300u);
    child.kill();
    while (::read(child.output(), &told, sizeof told) == sizeof told) all.push_back(told);

    const auto broker = opened(in(folder));
    ASSERT_NE(broker, nullptr);
    auto reader = LogReader::open(folder.path() + "/log.db");
    for (const Acknowledged& a : all) {
      ASSERT_GT(broker->log_range({"t", Partition(a.partition)})->second.v, a.offset);
      const auto read = reader->read(a.partition + 1, Offset(a.offset), Offset(a.offset + 1), 1, 1000, {});
      ASSERT_TRUE(read.has_value() && read->records.size() == 1) << a.partition << "/" << a.offset;
      ASSERT_EQ(read->records[0].value, std::to_string(a.value));
    }
  }
}

TEST(EmbeddedProcess, ASecondProcessIsKeptOutUntilTheFirstIsGone) {
  const support::ScratchFolder folder;
  Child child([&](int out) {
    auto broker = EmbeddedBroker::open(in(folder));
    const char ready = broker ? 'y' : 'n';
    if (::write(out, &ready, 1) == 1) ::pause();
  });
  char ready = 0;
  ASSERT_EQ(::read(child.output(), &ready, 1), 1);
  ASSERT_EQ(ready, 'y');
  const auto kept_out = EmbeddedBroker::open(in(folder));
  ASSERT_FALSE(kept_out.has_value());
  EXPECT_NE(kept_out.error().message.find("pid " + std::to_string(child.pid())), std::string::npos)
      << kept_out.error().message;
  child.kill();
  EXPECT_NE(opened(in(folder)), nullptr);
}

// RLIMIT_FSIZE: the kernel refuses to let any file grow further, as a full disk would; then the limit is lifted.
TEST(EmbeddedProcess, AFileThatCannotGrowRefusesWritesAndGoesOnWhenItCan) {
  const support::ScratchFolder folder;
  Child child([&](int out) {
    ::signal(SIGXFSZ, SIG_IGN);
    char verdict = 'x';
    auto broker = EmbeddedBroker::open(in(folder));
    TopicSpec spec;
    spec.name = "t";
    if (broker && (*broker)->ensure_topics({spec})) {
      const std::vector<Record> record = {{"t", Partition(0), "k", std::string(10000, 'x'), {}}};
      rlimit limit{};
      ::getrlimit(RLIMIT_FSIZE, &limit);
      rlimit small = limit;
      small.rlim_cur = 600000;
      ::setrlimit(RLIMIT_FSIZE, &small);
      std::int64_t written = 0;
      Result<std::vector<Written>> last;
      for (int i = 0; i < 500 && (last = (*broker)->produce(record)); ++i) ++written;
      const bool refused = !last && last.error().code == ErrorCode::kUnavailable;
      const bool again = !(*broker)->produce(record);
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const auto now = (*broker)->produce(record);
      const bool whole = now && now->at(0).offset.v == written;
      verdict = !refused ? 'r' : !again ? 'a' : !now ? 'n' : !whole ? 'w' : 'y';
    }
    if (::write(out, &verdict, 1) != 1) ::_exit(1);
  });
  char verdict = 0;
  ASSERT_EQ(::read(child.output(), &verdict, 1), 1);
  EXPECT_EQ(verdict, 'y');
}

TEST(EmbeddedProcess, AWaitingPollIsEndedByWakeAndByARecord) {
  const support::ScratchFolder folder;
  const auto broker = opened(in(folder));
  TopicSpec spec;
  spec.name = "t";
  ASSERT_TRUE(broker->ensure_topics({spec}).has_value());
  auto member = broker->join({"g", {"t"}, "i", Duration(10000)});
  std::vector<BrokerEvent> events;
  constexpr Duration kLong = std::chrono::hours(1);  // a wake that is lost is a test that does not end in time
  (*member)->poll(events, kLong);
  ASSERT_TRUE(std::holds_alternative<PartitionAssigned>(events.at(0)));
  (*member)->start(std::get<PartitionAssigned>(events[0]).ref, Offset(0));
  events.clear();
  (*member)->poll(events, kLong);
  ASSERT_TRUE(std::holds_alternative<EndReached>(events.at(0)));
  events.clear();
  {
    const std::jthread waker([&] { (*member)->wake(); });
    (*member)->poll(events, kLong);
    EXPECT_TRUE(events.empty());
  }
  const std::jthread producer([&] { (void)broker->produce({{"t", Partition(0), "k", "v", {}}}); });
  (*member)->poll(events, kLong);
  ASSERT_FALSE(events.empty());
  EXPECT_TRUE(std::holds_alternative<RecordsFetched>(events[0]));
}

}  // namespace
}  // namespace bartleby::embedded
