#include "adapters/broker/kafka/transactions.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include "adapters/broker/kafka/records.h"
#include "base/assert.h"
#include "base/death_point.h"

namespace bartleby::kafka {
namespace {

constexpr std::size_t kBatchBytes = 1000000;  // of the producer; topics that allow less get smaller batches
constexpr std::size_t kMetadataUnits = 4096;  // the broker's limit, in UTF-16 units
constexpr Duration kReplyAwaited{500};        // of a write that a test holds open
constexpr Duration kSoon{2000};               // an id is to be had, or it is not

Result<HandlePtr> make_producer(const Options& options, const std::string& transactional_id) {
  const Properties ours = {{"transactional.id", transactional_id},
                           {"transaction.timeout.ms", std::to_string(options.transaction_limit.count())},
                           {"message.timeout.ms", std::to_string(options.message_limit.count())},
                           {"enable.idempotence", "true"},
                           {"partitioner", "murmur2_random"},
                           {"allow.auto.create.topics", "false"},
                           {"batch.size", std::to_string(kBatchBytes)},
                           {"message.max.bytes", "104857600"},
                           {"linger.ms", "0"}};
  return make_handle(RD_KAFKA_PRODUCER, options, ours,
                     [](rd_kafka_conf_t* conf) { rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR); });
}

Result<HandlePtr> take_id(const Options& options, const std::string& transactional_id, Duration limit) {
  auto producer = make_producer(options, transactional_id);
  if (!producer) return producer;
  const ErrorPtr error(rd_kafka_init_transactions(producer->get(), static_cast<int>(limit.count())));
  if (error)
    return fail(code_of(rd_kafka_error_code(error.get())),
                "Kafka: transactions of " + transactional_id + ": " + rd_kafka_error_string(error.get()));
  return producer;
}

std::size_t utf16_units(const std::string& utf8) {
  std::size_t units = 0;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) != 0x80U) units += byte >= 0xF0U ? 2 : 1;
  }
  return units;
}

std::optional<Refusal> refusal_of(rd_kafka_resp_err_t err) {
  switch (err) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
      return Refusal::kTooLarge;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return Refusal::kDenied;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return Refusal::kUnknownTopic;
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
      return Refusal::kTimeout;
    default:
      return std::nullopt;
  }
}

bool fenced(rd_kafka_resp_err_t err) {
  return err == RD_KAFKA_RESP_ERR__FENCED || err == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
         err == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

bool compressed(const Options& options) {
  return options.properties.contains("compression.type") || options.properties.contains("compression.codec");
}

}  // namespace

Result<void> fence(const Admin& admin, const std::string& transactional_id) {
  const auto taken = take_id(admin.options(), transactional_id, admin.options().request_limit);
  if (!taken) return std::unexpected(taken.error());
  return {};
}

Transactions::Transactions(std::shared_ptr<Admin> admin, std::string transactional_id, std::string group)
    : admin_(std::move(admin)), first_id_(std::move(transactional_id)), group_(std::move(group)), id_(first_id_) {}

Transactions::Step Transactions::step_of(rd_kafka_error_t* raw) {
  const ErrorPtr error(raw);
  if (!error) return {};
  return {rd_kafka_error_code(error.get()), rd_kafka_error_is_retriable(error.get()) != 0,
          rd_kafka_error_is_fatal(error.get()) != 0, rd_kafka_error_string(error.get())};
}

int Transactions::left(Deadline deadline) const {
  const auto rest = std::chrono::duration_cast<Duration>(deadline - Clock::now());
  return static_cast<int>(std::max(rest, Duration(1)).count());
}

Result<void> Transactions::renew() {
  drop();
  const int soon = static_cast<int>(admin_->options().message_limit.count());
  if (held_ && late_ && late_requests_++ % 2 == 0) step_of(rd_kafka_commit_transaction(held_.get(), soon));
  auto taken = take_id(admin_->options(), id_, admin_->options().request_limit);
  if (!taken && taken.error().code == ErrorCode::kUnavailable && !group_.empty()) {
    auto another = take_another(taken.error().message);
    if (another) taken = std::move(another);
  }
  if (!taken) return std::unexpected(taken.error());
  if (held_ && late_) step_of(rd_kafka_commit_transaction(held_.get(), soon));
  held_.reset();
  producer_ = std::move(*taken);
  reports_.reset(rd_kafka_queue_get_main(producer_.get()));
  return {};
}

