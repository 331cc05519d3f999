// What a member's own thread does with the group, with answers of the cluster, and before a write.
#include <algorithm>
#include <array>

#include "adapters/broker/kafka/kafka_member.h"
#include "base/assert.h"

namespace bartleby::kafka {

// ---- The group -----------------------------------------------------------------------------------------

KafkaMember::Slot* KafkaMember::slot(PartitionRef ref) {
  if (!alive_ || ref.index >= slots_.size()) return nullptr;
  Slot& found = slots_[ref.index];
  return found.owned && found.epoch == ref.epoch ? &found : nullptr;
}

void KafkaMember::serve_group(bool answered) {
  while (alive_) {
    const EventPtr event(rd_kafka_queue_poll(group_queue_.get(), 0));
    if (!event) return;
    const rd_kafka_event_type_t type = rd_kafka_event_type(event.get());
    const rd_kafka_resp_err_t err = rd_kafka_event_error(event.get());
    if (type == RD_KAFKA_EVENT_REBALANCE) {
      joined_ = true;
      // librdkafka has paused every partition and goes on from where it believes it was.
      for (Slot& slot : slots_) slot.unproven = true;
      const auto* list = rd_kafka_event_topic_partition_list(event.get());
      if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
        assigned(list);
      else
        revoked(list, answered || given_up());
    }
    if (type != RD_KAFKA_EVENT_ERROR) continue;
    const bool refused = err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
                         err == RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION || err == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
    const std::string text = "group " + spec_.group + ": " + rd_kafka_event_error_string(event.get());
    // Anything else librdkafka tries again by itself; what people must mend, such as a topic that is gone, is told.
    if (rd_kafka_event_error_is_fatal(event.get()) != 0 || refused)
      failed(false, text);
    else if (code_of(err) != ErrorCode::kUnavailable && admin_->options().log)
      admin_->options().log(4, text);
  }
}

// A partition is ours from here on, and is not read: where, only `start` says. The group is content with an answer
// that names no partition (docs/decisions/0011).
void KafkaMember::assigned(const rd_kafka_topic_partition_list_t* list) {
  std::vector<PartitionAssigned> told;
  for (int i = 0; i < list->cnt; ++i) {
    std::uint32_t index = 0;
    while (index < slots_.size() && slots_[index].owned) ++index;
    if (index == slots_.size()) slots_.emplace_back();
    last_epoch_ = Epoch(last_epoch_.v + 1);
    Slot& slot = slots_[index];
    drop_queue(slot);
    slot = Slot{};
    slot.tp = where(list->elems[i]);
    slot.epoch = last_epoch_;
    slot.owned = true;
    told.push_back({{index, last_epoch_}, slot.tp});
    lost_topics_.erase(slot.tp.topic);
  }
  const ListPtr none = make_list(0);
  if (const ErrorPtr error{rd_kafka_incremental_assign(consumer_.get(), none.get())})
    return failed(false, "group " + spec_.group + ": " + rd_kafka_error_string(error.get()));
  {
    const std::lock_guard lock(mutex_);
    for (const PartitionAssigned& one : told) views_[one.ref] = {};
  }
  for (PartitionAssigned& one : told) push(std::move(one));
}

// The group goes on without us. `rd_kafka_assignment_lost` alone does not tell: every assign takes that mark away.
bool KafkaMember::given_up() const {
  if (rd_kafka_assignment_lost(consumer_.get()) != 0) return true;
  const GroupMetadataPtr group(rd_kafka_consumer_group_metadata(consumer_.get()));
  if (!group || rd_kafka_consumer_group_metadata_generation_id(group.get()) < 1) return true;
  const char* member = rd_kafka_consumer_group_metadata_member_id(group.get());
  return member == nullptr || *member == '\0';
}

void KafkaMember::give_up() {
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].owned) lose(slots_[i], i);
  if (setting_back_) setting_back_->tps.clear();
  answer_revoke();
}

void KafkaMember::revoked(const rd_kafka_topic_partition_list_t* list, bool lost) {
  revoking_.reset(rd_kafka_topic_partition_list_copy(list));
  for (int i = 0; i < list->cnt; ++i) {
    lost_topics_.erase(list->elems[i].topic);
    if (lost && setting_back_) setting_back_->tps.erase(where(list->elems[i]));
  }
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.owned || rd_kafka_topic_partition_list_find(list, slot.tp.topic.c_str(), slot.tp.partition.v) == nullptr)
      continue;
    if (lost)
      lose(slot, i);
    else
      push(PartitionRevoked{{i, slot.epoch}});
  }
  answer_revoke();
}

