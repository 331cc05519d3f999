// Jobs in the words of channels and consumers: a channel is a topic, a consumer a group on it, a job a message of both.
//
// There is no row per job: what is delivered or skipped is counted in the group's commits, what is dead in
// `dlq_summary`, what runs by its worker; the rest of the log is queued.
#include <algorithm>
#include <map>

#include "codec/metadata.h"
#include "codec/topic_name.h"
#include "office/channels.h"
#include "office/letters.h"
#include "office/shelves.h"
#include "ports/log_look.h"
#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // of a record that is looked at for its time

constexpr std::string_view kDlqStatus = R"({"$ref": "#/components/schemas/DLQStatus"})";
constexpr std::string_view kJobStatus = R"({"type": "object", "description": "by channel", "additionalProperties":
  {"type": "object", "description": "by consumer", "additionalProperties": {"type": "array", "items": {"type": "object",
    "required": ["status", "statusName", "count", "oldestItemTimestamp", "newestItemTimestamp"],
    "additionalProperties": false, "properties": {"status": {"enum": [1001, 1002, 1003, 1004]},
      "statusName": {"enum": ["QUEUED", "INFLIGHT", "DELIVERED", "DEAD"]}, "count": {"type": "integer"},
      "exact": {"type": "boolean", "description": "false: at most so many"},
      "oldestItemTimestamp": {"type": ["string", "null"]}, "newestItemTimestamp": {"type": ["string", "null"]}}}}}})";

Response dlq_status_of(const Services& services) {
  std::vector<ConsumerStatus> rows;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = dlq_status(connection);
    if (!found) return std::unexpected(found.error());
    rows = std::move(*found);
    return {};
  });
  if (!read) return store_problem(read.error());
  json::array consumers;
  for (const ConsumerStatus& row : rows)
    consumers.push_back(json::object{{"channelId", row.channel_id},
                                     {"channelName", row.channel_name},
                                     {"consumerId", row.consumer_id},
                                     {"consumerName", row.consumer_name},
                                     {"deadCount", row.dead_count}});
  return json_response(json::object{{"consumers", std::move(consumers)}});
}

struct Jobs {
  std::int64_t delivered = 0, skipped = 0, buried = 0;  // verdicts in the commits
  std::int64_t written = 0, waiting = 0, running = 0;   // in the log; of it after the commit; now
  std::optional<Timestamp> oldest, newest;              // of those after the commit
  bool from_the_start = true;                           // the group has seen every offset

  // The log is one piece from 0 on for a group that began at its start; of any other nobody knows what it passed over.
  std::int64_t queued() const {
    const std::int64_t left = from_the_start ? written - delivered - skipped - buried : waiting;
    // Where transactions have ended there are offsets without a message; after the commit there are few or none.
    return std::max<std::int64_t>(std::min(left, waiting) - running, 0);
  }
};

std::optional<Timestamp> time_at(Broker& broker, const TopicPartition& tp, std::int64_t offset) {
  const auto record = broker.read(tp, Offset(offset), 1, kMostBytes);
  if (!record || record->empty()) return std::nullopt;
  return record->front().timestamp;
}

// `starts`: where each partition began for the group; empty: not known.
Result<Jobs> jobs_of(Broker& broker, const Worker& worker, const std::string& topic, const json::array& starts) {
  Jobs jobs;
  jobs.from_the_start = !starts.empty() || worker.spec().start == StartAt::kEarliest;
  const auto offsets = broker.group_offsets(worker.spec().group, {topic});
  if (!offsets) return std::unexpected(offsets.error());
  for (const CommittedOffset& at : *offsets) {
    const auto range = broker.log_range(at.tp);
    if (!range) return std::unexpected(range.error());
    const std::int64_t end = range->second.v;
    const std::int64_t committed = std::clamp(at.offset.value_or(range->first).v, range->first.v, end);
    const auto partition = static_cast<std::size_t>(at.tp.partition.v);
    const std::int64_t start = partition < starts.size() ? starts[partition].as_int64() : 0;
    jobs.written += end - start;
    jobs.waiting += end - committed;
    const DecodedMetadata said = decode_metadata(at.metadata, at.offset.value_or(Offset(0)));
    if (said.origin == MetadataOrigin::kOurs) {
      jobs.delivered += static_cast<std::int64_t>(said.metadata.counters.handled);
      jobs.skipped += static_cast<std::int64_t>(said.metadata.counters.skipped);
      jobs.buried += static_cast<std::int64_t>(said.metadata.counters.dead);
    } else {
      jobs.from_the_start = jobs.from_the_start && committed == start;
    }
    if (committed == end) continue;
    const auto oldest = time_at(broker, at.tp, committed), newest = time_at(broker, at.tp, end - 1);
    if (oldest) jobs.oldest = std::min(jobs.oldest.value_or(*oldest), *oldest);
    if (newest) jobs.newest = std::max(jobs.newest.value_or(*newest), *newest);
  }
  return jobs;
}

json::object status_json(int status, std::string_view name, std::int64_t count, std::optional<Timestamp> oldest,
                         std::optional<Timestamp> newest) {
  json::object out{{"status", status}, {"statusName", name}, {"count", count}};
  out["oldestItemTimestamp"] = json_time(oldest);
  out["newestItemTimestamp"] = json_time(newest);
  return out;
}

