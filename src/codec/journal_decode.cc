// Journal entries back from their text. Fields that this version does not know are skipped, because a later one
// may add some; a known field that is given twice, has another type or lies outside its range refuses the
// whole entry and is named.
#include <simdjson.h>

#include <array>
#include <charconv>
#include <concepts>
#include <limits>

#include "codec/base64.h"
#include "codec/journal.h"

namespace bartleby {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxPlainValue = 64 * 1024;                 // an entry without its record
constexpr std::size_t kMaxValue = std::size_t{32} * 1024 * 1024;  // with it
constexpr std::size_t kMaxDepth = 32;

// What is wrong with an entry, put into words only when somebody asks.
struct Flaw {
  std::string_view what;
  std::string_view field;
};
using Check = std::optional<Flaw>;  // nullopt: nothing is wrong

constexpr std::string_view kNotAsAgreed = "has the wrong type or is out of range";

// ---- one value ---------------------------------------------------------------------------------------

template <std::integral T>
bool take(dom::element from, T& to) {
  using Wide = std::conditional_t<std::unsigned_integral<T>, std::uint64_t, std::int64_t>;
  Wide value = 0;
  if (from.get(value) != simdjson::SUCCESS) return false;
  to = static_cast<T>(value);
  return std::in_range<T>(value);
}

template <>
bool take(dom::element from, bool& to) {
  return from.get(to) == simdjson::SUCCESS;
}

bool take(dom::element from, Timestamp& to) {
  std::int64_t value = 0;
  if (!take(from, value)) return false;
  to = timestamp_ms(value);
  return true;
}

bool take(dom::element from, Offset& to) { return take(from, to.v) && to.v >= 0; }

bool take(dom::element from, std::string& to) {
  std::string_view text;
  if (from.get(text) != simdjson::SUCCESS) return false;
  to = text;
  return true;
}

// A string, or {"base64": "…"}.
bool take_bytes(dom::element from, std::string& to) {
  if (from.is_string()) return take(from, to);
  dom::object object;
  std::string_view text;
  if (from.get(object) != simdjson::SUCCESS || object.size() != 1) return false;
  if (object.at_key("base64").get(text) != simdjson::SUCCESS) return false;
  return append_from_base64(to, text, Base64::kPadded);
}

template <class T>
bool take_named(dom::element from, std::optional<T> (*named)(std::string_view), std::optional<T>& to) {
  std::string_view text;
  if (from.get(text) != simdjson::SUCCESS) return false;
  to = named(text);
  return to.has_value();
}

// ---- objects -----------------------------------------------------------------------------------------

// Calls `read(index, value)` for each known field. `read` answers whether the value is as agreed.
template <std::size_t N, class Read>
Check read_fields(dom::object object, const std::array<std::string_view, N>& known, unsigned& seen, Read read) {
  for (const dom::key_value_pair field : object) {
    std::size_t i = 0;
    while (i < N && known[i] != field.key) ++i;
    if (i == N) continue;
    if ((seen >> i & 1) != 0) return Flaw{"is given twice", known[i]};
    seen |= 1U << i;
    if (!read(i, field.value)) return Flaw{kNotAsAgreed, known[i]};
  }
  return {};
}

bool read_error(dom::element from, ErrorText& error) {
  static constexpr std::array<std::string_view, 3> kFields = {"type", "message", "stack"};
  dom::object object;
  if (from.get(object) != simdjson::SUCCESS) return false;
  unsigned seen = 0;
  const Check check = read_fields(object, kFields, seen, [&](std::size_t field, dom::element value) {
    return take(value, field == 0 ? error.type : field == 1 ? error.message : error.stack);
  });
  error = bounded(std::move(error));
  return !check;
}

bool read_headers(dom::element from, Headers& headers) {
  dom::array list;
  if (from.get(list) != simdjson::SUCCESS) return false;
  for (const dom::element item : list) {
    dom::array pair;
    if (item.get(pair) != simdjson::SUCCESS || pair.size() != 2) return false;
    auto& [name, value] = headers.emplace_back();
    if (!take_bytes(pair.at(0).value_unsafe(), name)) return false;
    const dom::element second = pair.at(1).value_unsafe();
    if (!second.is_null() && !take_bytes(second, value.emplace())) return false;
  }
  return true;
}

bool read_record(dom::element from, const MessageEntry& entry, std::optional<LogRecord>& record) {
  static constexpr std::array<std::string_view, 5> kFields = {"offset", "timestamp", "key", "value", "headers"};
  dom::object object;
  if (from.get(object) != simdjson::SUCCESS) return false;
  LogRecord& r = record.emplace();
  r.offset = entry.offset;
  r.timestamp = entry.timestamp;
  unsigned seen = 0;
  return !read_fields(object, kFields, seen, [&](std::size_t field, dom::element value) {
    switch (field) {
      case 0:
        return take(value, r.offset);
      case 1:
        return take(value, r.timestamp);
      case 2:
        return take_bytes(value, r.key.emplace());
      case 3:
        return take_bytes(value, r.value.emplace());
      default:
        return read_headers(value, r.headers);
    }
  });
}

// ---- entries -----------------------------------------------------------------------------------------

Check read_message(dom::object object, MessageEntry& e, JournalStory& story) {
  enum Field : std::size_t {
    kTimestamp,
    kLane,
    kSelf,
    kAttempt,
    kDue,
    kFirst,
    kLast,
    kThrottled,
    kKind,
    kError,
    kDead,
    kDone,
    kRecord,
  };
  static constexpr std::array<std::string_view, 13> kFields = {
      "timestamp", "lane",  "self", "attempt", "due",   "first_failure_at", "last_failure_at", "throttled_ms",
      "kind",      "error", "dead", "done",    "record"};
  unsigned seen = 0;
  std::optional<dom::element> record;  // read last: it falls back on the entry's own time
  std::int64_t throttled = 0;
  const Check check = read_fields(object, kFields, seen, [&](std::size_t field, dom::element value) {
    switch (field) {
      case kTimestamp:
        return take(value, e.timestamp);
      case kLane:
        return take(value, e.lane.emplace().v);
      case kSelf:
        return take(value, e.self);
      case kAttempt:
        return take(value, e.attempts);
      case kDue:
        return take(value, e.due);
      case kFirst:
        return take(value, e.first_failure);
      case kLast:
        return take(value, e.last_failure);
      case kThrottled:
        return take(value, throttled) && throttled >= 0;
      case kKind: {
        std::optional<Kind> kind;
        if (!take_named(value, kind_named, kind)) return false;
        e.kind = *kind;
        return true;
      }
      case kError:
        return read_error(value, story.error);
      case kDead:
        return take_named(value, reason_named, e.dead);
      case kDone:
        return take(value, e.done);
      default:
        record = value;
        return true;
    }
  });
  if (check) return check;
  if ((seen >> kTimestamp & 1) == 0) return Flaw{"is missing", kFields[kTimestamp]};
  e.throttled = Duration(throttled);
  if (record && !read_record(*record, e, story.record)) return Flaw{kNotAsAgreed, kFields[kRecord]};
  return {};
}

Check read_head(dom::object object, HeadEntry& e) {
  static constexpr std::array<std::string_view, 1> kFields = {"from"};
  unsigned seen = 0;
  const auto read = [&](std::size_t, dom::element value) { return take(value, e.from); };
  if (const Check check = read_fields(object, kFields, seen, read)) return check;
  if (seen == 0) return Flaw{"is missing", kFields[0]};
  return {};
}

Check read_obituary(dom::object object, Obituary& e) {
  static constexpr std::array<std::string_view, 3> kFields = {"timestamp", "faulting", "alone"};
  unsigned seen = 0;
  const Check check = read_fields(object, kFields, seen, [&](std::size_t field, dom::element value) {
    return field == 0 ? take(value, e.timestamp) : take(value, field == 1 ? e.faulting : e.alone);
  });
  if (check) return check;
  if ((seen & 1) == 0) return Flaw{"is missing", kFields[0]};
  return {};
}

// ---- keys --------------------------------------------------------------------------------------------

// Decimal digits up to `end` or, if that is 0, all of them; as written by us, so no sign and no leading zero.
template <std::integral T>
bool take_digits(std::string_view& text, char end, T& to) {
  const std::size_t size = end == 0 ? text.size() : text.find(end);
  if (size == 0 || size > text.size() || text[0] < '0' || text[0] > '9' || (text[0] == '0' && size > 1)) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + size, to);
  if (error != std::errc{} || stop != text.data() + size) return false;
  text.remove_prefix(end == 0 ? size : size + 1);
  return true;
}

