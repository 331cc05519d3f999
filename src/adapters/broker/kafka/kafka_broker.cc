#include "adapters/broker/kafka/kafka_broker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "adapters/broker/kafka/kafka_member.h"
#include "adapters/broker/kafka/records.h"
#include "base/assert.h"

namespace bartleby::kafka {
namespace {

constexpr std::size_t kMovers = 8;  // producers that are kept for cursors

std::unexpected<Error> refused(Refusal why, const std::string& topic) {
  switch (why) {
    case Refusal::kTooLarge:
      return fail(ErrorCode::kTooLarge, "record too large for " + topic);
    case Refusal::kDenied:
      return fail(ErrorCode::kInvalid, "Kafka does not let us write to " + topic);
    case Refusal::kUnknownTopic:
      return fail(ErrorCode::kNotFound, "no such topic or partition: " + topic);
    case Refusal::kTimeout:
      return fail(ErrorCode::kUnavailable, "Kafka did not take a record in time: " + topic);
  }
  BARTLEBY_UNREACHABLE();
}

}  // namespace

Result<std::unique_ptr<KafkaBroker>> KafkaBroker::open(Options options) {
  auto admin = Admin::open(std::move(options));
  if (!admin) return std::unexpected(admin.error());
  return std::make_unique<KafkaBroker>(std::move(*admin));
}

KafkaBroker::KafkaBroker(std::shared_ptr<Admin> admin) : admin_(std::move(admin)), ends_(admin_) {
  bell_.ring = [this] {
    const std::lock_guard lock(ringing_);
    ring_ = true;
    rung_.notify_one();
  };
}

KafkaBroker::~KafkaBroker() = default;

Result<std::unique_ptr<Member>> KafkaBroker::join(const GroupSpec& spec) {
  auto member = KafkaMember::join(admin_, spec);
  if (!member) return std::unexpected(member.error());
  return std::unique_ptr<Member>(std::move(*member));
}

Result<std::vector<TopicSpec>> KafkaBroker::ensure_topics(const std::vector<TopicSpec>& wanted) {
  return admin_->ensure(wanted);
}

Result<TopicSpec> KafkaBroker::describe(const std::string& topic) { return admin_->describe(topic); }

Result<std::vector<TopicSpec>> KafkaBroker::topics() { return admin_->topics(); }

Result<std::vector<TopicPartition>> KafkaBroker::partitions_of(const std::vector<std::string>& topics) {
  std::vector<TopicPartition> tps;
  for (const std::string& name : topics) {
    const auto topic = admin_->describe(name);
    if (!topic) return std::unexpected(topic.error());
    for (std::int32_t p = 0; p < topic->partitions; ++p) tps.push_back({name, Partition(p)});
  }
  return tps;
}

Result<std::vector<CommittedOffset>> KafkaBroker::group_offsets(const std::string& group,
                                                                const std::vector<std::string>& topics) {
  const auto tps = partitions_of(topics);
  if (!tps) return std::unexpected(tps.error());
  return admin_->group_offsets(group, *tps);
}

Result<std::vector<CommittedOffset>> KafkaBroker::offsets_by_now(const std::string& group,
                                                                 const std::vector<std::string>& topics) {
  const auto tps = partitions_of(topics);
  if (!tps) return std::unexpected(tps.error());
  return admin_->group_offsets(group, *tps, Stability::kUnstable);
}

std::map<TopicPartition, Offset> KafkaBroker::committed_within(const std::string& group,
                                                               const std::vector<TopicPartition>& tps, Duration limit) {
  return admin_->committed_within(group, tps, limit);
}

Result<std::vector<std::string>> KafkaBroker::groups_on(const std::string& topic) { return admin_->groups_on(topic); }

std::map<TopicPartition, Offset> KafkaBroker::ends(const std::vector<TopicPartition>& tps, Duration limit) {
  return ends_.read(tps, limit, false);
}

std::map<TopicPartition, Offset> KafkaBroker::ends_now(const std::vector<TopicPartition>& tps, Duration limit) {
  return ends_.read(tps, limit, true);
}

Result<std::optional<Offset>> KafkaBroker::first_at(const TopicPartition& tp, Timestamp time) {
  return admin_->first_at(tp, time);
}

Result<std::vector<TopicSpec>> KafkaBroker::topic_names() { return admin_->topic_names(); }

Result<std::map<std::string, std::string>> KafkaBroker::topic_ids(const std::vector<std::string>& topics) {
  return admin_->topic_ids(topics);
}

Result<void> KafkaBroker::commit_first(const std::string& group, const std::vector<CommittedOffset>& offsets) {
  return admin_->commit(group, offsets);
}

Result<std::pair<Offset, Offset>> KafkaBroker::log_range(const TopicPartition& tp) {
  const auto start = admin_->end_of(tp, End::kStart);
  if (!start) return std::unexpected(start.error());
  const auto end = admin_->end_of(tp, End::kStable);
  if (!end) return std::unexpected(end.error());
  return std::pair(*start, std::max(*start, *end));
}

// ---- Producing -----------------------------------------------------------------------------------------

// Before anything is sent: what cannot be written must not leave its neighbours behind.
Result<void> KafkaBroker::check(const std::vector<Record>& records) {
  for (const Record& record : records) {
    auto topic = admin_->known(record.topic);
    if (topic && record.partition && record.partition->v >= topic->partitions) topic = admin_->describe(record.topic);
    if (!topic) return std::unexpected(topic.error());
    if (record.partition && record.partition->v >= topic->partitions)
      return fail(ErrorCode::kNotFound,
                  "no such partition: " + record.topic + "/" + std::to_string(record.partition->v));
    if (payload_size(record) <= topic->max_message) continue;
    topic = admin_->describe(record.topic);  // people may have raised it
    if (!topic) return std::unexpected(topic.error());
    if (payload_size(record) > topic->max_message)
      return fail(ErrorCode::kTooLarge, "record too large for " + record.topic);
  }
  return {};
}

Result<void> KafkaBroker::open_producer() {
  if (producer_) return {};
  const Options& options = admin_->options();
  const Properties ours = {
      {"enable.idempotence", "true"},        {"partitioner", "murmur2_random"},
      {"allow.auto.create.topics", "false"}, {"message.timeout.ms", std::to_string(options.message_limit.count())},
      {"message.max.bytes", "104857600"},    {"linger.ms", "0"}};
  auto made = make_handle(RD_KAFKA_PRODUCER, options, ours,
                          [](rd_kafka_conf_t* conf) { rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR); });
  if (!made) return std::unexpected(made.error());
  producer_ = std::move(*made);
  reports_.reset(rd_kafka_queue_get_main(producer_.get()));
  return {};
}