// The end of a transaction is decided once, and then written to each of its partitions; the id is not free before all
// of them have it. A dlq whose replicas are gone keeps it for as long as they are, and with it everything else that is
// to be written. So where another id can be had, and ours cannot even then, that one is taken. What was open is decided
// or will be given up, and as long as it is not, its offsets are pending: they are asked for first. Under each id
// something must have been written before the next: ids are not used up by a cluster that takes nothing.
Result<HandlePtr> Transactions::take_another(const std::string& why) {
  const Options& options = admin_->options();
  if (!id_written_) return fail(ErrorCode::kUnavailable, why);
  const std::string other = first_id_ + "." + std::to_string(ids_ + 1);
  auto taken = take_id(options, other, kSoon);
  if (!taken) return taken;
  if (auto ours = take_id(options, id_, kSoon)) return ours;  // everything was away for a while
  const std::vector<TopicPartition> tps(open_tps_.begin(), open_tps_.end());
  if (const auto stable = admin_->group_offsets(group_, tps); !stable) return std::unexpected(stable.error());
  if (options.log) options.log(4, why + ": the end of its last transaction may be held up; writes go on as " + other);
  id_ = other;
  id_written_ = false;
  ++ids_;
  return taken;
}

// ---- One write -----------------------------------------------------------------------------------------

WriteReport Transactions::report(const WriteOrder& order, WriteResult result,
                                 std::vector<RefusedRecord> refused) const {
  WriteReport made{.answer = {order.serial, result, std::move(refused), {}}, .written = {}, .message = {}};
  if (result != WriteResult::kDone) return made;
  for (const Delivery& d : deliveries_) {
    made.answer.offsets.push_back(d.where.offset);
    made.written.push_back(d.where);
  }
  return made;
}

WriteReport Transactions::in_doubt(const WriteOrder& order) {
  drop();
  return report(order, WriteResult::kUnknown);
}

// Before its end was asked for: whatever the reason, nothing of it is there.
WriteReport Transactions::gone_wrong(const WriteOrder& order, const Step& step) {
  WriteReport made = report(order, WriteResult::kNotDone);
  made.message = step.text;
  made.unknown_member =
      step.code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID || step.code == RD_KAFKA_RESP_ERR_FENCED_MEMBER_EPOCH;
  rd_kafka_resp_err_t why = step.code;
  if (const rd_kafka_resp_err_t fatal = fatal_error(&made.message); fatal != RD_KAFKA_RESP_ERR_NO_ERROR) {
    why = fatal;
    drop();
  }
  made.shut_out = fenced(why) && !producer_;
  made.failed = made.shut_out || why == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
  return made;
}

