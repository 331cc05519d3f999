#include "tests/sim/sim_cluster.h"

#include <cstdio>

#include "codec/murmur2.h"
#include "engine/mutants.h"
#include "tests/sim/sim_member.h"

namespace bartleby::sim {
namespace {

// Transactions of producers that are not ours.
constexpr TxnId kForeignGap = ~TxnId{0};
constexpr TxnId kForeignOpen = kForeignGap - 1;

}  // namespace

SimCluster::SimCluster(Scheduler& scheduler, BrokerFaults faults)
    : scheduler_(scheduler),
      faults_(faults),
      coordinator_(scheduler, faults_, [this](const TopicPartition& tp, const LogRecord& record) {
        if (record_visible_) record_visible_(tp, record);
      }) {}

SimCluster::~SimCluster() = default;

// ---- Broker ------------------------------------------------------------------------------------------

Result<std::unique_ptr<Member>> SimCluster::join(const GroupSpec& spec) { return join_sim(spec); }

std::unique_ptr<SimMember> SimCluster::join_sim(const GroupSpec& spec) {
  char random[17];
  std::snprintf(random, sizeof random, "%016llx", static_cast<unsigned long long>(scheduler_.random().next()));
  std::string id = "bartleby." + spec.group + "." + spec.instance;
  if (!mutant(Mutant::kIdWithoutRandomPart)) id += std::string(".") + random;
  // Number 0 is nobody, so that a writer's first owner is never taken for a member.
  if (members_.empty()) members_.push_back(nullptr);
  const auto number = static_cast<ClientNo>(members_.size());
  auto member = std::make_unique<SimMember>(*this, number, spec, std::move(id));
  members_.push_back(member.get());
  // Where another writer of this name has a transaction to end, this comes later, and the member may be gone.
  coordinator_.init(coordinator_.writer(member->transactional_id()), number, [this, number](std::uint32_t epoch) {
    if (members_[number] != nullptr) members_[number]->producer_epoch_ = epoch;
  });
  member->join_group();
  return member;
}

Result<std::vector<TopicSpec>> SimCluster::ensure_topics(const std::vector<TopicSpec>& wanted) {
  std::vector<TopicSpec> there;
  for (const TopicSpec& spec : wanted) {
    if (spec.partitions < 1) return fail(ErrorCode::kInvalid, "a topic has at least one partition: " + spec.name);
    if (auto it = topics_.find(spec.name); it == topics_.end()) topics_[spec.name].spec = spec;
    add_partitions(spec.name, spec.partitions);
    there.push_back(topics_.find(spec.name)->second.spec);
  }
  return there;
}

Result<TopicSpec> SimCluster::describe(const std::string& name) {
  if (const SimTopic* found = topic(name)) return found->spec;
  return fail(ErrorCode::kNotFound, "no such topic: " + name);
}

Result<std::vector<CommittedOffset>> SimCluster::group_offsets(const std::string& name,
                                                               const std::vector<std::string>& topics) {
  const SimGroup& asked = group(name);
  std::vector<CommittedOffset> offsets;
  for (const std::string& topic_name : topics) {
    const SimTopic* found = topic(topic_name);
    if (found == nullptr) return fail(ErrorCode::kNotFound, "no such topic: " + topic_name);
    for (const PartitionLog& log : found->logs) {
      if (asked.pending(log.tp())) return fail(ErrorCode::kUnavailable, "offsets of " + name + " are pending");
      offsets.push_back(asked.committed(log.tp()));
    }
  }
  return offsets;
}

Result<void> SimCluster::commit_first(const std::string& name, const std::vector<CommittedOffset>& offsets) {
  SimGroup& asked = group(name);
  if (asked.has_members()) return fail(ErrorCode::kFenced, "group " + name + " has members");
  for (const CommittedOffset& offset : offsets) {
    if (!offset.offset) return fail(ErrorCode::kInvalid, "an offset to commit is missing");
    if (find_log(offset.tp) == nullptr) return fail(ErrorCode::kNotFound, "no such topic: " + offset.tp.topic);
    if (utf16_units(offset.metadata) > kMetadataLimit) return fail(ErrorCode::kTooLarge, "metadata too large");
  }
  const bool fails = BrokerFaults::happens(scheduler_.random(), faults_.p_first_fail);
  if (fails && scheduler_.random().chance(50)) return fail(ErrorCode::kUnavailable, "the broker did not answer");
  for (const CommittedOffset& offset : offsets) {
    asked.set(offset.tp, *offset.offset, offset.metadata);
    if (offsets_applied_) offsets_applied_(name, offset.tp, *offset.offset, offset.metadata);
  }
  if (fails) return fail(ErrorCode::kUnavailable, "the broker's answer was lost");
  return {};
}

Result<std::pair<Offset, Offset>> SimCluster::log_range(const TopicPartition& tp) {
  const PartitionLog* found = find_log(tp);
  if (found == nullptr) return fail(ErrorCode::kNotFound, "no such partition: " + tp.topic);
  return std::pair(found->start(), found->last_stable());
}

Result<std::vector<Written>> SimCluster::produce_with(const std::vector<Record>& records, const Cursor& cursor) {
  SimGroup& owner = group(cursor.group);
  if (find_log(cursor.tp) == nullptr) return fail(ErrorCode::kNotFound, "no such topic: " + cursor.tp.topic);
  const auto committed = this->committed(cursor.group, cursor.tp);
  const Offset at = committed && committed->offset ? *committed->offset : Offset(0);
  if (owner.has_members() || at != cursor.from)
    return fail(ErrorCode::kFenced, "the cursor of " + cursor.group + " is elsewhere");
  return produce(records, [&] {
    owner.set(cursor.tp, cursor.to, "");
    if (offsets_applied_) offsets_applied_(cursor.group, cursor.tp, cursor.to, "");
  });
}

Result<std::vector<Written>> SimCluster::produce(const std::vector<Record>& records) {
  return produce(records, [] {});
}

Result<std::vector<Written>> SimCluster::produce(const std::vector<Record>& records,
                                                 const std::function<void()>& landed) {
  std::vector<TopicPartition> destinations(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto refused = refusal(records[i], destinations[i]);
    if (!refused) continue;
    switch (*refused) {
      case Refusal::kTooLarge:
        return fail(ErrorCode::kTooLarge, "record too large for " + records[i].topic);
      case Refusal::kDenied:
        return fail(ErrorCode::kInvalid, "not allowed to write to " + records[i].topic);
      case Refusal::kUnknownTopic:
        return fail(ErrorCode::kNotFound, "no such topic: " + records[i].topic);
      case Refusal::kTimeout:
        return fail(ErrorCode::kUnavailable, "timed out: " + records[i].topic);
    }
  }
  const bool fails = BrokerFaults::happens(scheduler_.random(), faults_.p_produce_fail);
  if (fails && scheduler_.random().chance(50)) return fail(ErrorCode::kUnavailable, "the broker did not answer");
  std::vector<Written> written;
  for (std::size_t i = 0; i < records.size(); ++i) {
    PartitionLog& log = *find_log(destinations[i]);
    written.push_back({log.tp().partition, log.append(records[i], 0)});
    if (record_visible_) record_visible_(log.tp(), log.entries().back().record);
  }
  landed();
  if (fails) return fail(ErrorCode::kUnavailable, "the broker's answer was lost");
  return written;
}

Result<std::vector<TopicSpec>> SimCluster::topics() {
  std::vector<TopicSpec> all;
  for (const auto& [name, topic] : topics_) all.push_back(topic.spec);
  return all;
}

Result<std::vector<LogRecord>> SimCluster::read(const TopicPartition& tp, Offset from, std::size_t records,
                                                std::size_t bytes) {
  const PartitionLog* log = find_log(tp);
  if (log == nullptr) return fail(ErrorCode::kNotFound, "no such partition: " + tp.topic);
  std::vector<LogRecord> found;
  for (const auto& entry : log->entries()) {
    if (entry.record.offset < from || entry.state != EntryState::kCommitted) continue;
    if (entry.record.offset >= log->last_stable() || found.size() == records || bytes == 0) break;
    bytes -= std::min(bytes, payload_size(entry.record));
    found.push_back(entry.record);
  }
  return found;
}

// ---- What the driver does ----------------------------------------------------------------------------

void SimCluster::append_gap(const TopicPartition& tp) {
  PartitionLog& log = *find_log(tp);
  log.append({tp.topic, tp.partition, std::nullopt, std::nullopt, {}}, kForeignGap);
  log.finish(kForeignGap, false, {});
}

void SimCluster::open_transaction(const TopicPartition& tp) {
  find_log(tp)->append({tp.topic, tp.partition, std::nullopt, std::nullopt, {}}, kForeignOpen);
}

void SimCluster::end_transactions(const TopicPartition& tp) { find_log(tp)->finish(kForeignOpen, false, {}); }

std::pair<TopicPartition, Offset> SimCluster::append(const Record& record) {
  TopicPartition destination;
  refusal(record, destination);
  PartitionLog* log = find_log(destination);
  BARTLEBY_ASSERT(log != nullptr);
  const Offset offset = log->append(record, 0);
  if (record_visible_) record_visible_(log->tp(), log->entries().back().record);
  return {log->tp(), offset};
}

void SimCluster::delete_before(const TopicPartition& tp, Offset offset) {
  const_cast<PartitionLog&>(log(tp)).delete_before(offset);
}

void SimCluster::set_max_message(const std::string& name, std::size_t bytes) {
  SimTopic* found = topic(name);
  BARTLEBY_ASSERT(found != nullptr);
  found->spec.max_message = bytes;
}

void SimCluster::jump(const TopicPartition& tp, std::int64_t by) { find_log(tp)->jump(by); }

void SimCluster::compact(const TopicPartition& tp, bool tombstones_too) {
  const_cast<PartitionLog&>(log(tp)).compact(tombstones_too);
}

void SimCluster::date(const TopicPartition& tp, Offset offset, Timestamp time) { find_log(tp)->date(offset, time); }

void SimCluster::cut_back(const TopicPartition& tp, Offset to) { find_log(tp)->cut_back(to); }

void SimCluster::recreate(const std::string& name) {
  SimTopic* found = topic(name);
  BARTLEBY_ASSERT(found != nullptr);
  for (PartitionLog& log : found->logs) log.recreate();
}

void SimCluster::add_partitions(const std::string& name, std::int32_t total) {
  SimTopic* found = topic(name);
  BARTLEBY_ASSERT(found != nullptr);
  const auto before = static_cast<std::int32_t>(found->logs.size());
  for (std::int32_t p = before; p < total; ++p)
    found->logs.emplace_back(TopicPartition{name, Partition(p)}, scheduler_);
  found->spec.partitions = std::max(before, total);
  if (total > before) topics_changed();
}

void SimCluster::deny(const std::string& name, bool denied) {
  BARTLEBY_ASSERT(topic(name) != nullptr);
  topic(name)->denied = denied;
}

void SimCluster::stall(const std::string& name, bool stalled) {
  BARTLEBY_ASSERT(topic(name) != nullptr);
  topic(name)->stalled = stalled;
}

void SimCluster::silence(const std::string& name, bool silent) {
  BARTLEBY_ASSERT(topic(name) != nullptr);
  topic(name)->silent = silent;
}

void SimCluster::set_offset(const std::string& name, const TopicPartition& tp, Offset offset, std::string metadata) {
  group(name).set(tp, offset, std::move(metadata));
}
void SimCluster::drop_offset(const std::string& name, const TopicPartition& tp) { group(name).drop(tp); }
void SimCluster::bump_generation(const std::string& name) { group(name).bump_generation(); }
void SimCluster::rebalance(const std::string& name, bool shuffle) { group(name).rebalance(shuffle); }

void SimCluster::freeze(SimMember& member) { member.freeze(); }
void SimCluster::thaw(SimMember& member) { member.thaw(); }
void SimCluster::kill(SimMember& member) { member.die(); }
void SimCluster::fate_of_next_write(const SimMember& member, WriteFate fate) {
  members_[member.number()]->next_fate_ = fate;
}

// ---- What the checker sees ---------------------------------------------------------------------------

const PartitionLog& SimCluster::log(const TopicPartition& tp) const {
  const PartitionLog* found = const_cast<SimCluster*>(this)->find_log(tp);
  BARTLEBY_ASSERT(found != nullptr);
  return *found;
}

bool SimCluster::pending(const std::string& topic) const {
  for (std::int32_t i = 0;; ++i) {
    const PartitionLog* log = const_cast<SimCluster*>(this)->find_log({topic, Partition(i)});
    if (log == nullptr) return false;
    if (log->last_stable() != log->high_watermark()) return true;
  }
}

std::optional<CommittedOffset> SimCluster::committed(const std::string& name, const TopicPartition& tp) const {
  const auto it = groups_.find(name);
  if (it == groups_.end()) return std::nullopt;
  CommittedOffset found = it->second->committed(tp);
  if (!found.offset) return std::nullopt;
  return found;
}

bool SimCluster::offsets_pending(const std::string& name, const TopicPartition& tp) const {
  const auto it = groups_.find(name);
  return it != groups_.end() && it->second->pending(tp);
}

std::int32_t SimCluster::generation(const std::string& name) const {
  const auto it = groups_.find(name);
  return it == groups_.end() ? 0 : it->second->generation();
}

SimMember* SimCluster::owner(const std::string& name, const TopicPartition& tp) const {
  const auto it = groups_.find(name);
  if (it == groups_.end()) return nullptr;
  const auto client = it->second->owner(tp);
  return client ? members_[*client] : nullptr;
}

// ---- Inside ------------------------------------------------------------------------------------------

SimTopic* SimCluster::topic(const std::string& name) {
  const auto it = topics_.find(name);
  return it == topics_.end() ? nullptr : &it->second;
}

PartitionLog* SimCluster::find_log(const TopicPartition& tp) {
  SimTopic* found = topic(tp.topic);
  if (found == nullptr || tp.partition.v < 0) return nullptr;
  const auto index = static_cast<std::size_t>(tp.partition.v);
  return index < found->logs.size() ? &found->logs[index] : nullptr;
}

bool SimCluster::silent(const TopicPartition& tp) const {
  const auto it = topics_.find(tp.topic);
  return it != topics_.end() && it->second.silent;
}

// Of sources alone: journals are read by who has just been given their partition, and answers are checked there.
std::optional<Offset> SimCluster::stale_end(const PartitionLog& log) {
  if (faults_.p_stale_end == 0 || topic(log.tp().topic)->spec.compacted) return std::nullopt;
  if (log.start() == log.high_watermark() || !faults_.happens(scheduler_.random(), faults_.p_stale_end))
    return std::nullopt;
  ++stale_ends_;
  return Offset(scheduler_.random().between(log.start().v, log.high_watermark().v - 1));
}

SimGroup& SimCluster::group(const std::string& name) {
  auto& found = groups_[name];
  if (!found) {
    found = std::make_unique<SimGroup>(
        scheduler_, faults_,
        [this](ClientNo client, GroupMessage message) {
          if (SimMember* member = live(client)) member->receive(std::move(message));
        },
        [this](const std::string& topic_name) {
          const SimTopic* there = topic(topic_name);
          return there == nullptr ? 0 : there->spec.partitions;
        },
        [this, name](const TopicPartition& tp, Offset offset, const std::string& metadata) {
          if (offsets_applied_) offsets_applied_(name, tp, offset, metadata);
        });
  }
  return *found;
}

std::optional<Refusal> SimCluster::refusal(const Record& record, TopicPartition& destination) {
  const SimTopic* found = topic(record.topic);
  if (found == nullptr) return Refusal::kUnknownTopic;
  const auto count = static_cast<std::int32_t>(found->logs.size());
  const std::int32_t p = record.partition ? record.partition->v
                         : record.key     ? partition_of_key(*record.key, count)
                                          : keyless_++ % count;
  if (p < 0 || p >= count) return Refusal::kUnknownTopic;
  destination = {record.topic, Partition(p)};
  if (found->denied) return Refusal::kDenied;
  if (payload_size(record) > found->spec.max_message) return Refusal::kTooLarge;
  if (found->stalled) return Refusal::kTimeout;
  return std::nullopt;
}

// Clients notice by asking for metadata, so the groups find out a little later.
void SimCluster::topics_changed() {
  for (auto& [name, changed] : groups_) {
    if (!changed->has_members()) continue;
    scheduler_.after(latency(), [&g = *changed] { g.rebalance(false); });
  }
}

SimMember* SimCluster::live(ClientNo client) const {
  SimMember* member = members_[client];
  return member != nullptr && member->alive_ ? member : nullptr;
}

}  // namespace bartleby::sim
