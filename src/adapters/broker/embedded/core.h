// What the broker and its members share: the lock, the topics, the groups, and the writer.
//
// Everything public is used under `mutex`, except where it says otherwise. It lives as long as the broker or any
// of its members; once closed, writes are answered as not done. Deadlines (revocations that take too long,
// frozen members) are looked at by whoever polls, and by the writer.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/broker/embedded/catalog.h"
#include "adapters/broker/embedded/faults.h"
#include "adapters/broker/embedded/group.h"
#include "adapters/broker/embedded/options.h"
#include "adapters/broker/embedded/writer.h"
#include "base/lock_file.h"
#include "base/random.h"

namespace bartleby::embedded {

class EmbeddedMember;

// The broker refuses longer metadata of an offset, as Kafka does: characters beyond the basic plane are two.
constexpr std::size_t kMetadataLimit = 4096;
std::size_t utf16_units(const std::string& utf8);

class Core {
 public:
  // Reads what is there and starts the writer.
  static Result<std::shared_ptr<Core>> open(Options options);
  Core(Options options, LockFile lock, LogFile file);
  ~Core();

  const Options& options() const { return options_; }
  std::string path() const { return options_.folder + "/log.db"; }
  Now now() const { return options_.clock->now(); }

  std::mutex mutex;
  Topics topics;
  Writer& writer() { return *writer_; }

  Topic* topic(const std::string& name);
  PartitionLog* log(const TopicPartition& tp);  // null: not there
  Group& group(const std::string& name);
  Group* find_group(const std::string& name);
  const std::map<std::string, std::unique_ptr<Group>, std::less<>>& groups() const { return groups_; }

  // Where a record goes, or why it cannot.
  std::optional<Refusal> place(const Record& record, PartitionLog*& where);

  void add(EmbeddedMember& member);
  void remove(EmbeddedMember& member);
  EmbeddedMember* member(std::uint64_t number);
  EmbeddedMember* member(const std::string& transactional_id);
  std::string new_transactional_id(const GroupSpec& spec);

  // Handles what is due and says when something will be.
  Instant tick(Instant now);
  // Without the lock: queues the job, waits until it has landed or time is up.
  Result<void> call(const std::shared_ptr<Job>& job);
  void close();  // without the lock

  // ---- Writes that tests hold open
  std::vector<HeldWrite> held;
  bool pending(const std::string& group, const TopicPartition& tp) const;
  void give_up_held(const std::string& transactional_id);
  std::uint64_t late_requests = 0;

 private:
  void load(const std::vector<StoredTopic>& stored, const std::vector<StoredOffset>& offsets);
  void tick_held(Instant now, Instant& next);
  void end_held(const HeldWrite& write);

  const Options options_;
  LockFile lock_;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups_;
  std::vector<EmbeddedMember*> members_;
  std::uint64_t last_member_ = 0;
  std::int32_t keyless_ = 0;  // where the next record without a key goes
  Random random_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace bartleby::embedded
