#include "adapters/broker/kafka/range_reader.h"

#include <algorithm>

#include "adapters/broker/kafka/records.h"

namespace bartleby::kafka {
namespace {

constexpr std::chrono::seconds kStandstill{30};   // then a range has failed
constexpr std::chrono::milliseconds kQuiet{100};  // then another range of the partition has its turn
constexpr std::size_t kTopicsKept = 1000;

using MessagePtr = std::unique_ptr<rd_kafka_message_t, DestroyWith<rd_kafka_message_destroy>>;

// Two questions per range, told apart by the lowest bit of their number.
constexpr std::uint64_t number_of(std::uint64_t request, End which) {
  return request * 2 + (which == End::kStart ? 0 : 1);
}

}  // namespace

void ring_on(rd_kafka_queue_t* queue, Bell& bell) {
  rd_kafka_queue_cb_event_enable(queue, [](rd_kafka_t*, void* opaque) { static_cast<Bell*>(opaque)->ring(); }, &bell);
}

Result<std::unique_ptr<RangeReader>> RangeReader::open(std::shared_ptr<Admin> admin, Bell& bell) {
  Properties ours = reader_properties();
  ours.emplace_back("queued.min.messages", "1000");
  ours.emplace_back("queued.max.messages.kbytes", "1024");
  ours.emplace_back("fetch.wait.max.ms", "10");
  ours.emplace_back("fetch.queue.backoff.ms", "5");
  auto handle = make_handle(RD_KAFKA_CONSUMER, admin->options(), ours);
  if (!handle) return std::unexpected(handle.error());
  return std::make_unique<RangeReader>(std::move(admin), bell, std::move(*handle));
}

RangeReader::RangeReader(std::shared_ptr<Admin> admin, Bell& bell, HandlePtr handle)
    : admin_(std::move(admin)), bell_(bell), handle_(std::move(handle)), ends_(admin_->new_queue()) {
  ring_on(ends_.get(), bell_);
}

RangeReader::~RangeReader() {
  rd_kafka_queue_cb_event_enable(ends_.get(), nullptr, nullptr);
  for (auto& [tp, stream] : streams_) halt(tp, stream);
}

rd_kafka_topic_t* RangeReader::topic(const std::string& name) {
  if (const auto at = topics_.find(name); at != topics_.end()) return at->second.get();
  if (topics_.size() >= kTopicsKept)
    std::erase_if(topics_, [this](const auto& t) {
      return std::ranges::none_of(streams_, [&](const auto& s) { return s.first.topic == t.first; });
    });
  TopicPtr made(rd_kafka_topic_new(handle_.get(), name.c_str(), nullptr));
  return made ? topics_.emplace(name, std::move(made)).first->second.get() : nullptr;
}

void RangeReader::ask_ends(std::uint64_t request, const Range& range) {
  admin_->ask_end(ends_.get(), number_of(request, End::kStart), range.tp, End::kStart);
  admin_->ask_end(ends_.get(), number_of(request, End::kHighWatermark), range.tp, End::kHighWatermark);
}

void RangeReader::read(std::uint64_t request, TopicPartition tp, Offset from, Offset to, LaneFilter filter) {
  Range range;
  range.tp = std::move(tp);
  range.position = from;
  range.to = to;
  range.filter = std::move(filter);
  range.moved = Clock::now();
  ask_ends(request, range);
  streams_[range.tp].waiting.push_back(request);
  ranges_[request] = std::move(range);
}

void RangeReader::cancel(std::uint64_t request) {
  const auto at = ranges_.find(request);
  if (at == ranges_.end()) return;
  const auto stream = streams_.find(at->second.tp);
  if (stream->second.waiting.front() == request) halt(stream->first, stream->second);
  std::erase(stream->second.waiting, request);
  if (stream->second.waiting.empty()) streams_.erase(stream);
  ranges_.erase(at);
}

void RangeReader::take_ends() {
  while (const EventPtr event{rd_kafka_queue_poll(ends_.get(), 0)}) {
    if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_LISTOFFSETS_RESULT) continue;
    const auto number =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(rd_kafka_event_opaque(event.get())));
    const auto at = ranges_.find(number / 2);
    if (at == ranges_.end()) continue;  // cancelled
    Range& range = at->second;
    const auto told = Admin::end_told(event.get());
    if (!told || told->v < 0) {  // below 0 is no answer: as an end it would make the range look empty
      range.failed = true;
      continue;
    }
    if (number % 2 == 0)
      range.start = *told;
    else
      range.high_watermark = *told;
    if (!range.start || !range.high_watermark) continue;
    range.position = std::max(range.position, *range.start);
    range.target = std::min(range.to, *range.high_watermark);
  }
}

