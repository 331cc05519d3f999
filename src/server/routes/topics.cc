// Topics: which there are, sending messages, and reading them for people.
#include <algorithm>
#include <map>

#include "codec/base64.h"
#include "codec/percent.h"
#include "codec/topic_name.h"
#include "ports/log_keeper.h"
#include "ports/log_look.h"
#include "server/json.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxLines = 10000;
constexpr std::int64_t kMaxRead = 500;
constexpr std::size_t kMaxReadBytes = std::size_t{4} << 20;
constexpr Duration kEndsLimit{1000};  // for the ends of all logs together

constexpr std::string_view kTopics = R"({"type": "object", "required": ["items", "next", "count"],
  "additionalProperties": false, "properties": {"next": {"type": "null"},
    "count": {"$ref": "#/components/schemas/Count"},
    "items": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "required": ["name", "records", "compacted", "retention_ms", "partitions"], "properties": {
        "name": {"type": "string"}, "records": {"type": "integer"}, "compacted": {"type": "boolean"},
        "retention_ms": {"type": ["integer", "null"]},
        "partitions": {"type": "array", "items": {"type": "object", "additionalProperties": false,
          "required": ["partition", "start", "end"], "properties": {"partition": {"type": "integer"},
            "start": {"type": "integer"}, "end": {"type": "integer"}}}}}}}}})";
constexpr std::string_view kPlaced = R"({"description": "Where the message is; of many, of each in turn",
  "anyOf": [{"type": "object", "required": ["partition", "offset"], "additionalProperties": false,
      "properties": {"partition": {"type": "integer"}, "offset": {"type": "integer"}}},
    {"type": "object", "required": ["messages"], "additionalProperties": false,
      "properties": {"messages": {"type": "array",
        "items": {"type": "object", "required": ["partition", "offset"]}}}}]})";
constexpr std::string_view kMessages = R"({"type": "object", "required": ["items", "next"],
  "additionalProperties": false, "properties": {"next": {"type": "integer"}, "start": {"type": "integer"},
    "end": {"type": "integer"}, "items": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "required": ["partition", "offset", "timestamp", "key", "value", "headers"], "properties": {
        "partition": {"type": "integer"}, "offset": {"type": "integer"},
        "timestamp": {"$ref": "#/components/schemas/Time"}, "key": {"$ref": "#/components/schemas/Bytes"},
        "value": {"$ref": "#/components/schemas/Bytes"}, "headers": {"$ref": "#/components/schemas/Headers"}}}}}})";

bool is_topic_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxTopicName || name == "." || name == "..") return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

std::optional<Response> refused_topic(const std::string& topic) {
  if (is_topic_name(topic)) return std::nullopt;
  return problem(ProblemType::kInvalid, "a topic's name has letters, digits, '.', '_' and '-', at most 249 of them",
                 {{"topic", "not a topic's name"}});
}

// A journal or a topic of Bartleby's own is read as facts.
std::optional<Response> refused_target(const Services& services, const std::string& topic) {
  bool kept = is_kept_topic(topic);
  for (const auto& worker : services.workers()) kept = kept || worker->keeps(topic);
  if (!kept) return std::nullopt;
  return problem(ProblemType::kInvalid,
                 topic +
                     " takes no messages: Bartleby keeps its own notes there (bartleby.…, journals); send to the "
                     "topic that the worker reads",
                 {{"topic", "kept for Bartleby itself"}});
}

// Where the logs of these topics begin and end. Of a broker across a network all are asked together, and each by itself
// only if its leader has just answered and it is not empty: partitions without one would be waited for one by one.
std::map<TopicPartition, std::pair<Offset, Offset>> ranges_of(Broker& broker, const std::vector<TopicSpec>& topics) {
  std::vector<TopicPartition> tps;
  for (const TopicSpec& t : topics)
    for (std::int32_t p = 0; p < t.partitions; ++p) tps.push_back({t.name, Partition(p)});
  auto* look = dynamic_cast<LogLook*>(&broker);
  const auto ends = look == nullptr ? std::map<TopicPartition, Offset>{} : look->ends_now(tps, kEndsLimit);
  std::map<TopicPartition, std::pair<Offset, Offset>> ranges;
  for (const TopicPartition& tp : tps) {
    const auto end = ends.find(tp);
    if (look != nullptr && end == ends.end()) continue;
    if (look != nullptr && end->second == Offset(0)) {
      ranges[tp] = {};
      continue;
    }
    const auto range = broker.log_range(tp);
    if (range) ranges[tp] = *range;
    if (!range && look != nullptr && range.error().code == ErrorCode::kUnavailable) break;  // away since a moment ago
  }
  return ranges;
}

