#include "codec/letter_dialect.h"

#include <algorithm>
#include <charconv>

#include "codec/base64.h"
#include "codec/json_scan.h"
#include "codec/json_text.h"
#include "codec/json_tree.h"
#include "codec/letter_headers.h"
#include "codec/sha256.h"
#include "codec/time_text.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

namespace header = letter_header;

constexpr std::string_view kMetadata = "dlq_metadata";
constexpr std::string_view kNull = "null";
constexpr std::size_t kMaxReplaced = 2048;  // bytes of an earlier dlq_metadata that fit into a header

std::string hash_of(const Bytes& value) { return value ? sha256_hex(*value) : std::string(kNull); }

void put_base64(JsonObject& object, std::string& out, std::string_view name, std::string_view bytes) {
  object.name(name);
  out += '"';
  append_base64(out, bytes, Base64::kPadded);
  out += '"';
  object.text(std::string(name) + "_encoding", "base64");
}

std::string envelope(const LetterFacts& facts, const ErrorText& error, const LogRecord& record, Timestamp published) {
  const auto or_now = [&](Timestamp time) { return time_text(time != Timestamp{} ? time : published); };
  std::string out;
  {
    JsonObject object(out);
    object.text("original_topic", facts.topic);
    object.number("original_partition", facts.partition.v);
    object.number("original_offset", facts.offset.v);
    if (!record.key) {
      object.name("original_key");
      out += kNull;
    } else if (is_utf8(*record.key)) {
      object.text("original_key", *record.key);
    } else {
      put_base64(object, out, "original_key", *record.key);
    }
    if (!record.value || is_json(*record.value)) {
      object.name("original_value");
      out += record.value ? std::string_view(*record.value) : kNull;
    } else {
      put_base64(object, out, "original_value", *record.value);
    }
    object.name("error_details");
    {
      JsonObject details(out);
      details.text("exception_class", error.type);
      details.text("message", error.message);
      details.text("stack_trace", error.stack);
    }
    object.number("retry_count", facts.attempts - std::min(facts.attempts, 1U));
    object.text("worker_instance", facts.instance);
    object.text("first_failure_at", or_now(facts.first_failure));
    object.text("last_failure_at", or_now(facts.last_failure));
  }
  return out;
}

std::string metadata(const LetterFacts& facts, const ErrorText& error, Timestamp published) {
  std::string out;
  {
    JsonObject object(out);
    object.text("original_error", error.message);
    object.text("error_type", error.type);
    object.number("retry_count", facts.attempts);
    object.number("last_failure_timestamp", ms(facts.last_failure != Timestamp{} ? facts.last_failure : published));
    object.number("dlq_published_at", ms(published));
  }
  return out;
}

std::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::kMalformed, "letter: " + std::string(what));
}

// Members of ours are plain words: no escape can spell them.
Result<Bytes> from_envelope(std::string_view text) {
  std::optional<std::string_view> value;
  bool encoded = false, twice = false;
  const auto scanned = scan_object(text, [&](const JsonPlace& member) {
    if (member.name == R"("original_value_encoding")") encoded = member.value == R"("base64")";
    if (member.name != R"("original_value")") return;
    twice = twice || value.has_value();
    value = member.slot;
  });
  if (!scanned || !value || twice) return malformed("the envelope is not the one that was sent");
  if (!encoded) return Bytes(*value);
  std::string bytes;
  if (value->size() < 2 || !append_from_base64(bytes, value->substr(1, value->size() - 2), Base64::kPadded))
    return malformed("the value in the envelope is not base64");
  return Bytes(std::move(bytes));
}

// Written as `,"dlq_metadata":{…}` directly before the last brace, without the comma where nothing was before it.
Result<Bytes> from_metadata(std::string_view text, const std::string& replaced) {
  std::optional<JsonPlace> last;
  const auto brace = scan_object(text, [&](const JsonPlace& member) { last = member; });
  if (!brace || !last || json_unquoted(last->name) != kMetadata)
    return malformed("the value does not end with its dlq_metadata");
  std::size_t from = static_cast<std::size_t>(last->name.data() - text.data());
  if (text[from - 1] == ',') --from;
  std::string bare(text.substr(0, from));
  bare += text.substr(*brace);
  if (replaced.empty()) return Bytes(std::move(bare));
  std::size_t at = 0;
  const auto [stop, bad] = std::from_chars(replaced.data(), replaced.data() + replaced.size(), at);
  const auto digits = static_cast<std::size_t>(stop - replaced.data());
  std::string cut;
  if (bad != std::errc{} || at > bare.size() || replaced.size() <= digits || replaced[digits] != ';' ||
      !append_from_base64(cut, std::string_view(replaced).substr(digits + 1), Base64::kPadded))
    return malformed("what was taken out of the value cannot be read");
  bare.insert(at, cut);
  return Bytes(std::move(bare));
}

}  // namespace

