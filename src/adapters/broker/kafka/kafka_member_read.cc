// How a member's own thread reads its partitions: from where it was told to, and without leaving out what is there.
#include <algorithm>
#include <utility>

#include "adapters/broker/kafka/kafka_member.h"
#include "adapters/broker/kafka/records.h"

namespace bartleby::kafka {
namespace {

constexpr std::size_t kRecordInLog = 12;                 // lengths and offsets of a record, and its part of a batch
constexpr std::uint64_t kOurs = std::uint64_t{1} << 62;  // in requests of ranges: asked by the member itself

std::string text_of(const TopicPartition& tp) { return tp.topic + " [" + std::to_string(tp.partition.v) + "]"; }

}  // namespace

// Always by an assign at an absolute offset, never by a seek: one that meets a question for a logical offset loses to
// its answer, and one after an error is refused (docs/decisions/0011).
void KafkaMember::begin_reading() {
  if (!alive_ || !topics_known_ || revoking_ || setting_back_)
    return;  // revoking: nothing flows now, and an unassign is taken for the answer, also for one on its way
  ListPtr again = make_list(slots_.size());
  for (const Slot& slot : slots_)
    if (slot.owned && slot.start_at && attached_.erase(slot.tp) > 0) add_to(again, slot.tp);
  if (again->cnt > 0) {
    if (const ErrorPtr error{rd_kafka_incremental_unassign(consumer_.get(), again.get())})
      return failed(false, "group " + spec_.group + ": " + rd_kafka_error_string(error.get()));
    // A revocation that was on its way is answered by that, and its partitions may have another owner already.
    serve_group(true);
    if (!alive_) return;
  }
  ListPtr list = make_list(slots_.size());
  for (Slot& slot : slots_) {
    if (!slot.owned || !slot.start_at) continue;
    if (!slot.queue) {
      // Detached from the consumer's queue before anything can be fetched into that.
      slot.queue.reset(rd_kafka_queue_get_partition(consumer_.get(), slot.tp.topic.c_str(), slot.tp.partition.v));
      rd_kafka_queue_forward(slot.queue.get(), nullptr);
      ring_on(slot.queue.get(), bell_);
    }
    add_to(list, slot.tp)->offset = slot.start_at->v + std::exchange(next_skip_, 0);
    attached_.insert(slot.tp);
    slot.position = *slot.start_at;
    slot.start_at.reset();
    slot.reading = true;
    slot.unproven = true;
  }
  if (list->cnt == 0) return;
  if (const ErrorPtr error{rd_kafka_incremental_assign(consumer_.get(), list.get())})
    failed(false, "group " + spec_.group + ": " + rd_kafka_error_string(error.get()));
}

bool KafkaMember::serve_partitions() {
  // Each in turn, and the first one is another each time.
  const auto count = static_cast<std::uint32_t>(slots_.size());
  if (count == 0) return false;
  const std::uint32_t first = first_slot_++ % count;
  bool any = false;
  for (std::uint32_t i = 0; i < count; ++i) any = serve_partition((first + i) % count) || any;
  return any;
}

bool KafkaMember::serve_partition(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!alive_ || !slot.owned || !slot.reading || slot.start_at || slot.doubt) return false;
  const PartitionRef ref{index, slot.epoch};
  {
    const std::lock_guard lock(mutex_);
    const auto view = views_.find(ref);
    if (view == views_.end() || !view->second.open || view->second.bytes >= admin_->options().slice_bytes) return false;
  }
  std::vector<rd_kafka_message_t*>& messages = fetched_;
  messages.resize(admin_->options().slice_records);
  const ssize_t count = rd_kafka_consume_batch_queue(slot.queue.get(), 0, messages.data(), messages.size());
  if (count <= 0) return false;
  std::vector<LogRecord> records = spare();
  std::size_t read = 0, bytes = 0;
  auto pass_on = [&](BrokerEvent event, std::size_t size) {
    if (slot.doubt)
      slot.doubt->held.emplace_back(std::move(event), size);
    else
      push_of(ref, slot.run, std::move(event), size);
  };
  auto flush = [&] {
    if (read == 0) return;
    records.resize(std::exchange(read, 0));
    pass_on(RecordsFetched{ref, std::exchange(records, {})}, std::exchange(bytes, 0));
  };
  bool outside = false;
  for (ssize_t i = 0; i < count; ++i) {
    rd_kafka_message_t* message = messages[static_cast<std::size_t>(i)];
    const bool record = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    if ((record || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) && Offset(message->offset) >= slot.position &&
        std::exchange(slot.unproven, false) && Offset(message->offset) > slot.position)
      doubt(slot, Offset(message->offset));
    if (record) {
      if (Offset(message->offset) >= slot.position) {
        slot.read_offsets += message->offset + 1 - slot.position.v;
        slot.position = Offset(message->offset + 1);
        if (read == records.size()) records.emplace_back();
        read_into(records[read], *message);
        const std::size_t size = payload_size(records[read++]);
        slot.read_bytes += size + kRecordInLog;
        bytes += size + sizeof(LogRecord);
      }
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      flush();
      slot.position = std::max(slot.position, Offset(message->offset));
      pass_on(EndReached{ref, slot.position}, 0);
    } else if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
               message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
      outside = true;
      tell(text_of(slot.tp) + ": reading does not go on at offset " + std::to_string(slot.position.v) + ": " +
           rd_kafka_message_errstr(message));
    } else if (std::exchange(slot.trouble, message->err) != message->err && admin_->options().log) {
      admin_->options().log(3, slot.tp.topic + "/" + std::to_string(slot.tp.partition.v) +
                                   " cannot be read: " + rd_kafka_message_errstr(message));
    }
    if (record || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) slot.trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_message_destroy(message);
  }
  flush();
  if (outside) out_of_range(index);
  return true;
}

