// The broker as a worker sees it: one member of a group, its events, and one atomic write.
//
// Requests return at once; answers are events, handed out by `poll`. One thread calls a member (`wake` excepted). A
// request that names a partition carries its assignment epoch, and one for an epoch that is over is
// answered as failed and changes nothing. Every write is fenced: it takes effect only while the
// member still owns all of its partitions. Answers to different requests may come in any order.
//
// This is the whole seam: engine and runtime know nothing else of a broker. tests/contract says what
// every implementation must do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "model/record.h"

namespace bartleby {

// ---- what a member is told -------------------------------------------------------------------------

// The partition is ours. Nothing is read from it until `start`.
struct PartitionAssigned {
  PartitionRef ref;
  TopicPartition tp;
};

// Somebody else shall have it. Writes are still accepted; `release` hands it over. If that takes longer
// than the group waits, `PartitionLost` follows.
struct PartitionRevoked {
  PartitionRef ref;
};

// Somebody else has it already. Writes are refused.
struct PartitionLost {
  PartitionRef ref;
};

struct RecordsFetched {
  PartitionRef ref;
  std::vector<LogRecord> records;  // ascending offsets; what is missing between them does not exist
};

// Everything below `next` has been delivered or does not exist.
struct EndReached {
  PartitionRef ref;
  Offset next;
};

// Reading cannot go on at the position: it was deleted, or never written. `start` again to go on.
struct PositionOutOfRange {
  PartitionRef ref;
  Offset wanted;
  Offset log_start;
  Offset log_end;
};

enum class WriteResult : std::uint8_t {
  kDone,     // all of it is durable
  kRefused,  // nothing is; the records listed can never be, or not now
  kNotDone,  // nothing is; the same may be tried again. Also: no longer the owner of a partition
  kUnknown,  // all or nothing is; `resolve` tells. Until then the member writes nothing
};

enum class Refusal : std::uint8_t { kTooLarge, kDenied, kUnknownTopic, kTimeout };

struct RefusedRecord {
  std::size_t index;  // into Write::records
  Refusal why;
};

struct WriteAnswered {
  WriteSerial serial;
  WriteResult result;
  std::vector<RefusedRecord> refused;
  std::vector<Offset> offsets;  // kDone: of the records, in their order
};

struct CommittedOffset {
  TopicPartition tp;
  std::optional<Offset> offset;  // absent: the group has none
  std::string metadata;
};

// A write whose answer was lost is over, one way or the other, and cannot take effect any more;
// these are the stable offsets of its partitions after that.
struct WriteResolved {
  WriteSerial serial;
  bool answered;  // false: try again later
  std::vector<CommittedOffset> offsets;
};

enum class Stability : std::uint8_t { kStable, kUnstable };

struct OffsetsRead {
  std::uint64_t request;
  bool answered;  // false: not now (a pending transaction, a timeout)
  std::vector<CommittedOffset> offsets;
};

// Who writes under this transactional id can do so no more, and nothing of it is pending. A writer may have gone on
// under another one: what protects is the stable read that follows.
struct WriterFenced {
  std::uint64_t request;
  bool answered;
};

// A range read of any topic partition, committed records only, in slices.
struct RangeRead {
  std::uint64_t request;
  bool answered;                   // false: failed, nothing is known; ask again
  std::vector<LogRecord> records;  // ascending
  Offset next;                     // everything below it has been handed out or does not exist
  bool end;                        // the last slice
  Offset log_start{0};             // what lies below it was deleted by retention
};

struct LogRangeRead {
  std::uint64_t request;
  bool answered;
  Offset start;
  Offset end;              // next offset to be written, as far as committed reads can see (last stable offset)
  Offset high_watermark;   // at or above `end`
  std::uint64_t bytes{0};  // of the records from start to end; 0: the broker does not say
  // Which log: a topic that is made anew under its name has another number, none has 0. As it was before the rest was
  // asked for. 0: the broker does not say, or nobody can make its topics anew.
  std::uint64_t log{0};
};

// The member itself is out: a new one must join. `shut_out`: another writer uses its transactional id.
struct MemberFailed {
  bool shut_out;
  std::string message;
  bool topic_made_anew = false;  // another topic has the name: it is read from its beginning
};

using BrokerEvent =
    std::variant<PartitionAssigned, PartitionRevoked, PartitionLost, RecordsFetched, EndReached, PositionOutOfRange,
                 WriteAnswered, WriteResolved, OffsetsRead, WriterFenced, RangeRead, LogRangeRead, MemberFailed>;

// ---- what a member asks for ------------------------------------------------------------------------

struct OffsetToCommit {
  PartitionRef ref;
  Offset offset;
  std::string metadata;
};

// Takes effect whole or not at all.
struct Write {
  WriteSerial serial;
  std::vector<Record> records;
  std::vector<OffsetToCommit> offsets;
};

using LaneFilter = std::function<bool(const LogRecord&)>;  // absent: every record

class Member {
 public:
  virtual ~Member() = default;

