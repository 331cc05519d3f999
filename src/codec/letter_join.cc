// A letter read back from its records. Nothing in them is believed: a number out of range, a header of ours given
// twice, an id that is not that of the facts, a part too few or a hash that differs is an error that says which.
#include <algorithm>
#include <charconv>
#include <concepts>
#include <span>

#include "codec/journal.h"
#include "codec/letter.h"
#include "codec/letter_dialect.h"
#include "codec/letter_headers.h"
#include "codec/sha256.h"
#include "codec/time_text.h"
#include "codec/zstd_bytes.h"

namespace bartleby {
namespace {

namespace header = letter_header;

// Looks up headers of ours in one record. The first thing that is wrong is kept and told at the end, so that
// reading a letter is a plain list of its fields.
class HeaderReader {
 public:
  explicit HeaderReader(const LogRecord& record) : headers_(record.headers) {}

  const Error* error() const { return error_ ? &*error_ : nullptr; }  // nullptr: nothing is wrong

  const std::string* find(std::string_view name) {
    const std::string* found = nullptr;
    for (const auto& [other, value] : headers_) {
      if (other != name) continue;
      if (found != nullptr) wrong(name, "is given twice");
      if (!value) {
        wrong(name, "is null");
        return nullptr;
      }
      found = &*value;
    }
    return found;
  }

  const std::string& text(std::string_view name) {
    static const std::string kNothing;
    if (const std::string* found = find(name)) return *found;
    wrong(name, "is missing");
    return kNothing;
  }

  std::string optional_text(std::string_view name) {
    const std::string* found = find(name);
    return found == nullptr ? std::string() : *found;
  }

  template <std::integral T>
  T number(std::string_view name) {
    const std::string& digits = text(name);
    T value = 0;
    const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = failed == std::errc{} && stop == digits.data() + digits.size();
    if (!whole || std::cmp_less(value, 0)) wrong(name, "is not a number in range");
    return value;
  }

  Timestamp time(std::string_view name) {
    const std::optional<Timestamp> found = time_from_text(text(name));
    if (!found) wrong(name, "is not a time");
    return found.value_or(Timestamp{});
  }

  Timestamp optional_time(std::string_view name) { return find(name) == nullptr ? Timestamp{} : time(name); }

  template <class T>
  T named(std::string_view name, std::optional<T> (*by_name)(std::string_view)) {
    const std::optional<T> found = by_name(text(name));
    if (!found) wrong(name, "is not a name that is known");
    return found.value_or(T{});
  }

  void wrong(std::string_view name, std::string_view what, ErrorCode code = ErrorCode::kMalformed) {
    if (!error_) error_ = fail(code, "letter: header " + std::string(name) + " " + std::string(what)).error();
  }