bool read_key(std::string_view key, JournalEntry& entry) {
  if (key.size() < 3 || key[1] != '/') return false;
  const char sort = key[0];
  key.remove_prefix(2);
  if (sort == 'm') return take_digits(key, 0, entry.emplace<MessageEntry>().offset.v);
  if (sort == 'h') return take_digits(key, 0, entry.emplace<HeadEntry>().lane.v);
  if (sort != 'x') return false;
  Obituary& obituary = entry.emplace<Obituary>();
  return take_digits(key, '/', obituary.offset.v) && take_digits(key, 0, obituary.incarnation);
}

std::string printable(std::string_view key) {
  std::string text(key.substr(0, 48));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

std::unexpected<Error> malformed(std::string_view key, std::string_view what) {
  return fail(ErrorCode::kMalformed, "journal entry " + printable(key) + ": " + std::string(what));
}

// ---- documents ---------------------------------------------------------------------------------------

// Parser and padded copy of the text. Its memory is what the largest text needed, so only small ones share it.
struct Workspace {
  dom::parser parser;
  std::string text;

  simdjson::simdjson_result<dom::element> parse(std::string_view value) {
    text.reserve(value.size() + simdjson::SIMDJSON_PADDING);
    text.assign(value);
    if (parser.max_depth() != kMaxDepth) {
      if (const auto error = parser.allocate(kMaxPlainValue, kMaxDepth)) return error;
    }
    return parser.parse(text.data(), text.size(), false);
  }
};

Result<DecodedEntry> decode_with(Workspace& workspace, std::string_view key, std::string_view value) {
  DecodedEntry decoded;
  if (!read_key(key, decoded.entry)) return malformed(key, "no such key");
  dom::object object;
  if (const auto error = workspace.parse(value).get(object)) return malformed(key, simdjson::error_message(error));
  Check check;
  if (auto* message = std::get_if<MessageEntry>(&decoded.entry)) {
    check = read_message(object, *message, decoded.story);
  } else if (auto* head = std::get_if<HeadEntry>(&decoded.entry)) {
    check = read_head(object, *head);
  } else {
    check = read_obituary(object, std::get<Obituary>(decoded.entry));
  }
  if (check) return malformed(key, "field " + std::string(check->field) + " " + std::string(check->what));
  return decoded;
}

}  // namespace

Result<DecodedEntry> decode_journal(std::string_view key, std::string_view value) {
  if (value.size() <= kMaxPlainValue) {
    thread_local Workspace workspace;
    return decode_with(workspace, key, value);
  }
  if (value.size() > kMaxValue) return fail(ErrorCode::kTooLarge, "journal entry " + printable(key) + ": too large");
  Workspace large;
  Result<DecodedEntry> decoded = decode_with(large, key, value);
  if (decoded && !decoded->story.record) {
    return fail(ErrorCode::kTooLarge, "journal entry " + printable(key) + ": too large without a record");
  }
  return decoded;
}

}  // namespace bartleby