std::optional<LetterDialect> letter_dialect_named(std::string_view text) {
  const auto at = std::ranges::find(kLetterDialectNames, text);
  if (at == kLetterDialectNames.end()) return std::nullopt;
  return static_cast<LetterDialect>(at - kLetterDialectNames.begin());
}

std::optional<CutObject> without_member(std::string_view object, std::string_view name) {
  const auto place = [&](std::string_view part) { return static_cast<std::size_t>(part.data() - object.data()); };
  std::optional<JsonPlace> found;
  std::optional<std::size_t> before_end, after;  // where the one before it ends, and the one after it begins
  std::optional<std::size_t> last_end;
  bool twice = false;
  const auto brace = scan_object(object, [&](const JsonPlace& member) {
    const bool wanted = member.name.size() >= name.size() + 2 && json_unquoted(member.name) == name;
    if (found && !after) after = place(member.name);
    if (wanted) {
      twice = twice || found.has_value();
      found = member;
      before_end = last_end;
    }
    last_end = place(member.value) + member.value.size();
  });
  if (!brace || twice) return std::nullopt;
  CutObject out;
  if (!found) {
    out.rest = object;
    return out;
  }
  std::size_t to = place(found->value) + found->value.size();
  out.at = before_end.value_or(place(found->name));
  if (!before_end && after) to = *after;
  out.rest = std::string(object.substr(0, out.at));
  out.rest += object.substr(to);
  out.cut = object.substr(out.at, to - out.at);
  out.member = found->value;
  return out;
}

WrappedValue wrapped_value(LetterDialect dialect, const LetterFacts& facts, const ErrorText& error,
                           const LogRecord& record, Timestamp published) {
  WrappedValue out{record.value, {}};
  std::string value, replaced;
  if (dialect == LetterDialect::kEnvelope) {
    value = envelope(facts, error, record, published);
  } else if (dialect == LetterDialect::kDlqMetadata && record.value) {
    const auto cut = without_member(*record.value, kMetadata);
    // What does not fit into a header could not be put back.
    if (!cut || cut->cut.size() > kMaxReplaced) return out;
    if (!cut->cut.empty()) {
      replaced = std::to_string(cut->at) + ";";
      append_base64(replaced, cut->cut, Base64::kPadded);
    }
    const std::size_t brace = cut->rest.rfind('}');
    const std::size_t filled = cut->rest.find_last_not_of(" \n\t\r", brace - 1);
    value = cut->rest.substr(0, brace) + (cut->rest[filled] == '{' ? "" : ",") + "\"" + std::string(kMetadata) +
            "\":" + metadata(facts, error, published) + cut->rest.substr(brace);
  } else {
    return out;
  }
  if (value.size() > header::kMaxValue) return out;  // nobody would read it back
  out.value = std::move(value);
  out.headers.emplace_back(std::string(header::kDialect), std::string(name(dialect)));
  out.headers.emplace_back(std::string(header::kOriginalSha256), hash_of(record.value));
  if (!replaced.empty()) out.headers.emplace_back(std::string(header::kReplaced), std::move(replaced));
  return out;
}

Result<Bytes> original_value(const Bytes& value, const WrappedMark& mark) {
  if (mark.dialect == LetterDialect::kRecord) return value;
  if (!value) return malformed("without a value, though its dialect wants one");
  Result<Bytes> found =
      mark.dialect == LetterDialect::kEnvelope ? from_envelope(*value) : from_metadata(*value, mark.replaced);
  if (!found) return found;
  if (mark.original_sha256 == kNull && *found == kNull) return Bytes();
  if (hash_of(*found) != mark.original_sha256)
    return malformed("the value in it is not the one that died (sha256 differs)");
  return found;
}

}  // namespace bartleby
