// The fixture of the broker contract: what every implementation of ports/broker.h must do.
//
// The tests are in broker_*_test.cc, and a rig registers its broker with INSTANTIATE_TEST_SUITE_P. Members
// live in `Probe`s, which keep every event they were handed. Waiting is polling all probes until something
// holds, up to the rig's limit: nothing sleeps, and a test that waits in vain fails.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/contract/broker_rig.h"

namespace bartleby::contract {

class Probe {
 public:
  explicit Probe(std::unique_ptr<Member> member) : member_(std::move(member)) {}

  Member& operator*() const { return *member_; }
  Member* operator->() const { return member_.get(); }
  bool gone() const { return member_ == nullptr; }
  std::unique_ptr<Member> take() { return std::move(member_); }
  void poll(Duration wait);

  const std::vector<BrokerEvent>& events() const { return events_; }
  template <class Event, class Predicate>
  const Event* find(Predicate predicate) const {
    for (const BrokerEvent& event : events_)
      if (const auto* found = std::get_if<Event>(&event); found != nullptr && predicate(*found)) return found;
    return nullptr;
  }
  template <class Event>
  std::size_t count() const {
    std::size_t n = 0;
    for (const BrokerEvent& event : events_)
      if (std::holds_alternative<Event>(event)) ++n;
    return n;
  }

  // The assignment of a partition that is not lost; revoked ones count until they are released here.
  std::optional<PartitionRef> ref(const TopicPartition& tp) const;
  std::size_t owned() const;
  void release(const TopicPartition& tp);
  std::vector<LogRecord> records(PartitionRef ref) const;
  std::optional<Offset> end(PartitionRef ref) const;  // the last one told

  std::uint64_t next_number = 1;  // of requests and writes

 private:
  struct Held {
    TopicPartition tp;
    PartitionRef ref;
  };
  std::unique_ptr<Member> member_;
  std::vector<BrokerEvent> events_;
  std::vector<Held> held_;
};

struct Range {
  bool answered = true;
  std::vector<LogRecord> records;
  Offset next;
};

class BrokerContract : public testing::TestWithParam<RigFactory> {
 protected:
  void SetUp() override {
    rig_ = GetParam().make();
    if (const std::string why = rig_->missing(); !why.empty()) GTEST_SKIP() << why;
  }

  BrokerRig& rig() { return *rig_; }
  Broker& broker() { return rig_->broker(); }

  // ---- The world
  std::string topic(std::int32_t partitions = 1, bool compacted = false, std::size_t max_message = 1024 * 1024);
  Probe& join(const std::string& group, const std::vector<std::string>& topics, Duration session = Duration(10000));
  std::vector<Offset> produce(const TopicPartition& tp, const std::vector<std::string>& values);
  void kill(Probe& probe) { rig_->kill(probe.take()); }

  // ---- Waiting
  testing::AssertionResult await(const std::function<bool()>& predicate);
  void look_on(Duration time);
  PartitionRef assigned(Probe& probe, const TopicPartition& tp);
  // Joins alone, waits for the one partition, and starts it at 0.
  PartitionRef reading(Probe& probe, const TopicPartition& tp, Offset from = Offset(0));

  // ---- Requests, with their answer
  WriteSerial send(Probe& probe, std::vector<Record> records, std::vector<OffsetToCommit> offsets);
  WriteAnswered answer(Probe& probe, WriteSerial serial);
  WriteAnswered write(Probe& probe, std::vector<Record> records, std::vector<OffsetToCommit> offsets);
  // Tries again as long as it is not done, as a worker would.
  WriteAnswered write_until_done(Probe& probe, std::vector<Record> records, std::vector<OffsetToCommit> offsets);
  // A write whose answer is lost; tried again as long as it is not done before that.
  WriteAnswered lose(Probe& probe, Fate fate, std::vector<Record> records, std::vector<OffsetToCommit> offsets);
  // A write that stays open: returns when `observer` finds the offset of `tp` pending.
  void leave_open(Probe& writer, Probe& observer, const TopicPartition& tp, Fate fate, std::vector<Record> records,
                  OffsetToCommit offset);
  WriteResolved resolve(Probe& probe, WriteSerial serial);  // until answered
  OffsetsRead offsets(Probe& probe, const TopicPartition& tp, Stability stability);
  CommittedOffset stable(Probe& probe, const TopicPartition& tp);  // until answered
  bool fence(Probe& probe, const std::string& transactional_id);
  Range range(Probe& probe, const TopicPartition& tp, Offset from, Offset to, LaneFilter filter = {});
  LogRangeRead log_range(Probe& probe, const TopicPartition& tp);

 private:
  std::unique_ptr<BrokerRig> rig_;
  std::deque<Probe> probes_;  // after the rig: members go first
};

inline Record out(const TopicPartition& tp, const std::string& key, const std::string& value) {
  return {tp.topic, tp.partition, key, value, {}};
}

std::vector<std::string> values(const std::vector<LogRecord>& records);

// A test that needs what the rig's broker cannot be made to do says so and ends.
#define BARTLEBY_NEEDS(capability) \
  if (!rig().can().capability) GTEST_SKIP() << GetParam().name << " cannot be made to do this: " #capability

}  // namespace bartleby::contract