Response list_topics(const Services& services) {
  auto* look = dynamic_cast<LogLook*>(services.broker);
  if (look != nullptr && !look->answers()) return problem(Error{ErrorCode::kUnavailable, "the broker does not answer"});
  const auto topics = services.broker->topics();
  if (!topics) return problem(topics.error());
  const auto ranges = ranges_of(*services.broker, *topics);
  json::array items;
  for (const TopicSpec& t : *topics) {
    std::int64_t records = 0;
    json::array partitions;
    for (std::int32_t p = 0; p < t.partitions; ++p) {
      const auto at = ranges.find({t.name, Partition(p)});
      if (at == ranges.end()) continue;
      const auto& [start, end] = at->second;
      records += end.v - start.v;
      partitions.push_back(json::object{{"partition", p}, {"start", start.v}, {"end", end.v}});
    }
    json::object item{{"name", t.name}, {"records", records}, {"compacted", t.compacted}};
    item["retention_ms"] = t.retention ? json::value(t.retention->count()) : json::value(nullptr);
    item["partitions"] = std::move(partitions);
    items.push_back(std::move(item));
  }
  const std::size_t count = items.size();
  return json_response(json::object{
      {"items", std::move(items)}, {"next", nullptr}, {"count", json::object{{"value", count}, {"exact", true}}}});
}

// The header of the push protocol, read the other way: base64url of JSON [["name","base64"|null],…].
bool read_headers(std::string_view text, Headers& headers) {
  std::string plain(text);
  for (char& c : plain) c = c == '-' ? '+' : c == '_' ? '/' : c;
  while (!plain.empty() && plain.back() == '=') plain.pop_back();
  std::string decoded;
  if (!append_from_base64(decoded, plain, Base64::kBare)) return false;
  json::error_code failed;
  const json::value list = json::parse(decoded, failed);
  if (failed || !list.is_array()) return false;
  for (const json::value& pair : list.as_array()) {
    if (!pair.is_array() || pair.as_array().size() != 2 || !pair.as_array()[0].is_string()) return false;
    const json::value& value = pair.as_array()[1];
    Bytes bytes;
    if (value.is_string()) {
      std::string raw;
      if (!append_from_base64(raw, std::string_view(value.as_string()), Base64::kPadded)) return false;
      bytes = Bytes(std::string_view(raw));
    } else if (!value.is_null()) {
      return false;
    }
    headers.emplace_back(std::string(pair.as_array()[0].as_string()), std::move(bytes));
  }
  return true;
}

std::optional<Response> read_one(const Request& request, Record& record) {
  if (const auto key = request.header("bartleby-key")) {
    const auto decoded = percent_decoded(*key);
    if (!decoded) return problem(ProblemType::kMalformed, "Bartleby-Key is not percent-encoded");
    record.key = Bytes(std::string_view(*decoded));
  }
  if (const auto headers = request.header("bartleby-headers"))
    if (!read_headers(*headers, record.headers))
      return problem(ProblemType::kMalformed, "Bartleby-Headers is not base64url of [[\"name\",\"base64\"],…]");
  if (const auto type = request.header("content-type")) record.headers.emplace_back("content-type", Bytes(*type));
  if (request.header("bartleby-null") != "true") record.value = Bytes(std::string_view(request.body));
  return std::nullopt;
}

// {"key?","value" or {"base64"},"headers?":[["n","v"]],"partition?"}
std::optional<Response> read_line(std::string_view line, std::size_t number, Record& record) {
  const std::string at = "/" + std::to_string(number);
  json::parse_options options;
  options.max_depth = 64;
  json::error_code failed;
  const json::value v = json::parse(line, failed, {}, options);
  if (failed || !v.is_object())
    return problem(ProblemType::kMalformed, "line " + std::to_string(number + 1) + " is not a JSON object");
  if (gives_a_name_twice(line, v))
    return problem(ProblemType::kMalformed, "line " + std::to_string(number + 1) + " gives a name twice");
  Fields fields(v.as_object(), at);
  if (const auto key = fields.bytes("key")) record.key = *key;
  if (const auto value = fields.bytes("value")) record.value = *value;
  if (!v.as_object().contains("value")) fields.wrong("value", "missing (null for a tombstone)");
  if (const auto partition = fields.integer("partition", 0, INT32_MAX))
    record.partition = Partition(static_cast<std::int32_t>(*partition));
  if (const json::value* headers = fields.value("headers")) {
    bool fine = headers->is_array();
    if (fine)
      for (const json::value& pair : headers->as_array()) {
        fine = pair.is_array() && pair.as_array().size() == 2 && pair.as_array()[0].is_string() &&
               pair.as_array()[1].is_string();
        if (!fine) break;
        record.headers.emplace_back(std::string(pair.as_array()[0].as_string()),
                                    Bytes(std::string_view(pair.as_array()[1].as_string())));
      }
    if (!fine) fields.wrong("headers", "must be a list of [\"name\", \"value\"]");
  }
  return fields.mistakes();
}

