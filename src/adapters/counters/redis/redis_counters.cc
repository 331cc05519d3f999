#include "adapters/counters/redis/redis_counters.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace bartleby::redis {
namespace {

constexpr std::string_view kPrefix = "worker:";
constexpr const char* kIndex = "bartleby:heartbeats";
constexpr Duration kForget{std::chrono::hours(24)};  // of keys in the index that nobody refreshes
constexpr std::size_t kPerGet = 500;

// Where the key holds something else the script ends at INCR, and that is not given an expiry.
constexpr const char* kIncrement =
    "local n = redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], ARGV[1]) return n";

std::optional<std::int64_t> parsed(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

// Of the key alone, not of the server: others are well.
bool about_key(std::string_view error) {
  return error.contains("WRONGTYPE") || error.contains("not an integer") || error.contains("overflow");
}

std::optional<Heartbeat> named(const std::string& key, std::string text) {
  if (!key.starts_with(kPrefix)) return std::nullopt;
  const std::size_t colon = key.find(':', kPrefix.size());
  if (colon == std::string::npos || colon == kPrefix.size() || colon + 1 == key.size()) return std::nullopt;
  return Heartbeat{key.substr(kPrefix.size(), colon - kPrefix.size()), key.substr(colon + 1), std::move(text)};
}

Command command_of(const CounterStep& step) {
  switch (step.what) {
    case CounterStep::What::kCount:
      return {"GET", step.key};
    case CounterStep::What::kIncrement:
      return {"EVAL", kIncrement, "1", step.key, std::to_string(step.ttl.count())};
    case CounterStep::What::kErase:
      return {"DEL", step.key};
  }
  return {};
}

}  // namespace

Error RedisCounters::wrong_answer() {
  link_.distrust("answered something else than it was asked");
  return fail(ErrorCode::kMalformed, "Redis answered something else than it was asked").error();
}

// What a server that takes no writes says depends on why; after a failover another one has its name.
Error RedisCounters::error_of(const Reply& reply) {
  if (reply.type != Reply::Type::kError) return wrong_answer();
  return fail(about_key(reply.text) ? ErrorCode::kMalformed : ErrorCode::kUnavailable, "Redis: " + reply.text).error();
}

void RedisCounters::wrote(const Result<void>& result) {
  const std::lock_guard lock(mutex_);
  if (result) return no_writes_.reset();
  if (result.error().code == ErrorCode::kMalformed) return;
  const Instant now = options_.clock().steady;
  if (!no_writes_) no_writes_since_ = now;
  no_writes_ = result.error();
  if (now - no_writes_since_ < options_.look_for_writer) return;
  no_writes_since_ = now;
  link_.distrust("takes no writes: " + result.error().message);
}

Result<void> RedisCounters::reachable() const {
  if (auto there = link_.reachable(); !there) return there;
  const std::lock_guard lock(mutex_);
  return no_writes_ ? Result<void>(std::unexpected(*no_writes_)) : Result<void>();
}

Result<std::int64_t> RedisCounters::number_of(const CounterStep& step, const Reply& reply) {
  if (step.what == CounterStep::What::kCount) {
    if (reply.type == Reply::Type::kNull) return 0;
    if (reply.type != Reply::Type::kText) return std::unexpected(error_of(reply));
    if (const auto n = parsed(reply.text)) return *n;
    return fail(ErrorCode::kMalformed, "the key holds no number");
  }
  if (reply.type != Reply::Type::kNumber) {
    Error error = error_of(reply);
    wrote(std::unexpected(error));
    return std::unexpected(std::move(error));
  }
  wrote({});
  return step.what == CounterStep::What::kErase ? 0 : reply.number;
}

std::vector<Result<std::int64_t>> RedisCounters::steps(const std::vector<CounterStep>& steps) {
  std::vector<Result<std::int64_t>> out(steps.size());
  std::vector<Command> commands;
  std::vector<std::size_t> sent;  // which of the steps each is
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].key.empty() || steps[i].key.size() > kMaxCounterKey) {
      out[i] = fail(ErrorCode::kTooLarge, "a counter's key has 1 to " + std::to_string(kMaxCounterKey) + " bytes");
      continue;
    }
    commands.push_back(command_of(steps[i]));
    sent.push_back(i);
  }
  if (commands.empty()) return out;
  const auto replies = link_.ask(std::move(commands));
  for (std::size_t i = 0; i < sent.size(); ++i)
    out[sent[i]] = replies ? number_of(steps[sent[i]], (*replies)[i]) : std::unexpected(replies.error());
  return out;
}

