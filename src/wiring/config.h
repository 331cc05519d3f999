// The configuration: a file, variables and flags in, plain structs or all mistakes at once out.
//
// Precedence: flag > variable > file > default. Nothing is half taken: with one mistake there is no `Config`. What the
// values mean and which there are is in the table of keys (wiring/config_keys.h) and in docs/configuration.md.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "codec/letter.h"
#include "codec/match.h"
#include "codec/replay_header.h"
#include "engine/config.h"
#include "model/operation_facts.h"
#include "office/retention.h"
#include "server/access_options.h"
#include "wiring/config_check.h"
#include "wiring/config_node.h"
#include "wiring/config_values.h"

namespace bartleby {

struct HttpHandlerConfig {
  std::string url;
  std::string secret;  // empty: not signed
  std::vector<std::uint16_t> reject;
  bool allow_private = true;
  std::vector<std::pair<std::string, std::string>> headers{};  // sent along; no key of the file
  std::vector<std::string> copy{};                             // of the record; likewise
};
struct PullHandlerConfig {};
struct BuiltinHandlerConfig {
  std::string name;
};
using HandlerConfig = std::variant<HttpHandlerConfig, PullHandlerConfig, BuiltinHandlerConfig>;

struct CaseConfig {
  std::optional<Match> match;  // absent: takes the rest
  HandlerConfig handler;
  RetryPolicy retry;
};

enum class RunIn : std::uint8_t { kPool, kEngine };

struct DeadLetterConfig {
  bool enabled = true;
  bool drop = false;  // with `enabled` off
  std::string topic;  // template
  LetterDialect dialect = LetterDialect::kRecord;
};

// A counter of failed attempts beside the engine's, for others.
struct CounterConfig {
  std::string key;  // template
  Duration ttl{};
};

// Metrics beside Bartleby's own.
struct MetricsConfig {
  std::string family;
  std::string label;           // empty: none
  std::optional<Match> field;  // what the label is, and which values it has
};

struct WorkerConfig {
  std::string name;
  std::vector<std::string> topics;
  std::string broker;
  std::string group;
  std::optional<Match> match;     // what is not for this worker is skipped
  std::vector<CaseConfig> cases;  // at least one: a worker without cases is one case that takes everything
  std::uint32_t concurrency = 64;
  std::uint64_t max_bytes = 0;
  RunIn run = RunIn::kPool;
  StartPoint start;
  KeyPolicy key_policy = KeyPolicy::kHold;
  Duration drain{};
  bool adopt = false;
  std::uint32_t max_parked = 0;
  std::int64_t max_window = 0;
  std::string journal;       // template
  std::string replay_topic;  // template
  std::optional<GuardConfig> guard;
  DeadLetterConfig dead_letter;
  std::optional<CounterConfig> counter;
  std::optional<MetricsConfig> metrics;

  // The matches of the cases, as `Matcher::first` wants them.
  std::vector<std::optional<Match>> case_matches() const;
  std::string journal_of(const std::string& topic, const std::string& cluster_id) const;
  std::string dead_letters_of(const std::string& topic, const std::string& cluster_id) const;
  // The private lane for replays; empty where it would share the topic's journal, which then has no {topic} in it.
  std::string lane_of(const std::string& topic, const std::string& cluster_id) const;
  std::string lane_template() const;
  // What the engine is told; `writer`, `in_process` and `seed` are left to whoever runs it.
  EngineConfig engine() const;
};

struct KafkaConfig {
  std::string bootstrap;
  bool consumer_protocol = false;
  std::map<std::string, std::string> properties;  // of librdkafka
};

struct ConsumerConfig {
  std::string id, name, url, token;
  std::string retry;   // JSON object of what was said; empty: nothing
  std::string reject;  // JSON list
  bool paused = false;
};

struct ChannelConfig {
  std::string id, name, token;
  std::int32_t partitions = 1;
  std::vector<ConsumerConfig> consumers;
};

struct BrokerConfig {
  std::string name;
  std::optional<KafkaConfig> kafka;  // absent: the embedded log
};

struct SinkConfig {
  std::string name;
  std::string url, database, collection, key;  // of MongoDB, the one kind there is
};

struct HeartbeatConfig {
  Duration every{}, ttl{}, stopping_ttl{}, missing_after{}, idle_after{}, stopping_after{}, forget_after{};
  std::map<std::string, std::uint32_t> expect;  // worker → live instances
};

// How letters are replayed where nobody says otherwise.
struct ReplayConfig {
  std::uint32_t rate = 0;    // letters per second; 0: as fast as it goes
  std::uint32_t canary = 0;  // 0: none
  HaltRule halt;
  std::uint32_t max_replays = 0;
  std::vector<std::string> targets;  // topics that they may be sent to beside their own
};

struct OfficeConfig {
  std::string archive_dir;
  ReplayConfig replay;
  std::vector<std::string> discover;  // patterns: topics that are dlqs by their names
  Duration undo{};
  Duration keep_operations{}, summary_check{};
  std::vector<std::pair<std::string, DlqRule>> dlqs;  // by pattern, in their order
  std::vector<SinkConfig> sinks;

  // Of the first pattern that matches; without one, the defaults.
  DlqRule rule_of(const std::string& dlq) const;
};

struct AlertsConfig {
  std::string alertmanager;  // its URL; empty: none
  bool log = false;
  Duration resend{};

  bool operator==(const AlertsConfig&) const = default;
};

struct Config {
  std::string cluster_id;
  bool runs_workers = true;  // role `runtime`
  bool has_office = true;    // role `office`
  std::string data_dir;
  std::string ui_dir;  // of --ui-dir alone: where the pages lie; empty: in the program
  Address listen;
  std::string advertise;
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
  AccessOptions access;
  std::optional<OfficeKey> office_key;  // signing.office
  RedactionRules redact;
  HeartbeatConfig heartbeats;
  OfficeConfig office;
  AlertsConfig alerts;
  std::optional<RedisAddress> redis;  // of counters and heartbeats; absent: in this process
  std::vector<BrokerConfig> brokers;  // at least one; the first is the default
  std::vector<WorkerConfig> workers;
  std::vector<ChannelConfig> channels;

  std::vector<std::string> policies;  // names; what they say has gone into the workers
  ConfigNode effective;               // everything above as keys with their origin, for `config show` and for comparing
};

struct ConfigFile {
  std::string name;  // as mistakes call it
  std::string text;
};

struct ConfigFlag {
  std::string flag;               // `--listen`, as mistakes call it
  std::vector<std::string> path;  // of the key; it may name a worker that the file does not have
  std::string value;              // as in a variable
};

struct ConfigSources {
  std::optional<ConfigFile> file;
  Environment environment;
  std::vector<ConfigFlag> flags;
  FileReader read;  // absent: the real files
};

std::expected<ConfigFile, Mistake> read_config_file(const std::string& path);

std::expected<Config, std::vector<Mistake>> load(const ConfigSources& sources);

enum class Change : std::uint8_t { kUnchanged, kLive, kRestart, kAdded, kRemoved };

struct WorkerChange {
  std::string worker;
  Change change = Change::kUnchanged;
  std::vector<std::string> keys;  // that differ, without `workers.NAME.`
};

struct ConfigDiff {
  std::vector<WorkerChange> workers;
  // Keys that differ beside those of workers: what counts at once, and what when the process starts again.
  std::vector<std::string> live, next_start;
};

// What it takes to get from one configuration to the other.
ConfigDiff diff(const Config& old, const Config& fresh);

}  // namespace bartleby