Response send_messages(const Services& services, Request& request) {
  const std::string& topic = request.parameter("topic");
  if (auto refused = refused_topic(topic)) return *refused;
  if (auto refused = refused_target(services, topic)) return *refused;
  std::vector<Record> records;
  std::vector<std::string> lines;  // where each of them stands
  const std::string_view type = request.header("content-type").value_or("");
  const bool many = type.starts_with("application/x-ndjson");
  if (many) {
    std::string_view rest = request.body;
    for (std::size_t number = 0; !rest.empty(); ++number) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (records.size() == kMaxLines)
        return problem(ProblemType::kTooLarge, "more than " + std::to_string(kMaxLines) + " messages in one request");
      Record record;
      record.topic = topic;
      if (auto refused = read_line(line, number, record)) return *refused;
      records.push_back(std::move(record));
      lines.push_back("/" + std::to_string(number));
    }
    if (records.empty()) return json_response(json::object{{"messages", json::array{}}});
  } else {
    Record record;
    record.topic = topic;
    if (auto refused = read_one(request, record)) return *refused;
    records.push_back(std::move(record));
  }
  for (std::size_t i = 0; i < records.size(); ++i)
    if (payload_size(records[i]) > services.max_message)
      return problem(ProblemType::kTooLarge, "message " + std::to_string(i + 1) + " has " +
                                                 std::to_string(payload_size(records[i])) + " bytes; at most " +
                                                 std::to_string(services.max_message) + " are taken");
  Result<TopicSpec> there = services.broker->describe(topic);
  // Only a log of our own makes topics by itself.
  const bool makes = dynamic_cast<LogKeeper*>(services.broker) != nullptr;
  if (!there && there.error().code == ErrorCode::kNotFound && makes) {
    TopicSpec spec;
    spec.name = topic;
    const auto made = services.broker->ensure_topics({spec});
    if (!made) return problem(made.error());
    there = made->front();
  }
  if (!there) return problem(there.error());
  for (std::size_t i = 0; i < records.size(); ++i)
    if (records[i].partition && records[i].partition->v >= there->partitions)
      return problem(ProblemType::kInvalid, topic + " has the partitions 0 to " + std::to_string(there->partitions - 1),
                     {{lines[i] + "/partition", "not one of them"}});
  const auto written = services.broker->produce(records);
  if (!written) return problem(written.error());
  json::array placed;
  for (const Written& w : *written)
    placed.push_back(json::object{{"partition", w.partition.v}, {"offset", w.offset.v}});
  if (many) return json_response(json::object{{"messages", std::move(placed)}});
  return json_response(placed.front());
}

Response read_messages(const Services& services, Request& request) {
  const std::string& topic = request.parameter("topic");
  if (auto refused = refused_topic(topic)) return *refused;
  const auto there = services.broker->describe(topic);
  if (!there) return problem(there.error());
  const auto wanted = [&](std::string_view name, std::int64_t fallback,
                          std::int64_t most) -> std::optional<std::int64_t> {
    const auto text = request.query_value(name);
    if (!text) return fallback;
    const auto n = whole_number(*text);
    return n && *n <= most ? n : std::nullopt;
  };
  const auto partition = wanted("partition", 0, there->partitions - 1);
  if (!partition)
    return problem(ProblemType::kInvalidQuery,
                   topic + " has the partitions 0 to " + std::to_string(there->partitions - 1),
                   {{"partition", "not one of them"}});
  const auto limit = wanted("limit", 50, kMaxRead);
  const auto from = wanted("from", 0, INT64_MAX - 1);
  if (!limit || !from) return problem(ProblemType::kInvalidQuery, "from is an offset, limit a number up to 500");
  const TopicPartition tp{topic, Partition(static_cast<std::int32_t>(*partition))};
  const auto records = services.broker->read(tp, Offset(*from), static_cast<std::size_t>(*limit), kMaxReadBytes);
  if (!records) return problem(records.error());
  json::array items;
  for (const LogRecord& r : *records)
    items.push_back(json::object{{"partition", tp.partition.v},
                                 {"offset", r.offset.v},
                                 {"timestamp", json_time(r.timestamp)},
                                 {"key", json_bytes(r.key)},
                                 {"value", json_bytes(services.redaction.value(r.value))},
                                 {"headers", json_headers(services.redaction.headers(r.headers))}});
  const auto range = services.broker->log_range(tp);
  json::object body{{"items", std::move(items)}};
  body["next"] = records->empty() ? *from : next(records->back().offset).v;
  if (range) body["start"] = range->first.v, body["end"] = range->second.v;
  return json_response(body);
}

}  // namespace

void add_topic_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/topics",
             {.access = Scope::kRead, .summary = "The topics of this broker", .answer = kTopics},
             [&services](Request&) { return list_topics(services); });
  router.add("POST", "/api/v1/topics/{topic}/messages",
             {.access = Scope::kIngest,
              .summary = "Send one message (the body), or many (application/x-ndjson); 200 means on disk",
              .body_type = "*/*",
              .body = "{}",
              .answer = kPlaced},
             [&services](Request& request) { return send_messages(services, request); });
  router.add("GET", "/api/v1/topics/{topic}/messages",
             {.access = Scope::kPayload,
              .summary = "Read messages of one partition, for people",
              .query = {{"partition", "integer", "0 where nothing is said"},
                        {"from", "integer", "an offset; 0"},
                        {"limit", "integer", "up to 500; 50"}},
              .answer = kMessages},
             [&services](Request& request) { return read_messages(services, request); });
}

}  // namespace bartleby