Result<std::int64_t> RedisCounters::count(const std::string& key) {
  return steps({{CounterStep::What::kCount, key, {}}}).front();
}

Result<std::int64_t> RedisCounters::increment(const std::string& key, Duration ttl) {
  return steps({{CounterStep::What::kIncrement, key, ttl}}).front();
}

Result<void> RedisCounters::erase(const std::string& key) {
  const auto erased = steps({{CounterStep::What::kErase, key, {}}}).front();
  return erased ? Result<void>() : std::unexpected(erased.error());
}

Result<void> RedisCounters::put_heartbeat(const Heartbeat& heartbeat, Duration ttl) {
  if (auto fits = heartbeat_fits(heartbeat); !fits) return fits;
  const std::string key = heartbeat_key(heartbeat.type, heartbeat.instance);
  const Timestamp now = options_.clock().wall;
  const auto replies = link_.ask({
      {"SET", key, heartbeat.text, "PX", std::to_string(std::max<std::int64_t>(1, ttl.count()))},
      {"ZADD", kIndex, std::to_string(ms(now + ttl)), key},
      {"ZREMRANGEBYSCORE", kIndex, "-inf", std::to_string(ms(now - kForget))},
      {"PEXPIRE", kIndex, std::to_string((kForget * 2).count())},
  });
  if (!replies) return std::unexpected(replies.error());
  Result<void> written;
  for (std::size_t i = 0; i < replies->size() && written; ++i)
    if ((*replies)[i].type != (i == 0 ? Reply::Type::kStatus : Reply::Type::kNumber))
      written = std::unexpected(error_of((*replies)[i]));
  wrote(written);
  return written;
}

Result<std::optional<std::string>> RedisCounters::heartbeat(const std::string& type, const std::string& instance) {
  const auto replies = link_.ask({{"GET", heartbeat_key(type, instance)}});
  if (!replies) return std::unexpected(replies.error());
  const Reply& reply = replies->front();
  if (reply.type == Reply::Type::kNull) return std::nullopt;
  if (reply.type != Reply::Type::kText) return std::unexpected(error_of(reply));
  return reply.text;
}

Result<std::vector<Heartbeat>> RedisCounters::heartbeats(const std::optional<std::string>& type) {
  const auto index = link_.ask({{"ZREVRANGE", kIndex, "0", std::to_string(kMaxHeartbeats - 1)}});
  if (!index) return std::unexpected(index.error());
  if (index->front().type != Reply::Type::kList) return std::unexpected(error_of(index->front()));
  std::vector<std::string> keys;
  for (const Reply& key : index->front().items)
    if (const auto who = named(key.text, {}); who && (!type || who->type == *type)) keys.push_back(key.text);
  std::vector<Command> gets;
  for (std::size_t at = 0; at < keys.size(); at += kPerGet) {
    gets.push_back({"MGET"});
    for (std::size_t i = at; i < std::min(at + kPerGet, keys.size()); ++i) gets.back().push_back(keys[i]);
  }
  std::vector<Heartbeat> found;
  if (gets.empty()) return found;
  const std::size_t rounds = gets.size();
  const auto texts = link_.ask(std::move(gets));
  if (!texts) return std::unexpected(texts.error());
  for (std::size_t r = 0; r < rounds; ++r) {
    const Reply& list = (*texts)[r];
    const std::size_t wanted = std::min(kPerGet, keys.size() - r * kPerGet);
    if (list.type != Reply::Type::kList || list.items.size() != wanted) return std::unexpected(error_of(list));
    for (std::size_t i = 0; i < wanted; ++i)
      if (list.items[i].type == Reply::Type::kText && list.items[i].text.size() <= kMaxHeartbeat)
        if (auto beat = named(keys[r * kPerGet + i], list.items[i].text)) found.push_back(std::move(*beat));
  }
  std::ranges::sort(found, {}, [](const Heartbeat& h) { return std::tie(h.type, h.instance); });
  return found;
}

}  // namespace bartleby::redis
