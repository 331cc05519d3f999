#include "wiring/config_keys.h"

#include <algorithm>
#include <array>

#include "model/failure.h"
#include "wiring/config_node.h"
#include "wiring/config_values.h"

namespace bartleby {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kMegabyte = 1 << 20;

constexpr Applies kLive = Applies::kLive;
constexpr Applies kRestarts = Applies::kRestartsWorker;

// clang-format off
constexpr std::array kKeys{
    Key{.path = "cluster_id", .type = KeyType::kName, .fallback = "local",
        .text = "Name of the whole: {cluster_id} in templates, part of letter ids, title of the pages."},
    Key{.path = "roles", .type = KeyType::kChoices, .fallback = "[runtime, office]",
        .text = "What this process does: runtime runs workers, office takes in letters and serves people.",
        .choices = "runtime office"},
    Key{.path = "data_dir", .type = KeyType::kText, .fallback = "./bartleby-data",
        .text = "Folder of everything this process keeps; one process at a time."},
    Key{.path = "listen", .type = KeyType::kAddress, .fallback = "127.0.0.1:1853",
        .text = "Address of the HTTP server. Where nobody has to say who they are (`auth`), a loopback address. "
        "Port 0: any."},
    Key{.path = "advertise", .type = KeyType::kUrl,
        .text = "How other processes reach this one; stands in its heartbeat. Default: `http://` and `listen`."},
    Key{.path = "auth", .text = "Who may use the API. Without keys and proxy everybody who reaches it may do "
        "everything, and it listens on loopback only."},
    Key{.path = "auth.keys", .type = KeyType::kChoice, .fallback = "none",
        .text = "`store`: every request needs an API key, made with `bartleby keys new`, or a session. At the start, "
        "where no key may administrate, one is made and written to `first-admin.key` in `data_dir`.",
        .choices = "none store"},
    Key{.path = "auth.public", .type = KeyType::kChoices,
        .fallback = "[/dlq-status, /actuator/health, /metrics, /actuator/prometheus]",
        .text = "What everybody may read all the same: counts, no messages.",
        .choices = "/dlq-status /actuator/health /metrics /actuator/prometheus", .may_be_empty = true},
    Key{.path = "auth.trusted_proxies", .type = KeyType::kNetworks, .fallback = "[]",
        .text = "Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.", .may_be_empty = true},
    Key{.path = "auth.proxy", .text = "A proxy that has asked people who they are, and says so in headers."},
    Key{.path = "auth.proxy.user", .type = KeyType::kText,
        .text = "The header with the name. Default: X-Forwarded-User."},
    Key{.path = "auth.proxy.groups", .type = KeyType::kText,
        .text = "The header with the groups, separated by commas. Default: X-Forwarded-Groups."},
    Key{.path = "auth.proxy.trusted", .type = KeyType::kNetworks,
        .text = "Where the proxy is; from anywhere else the headers mean nothing."},
    Key{.path = "auth.proxy.map", .text = "Role of a group; who is in none may do nothing."},
    Key{.path = "auth.proxy.map.*", .type = KeyType::kChoice, .text = "Of this group.",
        .choices = "viewer operator admin"},
    Key{.path = "internal", .text = "How services of the same system reach /internal/v1."},
    Key{.path = "internal.api", .text = "A key of its own for them, beside API keys."},
    Key{.path = "internal.api.key", .type = KeyType::kText,
        .text = "What they send as X-Internal-Api-Key.", .secret = true},
    Key{.path = "internal.api.allowed-networks", .type = KeyType::kNetworks,
        .text = "From where the key is taken."},
    Key{.path = "signing", .text = "Keys that prove who wrote something."},
    Key{.path = "signing.office", .text = "Signs replays, and workers know them by it: the same on every process. "
        "Default: made in `data_dir`, which is enough where one process is everything. On Kafka a replay through a "
        "private lane wants it."},
    Key{.path = "signing.office.kid", .type = KeyType::kName, .text = "Its name, which stands in what is signed."},
    Key{.path = "signing.office.secret", .type = KeyType::kText, .text = "At least 32 bytes.", .secret = true},
    Key{.path = "log", .text = "What is written to stderr."},
    Key{.path = "log.format", .type = KeyType::kChoice, .fallback = "text",
        .text = "Lines for people or for programs.", .choices = "text json"},
    Key{.path = "log.level", .type = KeyType::kChoice, .fallback = "info",
        .text = "The least important that is written.", .choices = "debug info warn error"},
    Key{.path = "heartbeats", .text = "How workers say that they live, and when silence is an alarm."},
    Key{.path = "heartbeats.every", .type = KeyType::kDuration, .fallback = "10s",
        .text = "Between two heartbeats.", .min = 100, .max = kHour},
    Key{.path = "heartbeats.ttl", .type = KeyType::kDuration, .fallback = "30s",
        .text = "How long a heartbeat is kept; longer than `every`.", .min = 200, .max = kDay},
    Key{.path = "heartbeats.stopping_ttl", .type = KeyType::kDuration, .fallback = "60s",
        .text = "The same for an instance that is stopping.", .min = 200, .max = kDay},
    Key{.path = "heartbeats.missing_after", .type = KeyType::kDuration, .fallback = "60s",
        .text = "Silence after which an instance is missing; longer than `every`.", .min = 200, .max = kDay},
    Key{.path = "heartbeats.idle_after", .type = KeyType::kDuration, .fallback = "5m",
        .text = "Time without a message, while there is lag, after which a worker is stuck.",
        .min = kSecond, .max = 30 * kDay},
    Key{.path = "heartbeats.stopping_after", .type = KeyType::kDuration, .fallback = "2m",
        .text = "Time after which stopping takes too long.", .min = kSecond, .max = kDay},
    Key{.path = "heartbeats.expect", .text = "How many instances of a worker must live."},
    Key{.path = "heartbeats.expect.*", .type = KeyType::kNumber,
        .text = "Fewer live instances of this worker are an alarm, even if none ever came.", .min = 0, .max = 10000},
    Key{.path = "heartbeats.forget_after", .type = KeyType::kDuration, .fallback = "1h",
        .text = "A dead instance whose worker has its expected number again is forgotten after this.",
        .min = kSecond, .max = 365 * kDay},
    Key{.path = "counters", .text = "Where heartbeats and retry counters are. A cache: nothing is lost with it, and "
        "nobody waits for it. Default: `{embedded: {}}`."},
    Key{.path = "counters.embedded", .text = "In this process, and gone with it.", .one_of = OneOf::kCounters},
    Key{.path = "counters.redis", .text = "A Redis server, shared by all processes; no Redis Cluster.",
        .one_of = OneOf::kCounters},
    Key{.path = "counters.redis.url", .type = KeyType::kRedisUrl,
        .text = "`redis://[user[:password]@]host[:port][/database]`; no TLS."},
    Key{.path = "brokers", .text = "Where messages are, by name; the first is the default of workers, and the "
        "one that the API and the office look at."},
    Key{.path = "brokers.*", .text = "One broker. Default: `main: {embedded: {}}`."},
    Key{.path = "brokers.*.embedded", .text = "The embedded log, in `data_dir`.", .one_of = OneOf::kBroker},
    Key{.path = "brokers.*.kafka", .text = "Apache Kafka, brokers since 2.5.", .one_of = OneOf::kBroker},
    Key{.path = "brokers.*.kafka.bootstrap", .type = KeyType::kText,
        .text = "Where to begin: `host:port`, several separated by commas."},
    Key{.path = "brokers.*.kafka.group_protocol", .type = KeyType::kChoice, .fallback = "classic",
        .text = "How groups share partitions; `consumer` (KIP-848) needs brokers since 4.0.",
        .choices = "classic consumer"},
    Key{.path = "brokers.*.kafka.properties", .text = "Properties of librdkafka as they are: TLS, SASL, sizes. Those "
        "that hold the guarantees are refused with the reason."},
    Key{.path = "brokers.*.kafka.properties.*", .type = KeyType::kText, .text = "One property.", .secret = true},
    Key{.path = "office", .text = "What the office does with letters, and what people see of them."},
    Key{.path = "office.replay", .text = "How letters are replayed where the request does not say it."},
    Key{.path = "office.replay.rate", .type = KeyType::kRate, .fallback = "50/s",
        .text = "Letters of one replay; 0/s: as fast as it goes.", .min = 0, .max = 1000000},
    Key{.path = "office.replay.canary", .type = KeyType::kNumber, .fallback = "10",
        .text = "So many letters go first, and what becomes of all of them is awaited; 0: none.", .min = 0,
        .max = 1000000},
    Key{.path = "office.replay.halt", .text = "When a replay stops by itself."},
    Key{.path = "office.replay.halt.came_back", .type = KeyType::kPercent, .fallback = "5%",
        .text = "When more than this part of the known outcomes came back; 100%: never.", .min = 0, .max = 100},
    Key{.path = "office.replay.halt.of", .type = KeyType::kNumber, .fallback = "20",
        .text = "Outcomes that must be known before it is judged; the canary is judged whatever it is.", .min = 1,
        .max = 1000000},
    Key{.path = "office.replay.max_replays", .type = KeyType::kNumber, .fallback = "5",
        .text = "A letter that was replayed so often is not sent again.", .min = 1, .max = 1000},
    Key{.path = "office.replay.targets", .type = KeyType::kNames, .fallback = "[]",
        .text = "Topics that letters may be sent to (`--to`) beside the one they came from.", .may_be_empty = true},
    Key{.path = "office.intake", .text = "Which topics letters are taken in from."},
    Key{.path = "office.intake.discover", .type = KeyType::kTexts,
        .fallback = R"(["*.dlq", "*.DLT", "*-dlt", "dlq.*"])",
        .text = "Topics whose name matches one of these (`*`: any characters) are dead letter topics, beside those of "
        "the workers and those that `dlqs` names. `[]`: only these.", .may_be_empty = true},
    Key{.path = "office.undo", .type = KeyType::kDuration, .fallback = "72h",
        .text = "How long a discarded letter can be restored; then it is deleted.", .min = 0, .max = 365 * kDay},
    Key{.path = "office.operations", .text = "What is kept of operations."},
    Key{.path = "office.operations.keep", .type = KeyType::kDuration, .fallback = "90d",
        .text = "How long an operation and its results are kept after its end, unless it still waits for outcomes; the "
        "audit stays.", .min = kDay, .max = 3650 * kDay},
    Key{.path = "office.summary", .text = "The check of counts against the letters."},
    Key{.path = "office.summary.check", .type = KeyType::kDuration, .fallback = "10m",
        .text = "How often a stretch of the letters is counted again; by one office at a time.", .min = kMinute,
        .max = kDay},
    Key{.path = "office.archive", .text = "Where letters go that nobody dealt with in time."},
    Key{.path = "office.archive.dir", .type = KeyType::kText,
        .text = "Folder of archives. Default: `archive` in `data_dir`."},
    Key{.path = "office.redact", .type = KeyType::kCases, .fallback = "[]",
        .text = "What is hidden where messages are shown; the bytes stay."},
    Key{.path = "office.redact.[].json", .type = KeyType::kPointer,
        .text = "A field of JSON values; `*` is one step, `**` any number: `/**/password`.", .one_of = OneOf::kField},
    Key{.path = "office.redact.[].header", .type = KeyType::kText,
        .text = "A header, in any case.", .one_of = OneOf::kField},
    Key{.path = "dlqs", .text = "How letters are kept, by name of the dlq or by pattern (`*`); the first that matches "
        "counts, and a name without `*` is taken for a dlq whatever it is.", .applies = kLive},
    Key{.path = "dlqs.*", .text = "One dlq, or all whose names match.", .applies = kLive},
    Key{.path = "dlqs.*.class", .type = KeyType::kChoice, .fallback = "normal",
        .text = "Letters of a financial dlq are kept until somebody deals with them.", .choices = "normal financial",
        .applies = kLive},
    Key{.path = "dlqs.*.retention", .type = KeyType::kDuration, .fallback = "30d",
        .text = "How long a letter is kept after its last change. `null`: for ever.", .min = kMinute,
        .max = 3650 * kDay, .applies = kLive},
    Key{.path = "dlqs.*.then", .type = KeyType::kChoice, .fallback = "archive",
        .text = "What becomes of open letters then; resolved ones are deleted.", .choices = "archive purge",
        .applies = kLive},
    Key{.path = "dlqs.*.intake_group", .type = KeyType::kName,
        .text = "A group that shows other clients how far intake has read this dlq: its offsets are committed after "
        "the letters are stored. A copy: the office goes by its store. Default: none.", .applies = kLive},
    Key{.path = "dlqs.*.provision", .text = "What a worker makes the dlq with where it is missing; one that is there "
        "keeps its settings.", .applies = kLive},
    Key{.path = "dlqs.*.provision.partitions", .type = KeyType::kNumber,
        .text = "How many. Default: as many as the topic has whose letters it gets.", .min = 1, .max = 10000,
        .applies = kLive},
    Key{.path = "dlqs.*.provision.replicas", .type = KeyType::kNumber, .fallback = "3",
        .text = "Copies on Kafka, or as many brokers as there are.", .min = 1, .max = 100, .applies = kLive},
    Key{.path = "dlqs.*.provision.retention", .type = KeyType::kDuration, .fallback = "30d",
        .text = "How long the topic keeps records. `null`, or a financial dlq: for ever.", .min = kMinute,
        .max = 3650 * kDay, .applies = kLive},
    Key{.path = "dlqs.*.provision.compression", .type = KeyType::kChoice, .fallback = "snappy",
        .text = "How Kafka stores them.", .choices = "producer uncompressed gzip snappy lz4 zstd", .applies = kLive},
    Key{.path = "dlqs.*.provision.max_message", .type = KeyType::kSize,
        .text = "Largest record; never less than what the topic allows whose letters it gets, and 64 kB for the story. "
        "Default: that.", .min = kMegabyte / 16, .max = 1024 * kMegabyte, .applies = kLive},
    Key{.path = "alerts", .text = "Who is told that letters are open (in a financial dlq: critical), and that an "
        "issue is new or has regressed. Told again while it is so, and when it is over.", .applies = kLive},
    Key{.path = "alerts.alertmanager", .text = "A Prometheus Alertmanager.", .applies = kLive},
    Key{.path = "alerts.alertmanager.url", .type = KeyType::kUrl,
        .text = "Where it is, without `/api/v2/alerts`.", .applies = kLive},
    Key{.path = "alerts.log", .text = "The log: `alert_raised` and `alert_ended`.", .applies = kLive},
    Key{.path = "alerts.resend", .type = KeyType::kDuration, .fallback = "1m",
        .text = "How often an alert that holds is told again; an Alertmanager that hears nothing for four times as "
        "long takes it for over.", .min = kSecond, .max = kHour, .applies = kLive},
    Key{.path = "dlqs.*.sinks", .type = KeyType::kNames, .fallback = "[]",
        .text = "Sinks that get its letters too, by name. One that is added gets those that are here already.",
        .may_be_empty = true, .applies = kLive},
    Key{.path = "sinks", .text = "Where letters are kept beside the office, by name. A dlq says which of them get its "
        "letters (`dlqs.*.sinks`)."},
    Key{.path = "sinks.*", .text = "One sink."},
    Key{.path = "sinks.*.mongodb", .text = "A collection of MongoDB, with a document per value of `key`.",
        .one_of = OneOf::kSink},
    Key{.path = "sinks.*.mongodb.url", .type = KeyType::kText,
        .text = "Where: `mongodb://…`, with options as MongoDB's drivers know them.", .secret = true},
    Key{.path = "sinks.*.mongodb.database", .type = KeyType::kName, .text = "Its database."},
    Key{.path = "sinks.*.mongodb.collection", .type = KeyType::kName, .text = "Its collection."},
    Key{.path = "sinks.*.mongodb.key", .type = KeyType::kName,
        .text = "The field of a message that there is one document of; without it, it is the letter's id."},
    Key{.path = "channels", .text = "Channels and their consumers (webhooks), by id; put into the store at the start. "
        "They can be made over HTTP as well."},
    Key{.path = "channels.*", .text = "One channel: the topic of this name."},
    Key{.path = "channels.*.name", .type = KeyType::kText, .text = "For people. Default: its id."},
    Key{.path = "channels.*.token", .type = KeyType::kText,
        .text = "What X-Broker-Channel-Token must be; 8 to 255 characters.", .secret = true},
    Key{.path = "channels.*.partitions", .type = KeyType::kNumber, .fallback = "1",
        .text = "How many at least.", .min = 1, .max = 64},
    Key{.path = "channels.*.consumers", .text = "Who gets its messages, by id."},
    Key{.path = "channels.*.consumers.*", .text = "One consumer: the worker `CHANNEL.CONSUMER`. It can set `retry` as "
        "a worker does; default: `{max_retries: 5, schedule: [5s, 30s, 60s, 120s, 180s], timeout: 30s}`."},
    Key{.path = "channels.*.consumers.*.name", .type = KeyType::kText, .text = "For people. Default: its id."},
    Key{.path = "channels.*.consumers.*.url", .type = KeyType::kUrl, .text = "Where messages are posted."},
    Key{.path = "channels.*.consumers.*.token", .type = KeyType::kText,
        .text = "Sent as X-Broker-Consumer-Token; 8 to 255 characters.", .secret = true},
    Key{.path = "channels.*.consumers.*.paused", .type = KeyType::kBool, .fallback = "false",
        .text = "It gets nothing for now."},
    Key{.path = "channels.*.consumers.*.reject", .type = KeyType::kNumbers, .fallback = "[]",
        .text = "Answers that mean: never try this message again.", .min = 300, .max = 599},
    Key{.path = "policies", .text = "Named sets of settings; a worker or case says `policy: NAME`."},
    Key{.path = "policies.*", .text = "One policy: it can set `retry`."},
    Key{.path = "defaults", .text = "Any key of a worker, for all workers; the worker's own wins."},
    Key{.path = "workers", .text = "What is run, by name."},
    Key{.path = "workers.*", .text = "One worker. Its name is the type in its heartbeat."},
    Key{.path = "workers.*.topics", .type = KeyType::kNames,
        .text = "Topics to read. The embedded log makes what is missing; on Kafka the worker waits until all are "
        "there, and says so. Default: the one with the worker's name.", .applies = kRestarts},
    Key{.path = "workers.*.broker", .type = KeyType::kName,
        .text = "Which of `brokers`. Default: the first.", .applies = kRestarts},
    Key{.path = "workers.*.group", .type = KeyType::kName,
        .text = "Consumer group; a worker has one of its own. Default: the worker's name.", .applies = kRestarts},
    Key{.path = "workers.*.match", .text = "Which messages are for this worker or case; others are skipped and "
        "counted. Compared as text.", .applies = kRestarts},
    Key{.path = "workers.*.match.json", .type = KeyType::kPointer,
        .text = "Pointer to a field of the JSON value.", .one_of = OneOf::kField, .applies = kRestarts},
    Key{.path = "workers.*.match.header", .type = KeyType::kText,
        .text = "Name of a header.", .one_of = OneOf::kField, .applies = kRestarts},
    Key{.path = "workers.*.match.is", .type = KeyType::kText,
        .text = "The one text that matches.", .one_of = OneOf::kWanted, .applies = kRestarts},
    Key{.path = "workers.*.match.in", .type = KeyType::kTexts,
        .text = "The texts that match.", .one_of = OneOf::kWanted, .applies = kRestarts},
    Key{.path = "workers.*.handler",
        .text = "Who handles a message. Default: `{builtin: NAME}` with the worker's name.", .applies = kRestarts},
    Key{.path = "workers.*.handler.http", .text = "A service that is sent one POST per attempt.",
        .one_of = OneOf::kHandler, .applies = kRestarts},
    Key{.path = "workers.*.handler.http.url", .type = KeyType::kUrl,
        .text = "Where to.", .applies = kRestarts},
    Key{.path = "workers.*.handler.http.secret", .type = KeyType::kText,
        .text = "Key that requests are signed with (Standard Webhooks). Default: not signed.", .secret = true,
        .applies = kRestarts},
    Key{.path = "workers.*.handler.http.reject", .type = KeyType::kNumbers, .fallback = "[400, 413, 415, 422]",
        .text = "Answers that mean: never try this message again.", .min = 300, .max = 599, .applies = kRestarts},
    Key{.path = "workers.*.handler.http.allow_private", .type = KeyType::kBool, .fallback = "true",
        .text = "Whether the address may be private; looked at when connecting.", .applies = kRestarts},
    Key{.path = "workers.*.handler.pull", .text = "Services that fetch their attempts themselves.",
        .one_of = OneOf::kHandler, .applies = kRestarts},
    Key{.path = "workers.*.handler.builtin", .type = KeyType::kName,
        .text = "A handler compiled into the program.", .one_of = OneOf::kHandler, .applies = kRestarts},
    Key{.path = "workers.*.concurrency", .type = KeyType::kNumber, .fallback = "64",
        .text = "Attempts at once, per process.", .min = 1, .max = 100000, .applies = kLive},
    Key{.path = "workers.*.max_bytes", .type = KeyType::kSize, .fallback = "64MB",
        .text = "Of messages held in memory; then partitions wait. On Kafka, of each partition this divided by their "
        "number is read ahead besides, 512 kB to 8 MB.", .min = 2 * kMegabyte, .max = 65536 * kMegabyte,
        .applies = kRestarts},
    Key{.path = "workers.*.run", .type = KeyType::kChoice, .fallback = "pooled",
        .text = "Where a builtin handler runs: in a pool of threads, or on the engine's own (microseconds, never "
        "blocks).", .choices = "pooled inline", .applies = kRestarts},
    Key{.path = "workers.*.start", .type = KeyType::kStart, .fallback = "earliest",
        .text = "Where a group without offsets begins. Partitions added later: always earliest. A topic added later is "
        "read at once with `earliest`, else when the instances that do not read it have left.",
        .applies = kRestarts},
    Key{.path = "workers.*.key_policy", .type = KeyType::kChoice, .fallback = "hold",
        .text = "Whether a key waits for its parked message.", .choices = "hold bypass", .applies = kRestarts},
    Key{.path = "workers.*.drain", .type = KeyType::kDuration, .fallback = "25s",
        .text = "How long stopping waits for running handlers.", .min = 0, .max = kHour, .applies = kRestarts},
    Key{.path = "workers.*.adopt", .type = KeyType::kBool, .fallback = "false",
        .text = "Take over a group whose commit metadata is not ours.", .applies = kRestarts},
    Key{.path = "workers.*.limits", .text = "Per partition; at a limit its intake stops, loudly.", .applies = kLive},
    Key{.path = "workers.*.limits.parked", .type = KeyType::kNumber, .fallback = "100000",
        .text = "Messages waiting.", .min = 1, .max = 10000000, .applies = kLive},
    Key{.path = "workers.*.limits.window", .type = KeyType::kNumber, .fallback = "5000000",
        .text = "Offsets between the commit and the frontier.", .min = 1000, .max = 1000000000, .applies = kLive},
    Key{.path = "workers.*.journal", .type = KeyType::kTemplate, .fallback = "{topic}.parked.{group}",
        .text = "Compacted topic of attempts and their stories.", .applies = kRestarts},
    Key{.path = "workers.*.replay_topic", .type = KeyType::kTemplate, .fallback = "{topic}.replay.{group}",
        .text = "Private lane: replays to this group alone, read beside the topics. None if `journal` has no {topic}.",
        .applies = kRestarts},
    Key{.path = "workers.*.policy", .type = KeyType::kName,
        .text = "One of `policies`. What is said beside it wins.", .applies = kLive},
    Key{.path = "workers.*.retry", .text = "How often and when a failing message is tried again.", .applies = kLive},
    Key{.path = "workers.*.retry.max_attempts", .type = KeyType::kNumber, .fallback = "6",
        .text = "Attempts in total.", .min = 1, .max = 1000000, .one_of = OneOf::kAttempts, .applies = kLive},
    Key{.path = "workers.*.retry.max_retries", .type = KeyType::kNumber,
        .text = "The same, counted without the first attempt.", .min = 0, .max = 999999, .one_of = OneOf::kAttempts,
        .applies = kLive},
    Key{.path = "workers.*.retry.schedule", .type = KeyType::kDurations, .fallback = "[1s, 5s]",
        .text = "Waits between attempts; the last repeats.", .min = 0, .max = 30 * kDay, .one_of = OneOf::kBackoff,
        .applies = kLive},
    Key{.path = "workers.*.retry.linear", .type = KeyType::kDuration,
        .text = "Wait × number of failed attempts.", .min = 1, .max = 30 * kDay, .one_of = OneOf::kBackoff,
        .applies = kLive},
    Key{.path = "workers.*.retry.exponential", .text = "Waits that grow by a factor.", .one_of = OneOf::kBackoff,
        .applies = kLive},
    Key{.path = "workers.*.retry.exponential.initial", .type = KeyType::kDuration, .fallback = "1s",
        .text = "The first wait.", .min = 1, .max = 30 * kDay, .applies = kLive},
    Key{.path = "workers.*.retry.exponential.factor", .type = KeyType::kNumber, .fallback = "2",
        .text = "Each wait × this is the next.", .min = 1, .max = 100, .applies = kLive},
    Key{.path = "workers.*.retry.exponential.max", .type = KeyType::kDuration, .fallback = "30s",
        .text = "The longest wait.", .min = 1, .max = 30 * kDay, .applies = kLive},
    Key{.path = "workers.*.retry.jitter", .type = KeyType::kPercent, .fallback = "0%",
        .text = "Random part of each wait, both ways.", .min = 0, .max = 100, .applies = kLive},
    Key{.path = "workers.*.retry.timeout", .type = KeyType::kDuration, .fallback = "30s",
        .text = "Of one attempt.", .min = 1, .max = kDay, .applies = kLive},
    Key{.path = "workers.*.retry.max_retry_after", .type = KeyType::kDuration, .fallback = "1h",
        .text = "Longest wait that the other side may ask for, also in total.", .min = 0, .max = 30 * kDay,
        .applies = kLive},
    Key{.path = "workers.*.retry.max_crashes", .type = KeyType::kNumber, .fallback = "3",
        .text = "Deaths of the process after which a message is given up unrun.", .min = 1, .max = 1000,
        .applies = kLive},
    Key{.path = "workers.*.retry.kinds", .text = "Overrides by kind of failure: transient, timeout, unavailable, "
        "throttled, config, permanent, malformed, security, crash.", .applies = kLive},
    Key{.path = "workers.*.retry.kinds.*", .text = "Override for one kind.", .applies = kLive},
    Key{.path = "workers.*.retry.kinds.*.max_attempts", .type = KeyType::kNumber,
        .text = "Attempts in total, where the last failure is of this kind.", .min = 1, .max = 1000000,
        .applies = kLive},
    Key{.path = "workers.*.guard", .text = "Outage guard: when most messages fail for one reason, nothing is sent but "
        "probes, and no attempt is counted. `null`: off.", .applies = kLive},
    Key{.path = "workers.*.guard.open_at", .type = KeyType::kPercent, .fallback = "50%",
        .text = "Part of the messages that must fail.", .min = 1, .max = 100, .applies = kLive},
    Key{.path = "workers.*.guard.of", .type = KeyType::kNumber, .fallback = "20",
        .text = "Different messages that must have been tried.", .min = 1, .max = 100000, .applies = kLive},
    Key{.path = "workers.*.guard.within", .type = KeyType::kDuration, .fallback = "60s",
        .text = "Time in which they are counted.", .min = kSecond, .max = kDay, .applies = kLive},
    Key{.path = "workers.*.guard.probe", .type = KeyType::kDuration, .fallback = "5s",
        .text = "Between two probes.", .min = 1, .max = kHour, .applies = kLive},
    Key{.path = "workers.*.guard.hold_max", .type = KeyType::kDuration, .fallback = "1h",
        .text = "The longest the guard stays open.", .min = kSecond, .max = 30 * kDay, .applies = kLive},
    Key{.path = "workers.*.dead_letter", .text = "What becomes of a message that cannot be handled.",
        .applies = kRestarts},
    Key{.path = "workers.*.dead_letter.enabled", .type = KeyType::kBool, .fallback = "true",
        .text = "Off: an exhausted message stays parked, and alerts.", .applies = kRestarts},
    Key{.path = "workers.*.dead_letter.topic", .type = KeyType::kTemplate, .fallback = "{topic}.dlq",
        .text = "Where letters go.", .applies = kRestarts},
    Key{.path = "workers.*.dead_letter.dialect", .type = KeyType::kChoice, .fallback = "record",
        .text = "How the value of a letter is written: as it was, in a JSON envelope, or, where it is a JSON object, "
        "with `dlq_metadata` in it. Headers tell the story in all of them.",
        .choices = "record envelope dlq_metadata", .applies = kRestarts},
    Key{.path = "workers.*.dead_letter.drop", .type = KeyType::kBool, .fallback = "false",
        .text = "With `enabled: false`: lose exhausted messages on purpose, counted.", .applies = kRestarts},
    Key{.path = "workers.*.counter", .text = "A counter of failed attempts for others to look at, in `counters`: read "
        "before an attempt, raised by a failure, deleted by success and by a dead letter. Nothing is decided by it.",
        .applies = kRestarts},
    Key{.path = "workers.*.counter.key", .type = KeyType::kKeyTemplate,
        .text = "Its key, with `{/json/pointer}`, `{header:NAME}` and `{key}`; a message that lacks one has no "
        "counter.", .applies = kRestarts},
    Key{.path = "workers.*.counter.ttl", .type = KeyType::kDuration,
        .text = "How long it stays after its last change. Default: 7d.", .min = kSecond, .max = 365 * kDay,
        .applies = kRestarts},
    Key{.path = "workers.*.metrics", .text = "Metrics of a family of their own beside Bartleby's, by one field of the "
        "messages.", .applies = kRestarts},
    Key{.path = "workers.*.metrics.family", .type = KeyType::kChoice,
        .text = "What their names begin with.", .choices = "worker_agent", .applies = kRestarts},
    Key{.path = "workers.*.metrics.label", .text = "The one label that tells messages apart, by its name.",
        .applies = kRestarts},
    Key{.path = "workers.*.metrics.label.*", .text = "Where its value is in a message.", .applies = kRestarts},
    Key{.path = "workers.*.metrics.label.*.json", .type = KeyType::kPointer,
        .text = "Pointer to a field of the JSON value.", .one_of = OneOf::kField, .applies = kRestarts},
    Key{.path = "workers.*.metrics.label.*.header", .type = KeyType::kText,
        .text = "Name of a header.", .one_of = OneOf::kField, .applies = kRestarts},
    Key{.path = "workers.*.metrics.label.*.in", .type = KeyType::kTexts,
        .text = "The values that are told apart; all others are `other`.", .applies = kRestarts},
    Key{.path = "workers.*.cases", .type = KeyType::kCases, .fallback = "[]",
        .text = "Cases, of which the first that matches decides; each can set match, handler, retry, policy. One "
        "without match takes the rest and is the last; without it, what no case takes becomes a MALFORMED letter.",
        .applies = kRestarts},
};
// clang-format on

std::pair<std::string_view, std::string_view> split(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return {path, {}};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

void insert(KeyTree& tree, std::string_view path, const Key& key) {
  if (path.empty()) {
    tree.key = &key;
    return;
  }
  const auto [head, rest] = split(path);
  if (head == "*") {
    if (!tree.any) tree.any = std::make_unique<KeyTree>();
    insert(*tree.any, rest, key);
    return;
  }
  if (head == "[]") {
    if (!tree.item) tree.item = std::make_unique<KeyTree>();
    insert(*tree.item, rest, key);
    return;
  }
  auto found = std::ranges::find(tree.children, head, &KeyBranch::name);
  if (found == tree.children.end()) found = tree.children.insert(found, KeyBranch{std::string(head), KeyTree{}});
  insert(found->tree, rest, key);
}

KeyTree build() {
  constexpr std::string_view kWorker = "workers.*.";
  KeyTree root;
  for (const Key& key : kKeys) insert(root, key.path, key);
  auto cases = std::make_unique<KeyTree>();
  for (const Key& key : kKeys) {
    if (!key.path.starts_with(kWorker)) continue;
    const std::string_view inside = key.path.substr(kWorker.size());
    const std::string_view top = split(inside).first;
    insert(root, "defaults." + std::string(inside), key);
    if (top == "retry") insert(root, "policies.*." + std::string(inside), key);
    if (top == "retry") insert(root, "channels.*.consumers.*." + std::string(inside), key);
    if (top == "match" || top == "handler" || top == "retry" || top == "policy") insert(*cases, inside, key);
  }
  const auto worker_cases = [](KeyTree& worker) -> KeyTree& {
    return std::ranges::find(worker.children, "cases", &KeyBranch::name)->tree;
  };
  const auto at_root = [&](std::string_view name) -> KeyTree& {
    return std::ranges::find(root.children, name, &KeyBranch::name)->tree;
  };
  worker_cases(*at_root("workers").any).item = std::move(cases);
  auto again = std::make_unique<KeyTree>();
  for (const auto& [name, _] : worker_cases(*at_root("workers").any).item->children)
    for (const Key& key : kKeys)
      if (key.path.starts_with(kWorker) && split(key.path.substr(kWorker.size())).first == name)
        insert(*again, key.path.substr(kWorker.size()), key);
  worker_cases(at_root("defaults")).item = std::move(again);
  return root;
}

}  // namespace

std::span<const Key> config_keys() { return kKeys; }

const KeyTree* KeyTree::child(std::string_view name) const {
  const auto found = std::ranges::find(children, name, &KeyBranch::name);
  if (found != children.end()) return &found->tree;
  return any.get();
}

std::vector<std::string> KeyTree::names() const {
  std::vector<std::string> out;
  out.reserve(children.size());
  for (const auto& [name, _] : children) out.push_back(name);
  return out;
}

const KeyTree& key_tree() {
  static const KeyTree kTree = build();
  return kTree;
}

}  // namespace bartleby