WriteReport Transactions::write(const WriteOrder& order) {
  deliveries_.assign(order.records.size(), {});
  waiting_ = 0;
  ++number_;
  for (const CommittedOffset& o : order.offsets)
    if (utf16_units(o.metadata) > kMetadataUnits) return report(order, WriteResult::kRefused);
  auto refused = refusals(order);
  if (!producer_ && refused && refused->empty()) {
    if (const auto made = renew(); !made) {
      WriteReport failed = gone_wrong(order, {RD_KAFKA_RESP_ERR__FAIL, true, false, made.error().message});
      failed.failed = made.error().code == ErrorCode::kInvalid;
      return failed;
    }
    // It may have taken long, as it does where replicas go missing: what was seen before is not so any more, and a
    // transaction that cannot end would hold up the new id too, under which nothing is written yet.
    refused = refusals(order);
  }
  if (!refused) return gone_wrong(order, {RD_KAFKA_RESP_ERR__FAIL, true, false, refused.error().message});
  if (!refused->empty()) return report(order, WriteResult::kRefused, std::move(*refused));

  for (const CommittedOffset& o : order.offsets) open_tps_.insert(o.tp);
  const Deadline deadline = Clock::now() + admin_->options().write_limit;
  if (const Step begun = step_of(rd_kafka_begin_transaction(producer_.get())); !begun.well())
    return gone_wrong(order, begun);
  Step step = send(order, deadline);
  if (step.well() && !await_reports(deadline)) step = {RD_KAFKA_RESP_ERR__TIMED_OUT, true, false, "no reports"};
  bool may_be_denied = false;
  if (std::ranges::any_of(deliveries_, [](const Delivery& d) { return d.err != RD_KAFKA_RESP_ERR_NO_ERROR; })) {
    // One is open already, and it tells its error: as long as it is.
    may_be_denied =
        step.well() && refusal_of(step_of(rd_kafka_begin_transaction(producer_.get())).code) == Refusal::kDenied;
    if (step.well()) step = {RD_KAFKA_RESP_ERR__FAIL, true, false, "a record was not delivered"};
  }
  if (step.well()) step = send_offsets(order, deadline);
  if (!step.well()) {
    take_back(deadline);
    // Whose fault it was is asked for behind the abort: a cluster that is slow to tell would make the transaction too
    // old, and who aborts that one is taken for somebody whose id another writer has.
    std::vector<RefusedRecord> to_blame = blamed(order);
    if (to_blame.empty() && may_be_denied) to_blame = denied(order);
    // Where time was over the next write finds out first whether this one, or the one before it, has ended everywhere.
    bool late = step.code == RD_KAFKA_RESP_ERR__TIMED_OUT || step.code == RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS;
    late = late || std::ranges::any_of(to_blame, [](const auto& one) { return one.why == Refusal::kTimeout; });
    if (late && fatal_error() == RD_KAFKA_RESP_ERR_NO_ERROR) drop();
    if (!to_blame.empty()) {
      drop_broken();
      return report(order, WriteResult::kRefused, std::move(to_blame));
    }
    if (step.code == RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE) return report(order, WriteResult::kRefused);
    return gone_wrong(order, step);
  }
  if (order.fate) return play(order, deadline);
  death_point("transaction.sent");

  step = commit(deadline);
  if (step.well()) {
    open_tps_.clear();
    for (const CommittedOffset& o : order.offsets) open_tps_.insert(o.tp);
    id_written_ = true;
    return report(order, WriteResult::kDone);
  }
  // Also of an error that asks for an abort nobody can tell whether the end was written: its reply may have been lost.
  return in_doubt(order);
}

Result<std::vector<RefusedRecord>> Transactions::refusals(const WriteOrder& order) {
  std::vector<RefusedRecord> refused;
  const bool by_broker = compressed(admin_->options());  // only it knows what is left of a record
  for (std::size_t i = 0; i < order.records.size(); ++i) {
    const Record& record = order.records[i];
    auto topic = admin_->known(record.topic);
    if (topic && record.partition && record.partition->v >= topic->partitions) {
      admin_->forget(record.topic);
      topic = admin_->known(record.topic);  // it may have grown
    }
    if (!topic && topic.error().code != ErrorCode::kNotFound) {
      if (topic.error().code != ErrorCode::kInvalid) return std::unexpected(topic.error());
      refused.push_back({i, Refusal::kDenied});
    } else if (!topic || (record.partition && record.partition->v >= topic->partitions)) {
      refused.push_back({i, Refusal::kUnknownTopic});
    } else if (!by_broker && payload_size(record) > topic->max_message) {
      admin_->forget(record.topic);  // people may raise the limit
      refused.push_back({i, Refusal::kTooLarge});
    } else if (!topic->compacted) {
      // Where replicas are missing the end of a transaction cannot be written either: one that was begun there would
      // hold up every other write, until they are back. Of a journal's partition that is so anyway.
      const auto wanting = admin_->short_of_replicas(record.topic, record.partition);
      if (!wanting) return std::unexpected(wanting.error());
      if (*wanting) refused.push_back({i, Refusal::kTimeout});
    }
  }
  return refused;
}