// The group waits for this answer: it comes when the last of the partitions was released or lost, and not while offsets
// are being set back. They may be of these.
void KafkaMember::answer_revoke() {
  if (!revoking_ || setting_back_) return;
  for (const Slot& slot : slots_)
    if (slot.owned &&
        rd_kafka_topic_partition_list_find(revoking_.get(), slot.tp.topic.c_str(), slot.tp.partition.v) != nullptr)
      return;
  const ListPtr list = take_attached(revoking_.get());
  revoking_.reset();
  if (const ErrorPtr error{rd_kafka_incremental_unassign(consumer_.get(), list.get())})
    failed(false, "group " + spec_.group + ": " + rd_kafka_error_string(error.get()));
}

// Those that librdkafka reads, to be unassigned: naming another one is an error.
ListPtr KafkaMember::take_attached(const rd_kafka_topic_partition_list_t* list) {
  ListPtr theirs = make_list(static_cast<std::size_t>(list->cnt));
  for (int i = 0; i < list->cnt; ++i)
    if (const TopicPartition tp = where(list->elems[i]); attached_.erase(tp) > 0) add_to(theirs, tp);
  return theirs;
}

void KafkaMember::lose(Slot& slot, std::uint32_t index) {
  const PartitionRef ref{index, slot.epoch};
  slot.owned = false;
  drop_queue(slot);
  {
    const std::lock_guard lock(mutex_);
    drop_waiting(ref);
    views_.erase(ref);
  }
  push(PartitionLost{ref});
}

void KafkaMember::drop_queue(Slot& slot) {
  forget_doubt(slot);
  if (!slot.queue) return;
  rd_kafka_queue_cb_event_enable(slot.queue.get(), nullptr, nullptr);
  slot.queue.reset();
}

// ---- Answers of the cluster ----------------------------------------------------------------------------

void KafkaMember::ask_ends(Ask ask, const TopicPartition& tp) {
  const std::uint64_t number = ++last_ask_;
  ask.tp = tp;
  asks_[number] = std::move(ask);
  for (const End which : {End::kStart, End::kStable, End::kHighWatermark})
    admin_->ask_end(answers_.get(), number * 4 + static_cast<std::uint64_t>(which), tp, which);
}

void KafkaMember::serve_answers() {
  while (alive_) {
    const EventPtr event(rd_kafka_queue_poll(answers_.get(), 0));
    if (!event) return;
    const auto number =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(rd_kafka_event_opaque(event.get())));
    const auto at = asks_.find(number / 4);
    if (at == asks_.end()) continue;  // answered as failed already
    bool over = false;
    answered(at->second, number % 4, event.get(), over);
    if (over) asks_.erase(at);
  }
}

void KafkaMember::answered(Ask& ask, std::uint64_t which, rd_kafka_event_t* event, bool& over) {
  over = true;
  if (ask.asked == Asked::kTopics) return topics_read(event);
  if (ask.asked == Asked::kOffsets || ask.asked == Asked::kResolve) {
    auto told = Admin::offsets_told(event);
    std::vector<CommittedOffset> offsets = told ? std::move(*told) : std::vector<CommittedOffset>{};
    if (ask.asked == Asked::kOffsets) return push(OffsetsRead{ask.request, told.has_value(), std::move(offsets)});
    if (told)
      unresolved_.reset();
    else
      tell("a write of group " + spec_.group + " is not resolved yet: " + told.error().message);
    return push(WriteResolved{WriteSerial(ask.request), told.has_value(), std::move(offsets)});
  }
  const auto end = Admin::end_told(event);
  const bool told = end && end->v >= 0;  // below 0 is no answer: a log that ends there would look emptied
  if (told) {
    std::array<std::optional<Offset>*, 3> parts = {&ask.start, &ask.stable, &ask.high_watermark};
    *parts[which] = *end;
    over = ask.start && ask.stable && ask.high_watermark;
    if (!over) return;
  }
  if (ask.asked == Asked::kLogRange) {
    if (!told) return push(LogRangeRead{ask.request, false, {}, {}, {}});
    // The three were not read at one moment: what comes later is never below what came before.
    const Offset stable = std::max(*ask.stable, *ask.start);
    const Offset high_watermark = std::max(stable, *ask.high_watermark);
    return push(LogRangeRead{ask.request, true, *ask.start, stable, high_watermark, size_of(ask.tp, *ask.start, stable),
                             ask.log});
  }
  Slot* mine = slot(ask.ref);
  if (mine == nullptr || mine->run != ask.run) return;
  if (!told) {
    mine->start_at = ask.wanted;  // it cannot be told now: reading says it again
    return;
  }
  // It is there again, so the log was shorter for a while, and has grown by other records since: those below the
  // position were never read. What is told is the log as it was.
  Offset log_end = *ask.high_watermark;
  if (ask.wanted > *ask.start && ask.wanted <= log_end) {
    log_end = Offset(ask.wanted.v - 1);
    if (admin_->options().log)
      admin_->options().log(3, ask.tp.topic + "/" + std::to_string(ask.tp.partition.v) + " was cut back below offset " +
                                   std::to_string(ask.wanted.v) +
                                   ", where it was read, and has grown since: what was written anew may be missed");
  }
  push_of(ask.ref, ask.run, PositionOutOfRange{ask.ref, ask.wanted, *ask.start, log_end}, 0);
}