 private:
  const Headers& headers_;
  std::optional<Error> error_;
};

LetterFacts read_facts(HeaderReader& in) {
  if (in.text(header::kVersion) != header::kVersion1) {
    in.wrong(header::kVersion, "names a version that is not known", ErrorCode::kUnsupported);
  }
  LetterFacts facts;
  facts.replays = in.number<std::uint32_t>(header::kReplays);
  facts.cluster = in.text(header::kCluster);
  facts.topic = in.text(header::kTopic);
  facts.partition = Partition(in.number<std::int32_t>(header::kPartition));
  facts.offset = Offset(in.number<std::int64_t>(header::kOffset));
  facts.timestamp = in.time(header::kTimestamp);
  facts.group = in.text(header::kGroup);
  facts.worker = in.text(header::kWorker);
  facts.instance = in.text(header::kInstance);
  facts.reason = in.named(header::kReason, reason_named);
  facts.kind = in.named(header::kErrorKind, kind_named);
  facts.attempts = in.number<std::uint32_t>(header::kAttempts);
  facts.first_failure = in.optional_time(header::kFirstFailure);
  facts.last_failure = in.optional_time(header::kLastFailure);
  facts.error = bounded({in.optional_text(header::kErrorType), in.optional_text(header::kErrorMessage),
                         in.optional_text(header::kErrorStack)});
  // A first life is its own lineage, and says so by an empty one.
  const std::string& lineage = in.text(header::kLineage);
  if (lineage != message_id(facts)) facts.lineage = lineage;
  if (in.text(header::kLetter) != letter_id(facts)) in.wrong(header::kLetter, "is not the id of this letter");
  return facts;
}

// ---- parts -------------------------------------------------------------------------------------------

struct PartNumber {
  std::size_t index = 0;  // from 1
  std::size_t count = 0;
};

// What a record says about itself as a part. A letter in one piece is a list of one.
struct Part {
  const LogRecord* record = nullptr;
  PartNumber number;
  std::string letter;
  std::string hash;
};

std::optional<PartNumber> part_number(std::string_view text) {
  PartNumber part;
  const char* const end = text.data() + text.size();
  const auto [slash, bad_index] = std::from_chars(text.data(), end, part.index);
  if (bad_index != std::errc{} || slash == end || *slash != '/') return std::nullopt;
  const auto [stop, bad_count] = std::from_chars(slash + 1, end, part.count);
  if (bad_count != std::errc{} || stop != end || part.index < 1 || part.index > part.count) return std::nullopt;
  return part;
}

Result<Part> read_part(const LogRecord& record) {
  HeaderReader in(record);
  Part part{&record, {}, in.text(header::kLetter), in.text(header::kSha256)};
  if (const std::optional<PartNumber> number = part_number(in.text(header::kPart))) {
    part.number = *number;
  } else {
    in.wrong(header::kPart, "is not i/n");
  }
  if (in.text(header::kEncoding) != header::kZstd) in.wrong(header::kEncoding, "is not zstd");
  if (const Error* error = in.error()) return std::unexpected(*error);
  return part;
}

bool is_same_part(const LogRecord& a, const LogRecord& b) {
  return a.key == b.key && a.value == b.value && a.headers == b.headers;
}

// The parts in their order, each once. The same part may have been read twice; two different ones may not.
Result<std::vector<const LogRecord*>> in_order(std::span<const LogRecord> records) {
  std::vector<const LogRecord*> places;
  Part first;
  for (const LogRecord& record : records) {
    const Result<Part> part = read_part(record);
    if (!part) return std::unexpected(part.error());
    if (places.empty()) {
      first = *part;
      // Of more parts than records at least one is missing; the list need be only long enough to show which.
      places.resize(std::min(first.number.count, records.size() + 1));
    }
    if (part->letter != first.letter || part->hash != first.hash || part->number.count != first.number.count ||
        record.key != first.record->key) {
      return fail(ErrorCode::kMalformed, "letter " + first.letter + ": parts of different letters");
    }
    const std::size_t index = part->number.index;
    if (index > places.size()) continue;
    const LogRecord*& place = places[index - 1];
    if (place != nullptr && !is_same_part(*place, record)) {
      return fail(ErrorCode::kMalformed, "letter " + first.letter + ": two different parts " + std::to_string(index));
    }
    place = &record;
  }
  const auto missing = std::find(places.begin(), places.end(), nullptr);
  if (missing == places.end()) return places;
  return fail(ErrorCode::kNotFound,
              "letter " + first.letter + ": part " + std::to_string(missing - places.begin() + 1) + " is missing");
}

// ---- the value ---------------------------------------------------------------------------------------

Result<Bytes> joined_value(std::span<const LogRecord* const> parts, HeaderReader& in) {
  const std::string* encoding = in.find(header::kEncoding);
  const std::string* hash = in.find(header::kSha256);
  if (const Error* error = in.error()) return std::unexpected(*error);
  if (encoding == nullptr && hash == nullptr) return parts.front()->value;

  std::string value;
  for (const LogRecord* part : parts) {
    if (!part->value) return fail(ErrorCode::kMalformed, "letter: encoded, but without a value");
    value += *part->value;
  }
  if (encoding != nullptr) {
    if (*encoding != header::kZstd) return fail(ErrorCode::kUnsupported, "letter: an encoding that is not known");
    Result<std::string> unpacked = zstd_decompressed(value, header::kMaxValue);
    if (!unpacked) return fail(unpacked.error().code, "letter: " + unpacked.error().message);
    value = std::move(*unpacked);
  }
  if (hash != nullptr && sha256_hex(value) != *hash) {
    return fail(ErrorCode::kMalformed, "letter: the value is not the one that was sent (sha256 differs)");
  }
  return value;
}

}  // namespace

std::optional<LetterPart> letter_part(const LogRecord& record) {
  if (HeaderReader(record).find(header::kPart) == nullptr) return std::nullopt;
  Result<Part> part = read_part(record);
  if (!part) return std::nullopt;
  return LetterPart{std::move(part->letter), part->number.index, part->number.count};
}

Result<Letter> join_letter(const std::vector<LogRecord>& records) {
  if (records.empty()) return fail(ErrorCode::kInvalid, "letter: no records");
  std::vector<const LogRecord*> parts = {&records.front()};
  if (records.size() > 1 || HeaderReader(records.front()).find(header::kPart) != nullptr) {
    Result<std::vector<const LogRecord*>> ordered = in_order(records);
    if (!ordered) return std::unexpected(ordered.error());
    parts = std::move(*ordered);
  }
  const LogRecord& first = *parts.front();

  HeaderReader in(first);
  Letter letter;
  letter.facts = read_facts(in);
  if (const Error* error = in.error()) return std::unexpected(*error);
  WrappedMark mark;
  if (const std::string* dialect = in.find(header::kDialect)) {
    if (const auto known = letter_dialect_named(*dialect))
      mark.dialect = *known;
    else
      in.wrong(header::kDialect, "names one that is not known", ErrorCode::kUnsupported);
    mark.original_sha256 = in.text(header::kOriginalSha256);
    mark.replaced = in.optional_text(header::kReplaced);
  }
  Result<Bytes> value = joined_value(parts, in);
  if (value) value = original_value(*value, mark);
  if (!value) return std::unexpected(value.error());
  letter.dialect = mark.dialect;

  letter.id = in.text(header::kLetter);  // both were compared with the facts when they were read
  letter.lineage = in.text(header::kLineage);
  letter.record.offset = letter.facts.offset;
  letter.record.timestamp = letter.facts.timestamp;
  letter.record.key = first.key;
  letter.record.value = std::move(*value);
  for (const auto& one : first.headers)
    if (!one.first.starts_with(header::kPrefix)) letter.record.headers.push_back(one);
  return letter;
}

}  // namespace bartleby
