// A write of a member: checked when it is asked for and again when its transaction begins, so that it takes
// effect only while the member owns all of its partitions; they are given to nobody else until it is over.
#include "adapters/broker/embedded/embedded_member.h"
#include "base/assert.h"

namespace bartleby::embedded {
namespace {

constexpr Duration kReplyAwaited{5000};  // of a held write, by its member
constexpr Duration kHeldAtMost{10000};   // by the broker

}  // namespace

void EmbeddedMember::answer(WriteSerial serial, WriteResult result, std::vector<RefusedRecord> refused,
                            std::vector<Offset> offsets) {
  push(WriteAnswered{serial, result, std::move(refused), std::move(offsets)});
}

void EmbeddedMember::write(Write write) {
  const Lock lock(core_->mutex);
  if (!alive_) return;
  const WriteSerial serial = write.serial;
  if (fenced_) {
    answer(serial, WriteResult::kNotDone);
    return shut_out(true, "another writer uses " + transactional_id_);
  }
  bool allowed = !writing_ && !unresolved_;
  bool too_long = false;
  for (const OffsetToCommit& offset : write.offsets) {
    allowed = allowed && slot(offset.ref) != nullptr;
    too_long = too_long || utf16_units(offset.metadata) > kMetadataLimit;
  }
  if (!allowed) return answer(serial, WriteResult::kNotDone);

  std::vector<RefusedRecord> refused;
  std::vector<PartitionLog*> where(write.records.size());
  for (std::size_t i = 0; i < write.records.size(); ++i)
    if (const auto why = core_->place(write.records[i], where[i])) refused.push_back({i, *why});
  if (too_long || !refused.empty()) return answer(serial, WriteResult::kRefused, std::move(refused));

  const std::optional<WriteFate> fate = std::exchange(next_fate_, std::nullopt);
  if (fate == WriteFate::kNotDone) return answer(serial, WriteResult::kNotDone);
  writing_ = true;
  written_ = serial;
  const std::shared_ptr<Job> job = job_of(write);
  job->where = std::move(where);
  if (fate == WriteFate::kReplyLostNotDone || fate == WriteFate::kLateRequest)
    return hold(job, serial, fate == WriteFate::kLateRequest);
  // The member may be gone when it lands; its number is not used again.
  job->landed = [core = core_.get(), number = number_, serial, raw = job.get(),
                 lost = fate == WriteFate::kReplyLostDone](Landing landing, const Error&) {
    if (EmbeddedMember* m = core->member(number)) m->landed(serial, *raw, landing, lost);
  };
  core_->writer().enqueue(job);
}

std::shared_ptr<Job> EmbeddedMember::job_of(Write& write) {
  auto job = std::make_shared<Job>();
  job->owned = std::move(write.records);
  job->records = job->owned;
  job->writer = this;
  for (const Record& record : job->records) job->bytes += payload_size(record);
  Group& group = core_->group(spec_.group);
  for (OffsetToCommit& offset : write.offsets) {
    job->bytes += offset.metadata.size();
    job->commits.push_back({&group, slot(offset.ref)->log, offset.offset, std::move(offset.metadata)});
  }
  std::vector<PartitionRef> refs;
  refs.reserve(write.offsets.size());
  for (const OffsetToCommit& offset : write.offsets) refs.push_back(offset.ref);
  job->admit = [core = core_.get(), number = number_, refs = std::move(refs), serial = write.serial] {
    EmbeddedMember* m = core->member(number);
    if (m == nullptr || !m->alive_) return false;
    bool owner = !m->fenced_;
    for (const PartitionRef ref : refs) owner = owner && m->slot(ref) != nullptr;
    if (owner) return true;
    m->writing_ = false;
    m->answer(serial, WriteResult::kNotDone);
    if (m->fenced_) m->shut_out(true, "another writer uses " + m->transactional_id_);
    return false;
  };
  return job;
}

void EmbeddedMember::landed(WriteSerial serial, const Job& job, Landing landing, bool reply_lost) {
  writing_ = false;
  if (landing == Landing::kUnknown || (reply_lost && landing == Landing::kDone)) {
    unresolved_ = Unresolved{serial, {}};
    for (const Job::Commit& commit : job.commits) unresolved_->tps.push_back(commit.log->tp);
    return answer(serial, WriteResult::kUnknown);
  }
  if (landing == Landing::kDone) return answer(serial, WriteResult::kDone, {}, job.offsets);
  answer(serial, WriteResult::kNotDone);
}

void EmbeddedMember::resolve(WriteSerial serial) {
  const Lock lock(core_->mutex);
  if (!alive_) return;
  BARTLEBY_ASSERT(unresolved_ && unresolved_->serial == serial);
  core_->give_up_held(transactional_id_);
  // Behind everything that was queued before it; after a commit in doubt it is a commit of its own.
  auto job = std::make_shared<Job>();
  job->landed = [core = core_.get(), number = number_, serial](Landing landing, const Error&) {
    EmbeddedMember* m = core->member(number);
    if (m == nullptr || !m->alive_ || !m->unresolved_ || m->unresolved_->serial != serial) return;
    WriteResolved resolved{serial, landing == Landing::kDone, {}};
    for (const TopicPartition& tp : m->unresolved_->tps) {
      if (core->pending(m->spec_.group, tp)) resolved.answered = false;
      resolved.offsets.push_back(core->group(m->spec_.group).committed(tp));
    }
    if (resolved.answered)
      m->unresolved_.reset();
    else
      resolved.offsets.clear();
    m->push(std::move(resolved));
  };
  core_->writer().enqueue(std::move(job));
}

// ---- Held open by a test -----------------------------------------------------------------------------

void EmbeddedMember::hold(const std::shared_ptr<Job>& job, WriteSerial serial, bool late) {
  job->kind = Job::Kind::kReserve;
  job->landed = [core = core_.get(), number = number_, serial, job, late, id = transactional_id_, group = spec_.group](
                    Landing landing, const Error&) {
    EmbeddedMember* m = core->member(number);
    if (landing != Landing::kDone) {
      if (m != nullptr) m->landed(serial, *job, landing, false);
      return;
    }
    for (std::size_t i = 0; i < job->where.size(); ++i) job->where[i]->held.push_back(job->offsets[i]);
    const Instant now = core->now().steady;
    // Of late requests every other one comes before anybody can ask what became of it.
    const bool early = late && core->late_requests++ % 2 == 0;
    core->held.push_back({.transactional_id = id,
                          .group = group,
                          .job = job,
                          .told = now + kReplyAwaited,
                          .late = !late ? kNever : now + kReplyAwaited + (early ? Duration(0) : Duration(1000)),
                          .given_up = now + kHeldAtMost});
    job->admit = nullptr;
  };
  core_->writer().enqueue(job);
}

void EmbeddedMember::answer_lost(const Job& job) { landed(written_, job, Landing::kUnknown, true); }

}  // namespace bartleby::embedded