struct Dead {
  std::string channel;
  std::int64_t count = 0;
  std::optional<Timestamp> oldest, newest;
};

Result<std::map<std::string, Dead>> dead_of(Connection& connection) {
  const auto rows = dlq_status(connection);
  if (!rows) return std::unexpected(rows.error());
  const auto deaths = deaths_by_consumer(connection);
  if (!deaths) return std::unexpected(deaths.error());
  std::map<std::string, Dead> dead;
  for (const ConsumerStatus& row : *rows) {
    Dead& one = dead[row.inside];
    one.channel = row.channel_id;
    one.count = row.dead_count;
    const auto span = deaths->find(row.inside);
    if (span != deaths->end()) one.oldest = span->second.first, one.newest = span->second.second;
  }
  return dead;
}

// Jobs that were sent again lie in the private lane; where there is none, nothing was.
Result<void> add_lane(Broker& broker, const Worker& worker, const std::string& topic, Jobs& jobs) {
  const WorkerSpec& spec = worker.spec();
  if (spec.replay_topic.empty()) return {};
  const std::string lane = topic_name(spec.replay_topic, {topic, spec.group, spec.name, spec.cluster});
  if (!broker.describe(lane)) return {};
  const auto again = jobs_of(broker, worker, lane, {});
  if (!again) return std::unexpected(again.error());
  jobs.delivered += again->delivered;
  jobs.skipped += again->skipped;
  jobs.buried += again->buried;
  jobs.written += again->written;
  jobs.waiting += again->waiting;
  if (again->oldest) jobs.oldest = std::min(jobs.oldest.value_or(*again->oldest), *again->oldest);
  if (again->newest) jobs.newest = std::max(jobs.newest.value_or(*again->newest), *again->newest);
  return {};
}

std::string consumer_inside(const std::string& channel, const std::string& group) {
  return consumer_of({.dlq = {}, .cluster = {}, .topic = channel, .group = group, .worker = {}});
}

Response job_status_of(const Services& services) {
  std::map<std::string, Dead> dead;           // by the consumer's id inside
  std::map<std::string, json::array> starts;  // by worker
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = dead_of(connection);
    if (!found) return std::unexpected(found.error());
    dead = std::move(*found);
    const auto consumers = consumers_of(connection, "");
    if (!consumers) return std::unexpected(consumers.error());
    for (const Consumer& consumer : *consumers)
      if (!consumer.starts.empty()) starts[consumer.worker()] = json::parse(consumer.starts).as_array();
    return {};
  });
  if (!read) return store_problem(read.error());
  json::object channels;
  const auto workers = services.workers();
  std::map<std::string, std::string> all;
  for (const auto& [inside, one] : dead) all[inside] = one.channel;
  for (const auto& worker : workers)
    for (const std::string& topic : worker->spec().topics) all[consumer_inside(topic, worker->spec().group)] = topic;
  const auto shown = shown_consumers(all);
  const auto entry = [&](const std::string& channel, const std::string& inside) -> json::array& {
    const std::string& consumer = shown.at(inside);
    if (!channels.contains(channel)) channels[channel] = json::object{};
    json::object& consumers = channels[channel].as_object();
    if (!consumers.contains(consumer)) consumers[consumer] = json::array{};
    return consumers[consumer].as_array();
  };
  for (const auto& worker : workers) {
    const auto status = worker->status();
    for (const std::string& topic : worker->spec().topics) {
      auto jobs = jobs_of(worker->broker(), *worker, topic, starts[worker->spec().name]);
      if (!jobs) return problem(jobs.error());
      if (const auto added = add_lane(worker->broker(), *worker, topic, *jobs); !added) return problem(added.error());
      // A worker counts its attempts for all its topics together; of several, none can be told apart.
      const bool alone = worker->spec().topics.size() == 1;
      if (status && alone) jobs->running = status->running;
      json::array& list = entry(topic, consumer_inside(topic, worker->spec().group));
      json::object queued = status_json(1001, "QUEUED", jobs->queued(), jobs->oldest, jobs->newest);
      // In Kafka's logs the ends of transactions have offsets too, and look like jobs.
      const bool counted = dynamic_cast<LogLook*>(&worker->broker()) == nullptr;
      if (!jobs->from_the_start || !alone || !counted) queued["exact"] = false;
      list.push_back(std::move(queued));
      list.push_back(status_json(1002, "INFLIGHT", jobs->running, std::nullopt, std::nullopt));
      list.push_back(status_json(1003, "DELIVERED", jobs->delivered, std::nullopt, std::nullopt));
    }
  }
  for (const auto& [inside, one] : dead)
    entry(one.channel, inside).push_back(status_json(1004, "DEAD", one.count, one.oldest, one.newest));
  return json_response(channels);
}

}  // namespace

void add_job_routes(Router& router, const Services& services) {
  router.add("GET", "/dlq-status",
             {.access = Access::listed(),
              .summary = "Dead jobs per consumer, from a table of counts: instant, however many there are",
              .answer = kDlqStatus},
             [&services](Request&) { return dlq_status_of(services); });
  router.add("GET", "/job-status",
             {.access = Scope::kRead, .summary = "Jobs per channel, consumer and status", .answer = kJobStatus},
             [&services](Request&) { return job_status_of(services); });
}

}  // namespace bartleby
