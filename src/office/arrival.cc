#include "office/arrival.h"

#include <algorithm>

#include "codec/header_bytes.h"
#include "codec/journal.h"
#include "codec/letter_headers.h"
#include "codec/utf8.h"
#include "codec/zstd_bytes.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxName = 255;        // of a topic, group, worker …: bytes kept
constexpr std::size_t kMaxIndexed = 4096;    // bytes of headers that can be searched for
constexpr std::size_t kWorthPacking = 1000;  // below this a frame costs more time than it saves room
constexpr char kPlain = 0, kZstd = 1;

std::string name_text(std::string text) {
  clean_utf8_in_place(text, {.bytes = kMaxName});
  return text;
}

std::size_t size_of(const LetterPayload& p) {
  std::size_t n = (p.key ? p.key->size() : 0) + (p.value ? p.value->size() : 0);
  for (const auto& [name, value] : p.headers) n += name.size() + (value ? value->size() : 0);
  return n;
}

void set_bytes(Arrival& arrival, LetterPayload payload) {
  if (payload.key) arrival.letter.key = payload.key->substr(0, kShownKey);
  arrival.letter.size = size_of(payload);
  arrival.payload = std::move(payload);
}

}  // namespace

Arrival arrival_of(const TopicPartition& dlq, Offset at, Timestamp appended, Letter from) {
  Arrival arrival;
  StoredLetter& letter = arrival.letter;
  LetterFacts& facts = from.facts;
  letter.id = std::move(from.id);
  letter.replays = facts.replays;
  letter.lineage = name_text(std::move(from.lineage));  // somebody wrote it into a header; in an index it must be short
  letter.shelf = {dlq.topic,
                  name_text(std::move(facts.cluster)),
                  name_text(std::move(facts.topic)),
                  name_text(std::move(facts.group)),
                  name_text(std::move(facts.worker)),
                  facts.reason};
  letter.dlq = {dlq.partition, at};
  letter.origin = Place{facts.partition, facts.offset};
  letter.job = *letter.origin;
  letter.timestamp = facts.timestamp;
  letter.instance = name_text(std::move(facts.instance));
  letter.dialect = name(from.dialect);
  letter.kind = facts.kind;
  letter.attempts = facts.attempts;
  letter.error_type = std::move(facts.error.type);
  letter.error_message = std::move(facts.error.message);
  if (facts.first_failure != Timestamp{}) letter.first_failure_at = facts.first_failure;
  letter.died_at = facts.last_failure != Timestamp{} ? facts.last_failure : appended;
  arrival.published_at = appended;
  set_bytes(arrival, {std::move(from.record.key), std::move(from.record.value), std::move(from.record.headers),
                      std::move(facts.error.stack)});
  return arrival;
}

std::string id_by_place(const std::string& cluster, const TopicPartition& dlq, Offset offset, Timestamp appended) {
  LetterFacts facts;
  facts.cluster = cluster;
  facts.topic = dlq.topic;
  facts.partition = dlq.partition;
  facts.offset = offset;
  facts.timestamp = appended;
  return letter_id(facts);
}

// Programs that write these give up when retries are exhausted, and for nothing else.
Arrival foreign_arrival(const std::string& cluster, const TopicPartition& dlq, const LogRecord& record,
                        ForeignLetter from) {
  Arrival arrival;
  StoredLetter& letter = arrival.letter;
  letter.id = id_by_place(cluster, dlq, record.offset, record.timestamp);
  letter.lineage = letter.id;
  letter.shelf = {dlq.topic, name_text(cluster), name_text(std::move(from.topic)), "", "", Reason::kExhausted};
  letter.dlq = {dlq.partition, record.offset};
  if (from.partition && from.offset) letter.origin = Place{*from.partition, *from.offset};
  letter.job = letter.origin.value_or(letter.dlq);
  letter.instance = name_text(std::move(from.instance));
  letter.dialect = name(from.dialect);
  letter.attempts = from.attempts;
  letter.error_type = std::move(from.error.type);
  letter.error_message = std::move(from.error.message);
  letter.first_failure_at = from.first_failure;
  letter.died_at = from.last_failure.value_or(record.timestamp);
  arrival.published_at = record.timestamp;
  set_bytes(arrival, {std::move(from.key), std::move(from.value), record.headers, std::move(from.error.stack)});
  return arrival;
}

Arrival raw_arrival(const std::string& cluster, const TopicPartition& dlq, const LogRecord& record,
                    const std::string& why) {
  Arrival arrival;
  StoredLetter& letter = arrival.letter;
  letter.id = id_by_place(cluster, dlq, record.offset, record.timestamp);
  letter.lineage = letter.id;
  letter.shelf = {dlq.topic, name_text(cluster), "", "", "", Reason::kUnknown};
  letter.dlq = {dlq.partition, record.offset};
  letter.job = letter.dlq;
  letter.dialect = "raw";
  letter.kind = Kind::kMalformed;
  letter.error_type = "Undecodable";
  letter.error_message = clean_utf8(why, {.bytes = kMaxErrorMessage});
  letter.died_at = record.timestamp;
  arrival.published_at = record.timestamp;
  set_bytes(arrival, {record.key, record.value, record.headers, ""});
  return arrival;
}

// Key and value are two headers before the others: one format for all of it.
std::string packed(const LetterPayload& payload) {
  Headers all;
  all.reserve(payload.headers.size() + 2);
  all.emplace_back("", payload.key);
  all.emplace_back("", payload.value);
  all.insert(all.end(), payload.headers.begin(), payload.headers.end());
  const std::string bytes = *encode_headers(all);
  if (bytes.size() >= kWorthPacking)
    if (const std::string frame = zstd_compressed(bytes, ZstdEffort::kFast); frame.size() < bytes.size())
      return kZstd + frame;
  return kPlain + bytes;
}

Result<LetterPayload> unpacked(std::string_view bytes) {
  if (bytes.empty()) return fail(ErrorCode::kMalformed, "a letter's payload is empty");
  std::string unzipped;
  const char how = bytes.front();
  bytes.remove_prefix(1);
  if (how == kZstd) {
    // What came in was below the limits of intake, so this is below twice that.
    auto plain = zstd_decompressed(bytes, 2 * letter_header::kMaxValue);
    if (!plain) return std::unexpected(plain.error());
    unzipped = std::move(*plain);
    bytes = unzipped;
  } else if (how != kPlain) {
    return fail(ErrorCode::kUnsupported, "a letter's payload is packed in a way that is not known");
  }
  auto all = decode_headers(bytes);
  if (!all || all->size() < 2) return fail(ErrorCode::kMalformed, "a letter's payload is damaged");
  LetterPayload payload;
  payload.key = std::move((*all)[0].second);
  payload.value = std::move((*all)[1].second);
  payload.headers.assign(std::make_move_iterator(all->begin() + 2), std::make_move_iterator(all->end()));
  return payload;
}

std::string words_of(const Headers& headers) {
  std::string words;
  for (const auto& [name, value] : headers) {
    if (!is_utf8(name) || (value && !is_utf8(*value))) continue;
    if (words.size() + name.size() + (value ? value->size() : 0) + 2 > kMaxIndexed) break;
    words += name;
    words += ' ';
    if (value) words += *value;
    words += '\n';
  }
  return words;
}

}  // namespace bartleby
