#include "wiring/consumers.h"

#include <set>

#include "codec/json_text.h"
#include "wiring/config_text.h"

namespace bartleby {
namespace {

constexpr std::chrono::seconds kLookEvery{5};
constexpr std::string_view kRetry =
    R"({"max_retries": 5, "schedule": ["5s", "30s", "60s", "120s", "180s"], "timeout": "30s"})";

// What somebody sent must not read our variables and files.
std::string unexpanded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("${")) out += '$';
    out += text[i];
  }
  return out;
}

void append_text(std::string& out, std::string_view text) { append_json_text(out, unexpanded(text)); }

// JSON is YAML: a file that somebody could have written.
std::string file_of(const Consumer& c, const std::string& cluster_id, bool local) {
  std::string out = R"({"cluster_id": )";
  append_text(out, cluster_id);
  out += R"(, "workers": {)";
  append_text(out, c.worker());
  out += R"(: {"topics": [)";
  append_text(out, c.channel);
  out += R"(], "group": )";
  append_text(out, c.worker());
  out += R"(, "handler": {"http": {"url": )";
  append_text(out, c.url);
  out += R"(, "reject": )" + (c.reject.empty() ? "[]" : unexpanded(c.reject));
  out += std::string(R"(, "allow_private": )") + (local ? "true" : "false");
  out += R"(}}, "dead_letter": {"topic": "{group}.dlq"}, "policy": "consumer", "retry": )";
  out += c.retry.empty() ? "{}" : unexpanded(c.retry);
  out += R"(}}, "policies": {"consumer": {"retry": )";
  return out + std::string(kRetry) + "}}}";
}

bool same_worker(const Consumer& a, const Consumer& b) {
  return a.url == b.url && a.token == b.token && a.retry == b.retry && a.reject == b.reject;
}

Result<void> put_one(Consumer& consumer, Store& store, Broker& broker, const Actor& actor, Timestamp now) {
  std::optional<Consumer> known;
  bool removed = false;
  const auto read = store.read([&](Connection& connection) -> Result<void> {
    auto found = find_consumer(connection, consumer.channel, consumer.id);
    if (!found) return std::unexpected(found.error());
    known = std::move(*found);
    const auto gone = was_removed(connection, consumer);
    if (!gone) return std::unexpected(gone.error());
    removed = *gone;
    const auto other = consumer_beside(connection, consumer);
    if (!other) return std::unexpected(other.error());
    if (other->empty()) return {};
    return fail(ErrorCode::kFenced, "its worker's name is that of consumer " + *other + " in the store");
  });
  if (!read) return read;
  if (known && same_worker(*known, consumer) && known->name == consumer.name && known->paused == consumer.paused)
    return {};
  if (!known) {
    auto starts = begin_at_end(broker, consumer.channel, consumer.worker(), removed);
    if (!starts) return std::unexpected(starts.error());
    consumer.starts = std::move(*starts);
  }
  return store.write([&](Connection& connection) { return put_consumer(connection, consumer, actor, now); });
}

}  // namespace

Result<WorkerConfig> worker_of(const Consumer& consumer, const std::string& cluster_id, bool local) {
  ConfigSources sources;
  sources.file = ConfigFile{"consumer", file_of(consumer, cluster_id, local)};
  sources.read = [](const std::string&) -> std::expected<std::string, std::string> {
    return std::unexpected("a consumer reads no files");
  };
  auto config = load(sources);
  if (!config) {
    std::string what;
    for (const Mistake& mistake : config.error())
      what += (what.empty() ? "" : "; ") + mistake.key + ": " + mistake.what;
    return fail(ErrorCode::kInvalid, what);
  }
  WorkerConfig worker = std::move(config->workers.front());
  auto& http = std::get<HttpHandlerConfig>(worker.cases.front().handler);
  http.headers = {{"X-Broker-Channel-ID", consumer.channel},
                  {"X-Broker-Consumer-ID", consumer.id},
                  {"X-Broker-Consumer-Token", consumer.token}};
  http.copy = {"x-broker-message-id"};
  return worker;
}

