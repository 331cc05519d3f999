#include "codec/emit.h"

#include <simdjson.h>

#include <algorithm>
#include <string>

#include "codec/base64.h"
#include "codec/topic_name.h"

namespace bartleby {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxTopic = 249;  // Kafka's own limit

using Flaw = std::string;  // empty: nothing is wrong

bool is_topic(std::string_view name) {
  constexpr auto kAllowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kMaxTopic && name != "." && name != ".." &&
         std::ranges::all_of(name, kAllowed);
}

bool take_base64(dom::element from, Bytes& to) {
  std::string_view text;
  return from.get(text) == simdjson::SUCCESS && append_from_base64(to.emplace(), text, Base64::kPadded);
}

// A string, {"base64": "…"} or null.
bool take_bytes(dom::element from, Bytes& to) {
  if (from.is_null()) return true;
  std::string_view text;
  if (from.get(text) == simdjson::SUCCESS) {
    to.emplace(text);
    return true;
  }
  dom::object object;
  if (from.get(object) != simdjson::SUCCESS || object.size() != 1) return false;
  dom::element inside;
  return object.at_key("base64").get(inside) == simdjson::SUCCESS && take_base64(inside, to);
}

Flaw take_headers(dom::element from, Headers& headers) {
  dom::array list;
  if (from.get(list) != simdjson::SUCCESS) return "/headers: not a list of [\"name\", value]";
  for (const dom::element item : list) {
    dom::array pair;
    std::string_view name;
    Bytes value;
    if (item.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(name) != simdjson::SUCCESS ||
        !take_bytes(pair.at(1).value_unsafe(), value))
      return "/headers/" + std::to_string(headers.size()) + ": not [\"name\", value]";
    headers.emplace_back(name, std::move(value));
  }
  return {};
}

Flaw take_field(dom::key_value_pair field, Record& record, bool& has_value) {
  const std::string at = "/" + std::string(field.key);
  constexpr std::string_view kBytes = ": not a string, null or {\"base64\": \"...\"}";
  if (field.key == "topic") {
    std::string_view topic;
    if (!record.topic.empty() || field.value.get(topic) != simdjson::SUCCESS || !is_topic(topic))
      return at + ": not the name of a topic";
    if (is_kept_topic(topic)) return at + ": a topic of Bartleby's own, which takes no messages";
    record.topic = topic;
  } else if (field.key == "key") {
    if (!take_bytes(field.value, record.key)) return at + std::string(kBytes);
  } else if (field.key == "value" || field.key == "base64") {
    if (has_value) return at + ": the value is given twice";
    has_value = true;
    const bool plain = field.key == "value";
    if (plain && !take_bytes(field.value, record.value)) return at + std::string(kBytes);
    if (!plain && !take_base64(field.value, record.value)) return at + ": not base64";
  } else if (field.key == "headers") {
    return take_headers(field.value, record.headers);
  } else {
    return at + ": no such member";
  }
  return {};
}

Flaw take_record(dom::element from, Record& record) {
  dom::object object;
  if (from.get(object) != simdjson::SUCCESS) return ": not an object";
  bool has_value = false;
  for (const dom::key_value_pair field : object)
    if (Flaw flaw = take_field(field, record, has_value); !flaw.empty()) return flaw;
  if (record.topic.empty()) return "/topic: missing";
  if (!has_value) return "/value: missing (null for a tombstone)";
  return {};
}

}  // namespace

Result<std::vector<Record>> emit_from_json(std::string_view json) {
  dom::parser parser;
  if (parser.allocate(json.size(), kMaxDepth) != simdjson::SUCCESS)
    return fail(ErrorCode::kTooLarge, "the emit document is too large");
  dom::element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS)
    return fail(ErrorCode::kMalformed, std::string("the emit document is not JSON: ") + simdjson::error_message(error));
  dom::object object;
  dom::array list;
  if (root.get(object) != simdjson::SUCCESS || object.size() != 1 ||
      object.at_key("emit").get(list) != simdjson::SUCCESS)
    return fail(ErrorCode::kMalformed, "the emit document is not {\"emit\": [...]}");

  std::vector<Record> records;
  std::size_t bytes = 0;
  for (const dom::element item : list) {
    const std::string at = "/emit/" + std::to_string(records.size());
    if (records.size() == kMaxEmitRecords)
      return fail(ErrorCode::kTooLarge, at + ": more than " + std::to_string(kMaxEmitRecords) + " records");
    Record& record = records.emplace_back();
    if (const Flaw flaw = take_record(item, record); !flaw.empty()) return fail(ErrorCode::kMalformed, at + flaw);
    bytes += payload_size(record);
    if (bytes > kMaxEmitBytes)
      return fail(ErrorCode::kTooLarge,
                  at + ": the records have more than " + std::to_string(kMaxEmitBytes) + " bytes");
  }
  return records;
}

}  // namespace bartleby
