#include "adapters/broker/embedded/embedded_broker.h"

#include <algorithm>
#include <iterator>

#include "adapters/broker/embedded/core.h"
#include "adapters/broker/embedded/embedded_member.h"
#include "adapters/broker/embedded/log_reader.h"
#include "base/assert.h"

namespace bartleby::embedded {
namespace {

std::unexpected<Error> no_topic(const std::string& name) {
  return fail(ErrorCode::kNotFound, "no such topic: " + name);
}

std::unexpected<Error> cannot_place(const Record& record, Refusal why) {
  switch (why) {
    case Refusal::kTooLarge:
      return fail(ErrorCode::kTooLarge, "record too large for " + record.topic);
    case Refusal::kDenied:
      return fail(ErrorCode::kInvalid, "not allowed to write to " + record.topic);
    case Refusal::kUnknownTopic:
      return no_topic(record.topic);
    case Refusal::kTimeout:
      return fail(ErrorCode::kUnavailable, "timed out: " + record.topic);
  }
  BARTLEBY_UNREACHABLE();
}

using Lock = std::unique_lock<std::mutex>;

}  // namespace

Result<std::unique_ptr<EmbeddedBroker>> EmbeddedBroker::open(Options options) {
  auto core = Core::open(std::move(options));
  if (!core) return std::unexpected(core.error());
  return std::make_unique<EmbeddedBroker>(std::move(*core));
}

EmbeddedBroker::EmbeddedBroker(std::shared_ptr<Core> core) : core_(std::move(core)) {}

EmbeddedBroker::~EmbeddedBroker() { core_->close(); }

Result<std::unique_ptr<Member>> EmbeddedBroker::join(const GroupSpec& spec) {
  auto reader = LogReader::open(core_->path());
  if (!reader) return std::unexpected(reader.error());
  const Lock lock(core_->mutex);
  auto member = std::make_unique<EmbeddedMember>(core_, spec, core_->new_transactional_id(spec), std::move(*reader));
  core_->add(*member);
  member->join();
  return member;
}

// ---- Topics ------------------------------------------------------------------------------------------

Result<std::vector<TopicSpec>> EmbeddedBroker::ensure_topics(const std::vector<TopicSpec>& wanted) {
  const std::lock_guard one_at_a_time(changing_topics_);
  struct Made {
    std::int64_t topic = 0;  // 0: it was there
    std::int32_t before = 0;
    std::vector<std::int64_t> partitions;
  };
  std::map<std::string, Made> made;
  std::map<std::string, TopicSpec> specs;
  {
    const Lock lock(core_->mutex);
    for (const TopicSpec& spec : wanted) {
      if (spec.partitions < 1) return fail(ErrorCode::kInvalid, "a topic has at least one partition: " + spec.name);
      if (spec.name.empty()) return fail(ErrorCode::kInvalid, "a topic has a name");
      const Topic* there = core_->topic(spec.name);
      if (there != nullptr) made[spec.name] = {there->id, there->spec.partitions, {}};
      TopicSpec& whole = specs.try_emplace(spec.name, there != nullptr ? there->spec : spec).first->second;
      whole.partitions = std::max(whole.partitions, spec.partitions);
    }
  }
  auto job = std::make_shared<Job>();
  job->also = [&](LogFile& file) -> Result<void> {
    for (const auto& [name, spec] : specs) {
      Made& m = made[name];
      m.partitions.clear();
      if (m.before == 0) {
        const auto id = file.add_topic(spec);
        if (!id) return std::unexpected(id.error());
        m.topic = *id;
      }
      for (std::int32_t p = m.before; p < spec.partitions; ++p) {
        const auto id = file.add_partition(m.topic, p);
        if (!id) return std::unexpected(id.error());
        m.partitions.push_back(*id);
      }
    }
    return {};
  };
  bool any = false;
  for (const auto& [name, spec] : specs) any = any || made[name].before < spec.partitions;
  if (any)
    if (auto done = core_->call(job); !done) return std::unexpected(done.error());

  const Lock lock(core_->mutex);
  for (const auto& [name, spec] : specs) {
    const Made& m = made[name];
    Topic& topic = core_->topics[name];
    topic.id = m.topic;
    topic.spec = spec;
    for (const std::int64_t id : m.partitions) {
      PartitionLog& log = topic.logs.emplace_back();
      log.tp = {name, Partition(static_cast<std::int32_t>(topic.logs.size()) - 1)};
      log.stored.id = id;
    }
  }
  if (any)
    for (const auto& [name, group] : core_->groups())
      if (group->has_members()) group->rebalance();
  std::vector<TopicSpec> there;
  for (const TopicSpec& spec : wanted) there.push_back(core_->topic(spec.name)->spec);
  return there;
}

Result<TopicSpec> EmbeddedBroker::describe(const std::string& name) {
  const Lock lock(core_->mutex);
  const Topic* found = core_->topic(name);
  if (found == nullptr) return no_topic(name);
  return found->spec;
}

Result<void> EmbeddedBroker::writable() {
  const Lock lock(core_->mutex);
  return core_->writer().writable();
}

Result<std::vector<TopicSpec>> EmbeddedBroker::topics() {
  const Lock lock(core_->mutex);
  std::vector<TopicSpec> all;
  for (const auto& [name, topic] : core_->topics) all.push_back(topic.spec);
  return all;
}

Result<std::pair<Offset, Offset>> EmbeddedBroker::log_range(const TopicPartition& tp) {
  const Lock lock(core_->mutex);
  const PartitionLog* log = core_->log(tp);
  if (log == nullptr) return no_topic(tp.topic + "/" + std::to_string(tp.partition.v));
  return std::pair(log->stored.start, log->stable());
}

// ---- Offsets -----------------------------------------------------------------------------------------

Result<std::vector<CommittedOffset>> EmbeddedBroker::group_offsets(const std::string& name,
                                                                   const std::vector<std::string>& topics) {
  const Lock lock(core_->mutex);
  const Group* group = core_->find_group(name);
  std::vector<CommittedOffset> offsets;
  for (const std::string& topic_name : topics) {
    const Topic* topic = core_->topic(topic_name);
    if (topic == nullptr) return no_topic(topic_name);
    for (const PartitionLog& log : topic->logs) {
      if (core_->pending(name, log.tp)) return fail(ErrorCode::kUnavailable, "offsets of " + name + " are pending");
      offsets.push_back(group == nullptr ? CommittedOffset{log.tp, std::nullopt, {}} : group->committed(log.tp));
    }
  }
  return offsets;
}

Result<void> EmbeddedBroker::commit_first(const std::string& name, const std::vector<CommittedOffset>& offsets) {
  auto job = std::make_shared<Job>();
  {
    const Lock lock(core_->mutex);
    for (const CommittedOffset& offset : offsets) {
      PartitionLog* log = core_->log(offset.tp);
      if (!offset.offset) return fail(ErrorCode::kInvalid, "an offset to commit is missing");
      if (log == nullptr) return no_topic(offset.tp.topic);
      if (utf16_units(offset.metadata) > kMetadataLimit) return fail(ErrorCode::kTooLarge, "metadata too large");
      job->commits.push_back({&core_->group(name), log, *offset.offset, offset.metadata});
    }
    job->admit = [core = core_.get(), raw = job.get(), name] {
      const Group* group = core->find_group(name);
      if (group == nullptr || !group->has_members()) return true;
      raw->error = fail(ErrorCode::kFenced, "group " + name + " has members").error();
      return false;
    };
  }
  return core_->call(job);
}

// ---- Records -----------------------------------------------------------------------------------------

Result<std::vector<Written>> EmbeddedBroker::produce(const std::vector<Record>& records) {
  if (records.empty()) return std::vector<Written>{};
  return append(records, std::make_shared<Job>());
}

Result<std::vector<Written>> EmbeddedBroker::produce_with(const std::vector<Record>& records, const Cursor& cursor) {
  auto job = std::make_shared<Job>();
  {
    const Lock lock(core_->mutex);
    PartitionLog* log = core_->log(cursor.tp);
    if (log == nullptr) return no_topic(cursor.tp.topic);
    job->commits.push_back({&core_->group(cursor.group), log, cursor.to, {}});
  }
  // Asked when its transaction begins: what was queued before it has moved the cursor by then.
  job->admit = [core = core_.get(), raw = job.get(), cursor] {
    const Group& group = core->group(cursor.group);
    const Offset at = group.committed(cursor.tp).offset.value_or(Offset(0));
    if (!group.has_members() && at == cursor.from) return true;
    raw->error = fail(ErrorCode::kFenced, "the cursor of " + cursor.group + " is at " + std::to_string(at.v) +
                                              ", not at " + std::to_string(cursor.from.v) + ", or it has members")
                     .error();
    return false;
  };
  return append(records, job);
}

Result<std::vector<Written>> EmbeddedBroker::append(const std::vector<Record>& records,
                                                    const std::shared_ptr<Job>& job) {
  job->records = records;
  job->where.resize(records.size());
  for (const Record& record : records) job->bytes += payload_size(record);
  {
    const Lock lock(core_->mutex);
    for (std::size_t i = 0; i < records.size(); ++i)
      if (const auto why = core_->place(records[i], job->where[i])) return cannot_place(records[i], *why);
  }
  if (auto done = core_->call(job); !done) return std::unexpected(done.error());
  std::vector<Written> written;
  written.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) written.push_back({job->where[i]->tp.partition, job->offsets[i]});
  return written;
}