void KafkaMember::out_of_range(std::uint32_t index) {
  Slot& slot = slots_[index];
  slot.reading = false;
  if (slot.doubt) slot.position = slot.doubt->from;
  forget_doubt(slot);
  ask_ends({.asked = Asked::kOutOfRange,
            .ref = {index, slot.epoch},
            .tp = {},
            .run = slot.run,
            .wanted = slot.position,
            .start = {},
            .stable = {},
            .high_watermark = {}},
           slot.tp);
}

// ---- What must not be left out -------------------------------------------------------------------------

// Where nothing was written, where a transaction ended or was taken back, and where compaction was, offsets are left
// out. Whether this is the reason is known by reading once more, by another consumer.
void KafkaMember::doubt(Slot& slot, Offset to) {
  slot.doubt = Doubt{kOurs | ++last_doubt_, slot.position, to, {}};
  reader_->read(slot.doubt->request, slot.tp, slot.position, to, {});
}

void KafkaMember::explained(const RangeRead& read) {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.doubt || slot.doubt->request != read.request) continue;
    if (!read.records.empty())
      return failed(false, text_of(slot.tp) + ": reading went from offset " + std::to_string(slot.doubt->from.v) +
                               " to " + std::to_string(slot.doubt->to.v) + ", but there is a message at " +
                               std::to_string(read.records.front().offset.v) +
                               "; nothing of this was taken for read, and the worker begins anew");
    if (!read.answered) {
      reader_->read(read.request, slot.tp, slot.doubt->from, slot.doubt->to, {});
    } else if (read.end) {
      Doubt over = std::move(*slot.doubt);
      slot.doubt.reset();
      for (auto& [event, bytes] : over.held) push_of({i, slot.epoch}, slot.run, std::move(event), bytes);
    }
    return;
  }
}

void KafkaMember::forget_doubt(Slot& slot) {
  if (slot.doubt) reader_->cancel(slot.doubt->request);
  slot.doubt.reset();
}

bool KafkaMember::serve_ranges() {
  std::size_t room = 0;
  {
    const std::lock_guard lock(mutex_);
    room = admin_->options().outbox_bytes - std::min(admin_->options().outbox_bytes, range_bytes_);
  }
  std::vector<BrokerEvent> out;
  const bool any = reader_->serve(out, room);
  for (BrokerEvent& event : out) {
    const auto* read = std::get_if<RangeRead>(&event);
    if (read != nullptr && (read->request & kOurs) != 0)
      explained(*read);
    else
      push(std::move(event));
  }
  return any;
}

}  // namespace bartleby::kafka
