#include "adapters/handler/http/push_request.h"

#include <algorithm>

#include "codec/base64.h"
#include "codec/json_text.h"
#include "codec/percent.h"
#include "codec/time_text.h"

namespace bartleby {
namespace {

constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";

bool is_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// Unreserved characters stay (RFC 3986): any language's URL decoding reads it back.
std::string encoded_key(std::string_view key) {
  return percent_encoded(key, [](char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; });
}

// Readable, and two different texts never become the same one.
std::string encoded_id(std::string_view id) {
  return percent_encoded(id, [](char c) { return c > ' ' && c < 0x7f && c != '%'; });
}

std::string all_headers(const Headers& headers) {
  std::string json = "[";
  for (const auto& [name, value] : headers) {
    json += json.size() == 1 ? "[" : ",[";
    append_json_bytes(json, name);
    if (value) {
      json += ",\"";
      append_base64(json, *value, Base64::kPadded);
      json += "\"]";
    } else {
      json += ",null]";
    }
  }
  json += ']';
  std::string text;
  append_base64(text, json, Base64::kBare);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

bool is_copied(std::string_view lower_name, const std::vector<std::string>& further) {
  return lower_name == "traceparent" || lower_name == "tracestate" ||
         (lower_name.starts_with("ce-") && lower_name.size() > 3) ||
         std::ranges::find(further, lower_name) != further.end();
}

class Lines {
 public:
  Lines() { text_.reserve(1500); }

  void add(std::string_view name, std::string_view value) {
    text_ += name;
    // libcurl takes `Name:` for "do not send it"; a header without a value is written with a semicolon.
    text_ += value.empty() ? ";" : ": ";
    text_ += value;
    text_ += '\0';
  }

  void suppress(std::string_view name) {
    text_ += name;
    text_ += ':';
    text_ += '\0';
  }

  std::size_t bytes() const { return text_.size(); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_copied(Lines& lines, const Headers& headers, const std::vector<std::string>& further) {
  std::string_view content_type = "application/octet-stream";
  std::vector<std::pair<std::string, std::string_view>> copied;
  for (const auto& [name, value] : headers) {
    if (!value || !is_header_name(name) || !is_header_value(*value) || value->empty()) continue;
    std::string lower_name(name);
    std::ranges::transform(lower_name, lower_name.begin(), lower);
    if (lower_name == "content-type") content_type = *value;
    if (!is_copied(lower_name, further)) continue;
    const auto same = std::ranges::find(copied, lower_name, &std::pair<std::string, std::string_view>::first);
    if (same == copied.end()) {
      copied.emplace_back(std::move(lower_name), *value);
    } else {
      same->second = *value;
    }
  }
  lines.add("Content-Type", content_type);
  for (const auto& [name, value] : copied) lines.add(name, value);
}

}  // namespace

bool is_header_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 &&
         std::ranges::all_of(name, [](char c) { return is_alnum(c) || kMarks.contains(c); });
}

bool is_header_value(std::string_view value) {
  return !value.starts_with(' ') && !value.ends_with(' ') &&
         std::ranges::all_of(value, [](char c) { return c >= ' ' && c < 0x7f; });
}

Result<std::string> push_headers(const AttemptIn& attempt, const PushStyle& style, Timestamp now) {
  const LogRecord& record = *attempt.record;
  const std::string id = encoded_id(attempt.message_id());
  const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  Lines lines;
  lines.add("webhook-id", id);
  lines.add("webhook-timestamp", std::to_string(seconds));
  if (style.signer != nullptr)
    lines.add("webhook-signature",
              style.signer->sign(id, seconds, record.value ? std::string_view(*record.value) : std::string_view()));
  lines.add("Idempotency-Key", attempt.configured_key.empty() ? id : encoded_id(attempt.configured_key));
  lines.add("Bartleby-Worker", encoded_id(attempt.names->worker));
  lines.add("Bartleby-Group", encoded_id(attempt.names->group));
  lines.add("Bartleby-Topic", encoded_id(attempt.tp.topic));
  lines.add("Bartleby-Partition", std::to_string(attempt.tp.partition.v));
  lines.add("Bartleby-Offset", std::to_string(record.offset.v));
  lines.add("Bartleby-Timestamp", time_text(record.timestamp));
  lines.add("Bartleby-Attempt", std::to_string(attempt.number));
  lines.add("Bartleby-Max-Attempts", std::to_string(attempt.max));
  lines.add("Bartleby-Deadline", time_text(attempt.deadline_wall));
  lines.add("Bartleby-Attempt-Token", encoded_id(attempt.token));
  if (record.key) lines.add("Bartleby-Key", encoded_key(*record.key));
  if (!record.value) lines.add("Bartleby-Null", "true");
  if (attempt.replay_of) lines.add("Bartleby-Replay-Of", encoded_id(*attempt.replay_of));
  lines.add("Bartleby-Headers", all_headers(record.headers));
  add_copied(lines, record.headers, style.copy);
  for (const auto& [name, value] : style.headers) lines.add(name, value);
  lines.suppress("Expect");  // waiting for "100 Continue" costs a second with servers that do not know it
  lines.suppress("Accept");
  if (lines.bytes() > kMaxPushHeaders)
    return fail(ErrorCode::kTooLarge, "key and headers take " + std::to_string(lines.bytes()) +
                                          " bytes as HTTP headers, more than " + std::to_string(kMaxPushHeaders));
  return lines.take();
}

}  // namespace bartleby
