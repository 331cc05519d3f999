#include "tests/sim/sim_log.h"

#include <map>

namespace bartleby::sim {

std::uint64_t stored_bytes(const LogEntry& entry) { return payload_size(entry.record) + 70; }

std::uint64_t PartitionLog::bytes() const {
  std::uint64_t sum = 0;
  for (const LogEntry& entry : entries_) sum += stored_bytes(entry);
  return sum;
}

std::size_t PartitionLog::index_of(Offset offset) const {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), offset,
                                   [](const LogEntry& e, Offset o) { return e.record.offset < o; });
  return static_cast<std::size_t>(it - entries_.begin());
}

void PartitionLog::wake() {
  if (waiters_.empty()) return;
  std::vector<Scheduler::Task> waiters;
  waiters.swap(waiters_);
  for (auto& task : waiters) scheduler_.after(Duration(0), std::move(task));
}

Offset PartitionLog::append(const Record& out, TxnId txn) {
  const Offset offset = end_;
  end_ = next(end_);
  entries_.push_back({LogRecord{offset, scheduler_.wall(), out.key, out.value, out.headers}, txn,
                      txn == 0 ? EntryState::kCommitted : EntryState::kPending});
  if (txn != 0) {
    const bool known = std::any_of(pending_.begin(), pending_.end(), [&](const auto& p) { return p.first == txn; });
    if (!known) pending_.emplace_back(txn, offset);
  }
  if (pending_.empty()) wake();
  return offset;
}

void PartitionLog::finish(TxnId txn, bool commit,
                          const std::function<void(const TopicPartition&, const LogRecord&)>& visible) {
  const auto it = std::find_if(pending_.begin(), pending_.end(), [&](const auto& p) { return p.first == txn; });
  if (it == pending_.end()) return;  // the topic was recreated in between
  const Offset first = it->second;
  pending_.erase(it);
  for (std::size_t i = index_of(first); i < entries_.size(); ++i) {
    LogEntry& entry = entries_[i];
    if (entry.txn != txn || entry.state != EntryState::kPending) continue;
    entry.state = commit ? EntryState::kCommitted : EntryState::kAborted;
    if (commit && visible) visible(tp_, entry.record);
  }
  entries_.push_back({LogRecord{end_, scheduler_.wall(), {}, {}, {}}, txn, EntryState::kMarker});
  end_ = next(end_);
  wake();
}

// Whatever happens to records on disk, an open transaction is never deleted.
void PartitionLog::delete_before(Offset offset) {
  offset = std::min(offset, last_stable());
  if (offset <= start_) return;
  start_ = offset;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(index_of(offset)));
  wake();
}

void PartitionLog::jump(std::int64_t by) {
  end_.v += by;
  wake();
}

void PartitionLog::compact(bool tombstones_too) {
  const std::size_t count = index_of(last_stable());
  std::map<std::string_view, std::size_t> latest;
  for (std::size_t i = 0; i < count; ++i) {
    const LogEntry& entry = entries_[i];
    if (entry.state == EntryState::kCommitted && entry.record.key) latest[*entry.record.key] = i;
  }
  std::vector<LogEntry> kept;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    LogEntry& entry = entries_[i];
    bool keep = i >= count || i + 1 == entries_.size();
    if (!keep && entry.state == EntryState::kCommitted) {
      const bool newest = !entry.record.key || latest.find(*entry.record.key)->second == i;
      const bool old_tombstone = tombstones_too && !entry.record.value && entry.record.offset < tombstones_seen_;
      keep = newest && !old_tombstone;
    }
    if (keep) kept.push_back(entry);  // a copy: `latest` points into the old ones
  }
  tombstones_seen_ = last_stable();
  entries_ = std::move(kept);
}

void PartitionLog::recreate() {
  entries_.clear();
  pending_.clear();
  start_ = end_ = tombstones_seen_ = Offset(0);
  ++incarnation_;
  wake();
}

void PartitionLog::date(Offset offset, Timestamp time) { entries_.at(index_of(offset)).record.timestamp = time; }

void PartitionLog::cut_back(Offset to) {
  BARTLEBY_ASSERT(pending_.empty());
  to = std::max(to, start_);
  if (to >= end_) return;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index_of(to)), entries_.end());
  end_ = to;
  tombstones_seen_ = std::min(tombstones_seen_, to);
  wake();
}

Offset PartitionLog::read(Offset from, Offset to, std::uint32_t limit,
                          const std::function<bool(const LogRecord&)>& filter, std::vector<LogRecord>& out) const {
  const Offset stop = std::min(to, last_stable());
  if (from >= stop) return from;
  for (std::size_t i = index_of(from); i < entries_.size(); ++i) {
    const LogEntry& entry = entries_[i];
    if (entry.record.offset >= stop) break;
    if (limit-- == 0) return entry.record.offset;
    if (entry.state == EntryState::kCommitted && (!filter || filter(entry.record))) out.push_back(entry.record);
  }
  return stop;
}

}  // namespace bartleby::sim
