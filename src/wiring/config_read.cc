#include "wiring/config_read.h"

#include <algorithm>

#include "base/assert.h"
#include "codec/topic_name.h"

namespace bartleby {
namespace {

const ConfigNode& at(const ConfigNode& map, std::string_view key) {
  const ConfigNode* node = map.find(key);
  BARTLEBY_ASSERT(node != nullptr);
  return *node;
}

const std::string& text(const ConfigNode& map, std::string_view key) { return at(map, key).text; }
std::int64_t number(const ConfigNode& map, std::string_view key) { return *parse_number(text(map, key)); }
std::uint32_t small(const ConfigNode& map, std::string_view key) {
  return static_cast<std::uint32_t>(number(map, key));
}
Duration duration(const ConfigNode& map, std::string_view key) { return *duration_from_text(text(map, key)); }
bool yes(const ConfigNode& map, std::string_view key) { return *parse_bool(text(map, key)); }
std::uint32_t percent(const ConfigNode& map, std::string_view key) { return *parse_percent(text(map, key)); }

std::vector<std::string> texts(const ConfigNode& list) {
  std::vector<std::string> out;
  out.reserve(list.items.size());
  for (const ConfigNode& item : list.items) out.push_back(item.text);
  return out;
}

std::optional<Match> read_match(const ConfigNode& map) {
  const ConfigNode* node = map.find("match");
  if (node == nullptr || !node->is_map()) return std::nullopt;
  Match match;
  if (const ConfigNode* pointer = node->find("json")) {
    match.name = pointer->text;
  } else {
    match.field = Match::Field::kHeader;
    match.name = text(*node, "header");
  }
  if (const ConfigNode* one = node->find("is")) {
    match.in = {one->text};
  } else {
    match.in = texts(at(*node, "in"));
  }
  return match;
}

HandlerConfig read_handler(const ConfigNode& map) {
  const ConfigNode& node = at(map, "handler");
  if (node.find("pull") != nullptr) return PullHandlerConfig{};
  if (const ConfigNode* name = node.find("builtin")) return BuiltinHandlerConfig{name->text};
  const ConfigNode& http = at(node, "http");
  HttpHandlerConfig out;
  out.url = text(http, "url");
  if (const ConfigNode* secret = http.find("secret")) out.secret = secret->text;
  for (const ConfigNode& status : at(http, "reject").items)
    out.reject.push_back(static_cast<std::uint16_t>(*parse_number(status.text)));
  out.allow_private = yes(http, "allow_private");
  return out;
}

BrokerConfig read_broker(const ConfigEntry& entry) {
  BrokerConfig out;
  out.name = entry.key;
  const ConfigNode* kafka = entry.value.find("kafka");
  if (kafka == nullptr || !kafka->is_map()) return out;
  out.kafka.emplace();
  out.kafka->bootstrap = text(*kafka, "bootstrap");
  out.kafka->consumer_protocol = text(*kafka, "group_protocol") == "consumer";
  if (const ConfigNode* properties = kafka->find("properties"))
    for (const ConfigEntry& one : properties->entries) out.kafka->properties[one.key] = one.value.text;
  return out;
}

RetryPolicy read_retry(const ConfigNode& map) {
  const ConfigNode& node = at(map, "retry");
  RetryPolicy out;
  out.max_attempts = node.find("max_retries") != nullptr ? small(node, "max_retries") + 1 : small(node, "max_attempts");
  if (node.find("linear") != nullptr) {
    out.backoff = Linear{duration(node, "linear")};
  } else if (const ConfigNode* growing = node.find("exponential")) {
    out.backoff = Exponential{duration(*growing, "initial"), small(*growing, "factor"), duration(*growing, "max")};
  } else {
    Schedule schedule;
    for (const ConfigNode& step : at(node, "schedule").items) schedule.steps.push_back(*duration_from_text(step.text));
    out.backoff = std::move(schedule);
  }
  out.jitter_percent = percent(node, "jitter");
  out.timeout = duration(node, "timeout");
  out.max_retry_after = duration(node, "max_retry_after");
  out.max_crashes = small(node, "max_crashes");
  if (const ConfigNode* kinds = node.find("kinds")) {
    for (const ConfigEntry& kind : kinds->entries)
      if (kind.value.find("max_attempts") != nullptr)
        out.max_attempts_by_kind[static_cast<std::size_t>(*kind_named(kind.key))] = small(kind.value, "max_attempts");
  }
  return out;
}

std::optional<GuardConfig> read_guard(const ConfigNode& worker) {
  const ConfigNode& node = at(worker, "guard");
  if (node.is_null()) return std::nullopt;
  GuardConfig out;
  out.open_percent = percent(node, "open_at");
  out.of = small(node, "of");
  out.within = duration(node, "within");
  out.probe = duration(node, "probe");
  out.hold_max = duration(node, "hold_max");
  return out;
}

CaseConfig read_case(const ConfigNode& node, std::optional<Match> match) {
  return {std::move(match), read_handler(node), read_retry(node)};
}

WorkerConfig read_worker(const std::string& name, const ConfigNode& node) {
  WorkerConfig out;
  out.name = name;
  out.topics = texts(at(node, "topics"));
  out.broker = text(node, "broker");
  out.group = text(node, "group");
  out.match = read_match(node);
  out.concurrency = small(node, "concurrency");
  out.max_bytes = *parse_size(text(node, "max_bytes"));
  out.run = text(node, "run") == "inline" ? RunIn::kEngine : RunIn::kPool;
  out.start = *parse_start(text(node, "start"));
  out.key_policy = text(node, "key_policy") == "bypass" ? KeyPolicy::kBypass : KeyPolicy::kHold;
  out.drain = duration(node, "drain");
  out.adopt = yes(node, "adopt");
  out.max_parked = small(at(node, "limits"), "parked");
  out.max_window = number(at(node, "limits"), "window");
  out.journal = text(node, "journal");
  out.guard = read_guard(node);
  const ConfigNode& letters = at(node, "dead_letter");
  out.dead_letter = {yes(letters, "enabled"), yes(letters, "drop"), text(letters, "topic")};
  if (const ConfigNode* cases = node.find("cases")) {
    for (const ConfigNode& one : cases->items) out.cases.push_back(read_case(one, read_match(one)));
  } else {
    out.cases.push_back(read_case(node, std::nullopt));
  }
  return out;
}

HeartbeatConfig read_heartbeats(const ConfigNode& node) {
  HeartbeatConfig out;
  out.every = duration(node, "every");
  out.ttl = duration(node, "ttl");
  out.stopping_ttl = duration(node, "stopping_ttl");
  out.missing_after = duration(node, "missing_after");
  out.idle_after = duration(node, "idle_after");
  out.stopping_after = duration(node, "stopping_after");
  out.forget_after = duration(node, "forget_after");
  if (const ConfigNode* expect = node.find("expect"))
    for (const ConfigEntry& entry : expect->entries) out.expect[entry.key] = small(*expect, entry.key);
  return out;
}

}  // namespace

Config read_config(ConfigNode resolved) {
  Config out;
  out.cluster_id = text(resolved, "cluster_id");
  const std::vector<std::string> roles = texts(at(resolved, "roles"));
  out.runs_workers = std::ranges::find(roles, "runtime") != roles.end();
  out.has_office = std::ranges::find(roles, "office") != roles.end();
  out.data_dir = text(resolved, "data_dir");
  out.listen = *parse_address(text(resolved, "listen"));
  out.advertise = text(resolved, "advertise");
  const ConfigNode& log = at(resolved, "log");
  out.log_format = text(log, "format") == "json" ? LogFormat::kJson : LogFormat::kText;
  const std::string& level = text(log, "level");
  out.log_level = level == "debug"   ? LogLevel::kDebug
                  : level == "warn"  ? LogLevel::kWarning
                  : level == "error" ? LogLevel::kError
                                     : LogLevel::kInfo;
  out.heartbeats = read_heartbeats(at(resolved, "heartbeats"));
  for (const ConfigEntry& entry : at(resolved, "brokers").entries) out.brokers.push_back(read_broker(entry));
  if (const ConfigNode* workers = resolved.find("workers"))
    for (const ConfigEntry& entry : workers->entries) out.workers.push_back(read_worker(entry.key, entry.value));
  out.effective = std::move(resolved);
  return out;
}

std::vector<std::optional<Match>> WorkerConfig::case_matches() const {
  std::vector<std::optional<Match>> out;
  out.reserve(cases.size());
  for (const CaseConfig& one : cases) out.push_back(one.match);
  return out;
}

std::string WorkerConfig::journal_of(const std::string& topic, const std::string& cluster_id) const {
  return topic_name(journal, {topic, group, name, cluster_id});
}

std::string WorkerConfig::dead_letters_of(const std::string& topic, const std::string& cluster_id) const {
  return topic_name(dead_letter.topic, {topic, group, name, cluster_id});
}

std::string WorkerConfig::lane_template() const {
  return journal.find("{topic}") == std::string::npos ? "" : "{topic}.replay.{group}";
}

std::string WorkerConfig::lane_of(const std::string& topic, const std::string& cluster_id) const {
  const std::string text = lane_template();
  return text.empty() ? "" : topic_name(text, {topic, group, name, cluster_id});
}

EngineConfig WorkerConfig::engine() const {
  EngineConfig out;
  out.cases.clear();
  for (const CaseConfig& one : cases) out.cases.push_back(one.retry);
  out.key_policy = key_policy;
  out.guard = guard;
  out.dead_letters = dead_letter.enabled;
  out.drop = dead_letter.drop;
  out.adopt = adopt;
  out.concurrency = concurrency;
  out.drain = drain;
  out.max_bytes = max_bytes;
  out.max_parked = max_parked;
  out.max_window = max_window;
  return out;
}

}  // namespace bartleby
