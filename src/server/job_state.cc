#include "server/job_state.h"

#include <algorithm>
#include <map>

#include "codec/letter.h"
#include "office/audit.h"
#include "office/dlq_view.h"
#include "office/letters.h"
#include "server/json.h"

namespace bartleby {
namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 20;

// Before it registered nothing was for it.
bool before_registration(const Consumer& consumer, const Place& place) {
  if (consumer.starts.empty()) return false;
  const json::value starts = json::parse(consumer.starts);
  const auto partition = static_cast<std::size_t>(place.partition.v);
  return partition < starts.as_array().size() && place.offset.v < starts.as_array()[partition].as_int64();
}

// A deleted job has left nothing but its line in the audit, under the id that its letter had.
Result<bool> was_deleted(const Services& services, const Consumer& consumer, const Place& place) {
  const auto record = services.broker->read({consumer.channel, place.partition}, place.offset, 1, kMostBytes);
  if (!record) return std::unexpected(record.error());
  if (record->empty() || record->front().offset != place.offset) return false;
  LetterFacts facts;
  facts.cluster = services.cluster;
  facts.topic = consumer.channel;
  facts.partition = place.partition;
  facts.offset = place.offset;
  facts.timestamp = record->front().timestamp;
  facts.group = consumer.worker();
  const std::string id = letter_id(facts);
  bool deleted = false;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto lines = audit_page(connection, id, std::nullopt, 1);
    if (!lines) return std::unexpected(lines.error());
    // Of a job that was delivered after all only the letter has gone, by retention for one.
    deleted = !lines->empty() && lines->front().action == name(LetterCause::kPurge) &&
              lines->front().from != name(LetterState::kResolved);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return deleted;
}

JobState of_letter(StoredLetter letter) {
  JobState job;
  job.attempts = letter.attempts;
  job.status = letter.state == LetterState::kOpen        ? JobStatus::kDead
               : letter.state == LetterState::kReplaying ? JobStatus::kQueued
                                                         : JobStatus::kDelivered;
  if (job.status == JobStatus::kQueued) job.attempts = 0;  // they start again
  job.letter = std::move(letter);
  return job;
}

// A dead job lies in the consumer's dlq from the commit on; what intake has not taken in, or has not discovered, may be
// any of them. Its position is read first: what comes meanwhile counts as not taken in.
Result<bool> all_taken_in(const Services& services, const Consumer& consumer) {
  const std::string dlq = consumer.worker() + ".dlq";
  std::map<Partition, Offset> taken;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto positions = intake_positions(connection, dlq);
    if (!positions) return std::unexpected(positions.error());
    taken = std::move(*positions);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  const auto topic = services.broker->describe(dlq);
  if (!topic && topic.error().code == ErrorCode::kNotFound) return true;  // nothing has died yet
  if (!topic) return std::unexpected(topic.error());
  for (std::int32_t p = 0; p < topic->partitions; ++p) {
    const auto range = services.broker->log_range({dlq, Partition(p)});
    if (!range) return std::unexpected(range.error());
    if (range->second > std::max(range->first, taken[Partition(p)])) return false;
  }
  return true;
}

struct FoundLetter {
  StoredLetter letter;
  std::string message_id;
};

Result<std::optional<FoundLetter>> letter_of(const Services& services, const Consumer& consumer, const Place& place) {
  std::optional<FoundLetter> letter;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = letter_of_job(connection, consumer.worker(), place);
    if (!found) return std::unexpected(found.error());
    if (!*found) return {};
    auto id = broadcast_id(connection, **found);
    if (!id) return std::unexpected(id.error());
    letter = FoundLetter{std::move(**found), std::move(*id)};
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return letter;
}

std::optional<JobState> by_letter(const Consumer& consumer, const Place& place, FoundLetter found) {
  const StoredLetter& letter = found.letter;
  if (letter.state == LetterState::kDiscarded || letter.state == LetterState::kArchived) return std::nullopt;
  // Of an earlier registration under the same id.
  if (letter.state == LetterState::kResolved && before_registration(consumer, place)) return std::nullopt;
  JobState job = of_letter(std::move(found.letter));
  job.message_id = std::move(found.message_id);
  return job;
}

// As worker and commit have it, for which a dead job is as finished as a delivered one.
Result<JobState> by_commit(const Services& services, const Consumer& consumer, const Place& place) {
  const TopicPartition tp{consumer.channel, place.partition};
  JobState job;
  if (const auto worker = services.worker(consumer.worker()))
    if (const auto answers = worker->explain(place.partition, place.offset))
      for (const Worker::Answer& answer : *answers) {
        if (!(answer.tp == tp)) continue;  // the lane of replays has partitions too
        for (const PinnedMessage& pinned : answer.pinned) {
          if (pinned.pin.offset != place.offset) continue;
          job.status = pinned.pin.state == "running" ? JobStatus::kInFlight : JobStatus::kQueued;
          job.attempts = pinned.pin.attempt - (job.status == JobStatus::kInFlight ? 0 : 1);
          return job;
        }
        if (place.offset >= answer.explanation.frontier) return job;
        job.status = JobStatus::kDelivered;
        job.attempts = 1;
        return job;
      }
  const auto committed = services.broker->group_offsets(consumer.worker(), {consumer.channel});
  if (!committed) return std::unexpected(committed.error());
  for (const CommittedOffset& at : *committed)
    if (at.tp == tp && at.offset && place.offset < *at.offset) job.status = JobStatus::kDelivered, job.attempts = 1;
  return job;
}

}  // namespace

