#include <algorithm>
#include <map>
#include <string>

#include "adapters/broker/kafka/held_properties.h"
#include "codec/replay_header.h"
#include "codec/topic_name.h"
#include "model/failure.h"
#include "wiring/config_resolve.h"
#include "wiring/config_values.h"
#include "wiring/mongodb_address.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxWorkers = 1000;
constexpr std::size_t kMaxCases = 100;
constexpr std::size_t kMaxRedactions = 100;
constexpr std::size_t kMaxTopicName = 249;
constexpr std::size_t kMaxSecret = 4096;
constexpr std::size_t kMaxLabelValues = 100;
constexpr std::string_view kSinkFields = " _id history history_state processed_at bartleby dlq_metadata ";

std::string text_of(const ConfigNode& map, std::string_view key) {
  const ConfigNode* node = map.find(key);
  return node == nullptr ? std::string() : node->text;
}

// Absent, and not because it was wrong.
bool missing(const ConfigNode& map, std::string_view key) {
  const ConfigNode* node = map.find(key);
  return !map.refused && (node == nullptr || (node->is_null() && !node->refused));
}

class Rules {
 public:
  Rules(const ConfigNode& root, Mistakes& mistakes) : root_(root), mistakes_(mistakes) {}

  void check() {
    listen();
    access();
    signing();
    heartbeats();
    counters();
    alerts();
    brokers();
    channels();
    sinks();
    const ConfigNode* workers = root_.find("workers");
    if (workers == nullptr) return;
    intake_groups(*workers);
    if (workers->entries.size() > kMaxWorkers)
      mistakes_.add(workers->origin, "workers",
                    "got " + std::to_string(workers->entries.size()) + ", wants at most 1000");
    for (const ConfigEntry& entry : workers->entries) worker(entry.key, entry.value);
  }

 private:
  void listen() {
    const ConfigNode& node = *root_.find("listen");
    const auto address = parse_address(node.text);
    const ConfigNode& auth = *root_.find("auth");
    if (!address || address->loopback() || text_of(auth, "keys") == "store" || !missing(auth, "proxy")) return;
    mistakes_.add(node.origin, "listen",
                  "got " + quote(node.text) +
                      ", wants a loopback address such as 127.0.0.1:" + std::to_string(address->port) +
                      ", or auth.keys: store, or auth.proxy: else whoever reaches the port can read and send messages");
  }

  void access() {
    const ConfigNode& auth = *root_.find("auth");
    const ConfigNode& roles = *root_.find("roles");
    if (text_of(auth, "keys") == "store" && roles.kind == ConfigNode::Kind::kList &&
        std::ranges::find(roles.items, "office", &ConfigNode::text) == roles.items.end())
      mistakes_.add(auth.find("keys")->origin, "auth.keys", "store wants the role office: the keys are in its store");
    const ConfigNode* proxy = auth.find("proxy");
    if (proxy != nullptr && proxy->is_map())
      for (const char* key : {"trusted", "map"})
        if (missing(*proxy, key)) mistakes_.add(proxy->origin, "auth.proxy", std::string("wants ") + key);
    const ConfigNode* internal = root_.find("internal");
    const ConfigNode* api = internal == nullptr ? nullptr : internal->find("api");
    if (api != nullptr && api->is_map())
      for (const char* key : {"key", "allowed-networks"})
        if (missing(*api, key)) mistakes_.add(api->origin, "internal.api", std::string("wants ") + key);
    const ConfigNode* office = root_.find("office");
    const ConfigNode* redact = office == nullptr ? nullptr : office->find("redact");
    if (redact == nullptr) return;
    if (redact->items.size() > kMaxRedactions)
      mistakes_.add(redact->origin, "office.redact",
                    "got " + std::to_string(redact->items.size()) + ", wants at most 100");
    for (std::size_t i = 0; i < redact->items.size(); ++i)
      if (missing(redact->items[i], "json") && missing(redact->items[i], "header"))
        mistakes_.add(redact->items[i].origin, "office.redact[" + std::to_string(i) + "]", "wants one of json, header");
  }

