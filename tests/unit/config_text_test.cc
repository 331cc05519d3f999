// What the configuration shows of itself, and what a changed one asks for.
#include "wiring/config_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "wiring/config_keys.h"

namespace bartleby {
namespace {

using testing::HasSubstr;
using testing::Not;

Config config_of(const std::string& yaml, Environment environment = {}) {
  ConfigSources sources;
  sources.file = ConfigFile{"b.yaml", yaml};
  sources.environment = std::move(environment);
  sources.read = [](const std::string&) -> std::expected<std::string, std::string> { return "from-a-file"; };
  auto config = load(sources);
  if (config) return std::move(*config);
  ADD_FAILURE() << yaml << "\n" << config_check_text(config.error());
  return *load(ConfigSources{});
}

constexpr const char* kRich = R"(cluster_id: prod
policies: {money: {retry: {max_retries: 5, schedule: [1s, 5s, 30s, 5m, 30m]}}}
defaults: {concurrency: 9}
heartbeats: {expect: {split: 2}}
workers:
  orders: {policy: money, handler: {http: {url: "http://me:pw@localhost/x?a=b", secret: hush}}, guard: null}
  split:
    topics: [a.b, "c"]
    handler: {pull: {}}
    cases:
      - {match: {json: "/a b", is: "null"}, retry: {exponential: {max: 1m}}}
      - {match: {header: "x: y", in: ["1", "${file:/x}", "$${y}", "a:b"]}, handler: {builtin: other}}
)";

TEST(ConfigShow, SaysWhereEachValueCameFrom) {
  const std::string shown = config_show_text(config_of(kRich, {{"BARTLEBY__LOG__LEVEL", "debug"}}));
  EXPECT_THAT(shown, testing::ContainsRegex("\ncluster_id: prod +# b.yaml:1:13\n|^cluster_id: prod +# b.yaml:1:13\n"));
  EXPECT_THAT(shown, testing::ContainsRegex("  level: debug +# BARTLEBY__LOG__LEVEL\n"));
  EXPECT_THAT(shown, testing::ContainsRegex("  format: text +# default\n"));
  EXPECT_THAT(shown, testing::ContainsRegex("    concurrency: 9 +# b.yaml:3:25\n"));
  EXPECT_THAT(shown, testing::ContainsRegex("      schedule: .1s, 5s, 30s, 5m, 30m. +# b.yaml:2:54\n"));
  EXPECT_THAT(shown, testing::ContainsRegex("    guard: null +# b.yaml:6:"));
  EXPECT_THAT(shown, testing::ContainsRegex("      - match:\n          json: \"/a b\" +# b.yaml:"));
}

TEST(ConfigShow, KeepsSecretsToItself) {
  const std::string shown = config_show_text(config_of(kRich));
  EXPECT_THAT(shown, Not(HasSubstr("hush")));
  EXPECT_THAT(shown, Not(HasSubstr("pw@")));
  EXPECT_THAT(shown, Not(HasSubstr("from-a-file")));
  EXPECT_THAT(shown, HasSubstr("secret: \"***\""));
  EXPECT_THAT(shown, HasSubstr("http://me:***@localhost/x?a=b"));
}

TEST(ConfigShow, CanBeReadAgainAndMeansTheSame) {
  std::string yaml(kRich);
  for (const char* secret : {":pw", ", secret: hush"}) yaml.erase(yaml.find(secret), std::string(secret).size());
  yaml.replace(yaml.find("${file:/x}"), 10, "x");
  const Config first = config_of(yaml);
  const Config again = config_of(config_show_text(first));
  const ConfigDiff difference = diff(first, again);
  EXPECT_THAT(difference.next_start, testing::IsEmpty());
  ASSERT_EQ(difference.workers.size(), 2U);
  for (const WorkerChange& worker : difference.workers) {
    EXPECT_EQ(worker.change, Change::kUnchanged) << worker.worker;
    EXPECT_THAT(worker.keys, testing::IsEmpty());
  }
}

TEST(ConfigCheck, SaysThatAllIsWellOrWhatIsNot) {
  EXPECT_EQ(config_check_text(config_of("workers: {a: {}}")),
            "ok: 1 worker, 1 broker, listening on 127.0.0.1:1853, data in ./bartleby-data\n");
  EXPECT_EQ(config_check_text(std::vector<Mistake>{{"f:1:1", "k", "unknown key"}}),
            "f:1:1: k: unknown key\n1 mistake\n");
}

TEST(ConfigEnv, ListsEveryKeyWithItsVariable) {
  const std::string text = config_env_text(config_of("workers: {pay-out: {}}"));
  EXPECT_THAT(text, testing::ContainsRegex("BARTLEBY__WORKERS__PAY_OUT__RETRY__MAX_ATTEMPTS +"
                                           "workers.pay-out.retry.max_attempts +a whole number from 1 to 1000000\n"));
  EXPECT_THAT(text, HasSubstr("BARTLEBY__WORKERS__PAY_OUT__RETRY__KINDS__TIMEOUT__MAX_ATTEMPTS "));
  EXPECT_THAT(text, HasSubstr("BARTLEBY__HEARTBEATS__EXPECT__PAY_OUT "));
  EXPECT_THAT(text, HasSubstr("BARTLEBY__DEFAULTS__GUARD "));
  EXPECT_THAT(config_env_text(*load(ConfigSources{})), HasSubstr("BARTLEBY__WORKERS__<WORKER>__TOPICS "));
}

ConfigDiff between(const std::string& old, const std::string& fresh) { return diff(config_of(old), config_of(fresh)); }

TEST(ConfigDiff, RetryGuardConcurrencyAndLimitsApplyLive) {
  for (const char* fresh : {"retry: {max_attempts: 2}", "retry: {linear: 1s}", "guard: null", "guard: {of: 3}",
                            "concurrency: 3", "limits: {parked: 3}"}) {
    const ConfigDiff found = between("workers: {a: {}}", "workers: {a: {" + std::string(fresh) + "}}");
    ASSERT_EQ(found.workers.size(), 1U);
    EXPECT_EQ(found.workers[0].change, Change::kLive) << fresh;
    EXPECT_FALSE(found.workers[0].keys.empty());
  }
  const ConfigDiff by_policy = between("policies: {p: {retry: {max_attempts: 1}}}\nworkers: {a: {policy: p}}",
                                       "policies: {p: {retry: {max_attempts: 2}}}\nworkers: {a: {policy: p}}");
  EXPECT_EQ(by_policy.workers[0].change, Change::kLive);
  EXPECT_EQ(by_policy.workers[0].keys, std::vector<std::string>{"retry.max_attempts"});
  const ConfigDiff by_case =
      between("workers: {a: {cases: [{retry: {jitter: 1%}}]}}", "workers: {a: {cases: [{retry: {jitter: 2%}}]}}");
  EXPECT_EQ(by_case.workers[0].change, Change::kLive);
}

TEST(ConfigDiff, AnythingElseRestartsTheWorker) {
  for (const char* fresh :
       {"topics: [b]", "group: g", "match: {json: /t, is: x}", "handler: {pull: {}}", "max_bytes: 3MB", "run: inline",
        "start: latest", "key_policy: bypass", "drain: 1s", "adopt: true", "journal: 'j.{group}'",
        "replay_topic: 'r.{group}'", "dead_letter: {topic: d}", "cases: [{match: {json: /t, is: x}}]"}) {
    const ConfigDiff found = between("workers: {a: {}, z: {}}", "workers: {a: {" + std::string(fresh) + "}, z: {}}");
    EXPECT_EQ(found.workers[0].change, Change::kRestart) << fresh;
    EXPECT_EQ(found.workers[1].change, Change::kUnchanged) << fresh;
  }
}

TEST(ConfigDiff, WorkersComeAndGoAndTheRestWaitsForTheNextStart) {
  const ConfigDiff found = between("workers: {a: {}, b: {}}", "data_dir: x\nworkers: {b: {}, c: {}}");
  ASSERT_EQ(found.workers.size(), 3U);
  EXPECT_EQ(found.workers[0].change, Change::kUnchanged);
  EXPECT_EQ(found.workers[1].change, Change::kAdded);
  EXPECT_EQ(found.workers[2].change, Change::kRemoved);
  EXPECT_EQ(found.next_start, std::vector<std::string>{"data_dir"});
}

// `scripts/config-docs` runs this with BARTLEBY_WRITE_DOCS set.
TEST(ConfigDocs, AreWhatTheTableSays) {
  const char* path = BARTLEBY_SOURCE "/docs/configuration.md";
  if (std::getenv("BARTLEBY_WRITE_DOCS") != nullptr) std::ofstream(path) << config_docs_text();
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(text.str() == config_docs_text()) << "docs/configuration.md is not current; run scripts/config-docs";
}

TEST(ConfigKeys, EachHasADescriptionAndAPlaceInTheTree) {
  for (const Key& key : config_keys()) {
    EXPECT_TRUE(key.text.ends_with('.')) << key.path;
    EXPECT_LE(key.min, key.max) << key.path;
  }
}

}  // namespace
}  // namespace bartleby
