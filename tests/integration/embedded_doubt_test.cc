// A disk that fails in the middle of a commit: nobody is told that a write is not done while a crash could still
// bring it back. SQLite's own calls to write are made to fail.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "adapters/broker/embedded/embedded_broker.h"
#include "tests/support/played_clock.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::embedded {
namespace {

std::atomic<int> writes_left{-1};  // before they fail; -1: they do not

bool fails() {
  if (writes_left < 0) return false;
  if (writes_left == 0) {
    errno = EIO;
    return true;
  }
  --writes_left;
  return false;
}

ssize_t broken_write(int file, const void* data, std::size_t size) { return fails() ? -1 : ::write(file, data, size); }
ssize_t broken_pwrite(int file, const void* data, std::size_t size, off_t at) {
  return fails() ? -1 : ::pwrite(file, data, size, at);
}

class EmbeddedDoubt : public testing::Test {
 protected:
  EmbeddedDoubt() {
    sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
    vfs->xSetSystemCall(vfs, "write", reinterpret_cast<sqlite3_syscall_ptr>(broken_write));
    vfs->xSetSystemCall(vfs, "pwrite", reinterpret_cast<sqlite3_syscall_ptr>(broken_pwrite));
    vfs->xSetSystemCall(vfs, "pwrite64", reinterpret_cast<sqlite3_syscall_ptr>(broken_pwrite));
    Options options;
    options.folder = folder_.path();
    options.clock = std::make_shared<support::PlayedClock>();
    broker_ = std::move(*EmbeddedBroker::open(options));
    TopicSpec spec;
    spec.name = "t";
    EXPECT_TRUE(broker_->ensure_topics({spec}).has_value());
    member_ = std::move(*broker_->join({"g", {"t"}, "i", Duration(10000)}));
    ref_ = next<PartitionAssigned>()->ref;
  }
  ~EmbeddedDoubt() override {
    writes_left = -1;
    sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
    vfs->xSetSystemCall(vfs, nullptr, nullptr);
  }

  template <class Event>
  std::optional<Event> next() {
    for (int i = 0; i < 1000; ++i) {
      std::vector<BrokerEvent> events;
      member_->poll(events, Duration(50));
      for (const BrokerEvent& e : events)
        if (const auto* found = std::get_if<Event>(&e)) return *found;
    }
    return std::nullopt;
  }
  WriteResult write(std::uint64_t serial, std::int64_t offset) {
    member_->write({WriteSerial(serial), {{"t", Partition(0), "k", "v", {}}}, {{ref_, Offset(offset), "m"}}});
    return next<WriteAnswered>()->result;
  }

  support::ScratchFolder folder_;
  std::unique_ptr<EmbeddedBroker> broker_;
  std::unique_ptr<Member> member_;
  PartitionRef ref_;
};

TEST_F(EmbeddedDoubt, AWriteIsUnknownUntilALaterCommitHasOverwrittenIt) {
  ASSERT_EQ(write(1, 1), WriteResult::kDone);
  writes_left = 0;
  ASSERT_EQ(write(2, 2), WriteResult::kUnknown);
  member_->resolve(WriteSerial(2));
  EXPECT_FALSE(next<WriteResolved>()->answered) << "the disk still fails";
  writes_left = -1;
  member_->resolve(WriteSerial(2));
  const auto truth = next<WriteResolved>();
  ASSERT_TRUE(truth->answered);
  EXPECT_EQ(truth->offsets.at(0).offset, Offset(1));
  ASSERT_EQ(write(3, 3), WriteResult::kDone);
  EXPECT_EQ(broker_->log_range({"t", Partition(0)})->second, Offset(2)) << "no offset was lost";
}

TEST_F(EmbeddedDoubt, AProducerHearsWhatTheDiskSaysAndGoesOnWhenItWorksAgain) {
  for (int good = 0; good < 6; ++good) {
    const Offset before = broker_->log_range({"t", Partition(0)})->second;
    writes_left = good;
    const auto failed = broker_->produce({{"t", Partition(0), "k", std::string(9000, 'x'), {}}});
    writes_left = -1;
    if (!failed) {
      EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable) << failed.error().message;
      EXPECT_EQ(broker_->log_range({"t", Partition(0)})->second, before);
    }
    const auto works = broker_->produce({{"t", Partition(0), "k", "v", {}}});
    ASSERT_TRUE(works.has_value());
    EXPECT_EQ(works->at(0).offset, failed ? Offset(before.v + 1) : before);
  }
}

}  // namespace
}  // namespace bartleby::embedded