  void signing() {
    const ConfigNode* all = root_.find("signing");
    const ConfigNode* office = all == nullptr ? nullptr : all->find("office");
    if (office == nullptr || !office->is_map()) return;
    for (const char* key : {"kid", "secret"})
      if (missing(*office, key)) mistakes_.add(office->origin, "signing.office", std::string("wants ") + key);
    const ConfigNode* secret = office->find("secret");
    if (secret != nullptr && !secret->is_null() && !secret->refused &&
        (secret->text.size() < kMinOfficeSecret || secret->text.size() > kMaxSecret))
      mistakes_.add(secret->origin, "signing.office.secret",
                    "got " + std::to_string(secret->text.size()) + " bytes, wants 32 to 4096");
  }

  // Offsets of a group with members are its members' alone.
  void intake_groups(const ConfigNode& workers) {
    const ConfigNode* dlqs = root_.find("dlqs");
    if (dlqs == nullptr) return;
    for (const ConfigEntry& dlq : dlqs->entries) {
      const std::string group = dlq.value.is_map() ? text_of(dlq.value, "intake_group") : "";
      if (group.empty()) continue;
      for (const ConfigEntry& worker : workers.entries)
        if (worker.value.is_map() && text_of(worker.value, "group") == group)
          mistakes_.add(dlq.value.find("intake_group")->origin, "dlqs." + dlq.key + ".intake_group",
                        "got " + quote(group) + ", the group of worker " + worker.key + "; wants one of its own");
    }
  }

  void token(const ConfigNode& map, const std::string& path) {
    const ConfigNode* node = map.find("token");
    if (missing(map, "token")) {
      mistakes_.add(map.origin, path, "wants token");
    } else if (node != nullptr && !node->is_null() &&
               (node->text.size() < 8 || node->text.size() > 255 ||
                !std::ranges::all_of(node->text, [](char c) { return c > ' ' && c < 0x7f; }))) {
      mistakes_.add(node->origin, path + ".token", "wants 8 to 255 printable characters, no blanks");
    }
  }

  void channels() {
    const ConfigNode* all = root_.find("channels");
    if (all == nullptr) return;
    std::map<std::string, std::string> names;  // of workers, with whose they are
    if (const ConfigNode* workers = root_.find("workers"); workers != nullptr && workers->is_map())
      for (const ConfigEntry& worker : workers->entries) names.emplace(worker.key, "workers." + worker.key);
    for (const ConfigEntry& channel : all->entries) {
      if (!channel.value.is_map()) continue;
      const std::string path = "channels." + channel.key;
      if (is_kept_topic(channel.key))
        mistakes_.add(channel.origin, path, "is a name that Bartleby keeps for itself (bartleby.…, ….parked.…)");
      token(channel.value, path);
      const ConfigNode* consumers = channel.value.find("consumers");
      if (consumers == nullptr) continue;
      for (const ConfigEntry& consumer : consumers->entries) {
        if (!consumer.value.is_map()) continue;
        const std::string here = path + ".consumers." + consumer.key;
        const std::string worker = channel.key + "." + consumer.key;
        if (const auto [other, fresh] = names.emplace(worker, here); !fresh)
          mistakes_.add(consumer.origin, here, "its worker would be " + worker + ", as that of " + other->second);
        token(consumer.value, here);
        if (missing(consumer.value, "url")) mistakes_.add(consumer.value.origin, here, "wants url");
        retry(consumer.value, here);
      }
    }
  }

  void heartbeats() {
    const ConfigNode& map = *root_.find("heartbeats");
    const auto every = duration_from_text(text_of(map, "every"));
    if (!every) return;
    for (const char* key : {"ttl", "stopping_ttl", "missing_after"}) {
      const auto other = duration_from_text(text_of(map, key));
      if (!other || *other > *every) continue;
      // Told where somebody said something.
      const ConfigNode& node = map.find(key)->origin.name ? *map.find(key) : *map.find("every");
      mistakes_.add(node.origin, "heartbeats." + std::string(key),
                    "got " + duration_text(*other) + ", wants more than every, which is " + duration_text(*every));
    }
  }

