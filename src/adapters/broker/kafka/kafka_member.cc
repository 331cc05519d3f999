// The side of the thread that calls a member, and the loop of the one that owns the consumer.
#include "adapters/broker/kafka/kafka_member.h"

#include <sys/random.h>

#include <algorithm>

#include "adapters/broker/kafka/read_ahead.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/thread_name.h"

namespace bartleby::kafka {
namespace {

constexpr std::chrono::milliseconds kLongestRest{50};  // a bell that was missed costs no more
constexpr std::chrono::seconds kCloseLimit{5};
constexpr std::size_t kSpares = 16;  // slices whose memory is kept for the next

std::string new_transactional_id(const GroupSpec& spec) {
  std::uint64_t random = 0;
  BARTLEBY_ASSERT(::getrandom(&random, sizeof random, 0) == static_cast<ssize_t>(sizeof random));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(random));
  return "bartleby." + spec.group + "." + spec.instance + "." + text;
}

std::size_t bytes_of(const std::vector<LogRecord>& records) {
  std::size_t bytes = 0;
  for (const LogRecord& record : records) bytes += payload_size(record) + sizeof(LogRecord);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<KafkaMember>> KafkaMember::join(std::shared_ptr<Admin> admin, GroupSpec spec) {
  std::string id = new_transactional_id(spec);
  auto member = std::make_unique<KafkaMember>(std::move(admin), std::move(spec), std::move(id));
  if (auto opened = member->open(); !opened) return std::unexpected(opened.error());
  return member;
}

KafkaMember::KafkaMember(std::shared_ptr<Admin> admin, GroupSpec spec, std::string transactional_id)
    : admin_(std::move(admin)),
      spec_(std::move(spec)),
      transactional_id_(std::move(transactional_id)),
      transactions_(admin_, transactional_id_, spec_.group),
      fences_([this](const std::string& writer) { return fence(*admin_, writer).has_value(); },
              [this](std::uint64_t request, bool answered) { push(WriterFenced{request, answered}); }) {
  bell_.ring = [this] {
    const std::lock_guard lock(io_mutex_);
    rung_ = true;
    io_wake_.notify_one();
  };
}

// Where it is not known how many partitions there are it is as if there were very many.
std::uint64_t KafkaMember::read_ahead_kb() const {
  std::uint64_t partitions = 0;
  for (const std::string& topic : spec_.topics) {
    const auto known = admin_->known(topic);
    if (known)
      partitions += static_cast<std::uint64_t>(known->partitions);
    else if (known.error().code != ErrorCode::kNotFound)
      return kLeastAheadKb;
  }
  const auto& budgets = admin_->options().budgets;
  const auto budget = budgets.find(spec_.group);
  return kafka::read_ahead_kb(budget == budgets.end() ? admin_->options().budget : budget->second, partitions);
}

Result<void> KafkaMember::open() {
  Properties ours = reader_properties();
  ours.emplace_back("group.id", spec_.group);
  // Of each partition: read ahead while the broker is asked for more. With less the worker stands still meanwhile.
  ours.emplace_back("queued.min.messages", "100000");
  ours.emplace_back("queued.max.messages.kbytes", std::to_string(read_ahead_kb()));
  ours.emplace_back("fetch.queue.backoff.ms", "5");
  // A partition that has enough is left out of a question, and if the others are at their ends the broker waits with
  // its answer: for so long nothing of that one comes, however soon it is through.
  ours.emplace_back("fetch.wait.max.ms", "50");
  if (admin_->options().consumer_protocol) {
    ours.emplace_back("group.protocol", "consumer");  // the session is the broker's setting then
  } else {
    ours.emplace_back("partition.assignment.strategy", "cooperative-sticky");
    ours.emplace_back("session.timeout.ms", std::to_string(spec_.session.count()));
    ours.emplace_back("heartbeat.interval.ms", std::to_string(std::min<std::int64_t>(3000, spec_.session.count() / 4)));
  }
  auto consumer = make_handle(RD_KAFKA_CONSUMER, admin_->options(), ours, [](rd_kafka_conf_t* conf) {
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR);
  });
  if (!consumer) return std::unexpected(consumer.error());
  consumer_ = std::move(*consumer);
  rd_kafka_poll_set_consumer(consumer_.get());
  group_queue_.reset(rd_kafka_queue_get_consumer(consumer_.get()));
  ring_on(group_queue_.get(), bell_);
  answers_ = admin_->new_queue();
  ring_on(answers_.get(), bell_);
  auto reader = RangeReader::open(admin_, bell_);
  if (!reader) return std::unexpected(reader.error());
  reader_ = std::move(*reader);
  ListPtr topics = make_list(spec_.topics.size());
  for (const std::string& topic : spec_.topics) add_to(topics, {topic, Partition(RD_KAFKA_PARTITION_UA)});
  if (const auto err = rd_kafka_subscribe(consumer_.get(), topics.get()); err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return error_of(err, "Kafka: group " + spec_.group);
  // Its first transaction need not wait for the coordinator then; what goes wrong shows at the first write.
  writer_.post([this] { transactions_.renew(); });
  thread_ = std::thread([this] { work(); });
  return {};
}

KafkaMember::~KafkaMember() { end(true); }

void KafkaMember::die() { end(false); }

void KafkaMember::leave() {
  end(true);
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

void KafkaMember::end(bool leaving) {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  writer_.stop();  // the write that is under way has a limit
  fences_.stop();
  {
    const std::lock_guard lock(io_mutex_);
    ending_ = true;
    leaving_ = leaving;
    io_wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

// ---- The caller's side ---------------------------------------------------------------------------------

void KafkaMember::order(Task task) {
  const std::lock_guard lock(io_mutex_);
  tasks_.push_back(std::move(task));
  io_wake_.notify_one();
}

void KafkaMember::poll(std::vector<BrokerEvent>& out, Duration wait) {
  std::unique_lock lock(mutex_);
  const std::size_t before = out.size();
  bool room_made = false, full = records_per_poll_ == 0;
  std::size_t records = 0;
  auto take = [&] {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto view = at->ref ? views_.find(*at->ref) : views_.end();
      // Of a partition that is closed, or more than is wanted: the first slice always goes, a part of one never. Behind
      // what stays everything of a partition stays, or an end would come before the records in front of it.
      const auto* fetched = std::get_if<RecordsFetched>(&at->event);
      const std::size_t more = fetched == nullptr ? 0 : fetched->records.size();
      const bool closed = view != views_.end() && !view->second.open;
      if (!closed && records > 0 && records + more > records_per_poll_) full = true;
      if (closed || (view != views_.end() && full)) {
        ++at;
        continue;
      }
      records += more;
      if (view != views_.end())
        view->second.bytes -= at->bytes;
      else
        range_bytes_ -= at->bytes;
      room_made = room_made || at->bytes > 0;
      out.push_back(std::move(at->event));
      at = waiting_.erase(at);
    }
    return out.size() > before || std::exchange(woken_, false);
  };
  if (!take() && wait > Duration(0)) ready_.wait_for(lock, wait, take);
  lock.unlock();
  if (room_made) bell_.ring();
}

void KafkaMember::reuse(std::vector<LogRecord> records) {
  const std::lock_guard lock(mutex_);
  if (spares_.size() < kSpares) spares_.push_back(std::move(records));
}

std::vector<LogRecord> KafkaMember::spare() {
  const std::lock_guard lock(mutex_);
  if (spares_.empty()) return {};
  std::vector<LogRecord> records = std::move(spares_.back());
  spares_.pop_back();
  return records;
}

void KafkaMember::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  ready_.notify_one();
}

void KafkaMember::push(BrokerEvent event) {
  std::size_t bytes = 0;
  const auto* range = std::get_if<RangeRead>(&event);
  if (range != nullptr) bytes = bytes_of(range->records);
  const std::lock_guard lock(mutex_);
  if (over_ || (range != nullptr && !ranges_.contains(range->request))) return;
  if (range != nullptr && range->end) ranges_.erase(range->request);
  range_bytes_ += bytes;
  waiting_.push_back({std::move(event), std::nullopt, bytes});
  ready_.notify_one();
}

void KafkaMember::push_of(PartitionRef ref, std::uint32_t run, BrokerEvent event, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto view = views_.find(ref);
  if (over_ || view == views_.end() || view->second.run != run) return;  // moved, released or lost since
  view->second.bytes += bytes;
  waiting_.push_back({std::move(event), ref, bytes});
  ready_.notify_one();
}

void KafkaMember::drop_waiting(PartitionRef ref) {
  std::erase_if(waiting_, [&](const Waiting& w) { return w.ref == ref; });
}

void KafkaMember::start(PartitionRef ref, Offset from) {
  std::uint32_t run = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto view = views_.find(ref);
    if (view == views_.end()) return;
    run = ++view->second.run;
    view->second.bytes = 0;
    drop_waiting(ref);
  }
  order([this, ref, from, run] {
    Slot* mine = slot(ref);
    if (mine == nullptr) return;
    mine->run = run;
    mine->reading = false;
    mine->start_at = from;
    forget_doubt(*mine);
  });
}

void KafkaMember::set_intake(PartitionRef ref, bool open) {
  {
    const std::lock_guard lock(mutex_);
    const auto view = views_.find(ref);
    if (view == views_.end()) return;
    view->second.open = open;
  }
  bell_.ring();
}

void KafkaMember::release(PartitionRef ref) {
  {
    const std::lock_guard lock(mutex_);
    drop_waiting(ref);
    views_.erase(ref);
  }
  order([this, ref] {
    Slot* mine = slot(ref);
    if (mine == nullptr) return;
    mine->owned = false;
    drop_queue(*mine);
    answer_revoke();
  });
}

void KafkaMember::write(Write write) {
  order([this, write = std::move(write)]() mutable { do_write(std::move(write)); });
}

void KafkaMember::resolve(WriteSerial serial) {
  order([this, serial] { do_resolve(serial); });
}

void KafkaMember::read_offsets(std::uint64_t request, std::vector<TopicPartition> tps, Stability stability) {
  order([this, request, tps = std::move(tps), stability] {
    const std::uint64_t number = ++last_ask_;
    asks_[number] = {.asked = Asked::kOffsets,
                     .request = request,
                     .ref = {},
                     .tp = {},
                     .wanted = {},
                     .start = {},
                     .stable = {},
                     .high_watermark = {}};
    admin_->ask_offsets(answers_.get(), number * 4, spec_.group, tps, stability);
  });
}

void KafkaMember::fence_writer(std::uint64_t request, const std::string& transactional_id) {
  fences_.ask(request, transactional_id);
}

void KafkaMember::read_range(std::uint64_t request, TopicPartition tp, Offset from, Offset to, LaneFilter filter) {
  {
    const std::lock_guard lock(mutex_);
    ranges_.insert(request);
  }
  order([this, request, tp = std::move(tp), from, to, filter = std::move(filter)]() mutable {
    reader_->read(request, std::move(tp), from, to, std::move(filter));
  });
}

void KafkaMember::cancel_range(std::uint64_t request) {
  {
    const std::lock_guard lock(mutex_);
    ranges_.erase(request);
    std::erase_if(waiting_, [&](const Waiting& w) {
      const auto* range = std::get_if<RangeRead>(&w.event);
      if (range == nullptr || range->request != request) return false;
      range_bytes_ -= w.bytes;
      return true;
    });
  }
  order([this, request] { reader_->cancel(request); });
}

void KafkaMember::read_log_range(std::uint64_t request, TopicPartition tp) {
  order([this, request, tp = std::move(tp)] {
    // Whoever takes it over compares which topic it is, so it is not told before that is known. Of a topic that was
    // made a moment ago not every broker knows.
    if (!topic_watch_.found(tp.topic) && std::ranges::find(spec_.topics, tp.topic) != spec_.topics.end())
      return push(LogRangeRead{request, false, {}, {}, {}});
    const std::string id = topic_watch_.id_of(tp.topic);
    ask_ends({.asked = Asked::kLogRange,
              .request = request,
              .ref = {},
              .tp = {},
              .wanted = {},
              .start = {},
              .stable = {},
              .high_watermark = {},
              .log = id.empty() ? 0 : std::max<std::uint64_t>(hash64(id), 1)},
             tp);
  });
}

void KafkaMember::set_fate(WriteFate fate) {
  order([this, fate] { next_fate_ = fate; });
}

void KafkaMember::set_skip(std::int64_t offsets) {
  order([this, offsets] { next_skip_ = offsets; });
}

// ---- The I/O thread ------------------------------------------------------------------------------------

void KafkaMember::work() {
  name_thread("kafka " + spec_.group);
  std::deque<Task> tasks;
  for (;;) {
    {
      const std::lock_guard lock(io_mutex_);
      if (ending_) break;
      rung_ = false;
      tasks.swap(tasks_);
    }
    for (Task& task : tasks)
      if (alive_) task();
    bool busy = !tasks.empty();
    tasks.clear();
    if (alive_) {
      serve_group();
      serve_answers();
      begin_reading();
      busy = serve_partitions() || busy;
      busy = serve_ranges() || busy;
      look_at_limits();
      look_at_topics();
    }
    rest(busy);
  }
  if (leaving_) close_group();
  for (Slot& slot : slots_) drop_queue(slot);
  rd_kafka_queue_cb_event_enable(group_queue_.get(), nullptr, nullptr);
  rd_kafka_queue_cb_event_enable(answers_.get(), nullptr, nullptr);
  reader_.reset();
  group_queue_.reset();
  answers_.reset();
  consumer_.reset();
}

void KafkaMember::rest(bool busy) {
  if (busy) return;
  std::unique_lock lock(io_mutex_);
  io_wake_.wait_for(lock, kLongestRest, [this] { return ending_ || rung_ || !tasks_.empty(); });
}

void KafkaMember::failed(bool shut_out, std::string message, bool topic_made_anew) {
  if (!alive_) return;
  alive_ = false;
  push(MemberFailed{shut_out, std::move(message), topic_made_anew});
  close_group();
}

void KafkaMember::look_at_limits() {
  // While a revocation waits for the last write the group may have given us up. What is being revoked librdkafka does
  // not call lost any more: then our name or the generation is gone.
  if (revoking_ && given_up()) give_up();
  if (joined_ || !admin_->options().consumer_protocol || Clock::now() - began_ < admin_->options().join_limit) return;
  const GroupMetadataPtr group(rd_kafka_consumer_group_metadata(consumer_.get()));
  joined_ = group && rd_kafka_consumer_group_metadata_generation_id(group.get()) > 0;
  if (!joined_)
    failed(false, "group " + spec_.group + " did not answer: group_protocol: consumer needs brokers since 4.0");
}

void KafkaMember::close_group() {
  if (!consumer_) return;
  for (Slot& slot : slots_) drop_queue(slot);
  if (revoking_) {
    const ListPtr list = take_attached(revoking_.get());
    const ErrorPtr ignored(rd_kafka_incremental_unassign(consumer_.get(), list.get()));
    revoking_.reset();
  }
  const QueuePtr queue(rd_kafka_queue_new(consumer_.get()));
  if (const ErrorPtr error{rd_kafka_consumer_close_queue(consumer_.get(), queue.get())}) return;
  const Clock::time_point limit = Clock::now() + kCloseLimit;
  while (rd_kafka_consumer_closed(consumer_.get()) == 0 && Clock::now() < limit) {
    const EventPtr event(rd_kafka_queue_poll(queue.get(), 20));
    if (!event || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_REBALANCE) continue;
    const auto* list = rd_kafka_event_topic_partition_list(event.get());
    const ErrorPtr ignored(rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS
                               ? rd_kafka_incremental_assign(consumer_.get(), list)
                               : rd_kafka_incremental_unassign(consumer_.get(), list));
  }
}

}  // namespace bartleby::kafka