// Kafka tells the sizes of logs to clients that can ask for them; librdkafka 2.15.1 cannot. So it is guessed: what was
// read takes so much an offset. What the broker keeps compressed is guessed too large, but a log that retention by size
// holds down is never more than that and a segment. 0: nothing was read yet.
std::uint64_t KafkaMember::size_of(const TopicPartition& tp, Offset start, Offset end) const {
  const auto at = std::ranges::find_if(slots_, [&](const Slot& s) { return s.owned && s.tp == tp; });
  if (at == slots_.end() || at->read_offsets == 0) return 0;
  const double each = static_cast<double>(at->read_bytes) / static_cast<double>(at->read_offsets);
  const auto guessed = static_cast<std::uint64_t>(each * static_cast<double>(end.v - start.v));
  return std::min(guessed, admin_->most_bytes(tp.topic).value_or(guessed));
}

// ---- Writes --------------------------------------------------------------------------------------------

void KafkaMember::do_write(Write write) {
  const auto not_done = [&](const char* why) {
    if (alive_) tell("a write of group " + spec_.group + " was not begun: " + why);
    push(WriteAnswered{write.serial, WriteResult::kNotDone, {}, {}});
  };
  serve_group();  // what the group has said by now counts
  if (!alive_ || writing_ || unresolved_) return not_done("another one has not ended");
  WriteOrder order{write.serial, std::move(write.records), {}, nullptr, std::nullopt};
  for (OffsetToCommit& offset : write.offsets) {
    const Slot* mine = slot(offset.ref);
    if (mine == nullptr) return not_done("a partition of it has left");
    order.offsets.push_back({mine->tp, offset.offset, std::move(offset.metadata)});
  }
  if (!order.offsets.empty()) {
    // In one step with the check of the owner: the broker fences by generation, and not at all without one.
    order.group.reset(rd_kafka_consumer_group_metadata(consumer_.get()));
    if (!order.group || rd_kafka_consumer_group_metadata_generation_id(order.group.get()) < 1)
      return not_done("this member is in no generation of the group");
  }
  order.fate = std::exchange(next_fate_, std::nullopt);
  writing_ = true;
  writing_tps_.clear();
  for (const CommittedOffset& o : order.offsets) writing_tps_.push_back(o.tp);
  auto shared = std::make_shared<WriteOrder>(std::move(order));
  writer_.post([this, shared] { this->order([this, report = transactions_.write(*shared)] { written(report); }); });
}

void KafkaMember::written(const WriteReport& report) {
  writing_ = false;
  if (report.answer.result == WriteResult::kUnknown) unresolved_ = Unresolved{report.answer.serial, writing_tps_};
  if (report.answer.result == WriteResult::kNotDone && !report.message.empty())
    tell("a write of group " + spec_.group + " was not done: " + report.message);
  push(report.answer);
  // By the protocol of KIP-848 librdkafka keeps its name and its epoch until the revocation is answered, and that waits
  // for this very write.
  if (report.unknown_member && revoking_) give_up();
  if (report.failed)
    failed(report.shut_out, report.shut_out ? "another writer uses " + transactional_id_ : report.message);
}

// What is tried again and again is told once a minute.
void KafkaMember::tell(const std::string& trouble) {
  if (!admin_->options().log) return;
  const Instant now{std::chrono::duration_cast<Duration>(Clock::now().time_since_epoch())};
  if (const auto left_out = troubles_.tell(trouble, now))
    admin_->options().log(4,
                          *left_out == 0 ? trouble : trouble + " (and " + std::to_string(*left_out) + " times more)");
}

void KafkaMember::do_resolve(WriteSerial serial) {
  if (!unresolved_ || unresolved_->serial != serial) return push(WriteResolved{serial, false, {}});
  writer_.post([this, serial] {
    order([this, serial, renewed = transactions_.renew()] {
      if (!renewed) {
        tell("a write of group " + spec_.group + " is not resolved yet: " + renewed.error().message);
        push(WriteResolved{serial, false, {}});
        if (renewed.error().code == ErrorCode::kInvalid) failed(false, renewed.error().message);
        return;
      }
      if (!unresolved_ || unresolved_->serial != serial) return;
      if (unresolved_->tps.empty()) {
        unresolved_.reset();
        return push(WriteResolved{serial, true, {}});
      }
      const std::uint64_t number = ++last_ask_;
      asks_[number] = {.asked = Asked::kResolve,
                       .request = serial.v,
                       .ref = {},
                       .tp = {},
                       .wanted = {},
                       .start = {},
                       .stable = {},
                       .high_watermark = {}};
      admin_->ask_offsets(answers_.get(), number * 4, spec_.group, unresolved_->tps, Stability::kStable);
    });
  });
}

}  // namespace bartleby::kafka
