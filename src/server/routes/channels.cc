// Channels and consumers: made, changed, listed and removed while everything runs.
#include "office/channels.h"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "codec/topic_name.h"
#include "office/keys.h"
#include "server/access.h"
#include "server/channel_access.h"
#include "server/office_json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::size_t kLongestId = 100, kLongestName = 255, kLongestToken = 255;
constexpr std::int32_t kMostPartitions = 64;

constexpr std::string_view kChannel = R"({"$ref": "#/components/schemas/Channel"})";
constexpr std::string_view kConsumer = R"({"$ref": "#/components/schemas/Consumer"})";
constexpr std::string_view kChannels = R"({"type": "object", "required": ["items"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Channel"}}}})";
constexpr std::string_view kConsumers = R"({"type": "object", "required": ["items"], "additionalProperties": false,
  "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Consumer"}}}})";
constexpr std::string_view kPutChannel = R"({"type": "object", "required": ["name"], "additionalProperties": false,
  "properties": {"name": {"type": "string"}, "token": {"type": "string"}, "partitions": {"type": "integer"}}})";
constexpr std::string_view kPutConsumer = R"({"type": "object", "required": ["name", "callbackUrl"],
  "additionalProperties": false, "properties": {"name": {"type": "string"}, "callbackUrl": {"type": "string"},
    "token": {"type": "string"}, "paused": {"type": "boolean"},
    "retry": {"type": "object", "description": "as workers.NAME.retry in the configuration"},
    "reject": {"type": "array", "items": {"type": "integer"}, "description": "answers that mean: never again"}}})";

json::object channel_json(const Channel& channel) {
  return json::object{{"id", channel.id},
                      {"name", channel.name},
                      {"partitions", channel.partitions},
                      {"createdAt", json_time(channel.created_at)}};
}

json::object consumer_json(const Consumer& consumer) {
  json::object out{{"id", consumer.id}, {"name", consumer.name}, {"channelId", consumer.channel}};
  out["callbackUrl"] = consumer.url;
  out["paused"] = consumer.paused;
  out["worker"] = consumer.worker();
  out["retry"] = consumer.retry.empty() ? json::value(nullptr) : json::parse(consumer.retry);
  out["createdAt"] = json_time(consumer.created_at);
  return out;
}

// The token that was said, the one that is there, or a new one.
std::optional<std::string> read_token(Fields& fields) {
  auto token = fields.text("token", kLongestToken);
  const bool fit =
      !token || (token->size() >= 8 && std::ranges::all_of(*token, [](char c) { return c > ' ' && c < 0x7f; }));
  if (!fit) fields.wrong("token", "must have 8 to 255 printable characters, no blanks");
  return token;
}

std::string read_name(Fields& fields) {
  std::string name = fields.text("name", kLongestName).value_or("");
  if (name.empty()) fields.wrong("name", "must be a text of 1 to 255 characters");
  return name;
}

Response put(const Services& services, const Request& request) {
  const std::string& id = request.parameter("channel");
  if (!is_id(id, kLongestId) || id == "." || id == "..")
    return problem(ProblemType::kInvalid, "a channel's id has letters, digits, '.', '_' and '-', at most 100 of them");
  if (is_kept_topic(id))
    return problem(ProblemType::kInvalid, id + " is a name that Bartleby keeps for itself (bartleby.…, ….parked.…)");
  const auto body = read_object_or_form(request);
  if (!body) return body.error();
  Fields fields(*body);
  Channel channel;
  channel.id = id;
  channel.name = read_name(fields);
  const auto said = read_token(fields);
  channel.partitions = static_cast<std::int32_t>(fields.integer("partitions", 1, kMostPartitions).value_or(1));
  if (auto mistakes = fields.mistakes()) return *mistakes;
  TopicSpec topic;
  topic.name = id;
  topic.partitions = channel.partitions;
  const auto made = services.broker->ensure_topics({topic});
  if (!made) return problem(made.error());
  channel.partitions = made->front().partitions;
  const Timestamp now = services.clock->now().wall;
  std::string token = said.value_or("");
  std::optional<Error> full;
  const auto written = services.store->write([&](Connection& connection) -> Result<void> {
    const auto known = find_channel(connection, id);
    if (!known) return std::unexpected(known.error());
    if (!said && !*known) token = random_secret();
    channel.token = token.empty() ? (*known)->token : token_hash(token);
    channel.created_at = *known ? (*known)->created_at : now;
    auto done = put_channel(connection, channel, actor_of(request, ""), now);
    if (!done && done.error().code == ErrorCode::kTooLarge) full = done.error();
    return done;
  });
  if (full) return problem(ProblemType::kConflict, full->message);
  if (!written) return store_problem(written.error());
  json::object out = channel_json(channel);
  if (!token.empty()) out["token"] = token;  // this once
  return json_response(out);
}