Result<std::vector<Written>> KafkaBroker::produce(const std::vector<Record>& records) {
  if (records.empty()) return std::vector<Written>{};
  if (const auto good = check(records); !good) return std::unexpected(good.error());
  const std::lock_guard one_at_a_time(producing_);
  if (const auto opened = open_producer(); !opened) return std::unexpected(opened.error());
  std::vector<Written> written(records.size());
  rd_kafka_resp_err_t worst = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::size_t sent = 0, reported = 0, taken = 0;
  const auto limit = std::chrono::steady_clock::now() + admin_->options().write_limit;
  auto take_reports = [&] {
    const EventPtr event(rd_kafka_queue_poll(reports_.get(), 100));
    if (!event || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_DR) return;
    while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event.get())) {
      const auto index = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(message->_private));
      ++reported;
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        worst = message->err;
      else
        ++taken;
      if (index < written.size()) written[index] = {Partition(message->partition), Offset(message->offset)};
    }
  };
  while (sent < records.size() && worst == RD_KAFKA_RESP_ERR_NO_ERROR && std::chrono::steady_clock::now() < limit) {
    const rd_kafka_resp_err_t err = hand_over(producer_.get(), records[sent], sent);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
      ++sent;
    else if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
      take_reports();
    else
      worst = err;
  }
  while (reported < sent && std::chrono::steady_clock::now() < limit) take_reports();
  if (worst == RD_KAFKA_RESP_ERR_NO_ERROR && reported == records.size()) return written;
  // A producer with reports on their way would tell them to the next call, and one with a fatal error is of no use.
  reports_.reset();
  producer_.reset();
  for (const Record& record : records) admin_->forget(record.topic);
  if (worst == RD_KAFKA_RESP_ERR_NO_ERROR) worst = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
  // A refusal would say that nothing is there.
  if (taken > 0 || reported < sent)
    return fail(ErrorCode::kUnavailable, "Kafka: " + records.front().topic + ": " + rd_kafka_err2str(worst) + "; " +
                                             std::to_string(taken) + " of " + std::to_string(records.size()) +
                                             " records are there" +
                                             (reported < sent ? ", and of some nobody knows" : ""));
  return error_of(worst, "Kafka: " + records.front().topic);
}

