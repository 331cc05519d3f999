// The embedded broker: topics, groups and offsets in one SQLite file, for one process.
//
// Any thread may call it. What it has acknowledged is on disk; many producers share one commit. It owns the
// folder (by a lock file), the writer's thread, and with its members the connections to log.db. Members may
// outlive it, but then write no more. When the disk is full or broken, writing fails with kUnavailable and a
// message that says what SQLite said; nothing is lost, and it works again as soon as the disk does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapters/broker/embedded/faults.h"
#include "adapters/broker/embedded/options.h"
#include "ports/broker.h"
#include "ports/log_keeper.h"

namespace bartleby::embedded {

class Core;
class LogReader;
struct Job;

class EmbeddedBroker : public Broker, public LogKeeper {
 public:
  // Fails with kFenced if another process has the folder (the message names its pid), with kMalformed if log.db is
  // damaged, with kUnsupported if a newer version or another program wrote it.
  static Result<std::unique_ptr<EmbeddedBroker>> open(Options options);
  explicit EmbeddedBroker(std::shared_ptr<Core> core);
  ~EmbeddedBroker() override;

  // ---- Broker
  Result<std::unique_ptr<Member>> join(const GroupSpec& spec) override;
  Result<std::vector<TopicSpec>> ensure_topics(const std::vector<TopicSpec>& wanted) override;
  Result<TopicSpec> describe(const std::string& topic) override;
  Result<std::vector<CommittedOffset>> group_offsets(const std::string& group,
                                                     const std::vector<std::string>& topics) override;
  Result<void> commit_first(const std::string& group, const std::vector<CommittedOffset>& offsets) override;
  Result<std::pair<Offset, Offset>> log_range(const TopicPartition& tp) override;
  Result<std::vector<Written>> produce(const std::vector<Record>& records) override;
  Result<void> writable() override;
  Result<std::vector<Written>> produce_with(const std::vector<Record>& records, const Cursor& cursor) override;
  Result<std::vector<TopicSpec>> topics() override;
  Result<std::vector<LogRecord>> read(const TopicPartition& tp, Offset from, std::size_t records,
                                      std::size_t bytes) override;

  // ---- LogKeeper
  void keep_from(const TopicPartition& tp, Offset offset) override;

  // Deletes what lies below the offset, and compacts up to the end, now; both return when it is done.
  Result<void> delete_before(const TopicPartition& tp, Offset offset);
  Result<void> compact(const TopicPartition& tp);
  Result<void> upkeep();  // a round of retention and compaction, as it happens by itself now and then

  std::uint64_t transactions() const;  // of the writer since it was opened

  // ---- For tests: what cannot happen by itself (faults.h). Members must be of this broker.
  void fate_of_next_write(Member& member, WriteFate fate);
  void freeze(Member& member, bool frozen);
  void move_generation(const std::string& group);
  void deny(const std::string& topic, bool denied);
  void stall(const std::string& topic, bool stalled);

 private:
  Result<std::vector<Written>> append(const std::vector<Record>& records, const std::shared_ptr<Job>& job);
  Result<void> wait_for_upkeep();

  std::shared_ptr<Core> core_;
  std::mutex changing_topics_;
  std::mutex reading_;  // of the reader below, which is opened when it is first needed
  std::unique_ptr<LogReader> reader_;
};

}  // namespace bartleby::embedded