  void counters() {
    const ConfigNode* map = root_.find("counters");
    if (map == nullptr || !map->is_map()) return;
    const ConfigNode* redis = map->find("redis");
    if (missing(*map, "embedded") && missing(*map, "redis"))
      mistakes_.add(map->origin, "counters", "wants one of: embedded, redis");
    else if (redis != nullptr && redis->is_map() && missing(*redis, "url"))
      mistakes_.add(redis->origin, "counters.redis", "wants url, such as redis://localhost:6379/0");
  }

  void alerts() {
    const ConfigNode* map = root_.find("alerts");
    const ConfigNode* alertmanager = map == nullptr ? nullptr : map->find("alertmanager");
    if (alertmanager != nullptr && alertmanager->is_map() && missing(*alertmanager, "url"))
      mistakes_.add(alertmanager->origin, "alerts.alertmanager", "wants url, such as http://localhost:9093");
  }

  void brokers() {
    const ConfigNode& map = *root_.find("brokers");
    const ConfigEntry* embedded = nullptr;
    for (const ConfigEntry& entry : map.entries) {
      if (!entry.value.is_map()) continue;
      const ConfigNode* kafka = entry.value.find("kafka");
      if (kafka != nullptr && kafka->is_map()) {
        kafka_broker(entry, *kafka);
      } else if (missing(entry.value, "embedded") && missing(entry.value, "kafka")) {
        mistakes_.add(entry.origin, "brokers." + entry.key, "wants one of: embedded, kafka");
      } else if (embedded != nullptr) {
        mistakes_.add(entry.origin, "brokers." + entry.key,
                      "a process has one embedded log, and that is brokers." + embedded->key);
      } else {
        embedded = &entry;
      }
    }
  }

  void kafka_broker(const ConfigEntry& broker, const ConfigNode& kafka) {
    const std::string path = "brokers." + broker.key + ".kafka";
    if (missing(kafka, "bootstrap")) mistakes_.add(kafka.origin, path, "wants bootstrap, such as localhost:9092");
    const ConfigNode* properties = kafka.find("properties");
    if (properties == nullptr) return;
    for (const ConfigEntry& one : properties->entries)
      if (const auto why = kafka::held_property(one.key))
        mistakes_.add(one.origin, path + ".properties." + one.key, "may not be set: " + std::string(*why));
  }

  void sinks() {
    std::vector<std::string> names;
    const ConfigNode* all = root_.find("sinks");
    if (all != nullptr)
      for (const ConfigEntry& entry : all->entries) {
        names.push_back(entry.key);
        if (!entry.value.is_map()) continue;
        const std::string path = "sinks." + entry.key;
        const ConfigNode* mongodb = entry.value.find("mongodb");
        if (missing(entry.value, "mongodb")) mistakes_.add(entry.origin, path, "wants mongodb");
        if (mongodb == nullptr || !mongodb->is_map()) continue;
        for (const char* key : {"url", "database", "collection", "key"})
          if (missing(*mongodb, key)) mistakes_.add(mongodb->origin, path + ".mongodb", std::string("wants ") + key);
        if (const std::string url = text_of(*mongodb, "url"); !url.empty() && !is_mongodb_address(url))
          mistakes_.add(mongodb->find("url")->origin, path + ".mongodb.url",
                        "wants an address of MongoDB: mongodb://host:port/ or mongodb+srv://name/");
        if (const std::string option = unacknowledged(text_of(*mongodb, "url")); !option.empty())
          mistakes_.add(mongodb->find("url")->origin, path + ".mongodb.url",
                        "may not have " + option + ": a letter would be taken for written before it is");
        const std::string key = text_of(*mongodb, "key");
        if (key.contains('.') || kSinkFields.contains(" " + key + " "))
          mistakes_.add(mongodb->find("key")->origin, path + ".mongodb.key",
                        quote(key) + " is a name that documents use themselves, or has a dot");
      }
    const ConfigNode* dlqs = root_.find("dlqs");
    if (dlqs == nullptr || (all != nullptr && all->refused)) return;
    for (const ConfigEntry& dlq : dlqs->entries) {
      const ConfigNode* wanted = dlq.value.find("sinks");
      if (wanted == nullptr) continue;
      for (const ConfigNode& one : wanted->items)
        if (std::ranges::find(names, one.text) == names.end()) {
          const std::string meant = nearest(one.text, names);
          mistakes_.add(one.origin, "dlqs." + dlq.key + ".sinks",
                        "got " + quote(one.text) + ", wants one of sinks" +
                            (!meant.empty()  ? "; did you mean " + meant + "?"
                             : names.empty() ? ", and there are none"
                                             : ": " + join(names, ", ")));
        }
    }
  }

