// The configuration: what files, variables and flags come to mean.
#include "wiring/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wiring/config_text.h"

namespace bartleby {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::expected<Config, std::vector<Mistake>> load_text(const std::string& yaml, Environment environment = {},
                                                      std::vector<ConfigFlag> flags = {}) {
  ConfigSources sources;
  sources.file = ConfigFile{"bartleby.yaml", yaml};
  sources.environment = std::move(environment);
  sources.flags = std::move(flags);
  sources.read = [](const std::string& path) -> std::expected<std::string, std::string> {
    if (path == "/run/secrets/hook") return "s3cret\n";
    return std::unexpected("No such file or directory");
  };
  return load(sources);
}

Config good(const std::string& yaml, Environment environment = {}, std::vector<ConfigFlag> flags = {}) {
  auto config = load_text(yaml, std::move(environment), std::move(flags));
  if (config) return std::move(*config);
  ADD_FAILURE() << yaml << "\n" << config_check_text(config.error());
  return *load(ConfigSources{});
}

std::string bad(const std::string& yaml, Environment environment = {}, std::vector<ConfigFlag> flags = {}) {
  auto config = load_text(yaml, std::move(environment), std::move(flags));
  if (config) return "no mistake";
  std::string out;
  for (const Mistake& mistake : config.error()) out += mistake.text() + "\n";
  return out;
}

const WorkerConfig& only(const Config& config) {
  EXPECT_EQ(config.workers.size(), 1U);
  return config.workers.at(0);
}

TEST(Config, WithoutAnythingIsAnEmbeddedLogAndAServerOnLoopback) {
  const auto loaded = load(ConfigSources{});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->cluster_id, "local");
  EXPECT_TRUE(loaded->runs_workers);
  EXPECT_TRUE(loaded->has_office);
  EXPECT_EQ(loaded->data_dir, "./bartleby-data");
  EXPECT_EQ(loaded->listen.text(), "127.0.0.1:1853");
  EXPECT_EQ(loaded->advertise, "http://127.0.0.1:1853");
  EXPECT_EQ(loaded->log_format, LogFormat::kText);
  EXPECT_EQ(loaded->log_level, LogLevel::kInfo);
  EXPECT_EQ(loaded->heartbeats.every, seconds(10));
  EXPECT_EQ(loaded->heartbeats.ttl, seconds(30));
  EXPECT_EQ(loaded->heartbeats.stopping_ttl, seconds(60));
  EXPECT_EQ(loaded->heartbeats.missing_after, seconds(60));
  EXPECT_EQ(loaded->heartbeats.idle_after, minutes(5));
  EXPECT_EQ(loaded->heartbeats.stopping_after, minutes(2));
  EXPECT_EQ(loaded->heartbeats.forget_after, hours(1));
  ASSERT_EQ(loaded->brokers.size(), 1U);
  EXPECT_EQ(loaded->brokers[0].name, "main");
  EXPECT_TRUE(loaded->workers.empty());
}

TEST(Config, HowLettersAreReplayedIsSaidOnceForAll) {
  const ReplayConfig unsaid = load(ConfigSources{})->office.replay;
  EXPECT_EQ(unsaid.rate, 50U);
  EXPECT_EQ(unsaid.canary, 10U);
  EXPECT_EQ(unsaid.halt, (HaltRule{5, 20}));
  EXPECT_EQ(unsaid.max_replays, 5U);
  EXPECT_TRUE(unsaid.targets.empty());
  const ReplayConfig said = good(
                                "office: {replay: {rate: 200/s, canary: 0, halt: {came_back: 50%, of: 7}, "
                                "max_replays: 2, targets: [orders.again, mails]}}")
                                .office.replay;
  EXPECT_EQ(said.rate, 200U);
  EXPECT_EQ(said.canary, 0U);
  EXPECT_EQ(said.halt, (HaltRule{50, 7}));
  EXPECT_EQ(said.max_replays, 2U);
  EXPECT_EQ(said.targets, (std::vector<std::string>{"orders.again", "mails"}));
  EXPECT_EQ(good("office: {replay: {rate: 0/s}}").office.replay.halt, (HaltRule{5, 20})) << "the rest stays as it is";
}

TEST(Config, AnEmptyFileSaysNothing) {
  for (const char* text : {"", "\n", "# nothing\n", "---\n", "{}", "null", "workers: {}", "workers:\n", "\xef\xbb\xbf"})
    EXPECT_TRUE(good(text).workers.empty()) << text;
}

