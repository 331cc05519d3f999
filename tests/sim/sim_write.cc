// A write of a simulated member, stage by stage: begin and records, then offsets, then the end. Each stage
// is a message and its reply; what is on its way arrives whatever becomes of the sender, but the next stage
// is sent by a living client only. So a crash leaves a transaction open at any of them.
#include "engine/mutants.h"
#include "tests/sim/sim_member.h"

namespace bartleby::sim {

struct SimMember::WriteJob {
  SimCluster& cluster;
  TxnWriter& writer;
  SimGroup& group;
  std::string id;  // the transactional id
  ClientNo client;
  std::uint32_t epoch;      // the producer's
  MembershipNo membership;  // with the generation: as the client knew them when it checked what it owns
  std::int32_t generation;
  Write write;
  std::vector<TopicPartition> tps;  // of the offsets
  WriteFate fate;
  // kNotDone fails before the records (0), after them (1), instead of the offsets (2) or after them (3).
  std::uint64_t fails_at;
  std::vector<RefusedRecord> refused{};
  std::vector<Offset> offsets{};
  bool begun = false;
  bool answered = false;

  bool fails(std::uint64_t point) const { return fate == WriteFate::kNotDone && fails_at == point; }
};

void SimMember::write(Write write) {
  if (!alive_) return;
  std::vector<TopicPartition> tps;
  bool allowed = !writing_ && !unresolved_;
  for (const OffsetToCommit& offset : write.offsets) {
    const Slot* mine = slot(offset.ref);
    if (mine == nullptr)
      allowed = false;
    else
      tps.push_back(mine->tp);
  }
  if (!allowed) {
    to_client(cluster_, number_, Duration(0),
              [serial = write.serial](SimMember& m) { m.push(WriteAnswered{serial, WriteResult::kNotDone, {}, {}}); });
    return;
  }
  writing_ = true;
  maybe_another_id();
  last_tps_ = tps;
  SimGroup& group = cluster_.group(spec_.group);
  if (fails(cluster_.faults_.p_generation_bump)) scheduler().after(latency(), [&group] { group.bump_generation(); });
  const WriteFate fate = draw_fate();
  send_records(std::make_shared<WriteJob>(
      WriteJob{.cluster = cluster_,
               .writer = cluster_.coordinator_.writer(writer_id_),
               .group = group,
               .id = transactional_id_,
               .client = number_,
               .epoch = producer_epoch_,
               .membership = membership_,
               .generation = generation_,
               .write = std::move(write),
               .tps = std::move(tps),
               .fate = fate,
               .fails_at = fate == WriteFate::kNotDone ? scheduler().random().below(4) : 0}));
}

// The end of its last transaction is decided and has reached the group, but not every log.
void SimMember::maybe_another_id() {
  if (cluster_.coordinator_.writer(writer_id_).state != TxnWriter::State::kCompleting) return;
  const SimGroup& group = cluster_.group(spec_.group);
  if (std::ranges::any_of(last_tps_, [&](const TopicPartition& tp) { return group.pending(tp); })) return;
  if (fails(cluster_.faults_.p_other_id)) take_another_id();
}

// What others know it by, and may fence, stays the first one.
void SimMember::take_another_id() {
  writer_id_ = transactional_id_ + "." + std::to_string(++cluster_.ids_changed_);
  cluster_.coordinator_.init(cluster_.coordinator_.writer(writer_id_), number_,
                             [this](std::uint32_t epoch) { producer_epoch_ = epoch; });
}

WriteFate SimMember::draw_fate() {
  if (next_fate_) return *std::exchange(next_fate_, std::nullopt);
  const BrokerFaults& f = cluster_.faults_;
  const bool faultless = f.p_not_done + f.p_reply_lost_done + f.p_reply_lost_not_done + f.p_late_request == 0;
  if (faultless) return WriteFate::kNormal;
  const std::uint64_t drawn = scheduler().random().below(1000);
  std::uint64_t below = f.p_not_done;
  if (drawn < below) return WriteFate::kNotDone;
  if (drawn < (below += f.p_reply_lost_done)) return WriteFate::kReplyLostDone;
  if (drawn < (below += f.p_reply_lost_not_done)) return WriteFate::kReplyLostNotDone;
  return drawn < below + f.p_late_request ? WriteFate::kLateRequest : WriteFate::kNormal;
}

void SimMember::reply(const WritePtr& job, Duration latency, ClientTask task) {
  to_client(job->cluster, job->client, latency, std::move(task));
}

// ---- Records -----------------------------------------------------------------------------------------

void SimMember::send_records(const WritePtr& job) {
  SimCluster& cluster = job->cluster;
  cluster.scheduler_.after(cluster.latency(), [job] {
    SimCluster& c = job->cluster;
    if (job->fails(0)) return reply(job, c.latency(), [job](SimMember&) { take_back(job, WriteResult::kNotDone); });
    c.coordinator_.begin(job->writer, job->client, job->epoch, [job](TxnVerdict verdict) {
      if (verdict != TxnVerdict::kOk) return refuse(job, verdict);
      append_records(job);
    });
  });
}

void SimMember::append_records(const WritePtr& job) {
  SimCluster& cluster = job->cluster;
  job->begun = true;
  Duration wait = cluster.latency();
  const std::vector<Record>& records = job->write.records;
  for (std::size_t i = 0; i < records.size(); ++i) {
    TopicPartition destination;
    if (const auto why = cluster.refusal(records[i], destination)) {
      job->refused.push_back({i, *why});
      if (*why == Refusal::kTimeout) wait = cluster.faults_.stall_timeout;
      continue;
    }
    PartitionLog& log = *cluster.find_log(destination);
    cluster.coordinator_.add(job->writer, log);
    job->offsets.push_back(log.append(records[i], job->writer.txn));
  }
  const std::size_t limit = cluster.faults_.metadata_limit;
  const bool too_long = limit > 0 && std::ranges::any_of(job->write.offsets, [limit](const auto& offset) {
                          return offset.metadata.size() > limit;
                        });
  reply(job, wait, [job, too_long](SimMember&) {
    if (!job->refused.empty() || too_long)
      take_back(job, WriteResult::kRefused);
    else if (job->fails(1))
      take_back(job, WriteResult::kNotDone);
    else
      send_offsets(job);
  });
}

// ---- Offsets -----------------------------------------------------------------------------------------

void SimMember::send_offsets(const WritePtr& job) {
  if (job->write.offsets.empty() && !job->fails(2) && !job->fails(3)) return send_end(job);
  job->cluster.scheduler_.after(job->cluster.latency(), [job] { add_offsets(job); });
}

void SimMember::add_offsets(const WritePtr& job) {
  SimCluster& cluster = job->cluster;
  const TxnVerdict verdict = cluster.coordinator_.check(job->writer, job->client, job->epoch);
  if (verdict != TxnVerdict::kOk) return refuse(job, verdict);
  auto give_up = [&](WriteResult result) {
    reply(job, cluster.latency(), [job, result](SimMember&) { take_back(job, result); });
  };
  if (job->fails(2)) return give_up(WriteResult::kNotDone);
  const std::vector<OffsetToCommit>& offsets = job->write.offsets;
  // The broker looks at the member and its generation, and not at all at who owns the partitions.
  const bool fenced = !job->group.valid(job->membership, job->generation) && !mutant(Mutant::kLateCommitTaken);
  if (!offsets.empty() && fenced) return give_up(WriteResult::kNotDone);
  for (const OffsetToCommit& offset : offsets)
    if (utf16_units(offset.metadata) > kMetadataLimit) return give_up(WriteResult::kRefused);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    job->group.add_pending(job->writer.txn, job->tps[i], offsets[i].offset, offsets[i].metadata);
  if (!offsets.empty()) cluster.coordinator_.add(job->writer, job->group);
  if (job->fails(3)) return give_up(WriteResult::kNotDone);
  reply(job, cluster.latency(), [job](SimMember&) { send_end(job); });
}

// ---- The end -----------------------------------------------------------------------------------------

void SimMember::send_end(const WritePtr& job) {
  SimCluster& cluster = job->cluster;
  const BrokerFaults& faults = cluster.faults_;
  const bool answered = job->fate == WriteFate::kNormal || job->fate == WriteFate::kNotDone;
  if (job->fate == WriteFate::kLateRequest) {
    // Half of them come so soon that they race with the client's attempt to find out.
    Random& random = cluster.scheduler_.random();
    const Duration most = random.chance(50) ? 4 * faults.latency_max + Duration(1) : faults.client_timeout;
    cluster.scheduler_.after(faults.client_timeout + Duration(random.between(1, most.count())),
                             [job] { end_at_broker(job, false); });
  } else if (job->fate != WriteFate::kReplyLostNotDone) {
    cluster.scheduler_.after(cluster.latency(), [job, answered] { end_at_broker(job, answered); });
  }
  if (answered) return;
  reply(job, faults.client_timeout, [job](SimMember& m) {
    m.unresolved_ = Unresolved{job->write.serial, job->tps};
    m.answer(job, WriteResult::kUnknown);
  });
}

void SimMember::end_at_broker(const WritePtr& job, bool reply_to_it) {
  SimCluster& cluster = job->cluster;
  const TxnVerdict verdict = cluster.coordinator_.check(job->writer, job->client, job->epoch);
  if (verdict == TxnVerdict::kOk) {
    // The observer first: markers without a delay are written inside `end`.
    if (cluster.write_committed_) cluster.write_committed_(job->id, job->write);
    cluster.coordinator_.end(job->writer, job->client, job->epoch, true);
  }
  if (!reply_to_it) return;
  if (verdict != TxnVerdict::kOk) return refuse(job, verdict);
  reply(job, cluster.latency(), [job](SimMember& m) { m.answer(job, WriteResult::kDone); });
}

void SimMember::take_back(const WritePtr& job, WriteResult result) {
  SimCluster& cluster = job->cluster;
  cluster.scheduler_.after(cluster.latency(), [job, result] {
    SimCluster& c = job->cluster;
    if (job->begun) {
      const TxnVerdict verdict = c.coordinator_.end(job->writer, job->client, job->epoch, false);
      if (verdict != TxnVerdict::kOk) return refuse(job, verdict);
    }
    reply(job, c.latency(), [job, result](SimMember& m) { m.answer(job, result); });
  });
}

// The broker takes nothing of this epoch any more, so nothing of the write is or will be there. Over: the
// client begins a new epoch before it answers. Fenced: it is shut out for good.
void SimMember::refuse(const WritePtr& job, TxnVerdict verdict) {
  SimCluster& cluster = job->cluster;
  if (verdict == TxnVerdict::kFenced) {
    reply(job, cluster.latency(), [job](SimMember& m) {
      m.answer(job, WriteResult::kNotDone);
      m.fail("another writer uses " + m.transactional_id_);
    });
    return;
  }
  reply(job, cluster.latency(), [job](SimMember& m) {
    m.scheduler().after(m.latency(), [job] {
      job->cluster.coordinator_.init(job->writer, job->client, [job](std::uint32_t epoch) {
        reply(job, job->cluster.latency(), [job, epoch](SimMember& owner) {
          owner.producer_epoch_ = std::max(owner.producer_epoch_, epoch);  // a write under way keeps its id
          owner.answer(job, WriteResult::kNotDone);
        });
      });
    });
  });
}

void SimMember::answer(const WritePtr& job, WriteResult result) {
  if (std::exchange(job->answered, true)) return;
  writing_ = false;
  WriteAnswered answered{job->write.serial, result, {}, {}};
  if (result == WriteResult::kRefused) answered.refused = std::move(job->refused);
  if (result == WriteResult::kDone) answered.offsets = std::move(job->offsets);
  push(std::move(answered));
}

// ---- Finding out what became of it -------------------------------------------------------------------

void SimMember::resolve(WriteSerial serial) {
  if (!alive_) return;
  BARTLEBY_ASSERT(unresolved_ && unresolved_->serial == serial);
  const bool failed = fails(cluster_.faults_.p_fence_fail);
  const bool effect = !failed || scheduler().random().chance(50);
  scheduler().after(
      latency(), [&cluster = cluster_, client = number_, asked = *unresolved_, id = writer_id_, failed, effect] {
        if (failed) {
          to_client(cluster, client, cluster.latency(),
                    [serial = asked.serial](SimMember& m) { m.push(WriteResolved{serial, false, {}}); });
        }
        if (!effect) return;
        const auto read = [asked](SimMember& m) {
          m.scheduler().after(m.latency(),
                              [&c = m.cluster_, number = m.number_, asked] { read_after_init(c, number, asked); });
        };
        TxnWriter& writer = cluster.coordinator_.writer(id);
        cluster.coordinator_.init(writer, client, [&cluster, client, id, read, failed](std::uint32_t epoch) {
          if (failed) return;
          to_client(cluster, client, cluster.latency(), [id, read, epoch](SimMember& m) {
            if (m.writer_id_ != id) return;
            m.producer_epoch_ = std::max(m.producer_epoch_, epoch);
            read(m);
          });
        });
        // It is decided now. Whether it was done its offsets say, as soon as they are not pending.
        if (failed || writer.state != TxnWriter::State::kCompleting) return;
        if (!BrokerFaults::happens(cluster.scheduler_.random(), cluster.faults_.p_other_id)) return;
        to_client(cluster, client, cluster.latency(), [id, read, asked](SimMember& m) {
          if (m.writer_id_ != id || !m.unresolved_ || m.unresolved_->serial != asked.serial) return;
          m.take_another_id();
          read(m);
        });
      });
}

void SimMember::read_after_init(SimCluster& cluster, ClientNo client, const Unresolved& asked) {
  const SimMember* asking = cluster.live(client);
  if (asking == nullptr) return;
  const SimGroup& group = cluster.group(asking->spec_.group);
  WriteResolved resolved{asked.serial, true, {}};
  if (BrokerFaults::happens(cluster.scheduler_.random(), cluster.faults_.p_read_fail)) resolved.answered = false;
  for (const TopicPartition& tp : asked.tps) {
    if (group.pending(tp) && !mutant(Mutant::kResolvedWhilePending))
      resolved.answered = false;  // of another writer, or its own under an older id
    resolved.offsets.push_back(group.committed(tp));
  }
  if (!resolved.answered) resolved.offsets.clear();
  to_client(cluster, client, cluster.latency(), [resolved = std::move(resolved)](SimMember& m) mutable {
    if (resolved.answered && m.unresolved_ && m.unresolved_->serial == resolved.serial) m.unresolved_.reset();
    m.push(std::move(resolved));
  });
}

}  // namespace bartleby::sim
