// What the embedded broker is told when it opens: its folder, its clock, and a limit for everything that grows.
//
// The clock is a seam for tests: all waiting of the broker goes through it. The default reads the machine's
// clocks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace bartleby::embedded {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now now() = 0;
  // Until `until` or a notification, or earlier, with the lock given up meanwhile. `quiet`: a member waits, and
  // the broker has nothing to do before then.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& ready, Instant until, bool quiet) = 0;
};

// Waits by the machine's steady clock; records are stamped with `calendar`, absent: the machine's. Whoever runs on a
// faster clock says in real time how long a poll may wait, as to any other broker.
std::shared_ptr<Clock> machine_clock(std::function<Timestamp()> calendar = {});

struct Options {
  std::string folder;            // made if missing; holds log.db and its lock
  std::shared_ptr<Clock> clock;  // empty: the machine's

  Duration request_limit{30000};  // a call that blocks gives up after this

  // One SQLite transaction holds what was waiting when it began, up to these. The first job always goes.
  std::size_t batch_records = 4096;
  std::size_t batch_bytes = std::size_t{8} << 20;
  // Producers wait when this much is waiting to be written.
  std::size_t queue_jobs = 10000;
  std::size_t queue_bytes = std::size_t{64} << 20;

  // One slice of a partition or of a range, and all that one poll hands out.
  std::size_t slice_records = 500;
  std::size_t slice_bytes = std::size_t{1} << 20;
  std::size_t poll_bytes = std::size_t{8} << 20;

  // Retention and compaction: how often it is looked at, and how much one transaction deletes.
  Duration upkeep_every{5000};
  std::size_t upkeep_records = 500;
  std::size_t compact_after = 1000;                   // records that came since the last compaction
  std::size_t compact_keys = 100000;                  // that one run keeps in memory
  Duration tombstones_kept = std::chrono::hours(24);  // so that no reader misses one

  // Told when a chore (`upkeep`, `checkpoint`) begins to fail, fails otherwise, or works again: by the writer's thread,
  // which must not be kept waiting. A failed chore is tried again; until then the file grows.
  std::function<void(std::string_view chore, const Result<void>& result)> chore_told;

  // Told when log.db takes no more writes, why and what to do, and when it takes them again: once each, like above.
  std::function<void(const Result<void>& writable)> writable_told;

  int checkpoint_pages = 4000;  // of the write-ahead log
  int wal_pages_limit = 50000;  // above it the checkpoint waits for readers
  std::int64_t max_pages = 0;   // of log.db, by SQLite's own limit; 0: none
};

}  // namespace bartleby::embedded
