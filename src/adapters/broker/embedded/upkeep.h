// Retention and compaction of log.db in small slices, one transaction each, so that no producer waits for more
// than one.
//
// Called by the writer's thread only. Retention deletes from the front of a partition what is too old or too
// much, and never what is not yet stable; what somebody has yet to see (`keep_from`) stays for as long again.
// Compaction of a partition is a run: it notes the last offset of every key that came since the last run, then
// deletes older records of those keys, and tombstones that the last run has seen and that are old enough for
// every reader to have passed them. A run that breaks off begins anew; deleting twice is harmless.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "adapters/broker/embedded/catalog.h"
#include "adapters/broker/embedded/options.h"

namespace bartleby::embedded {

class Upkeep {
 public:
  Upkeep(const Options& options, Topics& topics) : options_(options), topics_(topics) {}

  using Lock = std::unique_lock<std::mutex>;
  // One slice; called and returns with the lock, works without. False: nothing is left to do for now.
  Result<bool> slice(LogFile& file, Lock& lock, Timestamp now);

  // ---- Under the lock
  void begin_round() { round_ = true; }
  void delete_before(PartitionLog& log, Offset offset);
  void compact(PartitionLog& log) { forced_.push_back(&log); }
  bool idle() const { return deletes_.empty() && forced_.empty() && !run_ && !round_; }
  void give_up();  // what was asked for; a round goes on later

 private:
  struct Run {
    PartitionLog* log;
    std::map<std::string, Offset, std::less<>> latest;
    Offset bound;  // what lies below it is compacted
    Offset cursor;
    bool noting = true;
    Offset cleaned_before;
    std::uint64_t kept = 0;
  };

  Result<bool> retain(LogFile& file, Lock& lock, PartitionLog& log, const TopicSpec& spec, Timestamp now);
  Result<bool> erase_front(LogFile& file, Lock& lock, PartitionLog& log, Offset upto, std::uint64_t bytes);
  Result<void> note(LogFile& file, Lock& lock, Run& run);
  Result<bool> clean(LogFile& file, Lock& lock, Run& run, Timestamp now);
  bool wants_compaction(const PartitionLog& log) const;
  void start_run(PartitionLog& log);

  const Options& options_;
  Topics& topics_;
  bool round_ = false;
  std::string topic_;  // where the round is
  std::size_t partition_ = 0;
  std::vector<std::pair<PartitionLog*, Offset>> deletes_;
  std::vector<PartitionLog*> forced_;
  std::optional<Run> run_;
};

}  // namespace bartleby::embedded
