// Letters as they are written; codec/letter_join.cc reads them, codec/letter_id.cc names them.
#include "codec/letter.h"

#include "base/assert.h"
#include "codec/journal.h"
#include "codec/letter_dialect.h"
#include "codec/letter_headers.h"
#include "codec/sha256.h"
#include "codec/time_text.h"
#include "codec/utf8.h"
#include "codec/zstd_bytes.h"

namespace bartleby {
namespace {

namespace header = letter_header;

// What a part says about itself, beside the story: encoding, number, hash. Kept free in the 4 KB.
constexpr std::size_t kFraming = 160;

void put(Headers& headers, std::string_view name, std::string value) {
  headers.emplace_back(std::string(name), std::move(value));
}

void put_if_any(Headers& headers, std::string_view name, const std::string& value) {
  if (!value.empty()) put(headers, name, value);
}

void put_if_any(Headers& headers, std::string_view name, Timestamp time) {
  if (time != Timestamp{}) put(headers, name, time_text(time));
}

Headers story_headers(const LetterFacts& facts, const ErrorText& error) {
  Headers headers;
  headers.reserve(24);
  put(headers, header::kVersion, std::string(header::kVersion1));
  put(headers, header::kLetter, letter_id(facts));
  put(headers, header::kLineage, message_id(facts));
  put(headers, header::kReplays, std::to_string(facts.replays));
  put(headers, header::kCluster, facts.cluster);
  put(headers, header::kTopic, facts.topic);
  put(headers, header::kPartition, std::to_string(facts.partition.v));
  put(headers, header::kOffset, std::to_string(facts.offset.v));
  put(headers, header::kTimestamp, time_text(facts.timestamp));
  put(headers, header::kGroup, facts.group);
  put(headers, header::kWorker, facts.worker);
  put(headers, header::kInstance, facts.instance);
  put(headers, header::kReason, std::string(name(facts.reason)));
  put(headers, header::kErrorKind, std::string(name(facts.kind)));
  put_if_any(headers, header::kErrorType, error.type);
  put_if_any(headers, header::kErrorMessage, error.message);
  put_if_any(headers, header::kErrorStack, error.stack);
  put(headers, header::kAttempts, std::to_string(facts.attempts));
  put_if_any(headers, header::kFirstFailure, facts.first_failure);
  put_if_any(headers, header::kLastFailure, facts.last_failure);
  return headers;
}

std::size_t size_of(const Headers& headers) {
  std::size_t size = 0;
  for (const auto& [name, value] : headers) size += name.size() + (value ? value->size() : 0);
  return size;
}

// Shortens `text` by `excess` bytes, as far as there is that much of it.
void shorten(std::string& text, std::size_t excess) {
  text = clean_utf8(text, {.bytes = text.size() > excess ? text.size() - excess : 0});
}

// The stack gives way first, then the message. What says where the letter comes from is never cut, not even where
// names are so long that they alone are over the limit; nor is what leads back to the value, `more`.
Headers story_within_limit(const LetterFacts& facts, ErrorText error, const Headers& more) {
  const std::size_t limit = header::kMaxBytes - kFraming - size_of(more);
  Headers headers = story_headers(facts, error);
  for (std::string* text : {&error.stack, &error.message}) {
    const std::size_t size = size_of(headers);
    if (size <= limit) break;
    shorten(*text, size - limit);
    headers = story_headers(facts, error);
  }
  return headers;
}

Headers original_headers(const LogRecord& record) {
  Headers headers;
  for (const auto& one : record.headers)
    if (!one.first.starts_with(header::kPrefix)) headers.push_back(one);
  return headers;
}

void append(Headers& headers, Headers more) {
  headers.insert(headers.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Every part names its letter, so that parts of two letters cannot be taken for one another; the story and the
// message's own headers are on the first.
std::vector<Record> in_parts(Record whole, std::string_view value, const std::string& letter, std::string_view original,
                             std::size_t part_bytes) {
  BARTLEBY_ASSERT(part_bytes > 0);
  const std::string hash = sha256_hex(original);
  const std::size_t count = (value.size() + part_bytes - 1) / part_bytes;
  std::vector<Record> parts;
  parts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Record& part = parts.emplace_back(Record{whole.topic, whole.partition, whole.key, {}, {}});
    part.value = std::string(value.substr(i * part_bytes, part_bytes));
    if (i == 0) {
      part.headers = std::move(whole.headers);
    } else {
      put(part.headers, header::kVersion, std::string(header::kVersion1));
      put(part.headers, header::kLetter, letter);
      put(part.headers, header::kEncoding, std::string(header::kZstd));
    }
    put(part.headers, header::kPart, std::to_string(i + 1) + "/" + std::to_string(count));
    put(part.headers, header::kSha256, hash);
  }
  return parts;
}

}  // namespace

std::vector<Record> letter_records(const LetterFacts& facts, const LogRecord& record, LetterForm form,
                                   const LetterTarget& target, Timestamp published) {
  BARTLEBY_ASSERT(target.partitions > 0 && facts.partition.v >= 0);
  Record out;
  out.topic = target.topic;
  out.partition = Partition(facts.partition.v % target.partitions);
  out.key = record.key;
  out.headers = original_headers(record);
  ErrorText error = bounded(facts.error);
  if (form != LetterForm::kWhole) error.stack.clear();
  WrappedValue wrapped =
      wrapped_value(target.dialect, facts, error, record, published != Timestamp{} ? published : facts.last_failure);
  append(out.headers, story_within_limit(facts, std::move(error), wrapped.headers));
  append(out.headers, std::move(wrapped.headers));

  // A null has nothing to compress and must stay a null: it looks like the form before.
  if (!wrapped.value || form == LetterForm::kWhole || form == LetterForm::kStackCut) {
    out.value = std::move(wrapped.value);
    return {std::move(out)};
  }
  std::string compressed = zstd_compressed(*wrapped.value);
  put(out.headers, header::kEncoding, std::string(header::kZstd));
  if (form == LetterForm::kParts) {
    return in_parts(std::move(out), compressed, letter_id(facts), *wrapped.value, target.part_bytes);
  }
  out.value = std::move(compressed);
  return {std::move(out)};
}

}  // namespace bartleby