Result<std::vector<LogRecord>> EmbeddedBroker::read(const TopicPartition& tp, Offset from, std::size_t records,
                                                    std::size_t bytes) {
  std::int64_t partition = 0;
  Offset stop;
  {
    const Lock lock(core_->mutex);
    const PartitionLog* log = core_->log(tp);
    if (log == nullptr) return no_topic(tp.topic + "/" + std::to_string(tp.partition.v));
    partition = log->stored.id;
    from = std::max(from, log->stored.start);
    stop = log->stable();
  }
  const std::lock_guard one_at_a_time(reading_);
  if (!reader_) {
    auto opened = LogReader::open(core_->path());
    if (!opened) return std::unexpected(opened.error());
    reader_ = std::make_unique<LogReader>(std::move(*opened));
  }
  std::vector<LogRecord> found;
  while (from < stop && found.size() < records && bytes > 0) {
    auto slice = reader_->read(partition, from, stop, records - found.size(), bytes, {});
    if (!slice) return std::unexpected(slice.error());
    if (slice->next <= from) break;
    from = slice->next;
    bytes -= std::min(bytes, slice->bytes);
    std::ranges::move(slice->records, std::back_inserter(found));
  }
  return found;
}

// ---- Upkeep ------------------------------------------------------------------------------------------