std::string_view name(JobStatus status) {
  switch (status) {
    case JobStatus::kQueued:
      return "QUEUED";
    case JobStatus::kInFlight:
      return "INFLIGHT";
    case JobStatus::kDelivered:
      return "DELIVERED";
    case JobStatus::kDead:
      break;
  }
  return "DEAD";
}

Result<std::string> broadcast_id(Connection& connection, const StoredLetter& letter) {
  const auto payload = letter_payload(connection, letter.seq);
  if (!payload) return std::unexpected(payload.error());
  if (*payload)
    for (const auto& [name, value] : (*payload)->headers)
      if (name == kMessageIdHeader && value) return std::string(*value);
  return std::string();
}

std::string job_id(const Place& place) {
  return std::to_string(place.partition.v) + "-" + std::to_string(place.offset.v);
}

std::optional<Place> job_place(std::string_view id) {
  const std::size_t dash = id.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto partition = whole_number(id.substr(0, dash)), offset = whole_number(id.substr(dash + 1));
  if (!partition || !offset || *partition > INT32_MAX) return std::nullopt;
  return Place{Partition(static_cast<std::int32_t>(*partition)), Offset(*offset)};
}

Result<std::optional<JobState>> job_state(const Services& services, const Consumer& consumer, const Place& place) {
  auto letter = letter_of(services, consumer, place);
  if (!letter) return std::unexpected(letter.error());
  if (*letter) return by_letter(consumer, place, std::move(**letter));
  const auto range = services.broker->log_range({consumer.channel, place.partition});
  if (before_registration(consumer, place) || !range || place.offset >= range->second) return std::optional<JobState>();
  const auto deleted = was_deleted(services, consumer, place);
  if (!deleted) return std::unexpected(deleted.error());
  if (*deleted) return std::optional<JobState>();
  auto job = by_commit(services, consumer, place);
  if (!job) return std::unexpected(job.error());
  if (job->status != JobStatus::kDelivered) return std::optional(std::move(*job));
  // Only after the commit is known: what it says is finished lies in the dlq by then, if it has died.
  const auto seen = all_taken_in(services, consumer);
  if (!seen) return std::unexpected(seen.error());
  if (!*seen) {
    job->status = JobStatus::kInFlight;
    return std::optional(std::move(*job));
  }
  letter = letter_of(services, consumer, place);
  if (!letter) return std::unexpected(letter.error());
  if (*letter) return by_letter(consumer, place, std::move(**letter));
  return std::optional(std::move(*job));
}

}  // namespace bartleby