TEST(Config, AnHttpWorkerNeedsOneLine) {
  const Config config =
      good(R"(workers: {orders: {topics: [orders], handler: {http: {url: "http://localhost:3000/orders"}}}})");
  const WorkerConfig& worker = only(config);
  EXPECT_EQ(worker.name, "orders");
  EXPECT_EQ(worker.topics, std::vector<std::string>{"orders"});
  EXPECT_EQ(worker.broker, "main");
  EXPECT_EQ(worker.group, "orders");
  EXPECT_EQ(worker.match, std::nullopt);
  ASSERT_EQ(worker.cases.size(), 1U);
  EXPECT_EQ(worker.cases[0].match, std::nullopt);
  const auto& http = std::get<HttpHandlerConfig>(worker.cases[0].handler);
  EXPECT_EQ(http.url, "http://localhost:3000/orders");
  EXPECT_EQ(http.reject, (std::vector<std::uint16_t>{400, 413, 415, 422}));
  EXPECT_TRUE(http.allow_private);
  EXPECT_EQ(worker.journal_of("orders", "local"), "orders.parked.orders");
  EXPECT_EQ(worker.dead_letters_of("orders", "local"), "orders.dlq");
}

TEST(Config, AWorkerThatSaysNothingUsesItsOwnName) {
  for (const char* text : {"workers:\n  payouts:\n", "workers: {payouts: {}}", "workers: {payouts: {handler: null}}"}) {
    const Config config = good(text);
    EXPECT_EQ(only(config).topics, std::vector<std::string>{"payouts"});
    EXPECT_EQ(std::get<BuiltinHandlerConfig>(only(config).cases[0].handler).name, "payouts");
  }
}

// What the table calls the default is what the engine does by itself.
TEST(Config, DefaultsAreThoseOfTheEngine) {
  const Config config = good("workers: {orders: {}}");
  const EngineConfig ours = only(config).engine();
  const EngineConfig engine;
  EXPECT_EQ(ours.concurrency, engine.concurrency);
  EXPECT_EQ(ours.max_bytes, engine.max_bytes);
  EXPECT_EQ(ours.max_parked, engine.max_parked);
  EXPECT_EQ(ours.max_window, engine.max_window);
  EXPECT_EQ(ours.drain, engine.drain);
  EXPECT_EQ(ours.key_policy, engine.key_policy);
  EXPECT_EQ(ours.adopt, engine.adopt);
  EXPECT_EQ(ours.dead_letters, engine.dead_letters);
  EXPECT_EQ(ours.drop, engine.drop);
  ASSERT_TRUE(ours.guard);
  EXPECT_EQ(ours.guard->open_percent, engine.guard->open_percent);
  EXPECT_EQ(ours.guard->of, engine.guard->of);
  EXPECT_EQ(ours.guard->within, engine.guard->within);
  EXPECT_EQ(ours.guard->probe, engine.guard->probe);
  EXPECT_EQ(ours.guard->hold_max, engine.guard->hold_max);
  ASSERT_EQ(ours.cases.size(), 1U);
  EXPECT_EQ(ours.cases[0].max_attempts, engine.cases[0].max_attempts);
  EXPECT_EQ(ours.cases[0].timeout, engine.cases[0].timeout);
  EXPECT_EQ(ours.cases[0].max_retry_after, engine.cases[0].max_retry_after);
  EXPECT_EQ(ours.cases[0].max_crashes, engine.cases[0].max_crashes);
  EXPECT_EQ(ours.cases[0].jitter_percent, engine.cases[0].jitter_percent);
}

TEST(Config, ReadsEveryKeyOfAWorker) {
  const Config config = good(R"(
cluster_id: prod
workers:
  payout-executor:
    topics: [escrow.commands, escrow.late]
    broker: main
    group: cg-payout-executor
    match: {json: /event_type, is: EXECUTE_PAYOUT}
    handler: {http: {url: "https://payouts:8443/run", secret: "${file:/run/secrets/hook}", reject: [400],
                     allow_private: false}}
    concurrency: 8
    max_bytes: 16MB
    start: 2025-01-15T10:30:00Z
    key_policy: bypass
    drain: 250ms
    adopt: true
    limits: {parked: 10, window: 2000}
    journal: "{cluster_id}.{topic}.j.{group}"
    replay_topic: "again.{topic}.{worker}"
    retry: {max_retries: 5, exponential: {initial: 2s, factor: 3, max: 5m}, jitter: 10%, timeout: 1m,
            max_retry_after: 2h, max_crashes: 1, kinds: {timeout: {max_attempts: 2}, permanent: {max_attempts: 1}}}
    guard: {open_at: 80%, of: 5, within: 10s, probe: 1s, hold_max: 1d}
    dead_letter: {enabled: false, topic: "{worker}.dead", dialect: record, drop: true}
)");
  const WorkerConfig& worker = only(config);
  EXPECT_EQ(worker.topics, (std::vector<std::string>{"escrow.commands", "escrow.late"}));
  EXPECT_EQ(worker.group, "cg-payout-executor");
  EXPECT_EQ(worker.match, (Match{Match::Field::kJson, "/event_type", {"EXECUTE_PAYOUT"}}));
  const auto& http = std::get<HttpHandlerConfig>(worker.cases[0].handler);
  EXPECT_EQ(http.secret, "s3cret");
  EXPECT_EQ(http.reject, std::vector<std::uint16_t>{400});
  EXPECT_FALSE(http.allow_private);
  EXPECT_EQ(worker.start.at, StartAt::kTime);
  EXPECT_EQ(ms(worker.start.time), 1736937000000);
  EXPECT_EQ(worker.journal_of("escrow.late", config.cluster_id), "prod.escrow.late.j.cg-payout-executor");
  EXPECT_EQ(worker.lane_of("escrow.late", config.cluster_id), "again.escrow.late.payout-executor");
  EXPECT_EQ(worker.dead_letters_of("escrow.late", config.cluster_id), "payout-executor.dead");
  const EngineConfig engine = worker.engine();
  EXPECT_EQ(engine.concurrency, 8U);
  EXPECT_EQ(engine.max_bytes, 16U << 20);
  EXPECT_EQ(engine.key_policy, KeyPolicy::kBypass);
  EXPECT_EQ(engine.drain, Duration(250));
  EXPECT_TRUE(engine.adopt);
  EXPECT_EQ(engine.max_parked, 10U);
  EXPECT_EQ(engine.max_window, 2000);
  EXPECT_FALSE(engine.dead_letters);
  EXPECT_TRUE(engine.drop);
  EXPECT_EQ(engine.guard->open_percent, 80U);
  EXPECT_EQ(engine.guard->hold_max, hours(24));
  const RetryPolicy& retry = engine.cases.at(0);
  EXPECT_EQ(retry.max_attempts, 6U);
  EXPECT_EQ(std::get<Exponential>(retry.backoff).factor, 3U);
  EXPECT_EQ(std::get<Exponential>(retry.backoff).max, minutes(5));
  EXPECT_EQ(retry.jitter_percent, 10U);
  EXPECT_EQ(retry.timeout, minutes(1));
  EXPECT_EQ(retry.max_crashes, 1U);
  EXPECT_EQ(retry.attempts_for(Kind::kTimeout), 2U);
  EXPECT_EQ(retry.attempts_for(Kind::kTransient), 6U);
}

TEST(Config, DlqsSayHowTheyAreMadeAndTheOfficeHowItSigns) {
  const Config config = good(R"(
signing: {office: {kid: o1, secret: "a secret of at least 32 bytes, as it must"}}
defaults: {dead_letter: {dialect: envelope}}
dlqs:
  tickets.dlq: {intake_group: worker-agents-dlq,
                provision: {partitions: 3, replicas: 2, retention: 7d, compression: zstd, max_message: 2MB}}
  money.dlq: {class: financial, provision: {retention: null}}
  "*": {retention: 1d}
workers: {a: {}, b: {dead_letter: {dialect: dlq_metadata}}, c: {dead_letter: {dialect: record}}}
)");
  EXPECT_EQ(config.office_key->kid, "o1");
  EXPECT_EQ(config.office_key->secret.size(), 41U);
  EXPECT_EQ(config.workers[0].dead_letter.dialect, LetterDialect::kEnvelope);
  EXPECT_EQ(config.workers[1].dead_letter.dialect, LetterDialect::kDlqMetadata);
  EXPECT_EQ(config.workers[2].dead_letter.dialect, LetterDialect::kRecord);
  const DlqRule tickets = config.office.rule_of("tickets.dlq");
  EXPECT_EQ(tickets.intake_group, "worker-agents-dlq");
  EXPECT_EQ(tickets.provision.partitions, 3);
  EXPECT_EQ(tickets.provision.replicas, 2);
  EXPECT_EQ(tickets.provision.retention, hours(24 * 7));
  EXPECT_EQ(tickets.provision.compression, "zstd");
  EXPECT_EQ(tickets.provision.max_message, 2U << 20);
  EXPECT_EQ(config.office.rule_of("money.dlq").provision.retention, std::nullopt);
  for (const DlqProvision& usual : {config.office.rule_of("other").provision, good("").office.rule_of("x").provision}) {
    EXPECT_EQ(usual.partitions, 0);
    EXPECT_EQ(usual.replicas, 3);
    EXPECT_EQ(usual.retention, hours(24 * 30));
    EXPECT_EQ(usual.compression, "snappy");
    EXPECT_EQ(usual.max_message, 0U);
  }
  EXPECT_FALSE(good("").office_key.has_value());
}

TEST(Config, DefaultsThenPolicyThenWorkerThenCase) {
  const Config config = good(R"(
policies: {money: {retry: {max_retries: 5, schedule: [1s, 5s, 30s]}}, quick: {retry: {max_attempts: 2, linear: 1s}}}
defaults: {concurrency: 7, retry: {timeout: 9s, max_attempts: 2, jitter: 1%}, guard: {of: 3}}
workers:
  plain: {}
  own: {concurrency: 8, policy: money, retry: {jitter: 2%}, guard: null}
  split: {policy: money, handler: {builtin: b}, cases: [
      {match: {header: t, in: [a, b]}, policy: quick, retry: {jitter: 3%}},
      {handler: {http: {url: "http://localhost/x"}}}]}
)");
  const WorkerConfig& plain = config.workers[0];
  EXPECT_EQ(plain.concurrency, 7U);
  EXPECT_EQ(plain.guard->of, 3U);
  EXPECT_EQ(plain.guard->open_percent, 50U);
  EXPECT_EQ(plain.cases[0].retry.max_attempts, 2U);
  const WorkerConfig& own = config.workers[1];
  EXPECT_EQ(own.concurrency, 8U);
  EXPECT_EQ(own.guard, std::nullopt);
  EXPECT_EQ(own.cases[0].retry.max_attempts, 6U);  // the policy's max_retries replaces the defaults' max_attempts
  EXPECT_EQ(own.cases[0].retry.timeout, seconds(9));
  EXPECT_EQ(own.cases[0].retry.jitter_percent, 2U);
  EXPECT_EQ(std::get<Schedule>(own.cases[0].retry.backoff).steps.size(), 3U);
  const WorkerConfig& split = config.workers[2];
  ASSERT_EQ(split.cases.size(), 2U);
  EXPECT_EQ(split.cases[0].match, (Match{Match::Field::kHeader, "t", {"a", "b"}}));
  EXPECT_EQ(split.cases[0].retry.max_attempts, 2U);
  EXPECT_EQ(split.cases[0].retry.jitter_percent, 3U);
  EXPECT_EQ(split.cases[0].retry.timeout, seconds(9));
  EXPECT_EQ(std::get<Linear>(split.cases[0].retry.backoff).step, seconds(1));
  EXPECT_EQ(std::get<BuiltinHandlerConfig>(split.cases[0].handler).name, "b");
  EXPECT_EQ(split.cases[1].retry.max_attempts, 6U);
  EXPECT_EQ(std::get<HttpHandlerConfig>(split.cases[1].handler).url, "http://localhost/x");
  EXPECT_EQ(split.case_matches().size(), 2U);
}

TEST(Config, NullTakesAwayWhatALowerLevelSaid) {
  const Config config = good(R"(
defaults: {guard: null, match: {json: /t, is: a}, retry: {schedule: [7s], kinds: {timeout: {max_attempts: 1}}}}
workers:
  a: {}
  b: {guard: {}, match: null, retry: {schedule: null, kinds: {timeout: null}}}
)");
  EXPECT_EQ(config.workers[0].guard, std::nullopt);
  EXPECT_TRUE(config.workers[0].match);
  EXPECT_TRUE(config.workers[1].guard);
  EXPECT_FALSE(config.workers[1].match);
  EXPECT_EQ(std::get<Schedule>(config.workers[1].cases[0].retry.backoff).steps.front(), seconds(1));
  EXPECT_EQ(config.workers[1].cases[0].retry.attempts_for(Kind::kTimeout), 6U);
}

TEST(Config, AFlagWinsOverAVariableWinsOverTheFile) {
  const std::string file = "cluster_id: file\ndata_dir: file\nworkers: {orders: {retry: {max_retries: 1}}}";
  const Environment environment{{"BARTLEBY__CLUSTER_ID", "variable"},
                                {"BARTLEBY__DATA_DIR", "variable"},
                                {"BARTLEBY__WORKERS__ORDERS__RETRY__MAX_ATTEMPTS", "5"},
                                {"BARTLEBY_URL", "not ours"}};
  const Config config = good(file, environment, {{"--data-dir", {"data_dir"}, "flag"}});
  EXPECT_EQ(config.cluster_id, "variable");
  EXPECT_EQ(config.data_dir, "flag");
  EXPECT_EQ(only(config).cases[0].retry.max_attempts, 5U);
}

TEST(Config, VariablesSetListsMapsAndNothing) {
  const Config config = good("cluster_id: x\nworkers: {pay-out.a: {topics: [t]}, b: {}}",
                             {{"BARTLEBY__CLUSTER_ID", ""},
                              {"BARTLEBY__ROLES", "[office]"},
                              {"BARTLEBY__WORKERS__PAY_OUT_A__TOPICS", "[a, b]"},
                              {"BARTLEBY__WORKERS__PAY_OUT_A__GUARD", "null"},
                              {"BARTLEBY__WORKERS__PAY_OUT_A__JOURNAL", "{topic}.x.{group}"},
                              {"BARTLEBY__WORKERS__PAY_OUT_A__CASES", "[{match: {json: /t, is: 5}}]"},
                              {"BARTLEBY__WORKERS__PAY_OUT_A__HANDLER", "{http: {url: 'http://h/'}}"},
                              {"BARTLEBY__HEARTBEATS__EXPECT__B", "2"},
                              {"BARTLEBY__DEFAULTS__CONCURRENCY", "3"}});
  EXPECT_EQ(config.cluster_id, "local");
  EXPECT_FALSE(config.runs_workers);
  EXPECT_EQ(config.workers[0].topics, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.workers[0].guard, std::nullopt);
  EXPECT_EQ(config.workers[0].journal, "{topic}.x.{group}");
  EXPECT_EQ(config.workers[0].cases[0].match->in, std::vector<std::string>{"5"});
  EXPECT_EQ(std::get<HttpHandlerConfig>(config.workers[0].cases[0].handler).url, "http://h/");
  EXPECT_EQ(config.workers[1].concurrency, 3U);
  EXPECT_EQ(config.heartbeats.expect.at("b"), 2U);
}

TEST(Config, AVariableThatFitsTwoKeysOrNoneIsAMistake) {
  EXPECT_EQ(bad("workers: {a-b: {}, a.b: {}}", {{"BARTLEBY__WORKERS__A_B__CONCURRENCY", "3"}}),
            "BARTLEBY__WORKERS__A_B__CONCURRENCY: could mean workers.a-b.concurrency or workers.a.b.concurrency\n");
  EXPECT_EQ(bad("", {{"BARTLEBY__LISTN", "x"}}), "BARTLEBY__LISTN: unknown variable; did you mean BARTLEBY__LISTEN?\n");
  EXPECT_EQ(bad("", {{"BARTLEBY__ZEBRA_CROSSING", "x"}}),
            "BARTLEBY__ZEBRA_CROSSING: unknown variable; `bartleby config env` lists all\n");
}

TEST(Config, BytesOfVariablesAreNotTrusted) {
  EXPECT_EQ(bad("", {{"BARTLEBY__\xff", "x"}}),
            "BARTLEBY__\xef\xbf\xbd: unknown variable; `bartleby config env` lists all\n");
  EXPECT_EQ(bad("", {{"BARTLEBY__DATA_DIR", "\xff"}}), "BARTLEBY__DATA_DIR: data_dir: bytes that are not UTF-8\n");
}

TEST(Config, AFlagMayMakeAWorker) {
  const Config config = good("", {},
                             {{"--to", {"workers", "orders", "handler", "http", "url"}, "http://localhost:1/"},
                              {"--topic", {"workers", "orders", "topics"}, "[t]"}});
  EXPECT_EQ(only(config).topics, std::vector<std::string>{"t"});
  EXPECT_EQ(bad("", {}, {{"--to", {"workers", "orders", "handler", "http", "url"}, "localhost"}}),
            "--to: workers.orders.handler.http.url: got \"localhost\", wants a URL such as "
            "http://localhost:3000/orders\n");
}

TEST(Config, ExpandsVariablesAndFilesInKeysAndValues) {
  const Environment environment{{"NAME", "orders"}, {"N", "4"}, {"EMPTY", ""}, {"LIST", "[x, y]"}, {"ON", "false"}};
  const Config config = good(R"(
cluster_id: "c-${NAME}-${MISSING:-d}-${EMPTY:-e}"
data_dir: "$${NAME} costs $5"
workers:
  "${NAME}":
    concurrency: "${N}"
    topics: "${LIST}"
    retry: {max_attempts: "${MAX:-3}"}
    dead_letter: {enabled: "${ON}"}
    adopt: "${EMPTY}"
    match: {header: h, in: ["${NAME}", "${LIST}"]}
)",
                             environment);
  EXPECT_EQ(config.cluster_id, "c-orders-d-e");
  EXPECT_EQ(config.data_dir, "${NAME} costs $5");
  const WorkerConfig& worker = only(config);
  EXPECT_EQ(worker.name, "orders");
  EXPECT_EQ(worker.concurrency, 4U);
  EXPECT_EQ(worker.topics, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(worker.cases[0].retry.max_attempts, 3U);
  EXPECT_FALSE(worker.dead_letter.enabled);
  EXPECT_FALSE(worker.adopt);
  EXPECT_EQ(worker.match->in, (std::vector<std::string>{"orders", "[x, y]"}));
}

TEST(Config, TellsAllMistakesAtOnceAndNoMoreThanFifty) {
  EXPECT_EQ(bad("lisen: x\nlog: {format: yaml}\nworkers:\n  orders:\n    retry:\n      max_atempts: 3\n"),
            "bartleby.yaml:1:1: lisen: unknown key; did you mean listen?\n"
            "bartleby.yaml:2:15: log.format: got \"yaml\", wants text or json\n"
            "bartleby.yaml:6:7: workers.orders.retry.max_atempts: unknown key; did you mean max_attempts?\n");
  std::string many = "workers:\n";
  for (int i = 0; i < 80; ++i) many += "  w" + std::to_string(i) + ": {concurency: 1}\n";
  const auto mistakes = load_text(many).error();
  ASSERT_EQ(mistakes.size(), Mistakes::kMax + 1);
  EXPECT_EQ(mistakes.back().text(), "configuration: and 30 more mistakes");
}

TEST(Config, AMistakeInDefaultsIsToldOnce) {
  EXPECT_EQ(bad("defaults: {guard: {of: 0}}\nworkers: {a: {}, b: {}}"),
            "bartleby.yaml:1:24: defaults.guard.of: got \"0\", wants a whole number from 1 to 100000\n");
}

TEST(Config, AnchorsWorkAndAreBounded) {
  const Config config = good("workers:\n  a: &w {concurrency: 3}\n  b: *w\n");
  EXPECT_EQ(config.workers[1].concurrency, 3U);
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) laughs += (j == 0 ? "" : ", ") + last;
    laughs += "]\n";
  }
  EXPECT_THAT(bad(laughs), testing::HasSubstr("more than 100000 values, aliases counted in full"));
  EXPECT_THAT(bad("a: &a [*a]"), testing::HasSubstr("bartleby.yaml:1:8: an alias inside its own anchor"));
}

TEST(Config, DepthSizeAndBytesAreBounded) {
  EXPECT_EQ(bad(std::string(100000, '[')), "bartleby.yaml:1:17: nested deeper than 32 levels\n");
  EXPECT_EQ(bad(std::string((1U << 20) + 1, '#')), "bartleby.yaml:1:1: larger than 1MB\n");
  EXPECT_EQ(bad("a: b\nc: \xff\n"), "bartleby.yaml:2:1: bytes that are not UTF-8\n");
  EXPECT_EQ(bad(std::string("a: b\nc: \x04x\n")), "bartleby.yaml:2:1: a control character\n");
  EXPECT_EQ(bad(std::string("\0", 1)), "bartleby.yaml:1:1: a control character\n");
}

TEST(Config, ReadsRealFilesWithinBounds) {
  const auto folder = read_config_file("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().text(), "/: not a file");
  EXPECT_EQ(read_config_file("/dev/zero").error().text(), "/dev/zero: not a file");
  EXPECT_EQ(read_config_file("/no/such/file").error().text(), "/no/such/file: No such file or directory");
}

}  // namespace
}  // namespace bartleby
