// Reading of a member: its partitions and ranges of any partition, slice by slice.
//
// The lock is given up while a slice is read. What may have changed by then is looked at again: an assignment
// that is over, a reader that was moved, and a log start that has passed the position (the rows may then have
// been gone already).
#include "adapters/broker/embedded/embedded_member.h"
#include "base/assert.h"

namespace bartleby::embedded {

// ---- Partitions --------------------------------------------------------------------------------------

void EmbeddedMember::start(PartitionRef ref, Offset from) {
  const Lock lock(core_->mutex);
  Slot* mine = slot(ref);
  if (mine == nullptr) return;
  ++mine->run;
  mine->started = true;
  mine->position = from;
  mine->end_told = Offset(-1);
}

void EmbeddedMember::set_intake(PartitionRef ref, bool open) {
  const Lock lock(core_->mutex);
  if (Slot* mine = slot(ref)) mine->open = open;
}

void EmbeddedMember::wait_on(PartitionLog& log) {
  if (std::ranges::find(log.waiters, this) == log.waiters.end()) log.waiters.push_back(this);
}

void EmbeddedMember::read_partitions(Lock& lock, std::vector<BrokerEvent>& out, std::size_t& room) {
  // Each in turn, and the first one is another each time: a full poll must not starve the last ones.
  const auto count = static_cast<std::uint32_t>(slots_.size());
  if (count == 0) return;
  const std::uint32_t first = first_slot_++ % count;
  for (std::uint32_t i = 0; i < count && room > 0 && alive_; ++i) read_partition(lock, (first + i) % count, out, room);
}

bool EmbeddedMember::read_partition(Lock& lock, std::uint32_t index, std::vector<BrokerEvent>& out, std::size_t& room) {
  Slot& mine = slots_[index];
  if (!mine.owned || !mine.started || !mine.open) return false;
  PartitionLog& log = *mine.log;
  const PartitionRef ref{index, mine.epoch};
  if (mine.position < log.stored.start || mine.position > log.stored.end) {
    mine.started = false;
    out.push_back(PositionOutOfRange{ref, mine.position, log.stored.start, log.stored.end});
    return true;
  }
  const Offset from = mine.position, stable = log.stable();
  if (from >= stable && (from > stable || mine.end_told == stable)) {
    wait_on(log);
    return false;
  }
  const std::uint32_t run = mine.run;
  const Options& options = core_->options();
  lock.unlock();
  auto slice =
      reader_.read(log.stored.id, from, stable, options.slice_records, std::min(options.slice_bytes, room), {});
  lock.lock();
  look_again_ = true;         // whatever came of it, there may be more to do than to wait
  Slot& now = slots_[index];  // the vector may have grown
  if (!slice) {
    shut_out(false, slice.error().message);
    return false;
  }
  if (!alive_ || now.epoch != ref.epoch || !now.owned || now.run != run || from < log.stored.start) return false;
  now.position = slice->next;
  room -= std::min(room, slice->bytes);
  if (!slice->records.empty()) out.push_back(RecordsFetched{ref, std::move(slice->records)});
  if (now.position == log.stable() && now.end_told != now.position) {
    now.end_told = now.position;
    out.push_back(EndReached{ref, now.position});
  }
  return true;
}

// ---- Ranges ------------------------------------------------------------------------------------------

void EmbeddedMember::read_range(std::uint64_t request, TopicPartition tp, Offset from, Offset to, LaneFilter filter) {
  const Lock lock(core_->mutex);
  if (alive_) ranges_.push_back({request, core_->log(tp), from, to, std::move(filter)});
}

void EmbeddedMember::cancel_range(std::uint64_t request) {
  const Lock lock(core_->mutex);
  std::erase_if(ranges_, [&](const Range& range) { return range.request == request; });
}

void EmbeddedMember::read_ranges(Lock& lock, std::vector<BrokerEvent>& out, std::size_t& room) {
  for (std::size_t i = 0; i < ranges_.size() && room > 0 && alive_;)
    if (!read_slice(lock, ranges_[i].request, out, room)) ++i;
}

// One slice; true: it was the last, and the range is gone.
bool EmbeddedMember::read_slice(Lock& lock, std::uint64_t request, std::vector<BrokerEvent>& out, std::size_t& room) {
  auto find = [&] { return std::ranges::find(ranges_, request, &Range::request); };
  const auto at = find();
  RangeRead read{request, false, {}, at->position, true, Offset(0)};
  if (at->log == nullptr) {
    ranges_.erase(at);
    out.push_back(std::move(read));
    return true;
  }
  PartitionLog& log = *at->log;
  const Offset stop = std::min(at->to, log.stable());
  const Offset from = at->position, to = at->to;
  if (from >= stop && from < to && (to <= log.stored.end || from < log.stable())) {
    wait_on(log);  // what it wants is there, but pending
    return false;
  }
  const Options& options = core_->options();
  const LaneFilter filter = at->filter;
  lock.unlock();
  auto slice =
      reader_.read(log.stored.id, from, stop, options.slice_records, std::min(options.slice_bytes, room), filter);
  lock.lock();
  look_again_ = true;
  if (find() == ranges_.end()) return true;  // it was shut out meanwhile
  if (slice) {
    read.answered = true;
    read.records = std::move(slice->records);
    read.next = slice->next;
    read.log_start = log.stored.start;
    read.end = read.next >= to || (to > log.stored.end && read.next >= log.stable());
    room -= std::min(room, slice->bytes);
  }
  const bool end = read.end;
  find()->position = read.next;
  if (end) ranges_.erase(find());
  out.push_back(std::move(read));
  return end;
}

}  // namespace bartleby::embedded