void EmbeddedBroker::keep_from(const TopicPartition& tp, Offset offset) {
  const Lock lock(core_->mutex);
  if (PartitionLog* log = core_->log(tp)) log->keep_from = offset;
}

Result<void> EmbeddedBroker::delete_before(const TopicPartition& tp, Offset offset) {
  {
    const Lock lock(core_->mutex);
    PartitionLog* log = core_->log(tp);
    if (log == nullptr) return no_topic(tp.topic);
    core_->writer().upkeep().delete_before(*log, offset);
  }
  return wait_for_upkeep();
}

Result<void> EmbeddedBroker::compact(const TopicPartition& tp) {
  {
    const Lock lock(core_->mutex);
    PartitionLog* log = core_->log(tp);
    if (log == nullptr) return no_topic(tp.topic);
    if (!core_->topic(tp.topic)->spec.compacted) return fail(ErrorCode::kInvalid, tp.topic + " is not compacted");
    core_->writer().upkeep().compact(*log);
  }
  return wait_for_upkeep();
}

Result<void> EmbeddedBroker::upkeep() { return wait_for_upkeep(); }

Result<void> EmbeddedBroker::wait_for_upkeep() {
  Lock lock(core_->mutex);
  Writer& writer = core_->writer();
  writer.upkeep_now();
  const auto limit = std::chrono::steady_clock::now() + core_->options().request_limit;
  if (writer.room().wait_until(lock, limit, [&] { return writer.upkeep_over(); })) return writer.upkeep_result();
  return fail(ErrorCode::kUnavailable, "upkeep of " + core_->path() + " takes too long");
}

std::uint64_t EmbeddedBroker::transactions() const {
  const Lock lock(core_->mutex);
  return core_->writer().batches();
}

// ---- For tests ---------------------------------------------------------------------------------------

void EmbeddedBroker::fate_of_next_write(Member& member, WriteFate fate) {
  const Lock lock(core_->mutex);
  dynamic_cast<EmbeddedMember&>(member).set_fate(fate);
}

void EmbeddedBroker::freeze(Member& member, bool frozen) {
  const Lock lock(core_->mutex);
  dynamic_cast<EmbeddedMember&>(member).freeze(frozen);
}

void EmbeddedBroker::move_generation(const std::string& group) {
  const Lock lock(core_->mutex);
  core_->group(group).bump_generation();
}

void EmbeddedBroker::deny(const std::string& topic, bool denied) {
  const Lock lock(core_->mutex);
  core_->topic(topic)->denied = denied;
}

void EmbeddedBroker::stall(const std::string& topic, bool stalled) {
  const Lock lock(core_->mutex);
  core_->topic(topic)->stalled = stalled;
}

}  // namespace bartleby::embedded