Transactions::Step Transactions::send(const WriteOrder& order, Deadline deadline) {
  // The broker counts a whole batch: where a topic allows less than the producer puts into one, what was sent must be
  // through before more comes.
  std::map<std::string, std::size_t> open;
  for (std::size_t i = 0; i < order.records.size(); ++i) {
    if (Clock::now() >= deadline) return {RD_KAFKA_RESP_ERR__TIMED_OUT, true, false, "no time"};
    const Record& record = order.records[i];
    const auto topic = admin_->known(record.topic);
    if (topic && topic->max_message < kBatchBytes) {
      std::size_t& bytes = open[record.topic];
      if (bytes > 0 && bytes + wire_size(record) > topic->max_message) {
        if (!await_reports(deadline)) return {RD_KAFKA_RESP_ERR__TIMED_OUT, true, false, "no reports"};
        bytes = 0;
      }
      bytes += wire_size(record);
    }
    const std::uint64_t number = (std::uint64_t{number_} << 32U) | i;
    rd_kafka_resp_err_t err = hand_over(producer_.get(), record, number);
    while (err == RD_KAFKA_RESP_ERR__QUEUE_FULL && Clock::now() < deadline) {
      take_reports(Duration(10));
      err = hand_over(producer_.get(), record, number);
    }
    if (err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION && look_again(record.topic, deadline))
      err = hand_over(producer_.get(), record, number);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      ++waiting_;
      continue;
    }
    deliveries_[i] = {true, err, {}};
    if (!refusal_of(err)) return {err, true, false, rd_kafka_err2str(err)};
  }
  return {};
}

// The partition is there (`refusals`), but it was added since the producer has looked at its topic.
bool Transactions::look_again(const std::string& topic, Deadline deadline) {
  const TopicPtr one(rd_kafka_topic_new(producer_.get(), topic.c_str(), nullptr));
  const rd_kafka_metadata_t* read = nullptr;
  const bool looked =
      one && rd_kafka_metadata(producer_.get(), 0, one.get(), &read, left(deadline)) == RD_KAFKA_RESP_ERR_NO_ERROR;
  const MetadataPtr ignored(read);
  return looked;
}

void Transactions::take_reports(Duration wait) {
  const EventPtr event(rd_kafka_queue_poll(reports_.get(), static_cast<int>(wait.count())));
  if (!event || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_DR) return;
  while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event.get())) {
    const auto number = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(message->_private));
    const std::size_t index = number & 0xffffffffU;
    if ((number >> 32U) != number_ || index >= deliveries_.size() || deliveries_[index].over) continue;
    deliveries_[index] = {true, message->err, {Partition(message->partition), Offset(message->offset)}};
    --waiting_;
  }
}

bool Transactions::await_reports(Deadline deadline) {
  while (!reported() && Clock::now() < deadline) take_reports(Duration(100));
  return reported();
}

std::vector<RefusedRecord> Transactions::blamed(const WriteOrder& order) {
  const Deadline until = Clock::now() + admin_->options().request_limit;
  std::vector<RefusedRecord> all, certain, missing;
  std::map<std::string, bool> gone;  // topics of records whose time was over
  for (std::size_t i = 0; i < deliveries_.size(); ++i) {
    const auto why = refusal_of(deliveries_[i].err);
    if (!why) continue;
    const std::string& name = order.records[i].topic;
    all.push_back({i, *why});
    if (*why == Refusal::kTimeout) {
      // A topic that is gone holds up the whole transaction until its records' time is over, all of them alike.
      const auto [at, fresh] = gone.try_emplace(name, false);
      if (fresh && Clock::now() < until) {
        const auto there = admin_->describe(name);
        at->second = !there && there.error().code == ErrorCode::kNotFound;
        if (there) admin_->not_taken(name);
      }
      if (at->second) missing.push_back({i, Refusal::kUnknownTopic});
      continue;
    }
    // A batch is refused whole; only one that is too large by itself is to blame, where there is one.
    const auto topic = admin_->known(name);
    if (*why != Refusal::kTooLarge || !topic || wire_size(order.records[i]) > topic->max_message)
      certain.push_back({i, *why});
  }
  for (const RefusedRecord& one : all) admin_->forget(order.records[one.index].topic);  // people may change it
  if (!missing.empty()) return missing;
  return certain.empty() ? all : certain;
}

