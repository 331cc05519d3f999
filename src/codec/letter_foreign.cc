#include "codec/letter_foreign.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <map>

#include "codec/base64.h"
#include "codec/journal.h"
#include "codec/json_scan.h"
#include "codec/json_tree.h"
#include "codec/letter_dialect.h"
#include "codec/letter_headers.h"
#include "codec/time_text.h"

namespace bartleby {
namespace {

// The members of an object that are asked for by name; of two with one name the last.
class Fields {
 public:
  explicit Fields(std::string_view object) {
    good_ = scan_object(object, [this](const JsonPlace& member) {
              if (found_.size() < kMost) found_[json_unquoted(member.name)] = member.value;
            }).has_value();
  }

  bool good() const { return good_; }

  std::optional<std::string_view> raw(std::string_view name) const {
    const auto at = found_.find(name);
    return good_ && at != found_.end() ? std::optional(at->second) : std::nullopt;
  }

  std::optional<std::string> text(std::string_view name) const {
    const auto value = raw(name);
    if (!value || !value->starts_with('"')) return std::nullopt;
    return json_unquoted(*value);
  }

  template <std::integral T>
  std::optional<T> number(std::string_view name) const {
    const auto value = raw(name);
    T n = 0;
    if (!value) return std::nullopt;
    const auto [stop, bad] = std::from_chars(value->data(), value->data() + value->size(), n);
    if (bad != std::errc{} || stop != value->data() + value->size() || std::cmp_less(n, 0)) return std::nullopt;
    return n;
  }

  // Bytes as the envelope writes them: a text, or base64 where the field beside it says so. A null is a null.
  std::optional<Bytes> bytes(std::string_view name) const {
    const auto value = raw(name);
    if (!value) return std::nullopt;
    if (*value == "null") return Bytes();
    auto plain = text(name);
    if (!plain) return Bytes(*value);
    if (text(std::string(name) + "_encoding") != "base64") return Bytes(std::move(*plain));
    std::string decoded;
    if (!append_from_base64(decoded, *plain, Base64::kPadded)) return std::nullopt;
    return Bytes(std::move(decoded));
  }

 private:
  static constexpr std::size_t kMost = 1000;  // names that are kept; letters of these kinds have a dozen

  std::map<std::string, std::string_view, std::less<>> found_;
  bool good_ = false;
};

std::optional<Timestamp> time_of(const Fields& fields, std::string_view name) {
  if (const auto millis = fields.number<std::int64_t>(name)) return timestamp_ms(*millis);
  const auto text = fields.text(name);
  return text ? time_from_rfc3339(*text) : std::nullopt;
}

std::uint32_t plus_one(std::optional<std::uint32_t> retries) {
  return retries ? *retries + (*retries == UINT32_MAX ? 0 : 1) : 0;
}

std::optional<ForeignLetter> from_envelope(const Fields& fields) {
  const auto topic = fields.text("original_topic");
  const auto partition = fields.number<std::int32_t>("original_partition");
  const auto offset = fields.number<std::int64_t>("original_offset");
  const auto details = fields.raw("error_details");
  if (!topic || topic->empty() || !partition || !offset || !details) return std::nullopt;
  const Fields error(*details);
  // A value that is a JSON text stands there as it is, strings with their quotes: only what the field beside it calls
  // base64 is a text in place of bytes.
  const bool encoded = fields.text("original_value_encoding") == "base64";
  const auto value = encoded ? fields.bytes("original_value") : fields.raw("original_value").transform([](auto text) {
    return text == "null" ? Bytes() : Bytes(text);
  });
  if (!value || !error.good()) return std::nullopt;
  ForeignLetter out;
  out.topic = *topic;
  out.partition = Partition(*partition);
  out.offset = Offset(*offset);
  out.key = fields.bytes("original_key").value_or(Bytes());
  out.value = *value;
  out.instance = fields.text("worker_instance").value_or("");
  out.error = bounded({error.text("exception_class").value_or(""), error.text("message").value_or(""),
                       error.text("stack_trace").value_or("")});
  out.attempts = plus_one(fields.number<std::uint32_t>("retry_count"));
  out.first_failure = time_of(fields, "first_failure_at");
  out.last_failure = time_of(fields, "last_failure_at");
  return out;
}

std::optional<ForeignLetter> from_metadata(const LogRecord& record) {
  const auto cut = without_member(*record.value, "dlq_metadata");
  if (!cut || cut->member.empty()) return std::nullopt;
  const Fields fields(cut->member);
  const auto message = fields.text("original_error"), type = fields.text("error_type");
  if (!message && !type) return std::nullopt;
  ForeignLetter out;
  out.dialect = LetterDialect::kDlqMetadata;
  out.key = record.key;
  out.value = cut->rest;
  out.error = bounded({type.value_or(""), message.value_or(""), ""});
  out.attempts = fields.number<std::uint32_t>("retry_count").value_or(0);
  out.last_failure = time_of(fields, "last_failure_timestamp");
  return out;
}

}  // namespace

std::optional<ForeignLetter> foreign_letter(const LogRecord& record) {
  const bool ours =
      std::ranges::any_of(record.headers, [](const auto& h) { return h.first == letter_header::kVersion; });
  if (ours || !record.value) return std::nullopt;
  if (const Fields fields(*record.value); fields.good())
    if (auto letter = from_envelope(fields)) return letter;
  return from_metadata(record);
}

}  // namespace bartleby
