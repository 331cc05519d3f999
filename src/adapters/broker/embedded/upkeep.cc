#include "adapters/broker/embedded/upkeep.h"

#include "adapters/broker/embedded/embedded_member.h"

namespace bartleby::embedded {
namespace {

// How far what is stored of a partition's size may lag behind: so much is counted anew at the next open.
constexpr std::uint64_t kUncounted = std::uint64_t{32} << 20;

// What is saved says how much there is up to the end as it is now.
StoredPartition counted(PartitionLog& log) {
  log.stored.counted_to = log.stored.end;
  log.unsaved = 0;
  return log.stored;
}

template <class Work>
Result<void> in_transaction(LogFile& file, Work work) {
  Result<void> done = file.begin();
  if (done) done = work();
  if (done) done = file.commit();
  if (!done) file.rollback();
  return done;
}

}  // namespace

void Upkeep::delete_before(PartitionLog& log, Offset offset) { deletes_.emplace_back(&log, offset); }

void Upkeep::give_up() {
  deletes_.clear();
  forced_.clear();
  run_.reset();
  round_ = false;
}

Result<bool> Upkeep::slice(LogFile& file, Lock& lock, Timestamp now) {
  if (!deletes_.empty()) {
    const auto [log, upto] = deletes_.back();
    const Offset from = log->stored.start, to = std::min(upto, log->stable());
    if (to <= from) {
      deletes_.pop_back();
      return true;
    }
    lock.unlock();
    auto rows = file.rows(log->stored.id, from, to, options_.upkeep_records, false);
    lock.lock();
    if (!rows) return std::unexpected(rows.error());
    std::uint64_t bytes = 0;
    for (const RowSize& row : *rows) bytes += row.bytes;
    return erase_front(file, lock, *log, rows->size() < options_.upkeep_records ? to : next(rows->back().offset),
                       bytes);
  }
  if (run_) {
    if (run_->noting) {
      if (auto noted = note(file, lock, *run_); !noted) return std::unexpected(noted.error());
      return true;
    }
    return clean(file, lock, *run_, now);
  }
  if (!forced_.empty()) {
    start_run(*forced_.back());
    forced_.pop_back();
    return true;
  }
  if (!round_) return false;
  auto topic = topics_.lower_bound(topic_);
  if (topic != topics_.end() && (topic->first != topic_ || partition_ >= topic->second.logs.size())) {
    if (topic->first == topic_) ++topic;
    partition_ = 0;
  }
  if (topic == topics_.end()) {
    round_ = false;
    topic_.clear();
    partition_ = 0;
    return false;
  }
  topic_ = topic->first;
  PartitionLog& log = topic->second.logs[partition_];
  auto retained = retain(file, lock, log, topic->second.spec, now);
  if (!retained || *retained) return retained;
  ++partition_;
  if (topic->second.spec.compacted && wants_compaction(log)) start_run(log);
  return true;
}

// ---- Retention ---------------------------------------------------------------------------------------

Result<bool> Upkeep::retain(LogFile& file, Lock& lock, PartitionLog& log, const TopicSpec& spec, Timestamp now) {
  if (spec.retention_bytes && log.unsaved > kUncounted) {
    const StoredPartition now_counted = counted(log);
    lock.unlock();
    auto saved = in_transaction(file, [&] { return file.save(now_counted); });
    lock.lock();
    if (!saved) return std::unexpected(saved.error());
  }
  const bool too_much = spec.retention_bytes && log.stored.bytes > *spec.retention_bytes;
  if (!spec.retention && !too_much) return false;
  const Offset from = log.stored.start, stable = log.stable();
  const std::optional<Offset> keep = log.keep_from;
  std::uint64_t left = log.stored.bytes;
  lock.unlock();
  auto rows = file.rows(log.stored.id, from, stable, options_.upkeep_records, false);
  lock.lock();
  if (!rows) return std::unexpected(rows.error());
  Offset upto = from;
  std::uint64_t bytes = 0;
  for (const RowSize& row : *rows) {
    // What somebody has yet to see waits for him, but not for ever: a disk has an end.
    const bool awaited = keep && row.offset >= *keep;
    const bool old = spec.retention && row.timestamp + *spec.retention * (awaited ? 2 : 1) < now;
    if (!old && (!spec.retention_bytes || left <= *spec.retention_bytes * (awaited ? 2U : 1U))) break;
    upto = next(row.offset);
    bytes += row.bytes;
    left -= std::min<std::uint64_t>(left, row.bytes);
  }
  if (upto == from) return false;
  return erase_front(file, lock, log, upto, bytes);
}

// The start moves before the rows go: a reader that misses a row then sees that it was deleted.
Result<bool> Upkeep::erase_front(LogFile& file, Lock& lock, PartitionLog& log, Offset upto, std::uint64_t bytes) {
  const StoredPartition before = log.stored;
  log.stored.start = upto;
  log.stored.bytes -= std::min(log.stored.bytes, bytes);
  log.stored.cleaned_to = std::max(log.stored.cleaned_to, upto);
  const StoredPartition after = counted(log);
  lock.unlock();
  auto done = in_transaction(file, [&] {
    auto erased = file.erase(after.id, before.start, upto);
    return erased ? file.save(after) : erased;
  });
  lock.lock();
  if (!done) {
    log.stored = before;
    return std::unexpected(done.error());
  }
  wake_all(log);
  return true;
}

// ---- Compaction --------------------------------------------------------------------------------------

bool Upkeep::wants_compaction(const PartitionLog& log) const {
  const auto dirty = static_cast<std::uint64_t>(log.stable().v - log.stored.cleaned_to.v);
  return dirty >= options_.compact_after && dirty >= log.kept_by_compaction / 2;
}

void Upkeep::start_run(PartitionLog& log) {
  run_.emplace(Run{.log = &log,
                   .latest = {},
                   .bound = log.stable(),
                   .cursor = log.stored.cleaned_to,
                   .noting = true,
                   .cleaned_before = log.stored.cleaned_to,
                   .kept = 0});
}

Result<void> Upkeep::note(LogFile& file, Lock& lock, Run& run) {
  lock.unlock();
  auto rows = file.rows(run.log->stored.id, run.cursor, run.bound, options_.upkeep_records, true);
  lock.lock();
  if (!rows) {
    run_.reset();
    return std::unexpected(rows.error());
  }
  for (RowSize& row : *rows) {
    run.cursor = next(row.offset);
    if (row.key) run.latest.insert_or_assign(std::move(*row.key), row.offset);
  }
  if (rows->size() < options_.upkeep_records) run.cursor = run.bound;
  if (run.latest.size() >= options_.compact_keys) run.bound = run.cursor;
  if (run.cursor < run.bound) return {};
  run.noting = false;
  run.cursor = run.log->stored.start;
  return {};
}

Result<bool> Upkeep::clean(LogFile& file, Lock& lock, Run& run, Timestamp now) {
  PartitionLog& log = *run.log;
  lock.unlock();
  auto rows = file.rows(log.stored.id, run.cursor, run.bound, options_.upkeep_records, true);
  lock.lock();
  if (!rows) {
    run_.reset();
    return std::unexpected(rows.error());
  }
  std::vector<Offset> dead;
  std::uint64_t bytes = 0;
  for (const RowSize& row : *rows) {
    const auto newer = row.key ? run.latest.find(*row.key) : run.latest.end();
    const bool superseded = newer != run.latest.end() && row.offset < newer->second;
    const bool passed =
        row.tombstone && row.key && row.offset < run.cleaned_before && row.timestamp + options_.tombstones_kept <= now;
    if (!superseded && !passed) {
      ++run.kept;
      continue;
    }
    dead.push_back(row.offset);
    bytes += row.bytes;
  }
  const bool over = rows->size() < options_.upkeep_records;
  if (!over) run.cursor = next(rows->back().offset);
  const StoredPartition before = log.stored;
  log.stored.bytes -= std::min(log.stored.bytes, bytes);
  if (over) log.stored.cleaned_to = std::max(log.stored.cleaned_to, run.bound);
  const StoredPartition after = counted(log);
  lock.unlock();
  auto done = in_transaction(file, [&] {
    for (const Offset offset : dead)
      if (auto erased = file.erase(after.id, offset, next(offset)); !erased) return erased;
    return file.save(after);
  });
  lock.lock();
  if (!done) {
    log.stored = before;
    run_.reset();
    return std::unexpected(done.error());
  }
  if (over) {
    log.kept_by_compaction = run.kept;
    run_.reset();
  }
  return true;
}

}  // namespace bartleby::embedded