  // Appends events; waits up to `wait` for the first.
  virtual void poll(std::vector<BrokerEvent>& out, Duration wait) = 0;

  // Reads from `from` on. May be called again to move.
  virtual void start(PartitionRef ref, Offset from) = 0;
  // A closed partition hands out nothing; what is buffered stays bounded.
  virtual void set_intake(PartitionRef ref, bool open) = 0;
  virtual void release(PartitionRef ref) = 0;

  // One write at a time, and none while one is unresolved.
  virtual void write(Write write) = 0;
  virtual void resolve(WriteSerial serial) = 0;

  virtual void read_offsets(std::uint64_t request, std::vector<TopicPartition> tps, Stability stability) = 0;
  virtual void fence_writer(std::uint64_t request, const std::string& transactional_id) = 0;
  // Committed records in [from, to) that pass the filter; `next` of a slice passes over the others.
  virtual void read_range(std::uint64_t request, TopicPartition tp, Offset from, Offset to, LaneFilter filter) = 0;
  virtual void cancel_range(std::uint64_t request) = 0;
  virtual void read_log_range(std::uint64_t request, TopicPartition tp) = 0;

  virtual const std::string& transactional_id() const = 0;

  // From now on a poll hands out records until it has so many, in whole slices; 0: none. Other events come as before.
  virtual void limit_records(std::size_t /*per_poll*/) {}

  // What was handed out and is not needed any more: its memory may be filled again.
  virtual void reuse(std::vector<LogRecord> /*records*/) {}  // NOLINT(performance-unnecessary-value-param): to keep

  // Any thread: ends a poll that waits, or the next one that would.
  virtual void wake() = 0;

  // Leaves the group. Partitions that were not released are lost to the others at once.
  virtual void leave() = 0;
};

struct GroupSpec {
  std::string group;
  std::vector<std::string> topics;
  std::string instance;  // part of the transactional id `bartleby.{group}.{instance}.{random}`
  Duration session{10000};
};

struct TopicSpec {
  std::string name;
  std::int32_t partitions = 1;
  bool compacted = false;
  std::optional<Duration> retention;
  std::optional<std::uint64_t> retention_bytes;
  std::size_t max_message = 1024 * 1024;
  bool hidden = false;  // of one that is there: we may not read its settings, and these are guesses
  // For one that is made, where the broker knows such things:
  bool forever = false;       // no retention, whatever is usual there
  std::int32_t replicas = 0;  // or as many as it has brokers; 0: as many as usual. Of one that is there: its copies
  std::int32_t least_replicas = 0;   // where as many as usual are fewer
  std::string compression{};         // empty: as usual
  std::int32_t beside_replicas = 0;  // of the topic that it is made for: there are as many brokers, if not now
  // Copies that must have a record before it counts, where there are as many; 0: as usual.
  std::int32_t in_step = 0;
};

// Where a record landed.
struct Written {
  Partition partition;
  Offset offset;

  constexpr auto operator<=>(const Written&) const = default;
};

// A position that no member has: that of an operation, which counts what it has sent. Without a commit it is at 0.
struct Cursor {
  std::string group;
  TopicPartition tp;
  Offset from;
  Offset to;
};

// Calls that are made before a member joins, or by people; they block up to the broker's own time limit.
class Broker {
 public:
  virtual ~Broker() = default;

  virtual Result<std::unique_ptr<Member>> join(const GroupSpec& spec) = 0;

  // Creates what is missing and adds missing partitions; answers with what is there now.
  virtual Result<std::vector<TopicSpec>> ensure_topics(const std::vector<TopicSpec>& wanted) = 0;
  virtual Result<TopicSpec> describe(const std::string& topic) = 0;

  // Stable offsets of a group on all partitions of its topics, and the first commit of a group that has none.
  // The commit is refused (kFenced) when the group has members.
  virtual Result<std::vector<CommittedOffset>> group_offsets(const std::string& group,
                                                             const std::vector<std::string>& topics) = 0;
  virtual Result<void> commit_first(const std::string& group, const std::vector<CommittedOffset>& offsets) = 0;

  virtual Result<std::pair<Offset, Offset>> log_range(const TopicPartition& tp) = 0;

  // Outside any group: obituaries, and what people send. Durable when it returns.
  virtual Result<std::vector<Written>> produce(const std::vector<Record>& records) = 0;

  // An error says why nothing can be written now, and what to do; who keeps no log of its own does not know.
  virtual Result<void> writable() { return {}; }

  // The same, and the cursor moved, whole or not at all. Answers with kFenced, and writes nothing, where the cursor is
  // not at `from` or its group has members. After kUnavailable it may be done: `group_offsets` tells.
  virtual Result<std::vector<Written>> produce_with(const std::vector<Record>& records, const Cursor& cursor) = 0;

  // For people: what there is, by name, and committed records from `from` on, as many as the limits allow.
  virtual Result<std::vector<TopicSpec>> topics() = 0;
  virtual Result<std::vector<LogRecord>> read(const TopicPartition& tp, Offset from, std::size_t records,
                                              std::size_t bytes) = 0;
};

}  // namespace bartleby
