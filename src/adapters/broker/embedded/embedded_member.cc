#include "adapters/broker/embedded/embedded_member.h"

#include "base/assert.h"

namespace bartleby::embedded {

EmbeddedMember::EmbeddedMember(std::shared_ptr<Core> core, GroupSpec spec, std::string transactional_id,
                               LogReader reader)
    : core_(std::move(core)),
      spec_(std::move(spec)),
      transactional_id_(std::move(transactional_id)),
      reader_(std::move(reader)) {}

EmbeddedMember::~EmbeddedMember() {
  const Lock lock(core_->mutex);
  if (alive_) forget_group();
  core_->remove(*this);
}

void wake_all(PartitionLog& log) {
  for (EmbeddedMember* waiter : log.waiters) waiter->look_again();
  log.waiters.clear();
}

// ---- Events ------------------------------------------------------------------------------------------

void EmbeddedMember::push(BrokerEvent event) {
  events_.push_back(std::move(event));
  look_again();
}

void EmbeddedMember::look_again() {
  look_again_ = true;
  ready_.notify_one();
}

void EmbeddedMember::poll(std::vector<BrokerEvent>& out, Duration wait) {
  Lock lock(core_->mutex);
  const Instant limit = core_->now().steady + wait;
  const std::size_t before = out.size();
  for (;;) {
    const Instant now = core_->now().steady;
    const Instant next_tick = core_->tick(now);
    look_again_ = false;
    if (!frozen_) {
      if (out_of_group_ && alive_) join();
      answer_requests();
      std::move(events_.begin(), events_.end(), std::back_inserter(out));
      events_.clear();
      std::size_t room = core_->options().poll_bytes;
      if (alive_) read_partitions(lock, out, room);
      if (alive_) read_ranges(lock, out, room);
      // What came while it was reading goes with it: an answer must not wait for the next poll.
      std::move(events_.begin(), events_.end(), std::back_inserter(out));
      events_.clear();
      if (out.size() > before || std::exchange(woken_, false)) return;
    }
    if (look_again_ && !frozen_) continue;
    if (core_->now().steady >= limit) return;
    core_->options().clock->wait(lock, ready_, std::min(limit, next_tick), core_->writer().idle());
  }
}

void EmbeddedMember::wake() {
  const Lock lock(core_->mutex);
  woken_ = true;
  ready_.notify_one();
}

void EmbeddedMember::batch_over() {
  if (!fences_asked_.empty() || !offsets_asked_.empty()) look_again();
}

// ---- The group ---------------------------------------------------------------------------------------

void EmbeddedMember::join() {
  out_of_group_ = false;
  core_->group(spec_.group).join(this, spec_.topics, spec_.session);
}

void EmbeddedMember::assigned(const TopicPartition& tp) {
  std::uint32_t index = 0;
  while (index < slots_.size() && slots_[index].owned) ++index;
  if (index == slots_.size()) slots_.emplace_back();
  const std::uint32_t run = slots_[index].run + 1;
  last_epoch_ = Epoch(last_epoch_.v + 1);
  slots_[index] = Slot{};
  slots_[index].tp = tp;
  slots_[index].log = core_->log(tp);
  slots_[index].epoch = last_epoch_;
  slots_[index].owned = true;
  slots_[index].run = run;
  push(PartitionAssigned{{index, last_epoch_}, tp});
}

void EmbeddedMember::revoked(const TopicPartition& tp) {
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].owned && slots_[i].tp == tp) push(PartitionRevoked{{i, slots_[i].epoch}});
}

void EmbeddedMember::lost(const TopicPartition& tp) {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].owned || slots_[i].tp != tp) continue;
    slots_[i].owned = false;
    push(PartitionLost{{i, slots_[i].epoch}});
  }
}

EmbeddedMember::Slot* EmbeddedMember::slot(PartitionRef ref) {
  if (!alive_ || ref.index >= slots_.size()) return nullptr;
  Slot& found = slots_[ref.index];
  return found.owned && found.epoch == ref.epoch ? &found : nullptr;
}

void EmbeddedMember::release(PartitionRef ref) {
  const Lock lock(core_->mutex);
  Slot* mine = slot(ref);
  if (mine == nullptr) return;
  mine->owned = false;
  core_->group(spec_.group).released(this, mine->tp);
}

void EmbeddedMember::forget_group() {
  alive_ = false;
  ranges_.clear();
  offsets_asked_.clear();
  fences_asked_.clear();
  core_->group(spec_.group).remove(this);
}

void EmbeddedMember::leave() {
  const Lock lock(core_->mutex);
  if (!alive_) return;
  forget_group();
  events_.clear();
}

void EmbeddedMember::shut_out(bool fenced, std::string message) {
  if (!alive_) return;
  push(MemberFailed{fenced, std::move(message)});
  forget_group();
}

void EmbeddedMember::tick(Instant now, Instant& next) {
  if (expelled_at_ > now) {
    next = std::min(next, expelled_at_);
    return;
  }
  expelled_at_ = kNever;
  if (!alive_) return;
  core_->group(spec_.group).remove(this);
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].owned) continue;
    slots_[i].owned = false;
    push(PartitionLost{{i, slots_[i].epoch}});
  }
  out_of_group_ = true;
}

void EmbeddedMember::freeze(bool frozen) {
  frozen_ = frozen;
  expelled_at_ = frozen ? core_->now().steady + spec_.session : kNever;
}

// ---- Offsets, ends and fences ------------------------------------------------------------------------

void EmbeddedMember::read_offsets(std::uint64_t request, std::vector<TopicPartition> tps, Stability stability) {
  const Lock lock(core_->mutex);
  if (alive_) offsets_asked_.push_back({request, std::move(tps), stability});
}

void EmbeddedMember::fence_writer(std::uint64_t request, const std::string& transactional_id) {
  const Lock lock(core_->mutex);
  if (!alive_) return;
  if (EmbeddedMember* other = core_->member(transactional_id)) other->fence();
  core_->give_up_held(transactional_id);
  fences_asked_.push_back({request, transactional_id});
}

void EmbeddedMember::read_log_range(std::uint64_t request, TopicPartition tp) {
  const Lock lock(core_->mutex);
  if (!alive_) return;
  const PartitionLog* log = core_->log(tp);
  if (log == nullptr) return push(LogRangeRead{request, false, {}, {}, {}});
  push(LogRangeRead{request, true, log->stored.start, log->stable(), log->stored.end, log->stored.bytes});
}

void EmbeddedMember::answer_requests() {
  const Writer& writer = core_->writer();
  // A fence is answered when what its writer had under way is over, one way or the other.
  std::erase_if(fences_asked_, [&](const FenceAsked& asked) {
    const EmbeddedMember* other = core_->member(asked.transactional_id);
    if (other != nullptr && writer.writing(other)) return false;
    core_->give_up_held(asked.transactional_id);
    push(WriterFenced{asked.request, true});
    return true;
  });
  std::erase_if(offsets_asked_, [&](const OffsetsAsked& asked) {
    OffsetsRead read{asked.request, true, {}};
    for (const TopicPartition& tp : asked.tps) {
      if (asked.stability == Stability::kStable) {
        if (writer.busy(spec_.group, tp)) return false;
        if (core_->pending(spec_.group, tp)) read.answered = false;
      }
      read.offsets.push_back(core_->group(spec_.group).committed(tp));
    }
    if (!read.answered) read.offsets.clear();
    push(std::move(read));
    return true;
  });
}

}  // namespace bartleby::embedded
