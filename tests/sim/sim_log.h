// One simulated partition: records, markers and gaps, as Kafka keeps them.
//
// Records of a transaction are appended at once and are pending until its marker; the marker takes an
// offset of its own, and aborted records keep theirs but are never handed out. Committed reads end at the
// last stable offset: the first pending one. Deleting and compacting leave gaps.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/record.h"
#include "tests/sim/scheduler.h"

namespace bartleby::sim {

using TxnId = std::uint64_t;  // 0: not in a transaction

enum class EntryState : std::uint8_t { kCommitted, kPending, kAborted, kMarker };

struct LogEntry {
  LogRecord record;
  TxnId txn = 0;
  EntryState state = EntryState::kCommitted;
};

std::uint64_t stored_bytes(const LogEntry& entry);  // with what the broker adds

class PartitionLog {
 public:
  PartitionLog(TopicPartition tp, Scheduler& scheduler) : tp_(std::move(tp)), scheduler_(scheduler) {}

  const TopicPartition& tp() const { return tp_; }
  Offset start() const { return start_; }
  Offset high_watermark() const { return end_; }
  Offset last_stable() const { return pending_.empty() ? end_ : pending_.front().second; }
  std::uint64_t bytes() const;                                       // of everything that is there
  const std::vector<LogEntry>& entries() const { return entries_; }  // ascending offsets
  std::uint32_t incarnation() const { return incarnation_; }         // grows when the topic is recreated

  Offset append(const Record& out, TxnId txn);
  // Writes the marker of a transaction, if it has records here; calls `visible` for each that is now committed.
  void finish(TxnId txn, bool commit, const std::function<void(const TopicPartition&, const LogRecord&)>& visible);

  void jump(std::int64_t by);  // the next record has an offset that much higher: what lay between was compacted
  void delete_before(Offset offset);
  void compact(bool tombstones_too = true);
  void recreate();
  void date(Offset offset, Timestamp time);  // of a record that is there
  void cut_back(Offset to);  // an unclean election: the newest records are gone, and their offsets are given anew

  // Committed records at or above `from`, at most `limit` entries looked at, below `to`. Answers with the
  // offset below which everything was handed out or does not exist.
  Offset read(Offset from, Offset to, std::uint32_t limit, const std::function<bool(const LogRecord&)>& filter,
              std::vector<LogRecord>& out) const;

  // Calls once, later, when reading may go on: the last stable offset moved, or the log was changed.
  void wait(Scheduler::Task task) { waiters_.push_back(std::move(task)); }

 private:
  std::size_t index_of(Offset offset) const;  // of the first entry at or above
  void wake();

  TopicPartition tp_;
  Scheduler& scheduler_;
  std::vector<LogEntry> entries_;
  std::vector<std::pair<TxnId, Offset>> pending_;  // open transactions with their first offset, ascending
  std::vector<Scheduler::Task> waiters_;
  Offset start_{0};
  Offset end_{0};
  Offset tombstones_seen_{0};  // end of the last compaction: older tombstones go with the next one
  std::uint32_t incarnation_ = 0;
};

}  // namespace bartleby::sim
