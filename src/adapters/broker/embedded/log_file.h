// log.db: the tables of the embedded broker, and the one connection that writes to them.
//
// A record's row is its position: the number of its partition (20 bits) before its offset (43 bits), so that a
// partition is a range of the table's own key and an append dirties one page. The end of a log is its last
// record's offset + 1 or `log_end` of its partition, whichever is higher: only what deletes records, or reserves
// offsets, writes the latter. One thread at a time; durable when `commit` returns (WAL, synchronous=FULL). The
// view `log` is for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapters/sqlite/sqlite.h"
#include "ports/broker.h"

namespace bartleby::embedded {

constexpr int kOffsetBits = 43;
constexpr std::int64_t kMaxPartitions = (std::int64_t{1} << 20) - 2;
constexpr std::int64_t kSchemaVersion = 1;

constexpr std::int64_t position_of(std::int64_t partition, Offset offset) {
  return (partition << kOffsetBits) | offset.v;
}
constexpr Offset offset_of(std::int64_t position) { return Offset(position & ((std::int64_t{1} << kOffsetBits) - 1)); }

// What is stored of a partition besides its records.
struct StoredPartition {
  std::int64_t id = 0;
  Offset start{0};
  Offset end{0};
  Timestamp last{};      // of the newest record there ever was
  Offset counted_to{0};  // `bytes` are of the records below it
  std::uint64_t bytes = 0;
  Offset cleaned_to{0};  // compaction has gone by up to here
};

struct StoredTopic {
  std::int64_t id = 0;
  TopicSpec spec;
  std::vector<StoredPartition> partitions;
};

struct StoredOffset {
  std::string group;
  std::int64_t partition;
  Offset offset;
  std::string metadata;
};

// One row as upkeep sees it.
struct RowSize {
  Offset offset;
  Timestamp timestamp;
  std::size_t bytes = 0;
  bool tombstone = false;
  std::optional<std::string> key{};  // only if asked for
};

class LogFile {
 public:
  // Creates or opens it. A file of a newer version, of another program, or a damaged one is an error that says so.
  static Result<LogFile> open(const std::string& path, std::int64_t max_pages);

  Result<std::vector<StoredTopic>> topics();  // ends and sizes as they are, records looked at
  Result<std::vector<StoredOffset>> offsets();

  // ---- Inside one transaction: begin, then these, then commit; after any error, roll back
  Result<void> begin();
  Result<void> commit();
  void rollback() { db_.rollback(); }
  Result<void> append(std::int64_t position, Timestamp timestamp, const Record& record);
  Result<void> set_offset(const StoredOffset& offset);
  Result<std::int64_t> add_topic(const TopicSpec& spec);
  Result<std::int64_t> add_partition(std::int64_t topic, std::int32_t number);
  Result<void> save(const StoredPartition& partition);
  Result<void> erase(std::int64_t partition, Offset from, Offset to);
  Result<void> touch();  // a change that means nothing

  // ---- Upkeep
  Result<std::vector<RowSize>> rows(std::int64_t partition, Offset from, Offset to, std::size_t limit, bool keys);
  Result<int> checkpoint(bool wait_for_readers) { return db_.checkpoint(wait_for_readers); }
  // A commit that failed like this may yet be found in the file after a crash.
  bool commit_in_doubt() const;
  bool full() const { return db_.full(); }  // because the disk, or a limit of the process, lets no file grow
  sqlite::Database& database() { return db_; }

 private:
  Result<void> create();
  Result<void> prepare();

  sqlite::Database db_;
  sqlite::Statement begin_, commit_, append_, set_offset_, add_topic_, add_partition_, save_, erase_, touch_, rows_,
      keys_;
};

}  // namespace bartleby::embedded
