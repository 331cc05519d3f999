// The worker as a pure state machine: events in, commands out.
//
// No thread, clock, I/O or global. The same events at the same times give the same commands, bit for bit; that is
// what the simulation relies on and what lets a recorded run be replayed. One thread calls it. It owns what spans
// partitions: concurrency, the byte budget, the guard, suspects, and the one write in flight. Answers that
// belong to an assignment that is over are ignored and counted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/commands.h"
#include "engine/events.h"
#include "engine/partition.h"
#include "engine/shared.h"

namespace bartleby {

class Engine {
 public:
  explicit Engine(EngineConfig config);

  // Takes the events in their order, then what handlers ended, then lets time pass to `now`. Appends to `out`.
  void step(std::span<const Event> events, std::span<const Completion> completions, Now now, Commands& out);

  // When to call again if nothing happens.
  Instant next_wakeup() const;

  bool stopped() const { return stopped_; }
  const EngineCounters& counters() const { return shared_.counters; }
  const OutageGuard& guard() const { return shared_.guard; }
  std::uint64_t bytes() const { return shared_.bytes; }
  std::uint64_t emitted_bytes() const { return shared_.emitted; }  // of these
  std::uint64_t bytes_being_read() const { return shared_.reading; }
  std::uint32_t running() const { return shared_.running; }
  const PartitionEngine* partition(PartitionRef ref) const;
  const std::map<std::uint32_t, std::unique_ptr<PartitionEngine>>& partitions() const { return partitions_; }
  const EngineConfig& config() const { return shared_.config; }
  bool writing() const { return inflight_.has_value(); }
  bool in_doubt() const { return inflight_ && inflight_->unknown; }
  bool paused() const { return paused_; }
  // A message that may have ended a process runs, or handlers are let come to their end for it: nobody else begins.
  bool suspect_runs() const { return suspect_running_; }
  bool makes_way() const { return turn_until_ != kNever && theirs_ && shared_.running > 0; }
  // The broker has taken none of the last writes: nothing new begins until it takes one.
  bool writes_fail() const;
  // What handlers emitted and nobody has written yet has its share of the memory: nothing new begins until it goes.
  bool emits_wait() const { return shared_.emitted >= std::max<std::uint64_t>(shared_.config.max_bytes / 2, 1); }
  // It has refused a record and is left alone, until it takes one that is tried alone.
  bool rests(DestinationId destination) const { return shared_.suspended(destination); }

 private:
  struct InFlight {
    WriteSerial serial;
    bool unknown = false;
    Instant resolve_at = kNever;
    std::vector<PartitionRef> refs;
    std::optional<DestinationId> probe;
    std::vector<PlannedRecord> records;
  };

  void take(const Event& event);
  void take(const AssignedIn& in);
  void take(const RevokedIn& in);
  void take(const LostIn& in);
  void take(const RecordsIn& in);
  void take(const Completion& in);
  void take(const ReadIn& in);
  void take(const WriteIn& in);
  void take(const ResolvedIn& in);
  void take(const ParkedOrder& in);
  PartitionEngine* find(PartitionRef ref);
  void drop_records(std::span<const RecordRef> records);

  void dispatch();
  bool suspects_turn();
  void probe_over();
  bool may_leave();
  void maybe_write();
  bool build_write(std::optional<DestinationId> probe);
  void finish_write(bool done);
  void metadata_refused();
  void remove(PartitionRef ref);
  void release_ready();

  Shared shared_;
  Commands spare_;  // where commands go between steps; always empty
  std::map<std::uint32_t, std::unique_ptr<PartitionEngine>> partitions_;  // by index
  std::uint32_t turn_ = 0;     // whose partition is first, in dispatch and writes
  std::uint32_t orphans_ = 0;  // runs of partitions that are gone
  std::uint64_t serial_ = 0;
  std::optional<InFlight> inflight_;
  Instant write_not_before_{};
  Duration write_pause_{0};
  std::uint32_t failed_writes_ = 0;  // in a row, that the broker did not take or cannot tell of
  bool suspect_running_ = false;
  Instant leave_at_ = kNever;  // of one that stops, whatever became of its last write
  // Whose turn it is while there are suspects, until when, and whether one ran in it.
  bool theirs_ = false;
  bool suspect_ran_ = false;
  Duration turn_length_{0};
  Instant turn_until_ = kNever;
  std::optional<Token> probe_;  // of the guard, in the hands of a handler
  bool paused_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace bartleby
