#include "wiring/config_read.h"

#include <algorithm>

#include "base/assert.h"
#include "base/glob.h"
#include "codec/json_text.h"
#include "codec/topic_name.h"

namespace bartleby {
namespace {

constexpr Duration kCounterTtl{std::chrono::hours(24 * 7)};

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

std::optional<CounterConfig> read_counter(const ConfigNode& worker) {
  const ConfigNode* node = worker.find("counter");
  if (node == nullptr || !node->is_map()) return std::nullopt;
  return CounterConfig{text(*node, "key"), node->find("ttl") == nullptr ? kCounterTtl : duration(*node, "ttl")};
}

std::optional<MetricsConfig> read_metrics(const ConfigNode& worker) {
  const ConfigNode* node = worker.find("metrics");
  if (node == nullptr || !node->is_map()) return std::nullopt;
  MetricsConfig out;
  out.family = text(*node, "family");
  const ConfigNode* label = node->find("label");
  if (label == nullptr || label->entries.empty()) return out;
  const ConfigEntry& one = label->entries.front();
  out.label = one.key;
  Match& field = out.field.emplace();
  const ConfigNode* pointer = one.value.find("json");
  field.field = pointer != nullptr ? Match::Field::kJson : Match::Field::kHeader;
  field.name = pointer != nullptr ? pointer->text : text(one.value, "header");
  field.in = texts(at(one.value, "in"));
  return out;
}

AlertsConfig read_alerts(const ConfigNode& node) {
  AlertsConfig out;
  const ConfigNode* alertmanager = node.find("alertmanager");
  if (alertmanager != nullptr && alertmanager->is_map()) out.alertmanager = text(*alertmanager, "url");
  out.log = node.find("log") != nullptr;
  out.resend = duration(node, "resend");
  return out;
}

std::optional<RedisAddress> read_redis(const ConfigNode& root) {
  const ConfigNode* counters = root.find("counters");
  const ConfigNode* redis = counters == nullptr ? nullptr : counters->find("redis");
  if (redis == nullptr || !redis->is_map()) return std::nullopt;
  return parse_redis_url(text(*redis, "url"));
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
  out.replay_topic = text(node, "replay_topic");
  out.guard = read_guard(node);
  const ConfigNode& letters = at(node, "dead_letter");
  out.dead_letter = {yes(letters, "enabled"), yes(letters, "drop"), text(letters, "topic"),
                     *letter_dialect_named(text(letters, "dialect"))};
  out.counter = read_counter(node);
  out.metrics = read_metrics(node);
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

Networks read_networks(const ConfigNode& list) {
  Networks out;
  for (const ConfigNode& item : list.items) out.push_back(*parse_network(item.text));
  return out;
}

// The name of a header as requests have it.
std::string header_name(const ConfigNode& map, std::string_view key, std::string_view fallback) {
  const ConfigNode* node = map.find(key);
  std::string out(node == nullptr || node->is_null() ? fallback : std::string_view(node->text));
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

AccessOptions read_access(const ConfigNode& root) {
  AccessOptions out;
  const ConfigNode& auth = at(root, "auth");
  out.keys = text(auth, "keys") == "store";
  out.open_paths = texts(at(auth, "public"));
  out.trusted_proxies = read_networks(at(auth, "trusted_proxies"));
  if (const ConfigNode* proxy = auth.find("proxy"); proxy != nullptr && proxy->is_map()) {
    ProxyOptions& options = out.proxy.emplace();
    options.user = header_name(*proxy, "user", "x-forwarded-user");
    options.groups = header_name(*proxy, "groups", "x-forwarded-groups");
    options.trusted = read_networks(at(*proxy, "trusted"));
    for (const ConfigEntry& group : at(*proxy, "map").entries)
      options.roles.emplace(group.key, *role_named(group.value.text));
  }
  const ConfigNode* internal = root.find("internal");
  const ConfigNode* api = internal == nullptr ? nullptr : internal->find("api");
  if (api != nullptr && api->is_map())
    out.internal = InternalOptions{text(*api, "key"), read_networks(at(*api, "allowed-networks"))};
  return out;
}

// What somebody said of it, as JSON; defaults are left out.
void append_said(std::string& out, const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::kScalar) {
    if (!node.quoted && parse_number(node.text))
      out += node.text;
    else
      append_json_text(out, node.text);
  } else if (node.kind == ConfigNode::Kind::kList) {
    out += '[';
    for (const ConfigNode& item : node.items) {
      if (&item != &node.items.front()) out += ',';
      append_said(out, item);
    }
    out += ']';
  } else {
    JsonObject object(out);
    for (const ConfigEntry& entry : node.entries)
      if (entry.value.origin.name) {
        object.name(entry.key);
        append_said(out, entry.value);
      }
  }
}

ConsumerConfig read_consumer(const std::string& id, const ConfigNode& node) {
  ConsumerConfig out;
  out.id = id;
  out.name = node.find("name") == nullptr ? id : text(node, "name");
  out.url = text(node, "url");
  out.token = text(node, "token");
  out.paused = yes(node, "paused");
  append_said(out.reject, at(node, "reject"));
  const ConfigNode& retry = at(node, "retry");
  if (retry.origin.name) append_said(out.retry, retry);
  return out;
}

ChannelConfig read_channel(const std::string& id, const ConfigNode& node) {
  ChannelConfig out;
  out.id = id;
  out.name = node.find("name") == nullptr ? id : text(node, "name");
  out.token = text(node, "token");
  out.partitions = static_cast<std::int32_t>(number(node, "partitions"));
  if (const ConfigNode* consumers = node.find("consumers"))
    for (const ConfigEntry& entry : consumers->entries) out.consumers.push_back(read_consumer(entry.key, entry.value));
  return out;
}

RedactionRules read_redaction(const ConfigNode& root) {
  RedactionRules out;
  const ConfigNode* office = root.find("office");
  const ConfigNode* rules = office == nullptr ? nullptr : office->find("redact");
  if (rules == nullptr) return out;
  for (const ConfigNode& rule : rules->items)
    if (const ConfigNode* pointer = rule.find("json"))
      out.json.push_back(pointer->text);
    else
      out.headers.push_back(text(rule, "header"));
  return out;
}

DlqProvision read_provision(const ConfigNode& node) {
  DlqProvision out;
  const auto said = [&](std::string_view key) {
    const ConfigNode* one = node.find(key);
    return one != nullptr && !one->is_null();
  };
  if (said("partitions")) out.partitions = static_cast<std::int32_t>(number(node, "partitions"));
  out.replicas = static_cast<std::int32_t>(number(node, "replicas"));
  out.retention = said("retention") ? std::optional(duration(node, "retention")) : std::nullopt;
  out.compression = text(node, "compression");
  if (said("max_message")) out.max_message = static_cast<std::size_t>(*parse_size(text(node, "max_message")));
  return out;
}

ReplayConfig read_replay(const ConfigNode& node) {
  ReplayConfig out;
  out.rate = *parse_rate(text(node, "rate"));
  out.canary = small(node, "canary");
  const ConfigNode& halt = at(node, "halt");
  out.halt = {percent(halt, "came_back"), small(halt, "of")};
  out.max_replays = small(node, "max_replays");
  out.targets = texts(at(node, "targets"));
  return out;
}

}  // namespace

OfficeConfig read_office(const ConfigNode& resolved) {
  OfficeConfig out;
  const ConfigNode& office = at(resolved, "office");
  out.replay = read_replay(at(office, "replay"));
  out.discover = texts(at(at(office, "intake"), "discover"));
  out.undo = duration(office, "undo");
  out.keep_operations = duration(at(office, "operations"), "keep");
  out.summary_check = duration(at(office, "summary"), "check");
  const ConfigNode* archive = office.find("archive");
  const ConfigNode* dir = archive == nullptr ? nullptr : archive->find("dir");
  out.archive_dir = dir != nullptr ? dir->text : text(resolved, "data_dir") + "/archive";
  if (const ConfigNode* dlqs = resolved.find("dlqs"))
    for (const ConfigEntry& entry : dlqs->entries) {
      DlqRule rule;
      rule.dlq_class = text(entry.value, "class") == "financial" ? DlqClass::kFinancial : DlqClass::kNormal;
      rule.keep =
          at(entry.value, "retention").is_null() ? std::nullopt : std::optional(duration(entry.value, "retention"));
      rule.then = text(entry.value, "then") == "purge" ? Then::kPurge : Then::kArchive;
      if (const ConfigNode* group = entry.value.find("intake_group"); group != nullptr && !group->is_null())
        rule.intake_group = group->text;
      if (const ConfigNode* made = entry.value.find("provision"); made != nullptr && made->is_map())
        rule.provision = read_provision(*made);
      rule.sinks = texts(at(entry.value, "sinks"));
      out.dlqs.emplace_back(entry.key, std::move(rule));
    }
  if (const ConfigNode* sinks = resolved.find("sinks"))
    for (const ConfigEntry& entry : sinks->entries) {
      const ConfigNode& mongodb = at(entry.value, "mongodb");
      out.sinks.push_back({entry.key, text(mongodb, "url"), text(mongodb, "database"), text(mongodb, "collection"),
                           text(mongodb, "key")});
    }
  return out;
}

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
  out.access = read_access(resolved);
  if (const ConfigNode* signing = resolved.find("signing"))
    if (const ConfigNode* office = signing->find("office"); office != nullptr && office->is_map())
      out.office_key = OfficeKey{text(*office, "kid"), text(*office, "secret")};
  out.redact = read_redaction(resolved);
  out.heartbeats = read_heartbeats(at(resolved, "heartbeats"));
  out.office = read_office(resolved);
  out.redis = read_redis(resolved);
  out.alerts = read_alerts(at(resolved, "alerts"));
  for (const ConfigEntry& entry : at(resolved, "brokers").entries) out.brokers.push_back(read_broker(entry));
  if (const ConfigNode* workers = resolved.find("workers"))
    for (const ConfigEntry& entry : workers->entries) out.workers.push_back(read_worker(entry.key, entry.value));
  if (const ConfigNode* channels = resolved.find("channels"))
    for (const ConfigEntry& entry : channels->entries) out.channels.push_back(read_channel(entry.key, entry.value));
  out.effective = std::move(resolved);
  return out;
}

DlqRule OfficeConfig::rule_of(const std::string& dlq) const {
  for (const auto& [pattern, rule] : dlqs)
    if (glob_matches(pattern, dlq)) return rule;
  return {};
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

std::string WorkerConfig::lane_template() const { return journal.contains("{topic}") ? replay_topic : ""; }

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