// A topic that the broker does not let us write to fails the transaction before any record is sent, and all of them are
// reported alike: whose it is must be asked for.
std::vector<RefusedRecord> Transactions::denied(const WriteOrder& order) {
  std::set<std::string> topics;
  for (const Record& record : order.records) topics.insert(record.topic);
  const auto forbidden = admin_->forbidden(topics);
  std::vector<RefusedRecord> refused;
  for (std::size_t i = 0; forbidden && i < order.records.size(); ++i)
    if (forbidden->contains(order.records[i].topic)) refused.push_back({i, Refusal::kDenied});
  return refused;
}

Transactions::Step Transactions::send_offsets(const WriteOrder& order, Deadline deadline) {
  if (order.offsets.empty()) return {};
  ListPtr list = make_list(order.offsets.size());
  for (const CommittedOffset& o : order.offsets) {
    rd_kafka_topic_partition_t* tp = add_to(list, o.tp);
    tp->offset = o.offset.value_or(Offset(0)).v;
    if (o.metadata.empty()) continue;
    tp->metadata = rd_kafka_mem_malloc(producer_.get(), o.metadata.size());  // freed with the list
    tp->metadata_size = o.metadata.size();
    o.metadata.copy(static_cast<char*>(tp->metadata), o.metadata.size());
  }
  Step step;
  do {
    step =
        step_of(rd_kafka_send_offsets_to_transaction(producer_.get(), list.get(), order.group.get(), left(deadline)));
  } while (step.retriable && Clock::now() < deadline);
  return step;
}

Transactions::Step Transactions::commit(Deadline deadline) {
  Step step;
  do {
    step = step_of(rd_kafka_commit_transaction(producer_.get(), left(deadline)));
  } while (step.retriable && Clock::now() < deadline);
  return step;
}

// What cannot be aborted in time is ended by the next producer under this id, or by the transaction's own limit.
void Transactions::take_back(Deadline deadline) {
  // An abort waits until every record was reported, so those that were not must be thrown away and taken first.
  if (!reported()) {
    rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    await_reports(Clock::now() + std::chrono::seconds(1));
  }
  const Step step = step_of(rd_kafka_abort_transaction(
      producer_.get(), left(std::max(deadline, Clock::now() + admin_->options().message_limit))));
  if (step.well() || step.fatal) return;
  drop();
}

rd_kafka_resp_err_t Transactions::fatal_error(std::string* message) const {
  if (!producer_) return RD_KAFKA_RESP_ERR_NO_ERROR;
  std::array<char, 512> text{};
  const rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(producer_.get(), text.data(), text.size());
  if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR && message != nullptr) *message = text.data();
  return fatal;
}

void Transactions::drop() {
  reports_.reset();
  producer_.reset();
}

// The abort of a transaction in which nothing has begun yet breaks the producer; the next write takes another one.
void Transactions::drop_broken() {
  const rd_kafka_resp_err_t fatal = fatal_error();
  if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR && !fenced(fatal)) drop();
}

WriteReport Transactions::play(const WriteOrder& order, Deadline deadline) {
  switch (*order.fate) {
    case WriteFate::kNotDone:
      take_back(deadline);
      return report(order, WriteResult::kNotDone);
    case WriteFate::kReplyLostDone:
      BARTLEBY_ASSERT(commit(deadline).well());
      return in_doubt(order);
    case WriteFate::kReplyLostNotDone:
    case WriteFate::kLateRequest:
      late_ = *order.fate == WriteFate::kLateRequest;
      reports_.reset();
      held_ = std::move(producer_);
      std::this_thread::sleep_for(kReplyAwaited);
      return report(order, WriteResult::kUnknown);
  }
  BARTLEBY_UNREACHABLE();
}

}  // namespace bartleby::kafka
