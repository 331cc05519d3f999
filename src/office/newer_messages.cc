#include "office/newer_messages.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <ranges>
#include <set>

#include "base/hash.h"
#include "codec/lane.h"
#include "codec/metadata.h"
#include "codec/replay_header.h"
#include "model/letter_state.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::int64_t kOffsetsPerPart = 2000;

// How far a group has come in a partition: below `low` all is finished, below `high` what is in no open lane.
struct Progress {
  Offset low, high;
  std::vector<Head> heads;
  bool parked = false;  // above `low` some are finished and some are not, and which of them only the journal tells

  bool finished(const LogRecord& record) const {
    if (record.offset < low || record.offset >= high) return record.offset < low;
    const Lane lane = lane_of(*record.key);
    return std::ranges::none_of(heads, [&](const Head& head) {
      return head.lane ? *head.lane == lane && head.from <= record.offset : head.from == record.offset;
    });
  }
};

Progress progress_of(const CommittedOffset& at) {
  const DecodedMetadata said = decode_metadata(at.metadata, *at.offset);
  const CommitMetadata& m = said.metadata;
  if (said.origin != MetadataOrigin::kOurs) return {*at.offset, *at.offset, {}};
  // The heads leave out lanes whose first message has an entry in the journal: what waits there would look handled.
  if (!m.check || m.check->count > 0) return {*at.offset, *at.offset, {}, m.high > *at.offset};
  return {*at.offset, m.high, m.heads};
}

bool is_replay(const LogRecord& record) {
  return std::ranges::any_of(record.headers, [](const auto& header) { return header.first == kReplayHeader; });
}

class LogLook {
 public:
  LogLook(Broker& broker, const Clock& clock, const KeyOffsets& oldest, const LogLookLimits& limits)
      : broker_(broker), clock_(clock), oldest_(oldest), limits_(limits), until_(clock.now().steady + limits.time) {}

  FinishedMessages look() {
    std::set<TopicPartition> all;
    for (const auto& [key, offset] : oldest_) all.insert({key.topic, Partition(key.partition)});
    std::size_t left = all.size();
    for (const TopicPartition& tp : all) {
      // A fair share of what is left: one long partition does not keep the others from being looked at.
      records_ = limits_.records / all.size();
      bytes_ = (limits_.bytes - read_bytes_) / left--;
      if (auto looked = look_at(tp); !looked) failed(tp.topic, looked.error());
    }
    tell();
    return std::move(found_);
  }

 private:
  using Keys = std::ranges::subrange<KeyOffsets::const_iterator>;

  // Their order is that of `KeyPlace`: those of a partition lie together, and in it those of a key.
  Keys keys_in(const TopicPartition& tp) const {
    const auto from = oldest_.lower_bound({tp.topic, tp.partition.v, std::numeric_limits<std::int64_t>::min(), ""});
    return {from, std::find_if(from, oldest_.end(), [&](const auto& one) {
              return one.first.topic != tp.topic || one.first.partition != tp.partition.v;
            })};
  }

  Result<void> look_at(const TopicPartition& tp) {
    if (away_) return std::unexpected(*away_);
    if (late()) return cut_ = true, Result<void>();
    std::map<std::string, Progress> groups;
    Offset from(std::numeric_limits<std::int64_t>::max()), to(0);
    for (const auto& [key, offset] : keys_in(tp)) {
      from = std::min(from, Offset(offset + 1));
      if (groups.contains(key.group)) continue;
      const auto progress = progress_in(tp, key.group);
      if (!progress) return std::unexpected(progress.error());
      if (!*progress) continue;  // it never finished anything
      parked_ = parked_ || (*progress)->parked;
      to = std::max(to, (*progress)->high);
      groups.emplace(key.group, **progress);
    }
    if (from >= to) return {};
    const auto range = broker_.log_range(tp);
    if (!range) return std::unexpected(range.error());
    gone_ = gone_ || range->first > from;
    const Offset newest_part(to.v - static_cast<std::int64_t>(records_));
    cut_ = cut_ || newest_part > std::max(from, range->first);
    return read(tp, std::max({from, range->first, newest_part}), to, groups);
  }

  // From the end on: what is newest tells of most letters.
  Result<void> read(const TopicPartition& tp, Offset from, Offset to, const std::map<std::string, Progress>& groups) {
    while (to > from) {
      const Offset part(std::max(from.v, to.v - kOffsetsPerPart));
      const auto whole = read_part(tp, part, to, groups);
      if (!whole) return std::unexpected(whole.error());
      if (!*whole) return cut_ = true, Result<void>();
      to = part;
    }
    return {};
  }

  // Whether all of it was read.
  Result<bool> read_part(const TopicPartition& tp, Offset from, Offset to,
                         const std::map<std::string, Progress>& groups) {
    while (from < to) {
      if (bytes_ == 0 || late()) return false;
      const auto records = broker_.read(tp, from, static_cast<std::size_t>(to.v - from.v), bytes_);
      if (!records) return std::unexpected(records.error());
      if (records->empty()) break;
      for (const LogRecord& record : *records) {
        const std::size_t size = payload_size(record);
        bytes_ -= std::min(bytes_, size);
        read_bytes_ = std::min(limits_.bytes, read_bytes_ + size);
        if (record.offset < to && record.key && !is_replay(record)) note(tp, record, groups);
      }
      from = next(records->back().offset);
    }
    return true;
  }