// The cursor's group is the transactional id too: taking it ends whatever another process had open under it. So what is
// read after that is where the cursor is, and nobody moves it before this write has ended.
Result<std::vector<Written>> KafkaBroker::produce_with(const std::vector<Record>& records, const Cursor& cursor) {
  if (const auto good = check(records); !good) return std::unexpected(good.error());
  const std::lock_guard one_at_a_time(moving_);
  if (!movers_.contains(cursor.group)) {
    if (movers_.size() >= kMovers) movers_.clear();
    Transactions& fresh = movers_.try_emplace(cursor.group, admin_, cursor.group).first->second;
    if (const auto taken = fresh.renew(); !taken) {
      movers_.erase(cursor.group);
      return std::unexpected(taken.error());
    }
  }
  const auto members = admin_->has_members(cursor.group);
  if (!members) return std::unexpected(members.error());
  const auto there = admin_->group_offsets(cursor.group, {cursor.tp});
  if (!there) return std::unexpected(there.error());
  const Offset at = there->empty() ? Offset(0) : there->front().offset.value_or(Offset(0));
  if (*members || at != cursor.from)
    return fail(ErrorCode::kFenced, "the cursor of " + cursor.group + " is at " + std::to_string(at.v) + ", not at " +
                                        std::to_string(cursor.from.v) + ", or it has members");
  WriteOrder order{WriteSerial(0), records, {{cursor.tp, cursor.to, {}}}, nullptr, std::nullopt};
  order.group.reset(rd_kafka_consumer_group_metadata_new(cursor.group.c_str()));
  WriteReport report = movers_.at(cursor.group).write(order);
  if (report.answer.result == WriteResult::kDone) return std::move(report.written);
  // The next one takes the id before it reads the cursor; this one might take it back from somebody who has moved it.
  movers_.erase(cursor.group);
  if (!report.answer.refused.empty()) {
    const RefusedRecord& first = report.answer.refused.front();
    return refused(first.why, records[first.index].topic);
  }
  if (report.shut_out) return fail(ErrorCode::kFenced, "another process moves the cursor of " + cursor.group);
  return fail(ErrorCode::kUnavailable,
              "Kafka: the cursor of " + cursor.group + ": " + (report.message.empty() ? "no answer" : report.message));
}

// ---- Reading -------------------------------------------------------------------------------------------

Result<std::vector<LogRecord>> KafkaBroker::read(const TopicPartition& tp, Offset from, std::size_t records,
                                                 std::size_t bytes) {
  const auto range = log_range(tp);
  if (!range) return std::unexpected(range.error());
  from = std::max(from, range->first);
  std::vector<LogRecord> found;
  if (from >= range->second || records == 0 || bytes == 0) return found;
  const std::lock_guard one_at_a_time(reading_);
  if (!reader_) {
    auto opened = RangeReader::open(admin_, bell_);
    if (!opened) return std::unexpected(opened.error());
    reader_ = std::move(*opened);
  }
  const std::uint64_t request = ++last_read_;
  reader_->read(request, tp, from, range->second, {});
  const auto limit = std::chrono::steady_clock::now() + admin_->options().request_limit;
  bool over = false, failed = false;
  while (!over && std::chrono::steady_clock::now() < limit) {
    std::vector<BrokerEvent> events;
    std::size_t room = admin_->options().outbox_bytes;
    reader_->serve(events, room);
    for (BrokerEvent& event : events) {
      auto& slice = std::get<RangeRead>(event);
      failed = failed || !slice.answered;
      over = over || slice.end;
      for (LogRecord& record : slice.records) {
        if (found.size() >= records || bytes == 0) {
          over = true;
          break;
        }
        bytes -= std::min(bytes, payload_size(record));
        found.push_back(std::move(record));
      }
    }
    if (over || !events.empty()) continue;
    std::unique_lock lock(ringing_);
    rung_.wait_for(lock, std::chrono::milliseconds(20), [this] { return std::exchange(ring_, false); });
  }
  reader_->cancel(request);
  if (failed || !over)
    return fail(ErrorCode::kUnavailable, "Kafka: cannot read " + tp.topic + "/" + std::to_string(tp.partition.v));
  return found;
}

// ---- For tests -----------------------------------------------------------------------------------------

void KafkaBroker::fate_of_next_write(Member& member, WriteFate fate) {
  dynamic_cast<KafkaMember&>(member).set_fate(fate);
}

void KafkaBroker::skip_at_next_start(Member& member, std::int64_t offsets) {
  dynamic_cast<KafkaMember&>(member).set_skip(offsets);
}

void KafkaBroker::kill(std::unique_ptr<Member> member) {
  auto& ours = dynamic_cast<KafkaMember&>(*member);
  ours.die();
  if (HandlePtr late = ours.take_late()) late_.push_back(std::move(late));
}

std::size_t KafkaBroker::send_late() {
  for (const HandlePtr& writer : late_)
    const ErrorPtr ignored(
        rd_kafka_commit_transaction(writer.get(), static_cast<int>(admin_->options().message_limit.count())));
  return std::exchange(late_, {}).size();
}

}  // namespace bartleby::kafka