  void worker(const std::string& name, const ConfigNode& worker) {
    const std::string path = "workers." + name;
    broker_exists(worker, path);
    match(worker, path);
    dead_letter(worker, path);
    metrics(worker, path);
    const ConfigNode* counter = worker.find("counter");
    if (counter != nullptr && counter->is_map() && missing(*counter, "key"))
      mistakes_.add(counter->origin, path + ".counter", "wants key, such as ticket:retry_count:{/ticket_id}");
    topics(worker, name);
    const ConfigNode* cases = worker.find("cases");
    if (cases == nullptr) {
      handler(worker, worker, path, path);
      retry(worker, path);
      return;
    }
    if (cases->items.size() > kMaxCases)
      mistakes_.add(cases->origin, path + ".cases",
                    "got " + std::to_string(cases->items.size()) + ", wants at most 100");
    for (std::size_t i = 0; i < cases->items.size(); ++i) {
      const ConfigNode& one = cases->items[i];
      const std::string here = path + ".cases[" + std::to_string(i) + "]";
      match(one, here);
      handler(one, worker, here, path);
      retry(one, here);
      if (missing(one, "match") && i + 1 < cases->items.size())
        mistakes_.add(one.origin, here, "has no match, so it takes everything: it must be the last case");
    }
  }

  void metrics(const ConfigNode& worker, const std::string& worker_path) {
    const ConfigNode* map = worker.find("metrics");
    if (map == nullptr || !map->is_map()) return;
    const std::string path = worker_path + ".metrics";
    if (missing(*map, "family")) mistakes_.add(map->origin, path, "wants family: worker_agent");
    const ConfigNode* labels = map->find("label");
    if (labels == nullptr || !labels->is_map()) return;
    if (labels->entries.size() > 1)
      mistakes_.add(labels->entries[1].origin, path + ".label", "wants one label, and has " + labels->entries[0].key);
    for (const ConfigEntry& entry : labels->entries) label(entry, path + ".label");
  }

