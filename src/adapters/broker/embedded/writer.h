// The one thread that writes log.db: it gathers what is waiting into one transaction, and everybody in it is
// answered when that is on disk (group commit). Between transactions it does upkeep and checkpoints.
//
// Jobs are queued under the lock of `Core` and written without it; one writer, so offsets are given out in
// memory. A job's callbacks run under the lock. If a transaction fails, nothing of it is there and every job in
// it is told; only when the disk does not say whether it has the commit is the answer `kUnknown`, until a later
// commit has overwritten it. While writing fails it tries by itself, so that everybody hears when it works again.
// The queue is bounded: producers wait for room.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/broker/embedded/catalog.h"
#include "adapters/broker/embedded/group.h"
#include "adapters/broker/embedded/options.h"
#include "adapters/broker/embedded/upkeep.h"

namespace bartleby::embedded {

enum class Landing : std::uint8_t { kDone, kNotDone, kUnknown };

struct Job {
  struct Commit {
    Group* group;
    PartitionLog* log;
    Offset offset;
    std::string metadata;
  };
  enum class Kind : std::uint8_t {
    kAppend,    // the records get offsets and are written
    kReserve,   // they get offsets only
    kReserved,  // they are written at the offsets that they have
  };

  Kind kind = Kind::kAppend;
  std::vector<Record> owned;  // behind `records`, unless the caller waits
  std::span<const Record> records;
  std::vector<PartitionLog*> where;   // by record
  std::vector<Offset> offsets;        // by record
  std::vector<Timestamp> timestamps;  // by record
  std::vector<Commit> commits;
  std::size_t bytes = 0;
  const void* writer = nullptr;  // whose it is, for `writing`
  // Each may be empty. `admit` says whether it may still be written; if not, it has answered, or set `error`.
  std::move_only_function<bool()> admit;
  std::move_only_function<Result<void>(LogFile&)> also;  // without the lock, inside the transaction
  std::move_only_function<void(Landing, const Error&)> landed;

  Landing landing = Landing::kNotDone;
  Error error{};
  std::binary_semaphore answered{0};  // for who waits: then `landing` and `error` are what they will be
};

class Writer {
 public:
  // `tick` is called under the lock, now and then, and answers when it wants to be called again.
  Writer(LogFile file, Options options, std::mutex& mutex, Topics& topics, std::function<Instant(Instant)> tick,
         std::function<void()> batch_over);
  ~Writer();

  void start();
  void stop();  // writes what is queued, then ends the thread

  // ---- Under the lock
  void enqueue(std::shared_ptr<Job> job);
  bool has_room(std::size_t bytes) const;
  bool forget(const std::shared_ptr<Job>& job);  // false: it is being written or over
  bool busy(const std::string& group, const TopicPartition& tp) const;
  bool writing(const void* writer) const;  // also what is queued
  bool idle() const { return queue_.empty() && batch_.empty() && !upkeep_running_; }
  bool in_doubt() const { return in_doubt_; }
  std::condition_variable& room() { return room_; }
  Upkeep& upkeep() { return upkeep_; }
  void upkeep_now();
  bool upkeep_over() const { return !upkeep_running_ && next_upkeep_ > Instant{} && upkeep_.idle(); }
  Result<void> upkeep_result() const { return upkeep_result_; }
  std::uint64_t batches() const { return batches_; }
  const Result<void>& writable() const { return writable_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using RealTime = std::chrono::steady_clock;
  void run();
  void wait_for_siblings(Lock& lock);
  void gather();
  void write_batch(Lock& lock);
  void probe(Lock& lock);
  bool nothing_to_write() const;
  Error cannot_write(Error error) const;
  void set_writable(Lock& lock, const Result<void>& result);
  Result<void> write();
  void publish(Landing landing, const Error& error);
  void land(Job& job, Landing landing, const Error& error);
  void do_upkeep(Lock& lock);
  void checkpoint(Lock& lock, bool all);
  void tell(Lock& lock, std::string_view chore, std::string& told, const Result<void>& result);

  LogFile file_;
  const Options options_;
  std::mutex& mutex_;
  std::function<Instant(Instant)> tick_;
  std::function<void()> batch_over_;
  Upkeep upkeep_;
  std::condition_variable work_, room_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::size_t queued_bytes_ = 0;
  std::vector<std::shared_ptr<Job>> batch_;  // being written
  std::vector<std::shared_ptr<Job>> over_;   // written, not all answered
  std::size_t expected_ = 0;                 // jobs of the last batch: as many may come again
  RealTime::duration commit_time_{};         // of the last batch
  std::uint64_t batches_ = 0;
  bool in_doubt_ = false;
  Result<void> writable_;  // whether the last that was to be written was
  Instant next_probe_{};   // while it was not
  bool stopping_ = false;
  bool upkeep_running_ = false;
  Instant next_upkeep_{};
  Result<void> upkeep_result_;                 // of the last slice
  std::string upkeep_told_, checkpoint_told_;  // what was said of them last; empty: that they work
  int wal_pages_ = 0;                          // written by SQLite's hook, in this thread
  int checkpointed_ = 0;                       // pages at the last checkpoint
  std::thread thread_;
};

}  // namespace bartleby::embedded