Result<void> put_channels(const std::vector<ChannelConfig>& channels, const std::string& cluster_id, bool local,
                          Store& store, Broker& broker, Timestamp now) {
  const Actor actor{.name = "office", .reason = "the configuration says so", .request_id = {}};
  for (const ChannelConfig& said : channels) {
    TopicSpec topic;
    topic.name = said.id;
    topic.partitions = said.partitions;
    const auto made = broker.ensure_topics({topic});
    if (!made) return std::unexpected(made.error());
    const Channel channel{said.id, said.name, token_hash(said.token), made->front().partitions, now};
    auto written = store.write([&](Connection& connection) -> Result<void> {
      const auto known = find_channel(connection, channel.id);
      if (!known) return std::unexpected(known.error());
      if (*known && (*known)->name == channel.name && (*known)->token == channel.token) return {};
      return put_channel(connection, channel, actor, now);
    });
    if (!written) return written;
    for (const ConsumerConfig& one : said.consumers) {
      Consumer consumer{said.id, one.id, one.name, one.url, one.token, one.retry, one.reject, {}, one.paused, now};
      if (auto fine = worker_of(consumer, cluster_id, local); !fine)
        return fail(ErrorCode::kInvalid, "channels." + said.id + ".consumers." + one.id + ": " + fine.error().message);
      if (auto put = put_one(consumer, store, broker, actor, now); !put)
        return fail(put.error().code, "channels." + said.id + ".consumers." + one.id + ": " + put.error().message);
    }
  }
  return {};
}

ConsumerFollower::ConsumerFollower(Store& store, Log& log, std::string cluster_id, bool local, FollowerActions actions)
    : store_(store), log_(log), cluster_id_(std::move(cluster_id)), local_(local), actions_(std::move(actions)) {}

ConsumerFollower::~ConsumerFollower() { stop(); }

void ConsumerFollower::start() {
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      wake_.wait_for(lock, kLookEvery, [&] { return woken_ || stopping_; });
      if (stopping_) return;
      woken_ = false;
      lock.unlock();
      look();
      lock.lock();
    }
  });
}

void ConsumerFollower::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

void ConsumerFollower::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// True: something is other than before.
bool ConsumerFollower::follow(const Consumer& consumer) {
  const std::string name = consumer.worker();
  const auto known = followed_.find(name);
  const bool fresh = known == followed_.end() || !same_worker(known->second.consumer, consumer);
  if (fresh) {
    auto worker = worker_of(consumer, cluster_id_, local_);
    if (worker)
      if (auto done = actions_.run(*worker); !done) worker = std::unexpected(done.error());
    if (!worker) {
      log_.error("consumer_not_run", {{"consumer", name}, {"why", worker.error().message}});
      return false;
    }
    followed_[name] = {consumer, std::move(*worker)};
    followed_[name].consumer.paused = false;
  }
  bool& paused = followed_[name].consumer.paused;
  if (paused == consumer.paused) return fresh;
  if (const auto done = actions_.pause(name, consumer.paused); !done)
    log_.warning("consumer_not_paused", {{"consumer", name}, {"why", done.error().message}});  // tried again soon
  else
    paused = consumer.paused;
  return fresh;
}

void ConsumerFollower::look() {
  std::vector<Consumer> consumers;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    auto all = consumers_of(connection, "");
    if (!all) return std::unexpected(all.error());
    consumers = std::move(*all);
    return {};
  });
  if (!read) return log_.warning("consumers_not_read", {{"why", read.error().message}});
  bool changed = false;
  std::set<std::string> wanted;
  // A store may have two of one name from before that was refused: the first runs, and the other is told in the log.
  std::erase_if(consumers, [&](const Consumer& consumer) {
    if (wanted.insert(consumer.worker()).second) return false;
    log_.error("consumer_not_run",
               {{"consumer", consumer.channel + "/" + consumer.id},
                {"why", "another consumer has the worker " + consumer.worker() + ": register it under another id"}});
    return true;
  });
  for (auto at = followed_.begin(); at != followed_.end();) {
    if (wanted.contains(at->first)) {
      ++at;
      continue;
    }
    actions_.end(at->first);
    at = followed_.erase(at);
    changed = true;
  }
  for (const Consumer& consumer : consumers) changed |= follow(consumer);
  if (!changed) return;
  std::vector<WorkerConfig> workers;
  for (const auto& [name, one] : followed_) workers.push_back(one.worker);
  actions_.changed(workers);
}

}  // namespace bartleby
