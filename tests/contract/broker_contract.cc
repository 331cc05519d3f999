#include "tests/contract/broker_contract.h"

namespace bartleby::contract {

// ---- Probe -------------------------------------------------------------------------------------------

void Probe::poll(Duration wait) {
  if (member_ == nullptr) return;
  const std::size_t before = events_.size();
  member_->poll(events_, wait);
  for (std::size_t i = before; i < events_.size(); ++i) {
    if (const auto* given = std::get_if<PartitionAssigned>(&events_[i])) held_.push_back({given->tp, given->ref});
    if (const auto* lost = std::get_if<PartitionLost>(&events_[i]))
      std::erase_if(held_, [&](const Held& h) { return h.ref == lost->ref; });
  }
}

std::optional<PartitionRef> Probe::ref(const TopicPartition& tp) const {
  for (const Held& held : held_)
    if (held.tp == tp) return held.ref;
  return std::nullopt;
}

std::size_t Probe::owned() const { return held_.size(); }

void Probe::release(const TopicPartition& tp) {
  member_->release(ref(tp).value());
  std::erase_if(held_, [&](const Held& h) { return h.tp == tp; });
}

std::vector<LogRecord> Probe::records(PartitionRef ref) const {
  std::vector<LogRecord> found;
  for (const BrokerEvent& event : events_)
    if (const auto* fetched = std::get_if<RecordsFetched>(&event); fetched != nullptr && fetched->ref == ref)
      found.insert(found.end(), fetched->records.begin(), fetched->records.end());
  return found;
}

std::optional<Offset> Probe::end(PartitionRef ref) const {
  std::optional<Offset> last;
  for (const BrokerEvent& event : events_)
    if (const auto* end = std::get_if<EndReached>(&event); end != nullptr && end->ref == ref) last = end->next;
  return last;
}

std::vector<std::string> values(const std::vector<LogRecord>& records) {
  std::vector<std::string> found;
  for (const LogRecord& record : records) found.push_back(record.value.value_or("<null>"));
  return found;
}

// ---- The world ---------------------------------------------------------------------------------------

std::string BrokerContract::topic(std::int32_t partitions, bool compacted, std::size_t max_message) {
  TopicSpec spec;
  spec.name = rig_->fresh("topic");
  spec.partitions = partitions;
  spec.compacted = compacted;
  spec.max_message = max_message;
  const auto made = broker().ensure_topics({spec});
  EXPECT_TRUE(made.has_value());
  return spec.name;
}

Probe& BrokerContract::join(const std::string& group, const std::vector<std::string>& topics, Duration session) {
  auto member = broker().join({group, topics, "host" + std::to_string(probes_.size()), session});
  EXPECT_TRUE(member.has_value());
  return probes_.emplace_back(std::move(*member));
}

std::vector<Offset> BrokerContract::produce(const TopicPartition& tp, const std::vector<std::string>& texts) {
  std::vector<Record> records;
  for (const std::string& text : texts) records.push_back(out(tp, "key", text));
  const auto written = broker().produce(records);
  EXPECT_TRUE(written.has_value());
  std::vector<Offset> offsets;
  if (written)
    for (const Written& w : *written) offsets.push_back(w.offset);
  return offsets;
}

// ---- Waiting -----------------------------------------------------------------------------------------

testing::AssertionResult BrokerContract::await(const std::function<bool()>& predicate) {
  const Instant limit = rig_->now() + rig_->limit();
  while (!predicate()) {
    if (rig_->now() >= limit)
      return testing::AssertionFailure() << "waited in vain for " << rig_->limit().count() << " ms";
    for (Probe& probe : probes_) probe.poll(Duration(5));
  }
  return testing::AssertionSuccess();
}

void BrokerContract::look_on(Duration time) {
  const Instant limit = rig_->now() + time;
  while (rig_->now() < limit)
    for (Probe& probe : probes_) probe.poll(Duration(5));
}

PartitionRef BrokerContract::assigned(Probe& probe, const TopicPartition& tp) {
  EXPECT_TRUE(await([&] { return probe.ref(tp).has_value(); })) << tp.topic << "/" << tp.partition.v;
  return probe.ref(tp).value_or(PartitionRef{});
}

PartitionRef BrokerContract::reading(Probe& probe, const TopicPartition& tp, Offset from) {
  const PartitionRef ref = assigned(probe, tp);
  probe->start(ref, from);
  return ref;
}

// ---- Requests ----------------------------------------------------------------------------------------

WriteSerial BrokerContract::send(Probe& probe, std::vector<Record> records, std::vector<OffsetToCommit> to_commit) {
  const WriteSerial serial(probe.next_number++);
  probe->write({serial, std::move(records), std::move(to_commit)});
  return serial;
}

WriteAnswered BrokerContract::answer(Probe& probe, WriteSerial serial) {
  const WriteAnswered* found = nullptr;
  EXPECT_TRUE(await([&] {
    found = probe.find<WriteAnswered>([&](const WriteAnswered& a) { return a.serial == serial; });
    return found != nullptr;
  })) << "for the answer to write "
      << serial.v;
  return found != nullptr ? *found : WriteAnswered{serial, WriteResult::kUnknown, {}, {}};
}

WriteAnswered BrokerContract::write(Probe& probe, std::vector<Record> records, std::vector<OffsetToCommit> to_commit) {
  return answer(probe, send(probe, std::move(records), std::move(to_commit)));
}

WriteAnswered BrokerContract::write_until_done(Probe& probe, std::vector<Record> records,
                                               std::vector<OffsetToCommit> to_commit) {
  WriteAnswered last{};
  EXPECT_TRUE(await([&] {
    last = write(probe, records, to_commit);
    return last.result != WriteResult::kNotDone;
  }));
  EXPECT_EQ(last.result, WriteResult::kDone);
  return last;
}

WriteAnswered BrokerContract::lose(Probe& probe, Fate fate, std::vector<Record> records,
                                   std::vector<OffsetToCommit> to_commit) {
  WriteAnswered last{};
  EXPECT_TRUE(await([&] {
    rig_->fate_of_next_write(*probe, fate);
    last = write(probe, records, to_commit);
    return last.result != WriteResult::kNotDone;
  }));
  return last;
}

void BrokerContract::leave_open(Probe& writer, Probe& observer, const TopicPartition& tp, Fate fate,
                                std::vector<Record> records, OffsetToCommit offset) {
  WriteSerial serial(0);
  auto over = [&](const WriteAnswered& a) { return a.serial == serial; };
  // A write is answered before its end has reached the offsets: until then it is the one before that is open.
  EXPECT_TRUE(await([&] { return offsets(observer, tp, Stability::kStable).answered; }));
  EXPECT_TRUE(await([&] {
    // A generation that moved on its way ends it: it is sent anew.
    if (serial == WriteSerial(0) || writer.find<WriteAnswered>(over) != nullptr) {
      rig_->fate_of_next_write(*writer, fate);
      serial = send(writer, records, {offset});
    }
    return !offsets(observer, tp, Stability::kStable).answered;
  }));
}

WriteResolved BrokerContract::resolve(Probe& probe, WriteSerial serial) {
  WriteResolved last{serial, false, {}};
  std::size_t answers = probe.count<WriteResolved>();
  probe->resolve(serial);
  EXPECT_TRUE(await([&] {
    if (probe.count<WriteResolved>() == answers) return false;
    answers = probe.count<WriteResolved>();
    const auto* found = probe.find<WriteResolved>([&](const auto& r) { return r.serial == serial && r.answered; });
    if (found != nullptr)
      last = *found;
    else
      probe->resolve(serial);
    return found != nullptr;
  }));
  return last;
}

OffsetsRead BrokerContract::offsets(Probe& probe, const TopicPartition& tp, Stability stability) {
  const std::uint64_t request = probe.next_number++;
  probe->read_offsets(request, {tp}, stability);
  const OffsetsRead* found = nullptr;
  EXPECT_TRUE(await([&] {
    found = probe.find<OffsetsRead>([&](const OffsetsRead& r) { return r.request == request; });
    return found != nullptr;
  }));
  return found != nullptr ? *found : OffsetsRead{request, false, {}};
}

CommittedOffset BrokerContract::stable(Probe& probe, const TopicPartition& tp) {
  OffsetsRead last{};
  EXPECT_TRUE(await([&] {
    last = offsets(probe, tp, Stability::kStable);
    return last.answered;
  }));
  return last.offsets.empty() ? CommittedOffset{} : last.offsets.front();
}

bool BrokerContract::fence(Probe& probe, const std::string& transactional_id) {
  const std::uint64_t request = probe.next_number++;
  probe->fence_writer(request, transactional_id);
  const WriterFenced* found = nullptr;
  EXPECT_TRUE(await([&] {
    found = probe.find<WriterFenced>([&](const WriterFenced& f) { return f.request == request; });
    return found != nullptr;
  }));
  return found != nullptr && found->answered;
}

Range BrokerContract::range(Probe& probe, const TopicPartition& tp, Offset from, Offset to, LaneFilter filter) {
  const std::uint64_t request = probe.next_number++;
  probe->read_range(request, tp, from, to, std::move(filter));
  EXPECT_TRUE(await([&] {
    return probe.find<RangeRead>([&](const RangeRead& r) { return r.request == request && r.end; }) != nullptr;
  }));
  Range whole;
  whole.next = from;
  for (const BrokerEvent& event : probe.events()) {
    const auto* slice = std::get_if<RangeRead>(&event);
    if (slice == nullptr || slice->request != request) continue;
    whole.answered = whole.answered && slice->answered;
    for (const LogRecord& record : slice->records) {
      EXPECT_GE(record.offset, whole.next) << "a slice goes on where the one before it ended";
      EXPECT_LT(record.offset, slice->next);
      whole.records.push_back(record);
    }
    EXPECT_GE(slice->next, whole.next);
    whole.next = slice->next;
  }
  return whole;
}

LogRangeRead BrokerContract::log_range(Probe& probe, const TopicPartition& tp) {
  const std::uint64_t request = probe.next_number++;
  probe->read_log_range(request, tp);
  const LogRangeRead* found = nullptr;
  EXPECT_TRUE(await([&] {
    found = probe.find<LogRangeRead>([&](const LogRangeRead& r) { return r.request == request; });
    return found != nullptr;
  }));
  return found != nullptr ? *found : LogRangeRead{};
}

}  // namespace bartleby::contract