Response get(const Services& services, const Request& request) {
  std::optional<Channel> channel;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = find_channel(connection, request.parameter("channel"));
    if (!found) return std::unexpected(found.error());
    channel = std::move(*found);
    return {};
  });
  if (!read) return store_problem(read.error());
  if (!channel) return problem(ProblemType::kNotFound, "no channel " + request.parameter("channel").substr(0, 100));
  return json_response(channel_json(*channel));
}

Response list(const Services& services) {
  json::array items;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto all = all_channels(connection);
    if (!all) return std::unexpected(all.error());
    for (const Channel& channel : *all) items.push_back(channel_json(channel));
    return {};
  });
  if (!read) return store_problem(read.error());
  return json_response(json::object{{"items", std::move(items)}});
}

Response put_one(const Services& services, Request& request) {
  const auto channel = open_channel(services, request, Tokens::kChannelOrAdmin);
  if (!channel) return channel.error();
  const auto body = read_object_or_form(request);
  if (!body) return body.error();
  Fields fields(*body);
  Consumer consumer;
  consumer.channel = channel->id;
  consumer.id = request.parameter("consumer");
  consumer.name = read_name(fields);
  consumer.url = fields.text("callbackUrl", 2000).value_or("");
  if (consumer.url.empty()) fields.wrong("callbackUrl", "must be a URL such as https://pay.example/hook");
  const auto said = read_token(fields);
  consumer.paused = fields.truth("paused").value_or(false);
  for (const auto& [field, where, is] : {std::tuple("retry", &consumer.retry, &json::value::is_object),
                                         std::tuple("reject", &consumer.reject, &json::value::is_array)})
    if (const json::value* value = fields.value(field)) {
      if ((value->*is)())
        *where = json::serialize(*value);
      else
        fields.wrong(field, std::string("must be ") + (field == std::string_view("retry") ? "an object" : "a list"));
    }
  if (!is_id(consumer.id, kLongestId))
    return problem(ProblemType::kInvalid, "a consumer's id has letters, digits, '.', '_' and '-', at most 100 of them");
  if (auto mistakes = fields.mistakes()) return *mistakes;
  if (const auto fine = services.check_consumer(consumer); !fine)
    return problem(ProblemType::kInvalid, fine.error().message);
  std::optional<Consumer> known;
  bool removed = false;
  std::string other;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = find_consumer(connection, channel->id, consumer.id);
    if (!found) return std::unexpected(found.error());
    known = std::move(*found);
    const auto gone = was_removed(connection, consumer);
    if (!gone) return std::unexpected(gone.error());
    removed = *gone;
    auto beside = consumer_beside(connection, consumer);
    if (!beside) return std::unexpected(beside.error());
    other = std::move(*beside);
    return {};
  });
  if (!read) return store_problem(read.error());
  const bool runs = services.worker(consumer.worker()) != nullptr;
  if (!known && runs && removed && other.empty())
    return problem(ProblemType::kConflict, "it was removed, and its worker is still stopping: try again in a moment");
  if (!known && (runs || !other.empty()))
    return problem(ProblemType::kConflict, "there is a worker " + consumer.worker() + " already" +
                                               (other.empty() ? "" : ", of consumer " + other) + ": choose another id");
  if (!known) {
    const std::unique_lock nobody_broadcasts(*services.broadcasting);
    auto starts = begin_at_end(*services.broker, channel->id, consumer.worker(), removed);
    if (!starts) return problem(starts.error());
    consumer.starts = std::move(*starts);
  }
  const Timestamp now = services.clock->now().wall;
  consumer.token = said ? *said : known ? known->token : random_secret();
  consumer.created_at = known ? known->created_at : now;
  std::optional<Error> full;
  const auto written = services.store->write([&](Connection& connection) -> Result<void> {
    auto done = put_consumer(connection, consumer, actor_of(request, ""), now);
    if (!done && (done.error().code == ErrorCode::kTooLarge || done.error().code == ErrorCode::kFenced))
      full = done.error();
    return done;
  });
  if (full) return problem(ProblemType::kConflict, full->message);
  if (!written) return store_problem(written.error());
  services.consumers_changed();
  json::object out = consumer_json(consumer);
  if (said || !known) out["token"] = consumer.token;  // this once
  return json_response(out);
}

