// A message to all consumers of a channel, taken once by its id; and what has become of it at each of them.
#include <algorithm>
#include <mutex>
#include <set>

#include "codec/murmur2.h"
#include "codec/sha256.h"
#include "office/keys.h"
#include "server/channel_access.h"
#include "server/job_state.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::size_t kLongestId = 200;
constexpr std::size_t kScanned = 500;  // records at once
constexpr std::size_t kScannedBytes = std::size_t{8} << 20;
constexpr std::size_t kScannedInAll = 100'000;  // in one request
constexpr Duration kScannedFor{2000};

constexpr std::string_view kTaken = R"({"type": "object", "required": ["id"], "additionalProperties": false,
  "properties": {"id": {"type": "string"}}})";
constexpr std::string_view kMessage = R"({"type": "object", "required": ["id", "contentType", "jobs"],
  "additionalProperties": false, "properties": {"id": {"type": "string"}, "contentType": {"type": "string"},
    "jobs": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "required": ["consumerId", "jobId", "status", "statusName", "attempts"], "properties": {
        "consumerId": {"type": "string"}, "jobId": {"type": "string"},
        "status": {"enum": [1001, 1002, 1003, 1004]}, "attempts": {"type": "integer"},
        "statusName": {"enum": ["QUEUED", "INFLIGHT", "DELIVERED", "DEAD"]}}}}}})";

