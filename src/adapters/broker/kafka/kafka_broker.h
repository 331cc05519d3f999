// Apache Kafka behind the broker port, by librdkafka.
//
// Any thread may call it; calls block up to the limit for one call. Opening it reaches nobody: a cluster that is
// away is an error of the calls, which can be tried again. It owns a handle for questions, and one for producing and
// one for reading, made when they are first needed; members have their own. It must outlive its members.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/broker/kafka/admin.h"
#include "adapters/broker/kafka/faults.h"
#include "adapters/broker/kafka/log_ends.h"
#include "adapters/broker/kafka/options.h"
#include "adapters/broker/kafka/range_reader.h"
#include "adapters/broker/kafka/transactions.h"
#include "ports/broker.h"
#include "ports/group_look.h"
#include "ports/log_look.h"
#include "ports/topic_ids.h"

namespace bartleby::kafka {

class KafkaBroker : public Broker, public GroupLook, public LogLook, public TopicIds {
 public:
  // Fails with kInvalid when librdkafka does not take the properties, or one of them holds a guarantee.
  static Result<std::unique_ptr<KafkaBroker>> open(Options options);
  explicit KafkaBroker(std::shared_ptr<Admin> admin);
  ~KafkaBroker() override;

  // ---- Broker
  Result<std::unique_ptr<Member>> join(const GroupSpec& spec) override;
  Result<std::vector<TopicSpec>> ensure_topics(const std::vector<TopicSpec>& wanted) override;
  Result<TopicSpec> describe(const std::string& topic) override;
  Result<std::vector<CommittedOffset>> group_offsets(const std::string& group,
                                                     const std::vector<std::string>& topics) override;
  Result<void> commit_first(const std::string& group, const std::vector<CommittedOffset>& offsets) override;
  Result<std::pair<Offset, Offset>> log_range(const TopicPartition& tp) override;
  Result<std::vector<Written>> produce(const std::vector<Record>& records) override;
  Result<std::vector<Written>> produce_with(const std::vector<Record>& records, const Cursor& cursor) override;
  Result<void> writable() override { return admin_->reached(); }
  Result<std::vector<TopicSpec>> topics() override;
  Result<std::vector<LogRecord>> read(const TopicPartition& tp, Offset from, std::size_t records,
                                      std::size_t bytes) override;

  // ---- GroupLook
  Result<std::vector<CommittedOffset>> offsets_by_now(const std::string& group,
                                                      const std::vector<std::string>& topics) override;
  std::map<TopicPartition, Offset> committed_within(const std::string& group, const std::vector<TopicPartition>& tps,
                                                    Duration limit) override;
  Result<std::vector<std::string>> groups_on(const std::string& topic) override;

  // ---- LogLook
  bool answers() override { return admin_->reached().has_value(); }
  Result<TopicSpec> known(const std::string& topic) override { return admin_->known(topic); }
  std::map<TopicPartition, Offset> ends(const std::vector<TopicPartition>& tps, Duration limit) override;
  std::map<TopicPartition, Offset> ends_now(const std::vector<TopicPartition>& tps, Duration limit) override;
  Result<std::optional<Offset>> first_at(const TopicPartition& tp, Timestamp time) override;
  Result<std::vector<TopicSpec>> topic_names() override;

  // ---- TopicIds
  Result<std::map<std::string, std::string>> topic_ids(const std::vector<std::string>& topics) override;

  // ---- For tests: members must be of this broker.
  Admin& admin() { return *admin_; }
  void fate_of_next_write(Member& member, WriteFate fate);
  void skip_at_next_start(Member& member, std::int64_t offsets);  // as if librdkafka had not begun where it was told
  void kill(std::unique_ptr<Member> member);
  std::size_t send_late();  // what members that were killed had not sent yet; returns how many there were

 private:
  Result<std::vector<TopicPartition>> partitions_of(const std::vector<std::string>& topics);
  Result<void> check(const std::vector<Record>& records);
  Result<void> open_producer();

  const std::shared_ptr<Admin> admin_;
  LogEnds ends_;

  std::mutex producing_;  // one call at a time: reports are told to whoever waits
  HandlePtr producer_;
  QueuePtr reports_;

  std::mutex moving_;                           // of cursors: one at a time
  std::map<std::string, Transactions> movers_;  // by group, which is their transactional id

  std::vector<HandlePtr> late_;  // of members that were killed

  std::mutex reading_;
  std::mutex ringing_;
  std::condition_variable rung_;
  bool ring_ = false;
  Bell bell_;
  std::unique_ptr<RangeReader> reader_;
  std::uint64_t last_read_ = 0;
};

}  // namespace bartleby::kafka