bool RangeReader::serve(std::vector<BrokerEvent>& out, std::size_t& room) {
  if (ranges_.empty()) return false;
  take_ends();
  bool any = false;
  for (auto at = streams_.begin(); at != streams_.end() && room > 0;) {
    any = serve_stream(at->first, at->second, out, room) || any;
    at = at->second.waiting.empty() ? streams_.erase(at) : std::next(at);
  }
  return any;
}

bool RangeReader::serve_stream(const TopicPartition& tp, Stream& stream, std::vector<BrokerEvent>& out,
                               std::size_t& room) {
  const std::uint64_t request = stream.waiting.front();
  Range& range = ranges_.at(request);
  const Clock::time_point now = Clock::now();
  if (now - range.moved > kStandstill) range.failed = true;
  if (!range.failed && range.target && range.position < *range.target && stream.topic == nullptr &&
      !begin(tp, stream, range))
    range.failed = true;
  RangeRead read{request, !range.failed, {}, range.position, true, range.start.value_or(Offset(0))};
  const Offset before = range.position;
  if (!range.failed && range.target && range.position < *range.target) read = slice(request, range, stream, room);
  if (range.failed) read = {request, false, {}, range.position, true, range.start.value_or(Offset(0))};
  const bool over = range.failed || (range.target && range.position >= *range.target);
  if (over || range.position > before) {
    range.moved = now;
    out.push_back(std::move(read));
  } else if (stream.topic != nullptr && now - stream.quiet_since < kQuiet) {
    return false;
  }
  if (!over && stream.waiting.size() == 1) return range.position > before;
  // The next one's turn, from the beginning: another position, another queue.
  halt(tp, stream);
  stream.waiting.pop_front();
  if (over)
    ranges_.erase(request);
  else
    stream.waiting.push_back(request);
  return over || range.position > before;
}

bool RangeReader::begin(const TopicPartition& tp, Stream& stream, Range& range) {
  rd_kafka_topic_t* rkt = topic(tp.topic);
  if (rkt == nullptr) return false;
  stream.queue.reset(rd_kafka_queue_new(handle_.get()));
  ring_on(stream.queue.get(), bell_);
  if (rd_kafka_consume_start_queue(rkt, tp.partition.v, range.position.v, stream.queue.get()) != 0) {
    stream.queue.reset();
    return false;
  }
  stream.topic = rkt;
  stream.quiet_since = Clock::now();
  return true;
}

void RangeReader::halt(const TopicPartition& tp, Stream& stream) {
  if (stream.topic == nullptr) return;
  rd_kafka_consume_stop(stream.topic, tp.partition.v);
  rd_kafka_queue_cb_event_enable(stream.queue.get(), nullptr, nullptr);
  while (const MessagePtr left{rd_kafka_consume_queue(stream.queue.get(), 0)}) {
  }
  stream.queue.reset();
  stream.topic = nullptr;
}

RangeRead RangeReader::slice(std::uint64_t request, Range& range, Stream& stream, std::size_t& room) {
  RangeRead read{request, true, {}, range.position, false, *range.start};
  const Options& options = admin_->options();
  std::size_t seen = 0, bytes = 0;
  while (range.target && range.position < *range.target && !range.failed && seen < options.slice_records &&
         bytes < options.slice_bytes) {
    const MessagePtr message(rd_kafka_consume_queue(stream.queue.get(), 0));
    if (!message) break;
    ++seen;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      take_error(range, *message, request, stream);
      continue;
    }
    if (Offset(message->offset) < range.position) continue;
    if (Offset(message->offset) >= *range.target) {
      range.position = *range.target;
      break;
    }
    range.position = Offset(message->offset + 1);
    LogRecord record = record_of(*message);
    bytes += payload_size(record);
    if (!range.filter || range.filter(record)) read.records.push_back(std::move(record));
  }
  if (seen > 0) stream.quiet_since = Clock::now();
  room -= std::min(room, bytes);
  read.next = range.position;
  read.end = range.target && range.position >= *range.target;
  return read;
}

void RangeReader::take_error(Range& range, const rd_kafka_message_t& message, std::uint64_t request, Stream& stream) {
  if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    range.position = std::max(range.position, std::min(Offset(message.offset), *range.target));
  } else if (message.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
             message.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
    // Retention has passed the position since its ends were asked for.
    halt(range.tp, stream);
    range.start.reset();
    range.target.reset();
    range.high_watermark.reset();
    ask_ends(request, range);
  } else if (code_of(message.err) != ErrorCode::kUnavailable) {
    range.failed = true;
  }
}

}  // namespace bartleby::kafka
