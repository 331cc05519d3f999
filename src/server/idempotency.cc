#include "server/idempotency.h"

#include <algorithm>
#include <array>

#include "codec/sha256.h"
#include "codec/zstd_bytes.h"
#include "office/kept_answers.h"
#include "server/json.h"

namespace bartleby {
namespace {

constexpr std::size_t kLongestKey = 200;
constexpr std::size_t kLongestAnswer = std::size_t{64} << 10;  // packed
constexpr std::size_t kLongestUnpacked = std::size_t{8} << 20;
constexpr Duration kKept{std::chrono::hours(24)};

// What makes two requests the same, beside path and body.
constexpr std::array<std::string_view, 9> kHeaders = {
    "content-type",        "bartleby-key",           "bartleby-headers",
    "bartleby-null",       "x-broker-channel-token", "x-broker-consumer-token",
    "x-broker-message-id", "x-broker-message-key",   "x-worker-id"};

std::string hash_of(const Request& request) {
  std::string all;
  const auto add = [&](std::string_view part) { all += std::to_string(part.size()) + ":" + std::string(part); };
  add(request.method);
  add(request.path);
  for (const auto& [name, value] : request.query) add(name), add(value);
  for (const std::string_view header : kHeaders) {
    const auto value = request.header(header);
    add(value ? "1" : "0");
    add(value.value_or(""));
  }
  add(request.body);
  const Sha256 hash = sha256(all);
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

// Whose keys they are. Who is known by tokens alone is told apart by them: no tenant meets another's keys. Whether they
// are right the route finds out, and of what it refuses nothing is kept.
std::string owner_of(const Request& request) {
  if (request.caller.known) return request.caller.name;
  std::string tokens;
  for (const std::string_view header : {"x-broker-channel-token", "x-broker-consumer-token"})
    if (const auto value = request.header(header)) tokens += std::string(header) + ":" + std::string(*value) + "\n";
  return tokens.empty() ? request.caller.name : request.caller.name + "/" + sha256_hex(tokens);
}

bool is_fit(std::string_view key) {
  return !key.empty() && key.size() <= kLongestKey &&
         std::ranges::all_of(key, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

struct KeptAnswers::UnderWay {
  std::mutex mutex;
  std::set<std::pair<std::string, std::string>> keys;  // actor, key

  bool enter(const Asked& asked) {
    const std::lock_guard lock(mutex);
    return keys.emplace(asked.actor, asked.key).second;
  }
  void leave(const Asked& asked) {
    const std::lock_guard lock(mutex);
    keys.erase({asked.actor, asked.key});
  }
};

KeptAnswers::KeptAnswers(Store& store, const Clock& clock, Log& log)
    : store_(store), clock_(clock), log_(log), under_way_(std::make_shared<UnderWay>()) {}

std::optional<Response> KeptAnswers::begin(const Request& request, const Route& route, Respond& respond) {
  const auto key = request.header("idempotency-key");
  if (!key || request.method != "POST" || !route.docs.keeps_answer) return std::nullopt;
  if (!is_fit(*key) || request.header_values("idempotency-key").size() > 1)
    return problem(ProblemType::kMalformed, "Idempotency-Key is one word of 1 to 200 printable characters");
  Asked asked{owner_of(request), std::string(*key), hash_of(request), clock_.now().wall};
  if (!under_way_->enter(asked)) {
    Response busy = problem(ProblemType::kConflict, "a request with this Idempotency-Key is under way");
    busy.headers.emplace_back("Retry-After", "1");
    return busy;
  }
  // Leaves also when nobody answers.
  struct Leaves {
    std::shared_ptr<UnderWay> under_way;
    Asked asked;
    ~Leaves() { under_way->leave(asked); }
  };
  auto inside = std::make_shared<Leaves>(under_way_, std::move(asked));
  if (auto known = find(inside->asked)) return known;
  respond = [this, inside, respond = std::move(respond)](Response response) mutable {
    if (response.status >= 200 && response.status < 300 && !keep(inside->asked, response))
      response.headers.emplace_back("Bartleby-Answer-Kept", "false");
    inside.reset();  // before the client hears of it: it may ask again at once
    respond(std::move(response));
  };
  return std::nullopt;
}

std::optional<Response> KeptAnswers::find(const Asked& asked) {
  std::optional<KeptAnswer> kept;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    auto found = find_answer(connection, asked.actor, asked.key, asked.at - kKept);
    if (!found) return std::unexpected(found.error());
    kept = std::move(*found);
    return {};
  });
  if (!read) return store_problem(read.error());
  if (!kept) return std::nullopt;
  if (kept->request != asked.hash)
    return problem(ProblemType::kIdempotencyReuse,
                   "this Idempotency-Key was used for a request with another path or body");
  auto body = zstd_decompressed(kept->body, kLongestUnpacked);
  if (!body) return store_problem(body.error());
  Response answer;
  answer.status = kept->status;
  answer.content_type = kept->type;
  answer.body = std::move(*body);
  const json::value headers = json::parse(kept->headers);
  for (const auto& [name, value] : headers.as_object())
    answer.headers.emplace_back(std::string(name), std::string(value.as_string()));
  answer.headers.emplace_back("Idempotency-Replayed", "true");
  return answer;
}

bool KeptAnswers::keep(const Asked& asked, const Response& response) {
  KeptAnswer kept{asked.hash, response.status, response.content_type, {}, zstd_compressed(response.body)};
  if (response.stream || response.body.size() > kLongestUnpacked || kept.body.size() > kLongestAnswer) return false;
  json::object headers;
  for (const auto& [name, value] : response.headers) headers[name] = value;
  kept.headers = json::serialize(headers);
  const auto written = store_.write([&](Connection& connection) {
    return keep_answer(connection, asked.actor, asked.key, kept, asked.at, asked.at - kKept);
  });
  if (!written) log_.warning("answer_not_kept", {{"why", written.error().message}});
  return written.has_value();
}

}  // namespace bartleby