Response get_one(const Services& services, Request& request) {
  const auto found = open_consumer(services, request, Tokens::kChannelOrAdmin);
  return found ? json_response(consumer_json(found->consumer)) : found.error();
}

Response list_of(const Services& services, Request& request) {
  const auto channel = open_channel(services, request, Tokens::kChannelOrAdmin);
  if (!channel) return channel.error();
  json::array items;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto all = consumers_of(connection, channel->id);
    if (!all) return std::unexpected(all.error());
    for (const Consumer& consumer : *all) items.push_back(consumer_json(consumer));
    return {};
  });
  if (!read) return store_problem(read.error());
  return json_response(json::object{{"items", std::move(items)}});
}

Response remove_one(const Services& services, Request& request) {
  const auto found = open_consumer(services, request, Tokens::kChannelOrAdmin);
  if (!found) return found.error();
  Removed removed = Removed::kDone;
  const auto written = services.store->write([&](Connection& connection) -> Result<void> {
    auto done = remove_consumer(connection, found->channel.id, found->consumer.id, actor_of(request, ""),
                                services.clock->now().wall);
    if (!done) return std::unexpected(done.error());
    removed = *done;
    return {};
  });
  if (!written) return store_problem(written.error());
  if (removed == Removed::kHasLetters)
    return problem(ProblemType::kConflict, "the consumer has dead jobs: requeue or delete them first");
  if (removed == Removed::kReplaying)
    return problem(ProblemType::kConflict,
                   "jobs of the consumer were sent again and have no outcome yet: wait for it, or take them back "
                   "(cancel the operation that sends them, then bartleby letters restore) and delete them");
  if (removed == Removed::kNotFound) return problem(ProblemType::kNotFound, "it was removed meanwhile");
  services.consumers_changed();
  Response done;
  done.status = 204;
  return done;
}

}  // namespace

void add_channel_routes(Router& router, const Services& services) {
  const Access channel_token = Access::tokens("channel-token|admin", {Scope::kAdmin});
  router.add("GET", "/channels", {.access = Scope::kRead, .summary = "All channels", .answer = kChannels},
             [&services](Request&) { return list(services); });
  router.add("PUT", "/channel/{channel}",
             {.access = Scope::kAdmin,
              .summary = "Make a channel, or change it; JSON or a form. The token is told this once",
              .query = {kWhy},
              .body = kPutChannel,
              .answer = kChannel},
             [&services](Request& request) { return put(services, request); });
  router.add("GET", "/channel/{channel}", {.access = Scope::kRead, .summary = "One channel", .answer = kChannel},
             [&services](Request& request) { return get(services, request); });
  router.add("GET", "/channel/{channel}/consumers",
             {.access = channel_token, .summary = "Its consumers", .answer = kConsumers},
             [&services](Request& request) { return list_of(services, request); });
  router.add("PUT", "/channel/{channel}/consumer/{consumer}",
             {.access = channel_token,
              .summary = "Register a consumer, or change it; it gets what is broadcast from now on",
              .query = {kWhy},
              .body = kPutConsumer,
              .answer = kConsumer},
             [&services](Request& request) { return put_one(services, request); });
  router.add("GET", "/channel/{channel}/consumer/{consumer}",
             {.access = channel_token, .summary = "One consumer", .answer = kConsumer},
             [&services](Request& request) { return get_one(services, request); });
  router.add(
      "DELETE", "/channel/{channel}/consumer/{consumer}",
      {.access = channel_token, .summary = "Remove a consumer that has no dead jobs", .query = {kWhy}, .success = 204},
      [&services](Request& request) { return remove_one(services, request); });
}

}  // namespace bartleby