  void note(const TopicPartition& tp, const LogRecord& record, const std::map<std::string, Progress>& groups) {
    const auto hash = static_cast<std::int64_t>(hash64(*record.key));
    auto key = oldest_.lower_bound({tp.topic, tp.partition.v, hash, ""});
    for (; key != oldest_.end(); ++key) {
      const KeyPlace& at = key->first;
      if (at.topic != tp.topic || at.partition != tp.partition.v || at.key_hash != hash) return;
      const auto group = groups.find(at.group);
      if (group != groups.end() && record.offset.v > key->second && group->second.finished(record))
        found_.offsets[at].push_back(record.offset.v);
    }
  }

  Result<std::optional<Progress>> progress_in(const TopicPartition& tp, const std::string& group) {
    if (group.empty()) return fail(ErrorCode::kNotFound, "it is not known which group they are of");
    auto [known, fresh] = commits_.try_emplace({tp.topic, group});
    if (fresh) known->second = broker_.group_offsets(group, {tp.topic});
    if (!known->second) return std::unexpected(known->second.error());
    const auto at = std::ranges::find(*known->second, tp, &CommittedOffset::tp);
    if (at == known->second->end() || !at->offset) return std::optional<Progress>();
    return progress_of(*at);
  }

  bool late() const { return clock_.now().steady >= until_; }

  // A broker that is away is not asked again: each time would take as long.
  void failed(const std::string& topic, const Error& error) {
    if (error.code == ErrorCode::kUnavailable) away_ = error;
    if (failed_.empty()) why_ = error.message;
    if (failed_.empty() || failed_.back() != topic) failed_.push_back(topic);
  }

  void tell() {
    const std::string newer = "newer messages of the same keys ";
    if (!failed_.empty())
      found_.warnings.push_back(newer + "were not looked for in " + failed_.front() +
                                (failed_.size() > 1 ? " and " + std::to_string(failed_.size() - 1) + " more: " : ": ") +
                                why_);
    if (cut_) found_.warnings.push_back(newer + "were looked for in the newest part of the log only");
    if (gone_) found_.warnings.push_back(newer + "may have been deleted from the log already");
    if (parked_)
      found_.warnings.push_back(newer +
                                "were looked for below the first that waits for a retry only: there may be more");
  }

  Broker& broker_;
  const Clock& clock_;
  const KeyOffsets& oldest_;
  const LogLookLimits& limits_;
  const Instant until_;
  std::size_t records_ = 0, bytes_ = 0;  // of this partition
  std::size_t read_bytes_ = 0;
  std::map<std::pair<std::string, std::string>, Result<std::vector<CommittedOffset>>> commits_;
  bool cut_ = false, gone_ = false, parked_ = false;
  std::optional<Error> away_;
  std::vector<std::string> failed_;  // topics
  std::string why_;
  FinishedMessages found_;
};

constexpr const char* kOfKey =
    " FROM letters l JOIN shelves s ON s.id = l.shelf WHERE l.key_hash = $1 AND l.job_partition = $3 AND s.topic = $4"
    " AND s.consumer_group = $5 AND l.state ";

}  // namespace

FinishedMessages finished_in_log(Broker& broker, const Clock& clock, const KeyOffsets& oldest_letters,
                                 const LogLookLimits& limits) {
  return LogLook(broker, clock, oldest_letters, limits).look();
}

Result<KeyOffsets> newest_handled(Connection& connection, const KeyOffsets& keys, const FinishedMessages& in_log) {
  KeyOffsets newest;
  constexpr int kHandled = static_cast<int>(LetterState::kResolved);
  for (const auto& [key, oldest] : keys) {
    const auto last = sql::one(
        connection, std::string("SELECT max(l.job_offset)") + kOfKey + "= $2", [](Rows& row) { return row.maybe(0); },
        key.key_hash, kHandled, key.partition, key.topic, key.group);
    if (!last) return std::unexpected(last.error());
    if (*last && **last) newest[key] = ***last;
    const auto finished = in_log.offsets.find(key);
    if (finished == in_log.offsets.end()) continue;
    std::set<std::int64_t> dead;
    BARTLEBY_TRY(sql::each(
        connection, std::string("SELECT l.job_offset") + kOfKey + "<> $2 AND l.job_offset > $6",
        [&](Rows& row) { dead.insert(row.integer(0)); }, key.key_hash, kHandled, key.partition, key.topic, key.group,
        oldest));
    for (const std::int64_t offset : finished->second)
      if (!dead.contains(offset) && (!newest.contains(key) || newest[key] < offset)) newest[key] = offset;
  }
  return newest;
}

}  // namespace bartleby
