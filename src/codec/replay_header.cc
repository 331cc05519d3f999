#include "codec/replay_header.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "codec/hmac.h"
#include "codec/json_text.h"
#include "codec/percent.h"
#include "codec/sha256.h"
#include "codec/time_text.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxHeader = 4096;
constexpr std::size_t kUsualHeader = 320;
constexpr std::size_t kMaxOutcome = 4096;
constexpr std::array<std::string_view, 8> kFields = {"op", "letter", "lineage", "replays", "group", "at", "kid", "mac"};
constexpr std::array<std::string_view, 3> kVerdicts = {"APPLIED", "DEAD", "SKIPPED"};

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == ':';
}

// Names of groups are anybody's: what could be taken for the header's own signs is written as %XX.
void put(std::string& out, std::string_view field, std::string_view value) {
  out += ';';
  out += field;
  out += '=';
  if (std::ranges::all_of(value, plain))
    out += value;
  else
    out += percent_encoded(value, plain);
}

std::string mac_of(std::string_view text, std::string_view secret, std::string_view topic, const Bytes& value) {
  // A null and an empty value are two messages.
  return hmac_sha256_hex(secret, {text, "\n", topic, "\n", value ? sha256_hex(*value) : "null"});
}

}  // namespace

std::string replay_header(const ReplayMark& mark, const OfficeKey& key, std::string_view topic, const Bytes& value) {
  std::string text;
  text.reserve(kUsualHeader);
  text += "v1";
  put(text, "op", mark.operation);
  put(text, "letter", mark.letter);
  put(text, "lineage", mark.lineage);
  put(text, "replays", std::to_string(mark.replays));
  put(text, "group", mark.group);
  put(text, "at", time_text(mark.at));
  put(text, "kid", key.kid);
  const std::string mac = mac_of(text, key.secret, topic, value);
  put(text, "mac", mac);
  return text;
}

std::optional<ReplayMark> replay_mark(const LogRecord& record, const std::vector<OfficeKey>& keys,
                                      std::string_view topic) {
  const Bytes* found = nullptr;
  for (const auto& [name, value] : record.headers) {
    if (name != kReplayHeader) continue;
    if (found != nullptr) return std::nullopt;
    found = &value;
  }
  if (found == nullptr || !*found || (*found)->size() > kMaxHeader) return std::nullopt;
  const std::string_view text = **found;
  if (!text.starts_with("v1;")) return std::nullopt;
  std::array<std::string, kFields.size()> values;
  std::string_view left = text.substr(3);
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const std::size_t end = left.find(';');
    const std::string_view field = left.substr(0, end);
    if (!field.starts_with(kFields[i]) || field.substr(kFields[i].size(), 1) != "=") return std::nullopt;
    auto value = percent_decoded(field.substr(kFields[i].size() + 1));
    if (!value || (end == std::string_view::npos) != (i + 1 == kFields.size())) return std::nullopt;
    values[i] = std::move(*value);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
  }
  const auto key = std::ranges::find(keys, values[6], &OfficeKey::kid);
  if (key == keys.end()) return std::nullopt;
  if (!same_bytes(values[7], mac_of(text.substr(0, text.rfind(";mac=")), key->secret, topic, record.value)))
    return std::nullopt;
  ReplayMark mark{values[0], values[1], values[2], 0, values[4], {}};
  const auto [stop, bad] = std::from_chars(values[3].data(), values[3].data() + values[3].size(), mark.replays);
  const auto at = time_from_text(values[5]);
  if (bad != std::errc{} || stop != values[3].data() + values[3].size() || mark.replays == 0 || !at)
    return std::nullopt;
  mark.at = *at;
  return mark;
}

std::string outcome_value(const OutcomeRecord& o) {
  std::string out;
  {
    JsonObject object(out);
    object.text("letter", o.letter);
    object.number("replays", o.replays);
    object.text("outcome", kVerdicts[static_cast<std::size_t>(o.verdict)]);
    object.text("at", time_text(o.at));
  }
  return out;
}

Result<OutcomeRecord> outcome_from(std::string_view value) {
  const auto bad = [] { return fail(ErrorCode::kMalformed, "not an outcome of a replay"); };
  if (value.size() > kMaxOutcome) return bad();
  simdjson::dom::parser parser;
  simdjson::dom::object from;
  if (parser.parse(value.data(), value.size()).get(from) != simdjson::SUCCESS) return bad();
  std::string_view letter, verdict, at;
  std::uint64_t replays = 0;
  if (from.at_key("letter").get(letter) != simdjson::SUCCESS ||
      from.at_key("replays").get(replays) != simdjson::SUCCESS ||
      from.at_key("outcome").get(verdict) != simdjson::SUCCESS || from.at_key("at").get(at) != simdjson::SUCCESS)
    return bad();
  const auto known = std::ranges::find(kVerdicts, verdict);
  const auto time = time_from_text(at);
  if (known == kVerdicts.end() || !time || !std::in_range<std::uint32_t>(replays)) return bad();
  return OutcomeRecord{std::string(letter), static_cast<std::uint32_t>(replays),
                       static_cast<Verdict>(known - kVerdicts.begin()), *time};
}

}  // namespace bartleby
