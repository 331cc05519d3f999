// Reading of a simulated member: its partitions, ranges of any partition, offsets and log ends.
#include "tests/sim/sim_member.h"

namespace bartleby::sim {

namespace {

constexpr Offset kNoLimit{INT64_MAX};
constexpr std::uint32_t kSlicesQueued = 2;  // of one partition, until the member polls

}  // namespace

// ---- Partitions --------------------------------------------------------------------------------------

void SimMember::start(PartitionRef ref, Offset from) {
  Slot* mine = slot(ref);
  if (mine == nullptr) return;
  recall(ref, true);
  mine->started = true;
  mine->position = from;
  mine->end_told = Offset(-1);
  fetch(ref.index);
}

void SimMember::set_intake(PartitionRef ref, bool open) {
  Slot* mine = slot(ref);
  if (mine == nullptr || mine->open == open) return;
  mine->open = open;
  if (open)
    fetch(ref.index);
  else
    recall(ref, false);
}

// Reads at once and delivers later: what is handed out may be older than what the broker knows by then.
void SimMember::fetch(std::uint32_t index) {
  Slot& mine = slots_[index];
  if (!mine.owned || !mine.started || !mine.open || mine.fetching || mine.queued >= kSlicesQueued) return;
  PartitionLog& log = *cluster_.find_log(mine.tp);
  mine.fetching = true;
  if (mine.position < log.start() || mine.position > log.high_watermark()) {
    in_reading(index, latency(), [index, start = log.start(), end = log.high_watermark()](SimMember& m) {
      Slot& s = m.slots_[index];
      s.started = s.fetching = false;
      m.push(PositionOutOfRange{{index, s.epoch}, s.position, start, end});
    });
    return;
  }
  std::vector<LogRecord> records;
  const Offset next = log.read(mine.position, kNoLimit, cluster_.faults_.slice(scheduler().random()), {}, records);
  const bool end = next == log.last_stable();
  if (next == mine.position && (!end || mine.end_told == next)) {
    log.wait([&cluster = cluster_, client = number_, index, run = mine.run] {
      SimMember* member = cluster.live(client);
      if (member == nullptr) return;
      member->arrive([index, run](SimMember& m) {
        if (m.slots_[index].run != run) return;
        m.slots_[index].fetching = false;
        m.fetch(index);
      });
    });
    return;
  }
  in_reading(index, latency(), [index, records = std::move(records), next, end](SimMember& m) mutable {
    m.fetched(index, std::move(records), next, end);
  });
}

void SimMember::in_reading(std::uint32_t index, Duration latency, ClientTask task) {
  to_client(cluster_, number_, latency, [index, run = slots_[index].run, task = std::move(task)](SimMember& m) mutable {
    if (m.slots_[index].owned && m.slots_[index].run == run) task(m);
  });
}

void SimMember::hand_out_late(std::uint32_t index) {
  Slot& mine = slots_[index];
  const PartitionLog& log = *cluster_.find_log(mine.tp);
  if (!mine.started || !mine.open || mine.position < log.start() || mine.position > log.high_watermark()) return;
  std::vector<LogRecord> records;
  mine.position = log.read(mine.position, kNoLimit, cluster_.faults_.slice(scheduler().random()), {}, records);
  ++mine.run;  // a fetch on its way would bring the same
  mine.fetching = false;
  if (records.empty()) return;
  ++mine.queued;
  push(RecordsFetched{{index, mine.epoch}, std::move(records)});
}

void SimMember::fetched(std::uint32_t index, std::vector<LogRecord> records, Offset next, bool end) {
  Slot& mine = slots_[index];
  mine.fetching = false;
  if (!mine.open) return;  // read again when it opens
  const PartitionRef ref{index, mine.epoch};
  mine.position = next;
  if (!records.empty()) {
    ++mine.queued;
    push(RecordsFetched{ref, std::move(records)});
  }
  if (end && mine.end_told != next) {
    mine.end_told = next;
    push(EndReached{ref, next});
  }
  fetch(index);
}

// ---- Ranges ------------------------------------------------------------------------------------------

void SimMember::read_range(std::uint64_t request, TopicPartition tp, Offset from, Offset to, LaneFilter filter) {
  if (!alive_) return;
  ranges_.push_back(std::make_shared<RangeJob>(RangeJob{request, std::move(tp), from, to, std::move(filter)}));
  read_slice(ranges_.back());
}

void SimMember::cancel_range(std::uint64_t request) {
  for (const RangePtr& job : ranges_)
    if (job->request == request) job->cancelled = true;
  std::erase_if(ranges_, [&](const RangePtr& job) { return job->request == request; });
  std::erase_if(events_, [&](const BrokerEvent& event) {
    const auto* slice = std::get_if<RangeRead>(&event);
    return slice != nullptr && slice->request == request;
  });
}

void SimMember::read_slice(const RangePtr& job) {
  PartitionLog* log = cluster_.find_log(job->tp);
  RangeRead slice{job->request, false, {}, job->position, true, Offset(0)};
  const bool silent = cluster_.silent(job->tp);
  if (log != nullptr && !silent && !fails(cluster_.faults_.p_read_fail)) {
    slice.answered = true;
    slice.log_start = log->start();
    const bool nothing = cluster_.faults_.short_reads && !cluster_.describe(job->tp.topic)->compacted;
    const Offset end = nothing ? job->position : cluster_.stale_end(*log).value_or(log->high_watermark());
    const Offset to = std::min(job->to, std::max(end, job->position));
    slice.next = log->read(job->position, to, cluster_.faults_.slice(scheduler().random()), job->filter, slice.records);
    slice.end = slice.next >= to || (job->to > log->high_watermark() && slice.next >= log->last_stable());
    if (!slice.end && slice.next == job->position) {
      log->wait([&cluster = cluster_, client = number_, job] {
        SimMember* member = cluster.live(client);
        if (member != nullptr)
          member->arrive([job](SimMember& m) {
            if (!job->cancelled) m.read_slice(job);
          });
      });
      return;
    }
  }
  const Duration wait = silent ? cluster_.faults_.stall_timeout : latency();
  to_client(cluster_, number_, wait, [job, slice = std::move(slice)](SimMember& m) mutable {
    if (!job->cancelled) m.slice_arrived(job, std::move(slice));
  });
}

void SimMember::slice_arrived(const RangePtr& job, RangeRead slice) {
  job->position = slice.next;
  job->queued = !slice.end;  // the next one is read when this one was polled
  if (slice.end) std::erase(ranges_, job);
  push(std::move(slice));
}

// ---- Offsets and ends --------------------------------------------------------------------------------

void SimMember::read_offsets(std::uint64_t request, std::vector<TopicPartition> tps, Stability stability) {
  if (!alive_) return;
  const bool failed = fails(cluster_.faults_.p_read_fail);
  scheduler().after(latency(), [&cluster = cluster_, client = number_, name = spec_.group, request,
                                tps = std::move(tps), stability, failed] {
    const SimGroup& group = cluster.group(name);
    OffsetsRead read{request, !failed, {}};
    for (const TopicPartition& tp : tps) {
      if (stability == Stability::kStable && group.pending(tp)) read.answered = false;
      read.offsets.push_back(group.committed(tp));
    }
    if (!read.answered) read.offsets.clear();
    to_client(cluster, client, cluster.latency(),
              [read = std::move(read)](SimMember& m) mutable { m.push(std::move(read)); });
  });
}

void SimMember::read_log_range(std::uint64_t request, TopicPartition tp) {
  if (!alive_) return;
  const bool failed = fails(cluster_.faults_.p_read_fail);
  scheduler().after(latency(), [&cluster = cluster_, client = number_, request, tp = std::move(tp), failed] {
    const PartitionLog* log = cluster.find_log(tp);
    const bool silent = cluster.silent(tp);
    LogRangeRead read{request, !failed && !silent && log != nullptr, {}, {}, {}};
    if (read.answered) {
      read.bytes = log->bytes();
      read.log = cluster.faults_.tells_log ? log->incarnation() + 1 : 0;
      read.start = log->start();
      read.end = log->last_stable();
      read.high_watermark = log->high_watermark();
      if (const auto stale = cluster.stale_end(*log)) {
        read.end = std::min(read.end, *stale);
        read.high_watermark = *stale;
      }
    }
    to_client(cluster, client, silent ? cluster.faults_.stall_timeout : cluster.latency(),
              [read](SimMember& m) { m.push(read); });
  });
}

void SimMember::fence_writer(std::uint64_t request, const std::string& transactional_id) {
  if (!alive_) return;
  const bool failed = fails(cluster_.faults_.p_fence_fail);
  const bool effect = !failed || scheduler().random().chance(50);
  scheduler().after(latency(), [&cluster = cluster_, client = number_, request, id = transactional_id, failed, effect] {
    auto reply = [&cluster, client, request](bool answered) {
      to_client(cluster, client, cluster.latency(),
                [request, answered](SimMember& m) { m.push(WriterFenced{request, answered}); });
    };
    if (failed) reply(false);
    if (!effect) return;
    cluster.coordinator_.init(cluster.coordinator_.writer(id), client, [reply, failed](std::uint32_t) {
      if (!failed) reply(true);
    });
  });
}

}  // namespace bartleby::sim