  void label(const ConfigEntry& entry, const std::string& path) {
    const std::string here = path + "." + entry.key;
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!std::ranges::all_of(entry.key, fits) || (entry.key[0] >= '0' && entry.key[0] <= '9') ||
        entry.key.starts_with("__") || entry.key == "reason" || entry.key == "le")
      mistakes_.add(entry.origin, path,
                    "got the name " + quote(entry.key) + ", wants letters, digits and _, and neither reason nor le");
    if (!entry.value.is_map()) return;
    if (missing(entry.value, "json") && missing(entry.value, "header"))
      mistakes_.add(entry.value.origin, here, "wants one of json, header");
    const ConfigNode* in = entry.value.find("in");
    if (missing(entry.value, "in"))
      mistakes_.add(entry.value.origin, here, "wants in: the values that are told apart");
    else if (in != nullptr && in->items.size() > kMaxLabelValues)
      mistakes_.add(in->origin, here + ".in", "got " + std::to_string(in->items.size()) + ", wants at most 100");
  }

  void broker_exists(const ConfigNode& worker, const std::string& path) {
    const ConfigNode* node = worker.find("broker");
    const ConfigNode& brokers = *root_.find("brokers");
    if (node == nullptr || node->is_null() || brokers.refused || brokers.find(node->text) != nullptr) return;
    std::vector<std::string> names;
    names.reserve(brokers.entries.size());
    for (const ConfigEntry& entry : brokers.entries) names.push_back(entry.key);
    const std::string meant = nearest(node->text, names);
    mistakes_.add(node->origin, path + ".broker",
                  "got " + quote(node->text) + ", wants one of brokers" +
                      (meant.empty() ? ": " + join(names, ", ") : "; did you mean " + meant + "?"));
  }

  void match(const ConfigNode& node, const std::string& path) {
    const ConfigNode* map = node.find("match");
    if (map == nullptr || !map->is_map()) return;
    if (missing(*map, "json") && missing(*map, "header"))
      mistakes_.add(map->origin, path + ".match", "wants one of json, header");
    if (missing(*map, "is") && missing(*map, "in")) mistakes_.add(map->origin, path + ".match", "wants one of is, in");
  }

  void handler(const ConfigNode& node, const ConfigNode& worker, const std::string& path,
               const std::string& worker_path) {
    const ConfigNode* map = node.find("handler");
    if (map == nullptr || !map->is_map()) return;
    const ConfigNode* http = map->find("http");
    if (missing(*map, "http") && missing(*map, "pull") && missing(*map, "builtin")) {
      mistakes_.add(map->origin, path + ".handler", "wants one of http, pull, builtin");
    } else if (http != nullptr && http->is_map() && missing(*http, "url")) {
      mistakes_.add(http->origin, path + ".handler.http", "wants url");
    }
    if (text_of(worker, "run") == "inline" && map->find("builtin") == nullptr && !map->refused) {
      const ConfigNode& run = *worker.find("run");
      mistakes_.add(run.origin, worker_path + ".run",
                    "inline is for builtin handlers; this one is " + map->entries[0].key);
    }
  }

  void retry(const ConfigNode& node, const std::string& path) {
    const ConfigNode* map = node.find("retry");
    if (map == nullptr || !map->is_map()) return;
    const ConfigNode* growing = map->find("exponential");
    if (growing != nullptr && growing->is_map()) {
      const auto initial = duration_from_text(text_of(*growing, "initial"));
      const auto max = duration_from_text(text_of(*growing, "max"));
      if (initial && max && *max < *initial) {
        const Origin& max_origin = growing->find("max")->origin;
        mistakes_.add(max_origin.name ? max_origin : growing->find("initial")->origin, path + ".retry.exponential.max",
                      "got " + duration_text(*max) + ", wants at least initial, which is " + duration_text(*initial));
      }
    }
    const ConfigNode* kinds = map->find("kinds");
    if (kinds == nullptr) return;
    for (const ConfigEntry& entry : kinds->entries) {
      const ConfigNode* attempts = entry.value.find("max_attempts");
      if (attempts != nullptr && is_final(*kind_named(entry.key)) && attempts->text != "1")
        mistakes_.add(attempts->origin, path + ".retry.kinds." + entry.key + ".max_attempts",
                      "got " + quote(attempts->text) + ", wants 1: this kind is never retried");
    }
  }

  void dead_letter(const ConfigNode& worker, const std::string& path) {
    const ConfigNode* map = worker.find("dead_letter");
    if (map == nullptr || !map->is_map()) return;
    if (parse_bool(text_of(*map, "drop")) == true && parse_bool(text_of(*map, "enabled")) == true)
      mistakes_.add(map->find("drop")->origin, path + ".dead_letter.drop", "true goes with enabled: false");
  }

  // Topics that a worker reads and writes: no name may mean two things.
  void topics(const ConfigNode& worker, const std::string& name) {
    const std::string path = "workers." + name;
    const std::string group = text_of(worker, "group");
    const std::string broker = text_of(worker, "broker");
    const std::string cluster_id = text_of(root_, "cluster_id");
    if (!group.empty()) {
      const auto [other, fresh] = groups_.emplace(std::pair(broker, group), name);
      if (!fresh) {
        mistakes_.add(origin_in(worker, "group"), path + ".group",
                      quote(group) + " is the group of workers." + other->second + " too; each worker has its own");
        return;
      }
    }
    const ConfigNode* read = worker.find("topics");
    const ConfigNode* letters = worker.find("dead_letter");
    if (read == nullptr) return;
    for (const ConfigNode& topic : read->items) {
      const TopicWords words{topic.text, group, name, cluster_id};
      const std::string journal = filled(worker, "journal", path + ".journal", words);
      const std::string dead =
          letters == nullptr ? std::string() : filled(*letters, "topic", path + ".dead_letter.topic", words);
      const auto is_read = [&](const std::string& t) {
        return !t.empty() && std::ranges::find(read->items, t, &ConfigNode::text) != read->items.end();
      };
      if (is_read(dead))
        mistakes_.add(said_in(*letters, "topic") ? letters->find("topic")->origin : topic.origin,
                      path + ".dead_letter.topic",
                      quote(dead) + " is a topic that the worker reads: letters would come back as messages");
      if (is_read(journal))
        mistakes_.add(origin_in(worker, "journal"), path + ".journal",
                      quote(journal) + " is a topic that the worker reads");
      if (!dead.empty() && dead == journal)
        mistakes_.add(origin_in(worker, "journal"), path + ".journal", quote(journal) + " is where letters go");
      const std::string lane = said_in(worker, "replay_topic")
                                   ? filled(worker, "replay_topic", path + ".replay_topic", words)
                                   : topic_name(text_of(worker, "replay_topic"), words);  // too long: shortened
      private_lane(worker, path, topic.text, lane, journal, dead);
      if (journal.empty()) continue;
      const auto [other, fresh] = journals_.emplace(std::pair(broker, journal), path + " for " + topic.text);
      if (!fresh)
        mistakes_.add(origin_in(worker, "journal"), path + ".journal",
                      quote(journal) + " is the journal of " + other->second + " too; put {topic} and {group} into it");
    }
  }

  // Of one of its topics.
  void private_lane(const ConfigNode& worker, const std::string& path, const std::string& topic,
                    const std::string& lane, const std::string& journal, const std::string& dead) {
    if (lane.empty() || !text_of(worker, "journal").contains("{topic}")) return;  // none is read
    const auto refuse = [&](const std::string& why) {
      mistakes_.add(origin_in(worker, "replay_topic"), path + ".replay_topic", quote(lane) + " is " + why);
    };
    if (const ConfigNode* read = worker.find("topics");
        std::ranges::find(read->items, lane, &ConfigNode::text) != read->items.end())
      return refuse("a topic that the worker reads: what is sent to it alone would be for all its readers");
    if (lane == dead) return refuse("where letters go");
    if (lane == journal) return refuse("the worker's journal");
    const auto [other, fresh] = lanes_.emplace(std::pair(text_of(worker, "broker"), lane), path + " for " + topic);
    if (!fresh) refuse("the private lane of " + other->second + " too; put {topic} and {group} into it");
  }

  // By a person, not by default.
  static bool said_in(const ConfigNode& map, std::string_view key) {
    const ConfigNode* node = map.find(key);
    return node != nullptr && node->origin.name;
  }

  static const Origin& origin_in(const ConfigNode& map, std::string_view key) {
    return said_in(map, key) ? map.find(key)->origin : map.origin;
  }

  std::string filled(const ConfigNode& map, std::string_view key, const std::string& path, const TopicWords& words) {
    const std::string text = text_of(map, key);
    if (text.empty()) return {};
    std::string name = filled_template(text, words);
    if (name.size() <= kMaxTopicName) return name;
    mistakes_.add(origin_in(map, key), path,
                  "makes a topic name of " + std::to_string(name.size()) + " characters, wants at most 249");
    return {};
  }

  const ConfigNode& root_;
  Mistakes& mistakes_;
  std::map<std::pair<std::string, std::string>, std::string> groups_;    // broker, group → worker
  std::map<std::pair<std::string, std::string>, std::string> journals_;  // broker, journal → whose
  std::map<std::pair<std::string, std::string>, std::string> lanes_;     // broker, private lane → whose
};

}  // namespace

void check_rules(const ConfigNode& resolved, Mistakes& mistakes) { Rules(resolved, mistakes).check(); }

}  // namespace bartleby