// Ids that are being taken in now; a second request with one of them waits outside.
class UnderWay {
 public:
  bool enter(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return ids_.insert(what).second;
  }
  void leave(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ids_.erase(what);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> ids_;
};

std::string hash_of(const Request& request) {
  std::string all;
  for (const std::string_view part :
       {request.header("content-type").value_or(""), request.header("x-broker-message-key").value_or(""),
        std::string_view(request.body)})
    all += std::to_string(part.size()) + ":" + std::string(part);
  const Sha256 hash = sha256(all);
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

Response taken(const ChannelMessage& message) {
  Response response = json_response(json::object{{"id", message.id}}, 201);
  response.headers.emplace_back("Location", "/channel/" + message.channel + "/message/" + message.id);
  return response;
}

bool has_id(const LogRecord& record, const std::string& id) {
  return std::ranges::any_of(record.headers, [&](const auto& header) {
    return header.first == kMessageIdHeader && header.second == std::string_view(id);
  });
}

struct Search {
  std::optional<Offset> found;
  Offset next;         // nothing of it lies before
  bool whole = false;  // the log was read to its end
};

// A process died between the log and the note of it: the log knows. Bounded: many may have been written since.
Result<Search> find_in_log(Broker& broker, const Clock& clock, const ChannelMessage& message) {
  const TopicPartition tp{message.channel, message.partition};
  const Instant until = clock.now().steady + kScannedFor;
  Search search{.found = {}, .next = message.from};
  std::size_t scanned = 0;
  do {
    const auto records = broker.read(tp, search.next, kScanned, kScannedBytes);
    if (!records) return std::unexpected(records.error());
    search.whole = records->empty();
    if (search.whole) break;
    for (const LogRecord& record : *records)
      if (!search.found && has_id(record, message.id)) search.found = record.offset;
    search.next = next(records->back().offset);
    scanned += records->size();
  } while (!search.found && scanned < kScannedInAll && clock.now().steady < until);
  return search;
}

class Broadcast {
 public:
  Broadcast(const Services& services, const Request& request, Channel channel)
      : services_(services), request_(request), channel_(std::move(channel)) {}

  Response run(const std::string& id) {
    message_.channel = channel_.id;
    message_.id = id;
    message_.hash = hash_of(request_);
    message_.content_type = std::string(request_.header("content-type").value_or("application/octet-stream"));
    std::optional<ChannelMessage> known;
    const auto read = services_.store->read([&](Connection& connection) -> Result<void> {
      auto found = find_message(connection, channel_.id, id);
      if (!found) return std::unexpected(found.error());
      known = std::move(*found);
      return {};
    });
    if (!read) return store_problem(read.error());
    if (known && known->hash != message_.hash)
      return problem(ProblemType::kConflict, "a message with this id and another body was broadcast before");
    if (known && known->at) return taken(*known);
    if (known) {
      const auto search = find_in_log(*services_.broker, *services_.clock, *known);
      if (!search) return problem(search.error());
      if (search->found) return note(*search->found);
      if (!search->whole) return go_on_later(std::move(*known), search->next);
    }
    return send();
  }

 private:
  // The next try reads on from there.
  Response go_on_later(ChannelMessage known, Offset from) {
    known.from = from;
    const auto noted = services_.store->write(
        [&](Connection& connection) { return begin_message(connection, known, services_.clock->now().wall); });
    if (!noted) return store_problem(noted.error());
    return problem(fail(ErrorCode::kUnavailable, "the log is still being searched for its first try").error());
  }

  Response send() {
    const auto topic = services_.broker->describe(channel_.id);
    if (!topic) return problem(topic.error());
    Record record;
    record.topic = channel_.id;
    record.value = Bytes(std::string_view(request_.body));
    if (const auto key = request_.header("x-broker-message-key")) record.key = Bytes(*key);
    message_.partition =
        Partition(partition_of_key(record.key ? std::string_view(*record.key) : message_.id, topic->partitions));
    record.partition = message_.partition;
    record.headers.emplace_back("content-type", Bytes(message_.content_type));
    record.headers.emplace_back(std::string(kMessageIdHeader), Bytes(message_.id));
    if (payload_size(record) > services_.max_message)
      return problem(ProblemType::kTooLarge, "the message has " + std::to_string(payload_size(record)) +
                                                 " bytes; at most " + std::to_string(services_.max_message) +
                                                 " are taken");
    const auto range = services_.broker->log_range({channel_.id, message_.partition});
    if (!range) return problem(range.error());
    message_.from = range->second;
    const auto begun = services_.store->write(
        [&](Connection& connection) { return begin_message(connection, message_, services_.clock->now().wall); });
    if (!begun) return store_problem(begun.error());
    const std::shared_lock with_others(*services_.broadcasting);
    const auto written = services_.broker->produce({record});
    if (!written) return problem(written.error());
    return note(written->front().offset);
  }

  Response note(Offset at) {
    message_.at = at;
    const auto noted = services_.store->write(
        [&](Connection& connection) { return place_message(connection, channel_.id, message_.id, at); });
    return noted ? taken(message_) : store_problem(noted.error());
  }

  const Services& services_;
  const Request& request_;
  const Channel channel_;
  ChannelMessage message_;
};

Response broadcast(const Services& services, Request& request, UnderWay& under_way) {
  auto channel = open_channel(services, request, Tokens::kChannel);
  if (!channel) return channel.error();
  const auto said = request.header("x-broker-message-id");
  const std::string id = said ? std::string(*said) : "msg-" + random_secret();
  if (!is_id(id, kLongestId))
    return problem(ProblemType::kInvalid,
                   "X-Broker-Message-ID has letters, digits, '.', '_' and '-', at most 200 of them");
  const std::string place = channel->id + "/" + id;
  if (!under_way.enter(place)) {
    Response busy = problem(ProblemType::kConflict, "a message with this id is being taken in right now");
    busy.headers.emplace_back("Retry-After", "1");
    return busy;
  }
  Response response = Broadcast(services, request, std::move(*channel)).run(id);
  under_way.leave(place);
  return response;
}

Response show_message(const Services& services, Request& request) {
  const auto channel = open_channel(services, request, Tokens::kChannel);
  if (!channel) return channel.error();
  std::optional<ChannelMessage> message;
  std::vector<Consumer> consumers;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = find_message(connection, channel->id, request.parameter("message"));
    if (!found) return std::unexpected(found.error());
    message = std::move(*found);
    auto all = consumers_of(connection, channel->id);
    if (!all) return std::unexpected(all.error());
    consumers = std::move(*all);
    return {};
  });
  if (!read) return store_problem(read.error());
  if (!message || !message->at)
    return problem(ProblemType::kNotFound, "no message " + request.parameter("message").substr(0, 200) +
                                               "; messages are known by their ids for 30 days");
  json::array jobs;
  for (const Consumer& consumer : consumers) {
    const auto job = job_state(services, consumer, {message->partition, *message->at});
    if (!job) return store_problem(job.error());
    if (!*job) continue;
    jobs.push_back(json::object{{"consumerId", consumer.id},
                                {"jobId", job_id({message->partition, *message->at})},
                                {"status", static_cast<int>((*job)->status)},
                                {"statusName", name((*job)->status)},
                                {"attempts", (*job)->attempts}});
  }
  return json_response(
      json::object{{"id", message->id}, {"contentType", message->content_type}, {"jobs", std::move(jobs)}});
}

}  // namespace

void add_broadcast_routes(Router& router, const Services& services) {
  const auto under_way = std::make_shared<UnderWay>();
  router.add("POST", "/channel/{channel}/broadcast",
             {.access = Access::tokens("channel-token"),
              .summary = "A message to all consumers; 201 means on disk. X-Broker-Message-ID makes it once",
              .body_type = "*/*",
              .body = "{}",
              .success = 201,
              .answer = kTaken},
             [&services, under_way](Request& request) { return broadcast(services, request, *under_way); });
  router.add("GET", "/channel/{channel}/message/{message}",
             {.access = Access::tokens("channel-token"),
              .summary = "What has become of a message at each consumer",
              .answer = kMessage},
             [&services](Request& request) { return show_message(services, request); });
}

}  // namespace bartleby
