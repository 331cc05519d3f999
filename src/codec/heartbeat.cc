#include "codec/heartbeat.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "codec/json_text.h"
#include "codec/time_text.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"RUNNING", "PAUSED", "SHUTTING_DOWN"};
constexpr std::size_t kLongest = 4096;
constexpr std::size_t kLongestText = 300;

void append_time(std::string& out, std::optional<Timestamp> at) {
  if (at)
    append_json_text(out, time_text(*at));
  else
    out += "null";
}

std::optional<Timestamp> time_in(simdjson::dom::object object, std::string_view field) {
  std::string_view text;
  if (object[field].get(text) != simdjson::SUCCESS) return std::nullopt;
  if (text.size() == 20 && text.ends_with('Z')) return time_from_text(std::string(text.substr(0, 19)) + ".000Z");
  return time_from_text(text);
}

std::int64_t number_in(simdjson::dom::object object, std::string_view field) {
  std::int64_t number = 0;
  return object[field].get(number) == simdjson::SUCCESS ? std::max<std::int64_t>(0, number) : 0;
}

std::string text_in(simdjson::dom::object object, std::string_view field) {
  std::string_view text;
  if (object[field].get(text) != simdjson::SUCCESS) return {};
  return clean_utf8(text, {.bytes = kLongestText});
}

}  // namespace

std::string_view name(LifeStatus status) { return kNames.at(static_cast<std::size_t>(status)); }

std::string heartbeat_text(const HeartbeatFacts& facts) {
  std::string out;
  {
    JsonObject json(out);
    json.text("timestamp", time_text(facts.timestamp));
    json.text("status", name(facts.status));
    json.name("last_message_at");
    append_time(out, facts.last_message_at);
    json.number("consumer_lag", facts.consumer_lag);
    json.name("started_at");
    append_time(out, facts.started_at);
    json.text("version", facts.version);
    json.text("advertise", clean_utf8(facts.advertise, {.bytes = kLongestText}));
    json.number("partitions", facts.partitions);
    json.number("parked", facts.parked);
    json.name("pinned");
    out += facts.pinned ? "true" : "false";
  }
  return out;
}

std::optional<HeartbeatFacts> heartbeat_from_text(std::string_view text) {
  if (text.size() > kLongest) return std::nullopt;
  simdjson::dom::parser parser(kLongest);
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) return std::nullopt;
  HeartbeatFacts facts;
  const auto at = time_in(object, "timestamp");
  std::string_view status;
  if (!at || object["status"].get(status) != simdjson::SUCCESS) return std::nullopt;
  const auto known = std::ranges::find(kNames, status);
  if (known == kNames.end()) return std::nullopt;
  facts.timestamp = *at;
  facts.status = static_cast<LifeStatus>(known - kNames.begin());
  facts.last_message_at = time_in(object, "last_message_at");
  facts.consumer_lag = number_in(object, "consumer_lag");
  facts.started_at = time_in(object, "started_at");
  facts.version = text_in(object, "version");
  facts.advertise = text_in(object, "advertise");
  facts.partitions = static_cast<std::uint64_t>(number_in(object, "partitions"));
  facts.parked = static_cast<std::uint64_t>(number_in(object, "parked"));
  facts.pinned = object["pinned"].get(facts.pinned) == simdjson::SUCCESS && facts.pinned;
  return facts;
}

}  // namespace bartleby
