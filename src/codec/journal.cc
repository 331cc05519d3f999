// What is written and what identifies it; codec/journal_decode.cc reads it back.
//
// A field with its default value is left out, so that an entry says only what happened. Nothing else is: the
// fingerprint of an entry that was read must be that of the entry that was written, or the journal's check fails.
#include "codec/journal.h"

#include "base/assert.h"
#include "base/hash.h"
#include "codec/json_text.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

template <class... Functions>
struct Overload : Functions... {
  using Functions::operator()...;
};

// ---- values ------------------------------------------------------------------------------------------

void append_error(std::string& out, const ErrorText& error) {
  JsonObject object(out);
  if (!error.type.empty()) object.text("type", error.type);
  if (!error.message.empty()) object.text("message", error.message);
  if (!error.stack.empty()) object.text("stack", error.stack);
}

// Within the limits already, as it is when whoever made it kept them: nothing to copy.
bool is_short(const ErrorText& error) {
  return error.type.size() <= kMaxErrorType && error.message.size() <= kMaxErrorMessage &&
         error.stack.size() <= kMaxErrorStack;
}

void append_headers(std::string& out, const Headers& headers) {
  out += '[';
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto& [name, value] = headers[i];
    out += i == 0 ? "[" : ",[";
    append_json_bytes(out, name);
    out += ',';
    if (value) {
      append_json_bytes(out, *value);
    } else {
      out += "null";
    }
    out += ']';
  }
  out += ']';
}

// Offset and time are those of the entry, and said only where they are not.
void append_record(std::string& out, const LogRecord& record, const MessageEntry& entry) {
  JsonObject object(out);
  if (record.offset != entry.offset) object.number("offset", record.offset.v);
  if (record.timestamp != entry.timestamp) object.number("timestamp", ms(record.timestamp));
  if (record.key) {
    object.name("key");
    append_json_bytes(out, *record.key);
  }
  if (record.value) {
    object.name("value");
    append_json_bytes(out, *record.value);
  }
  if (!record.headers.empty()) {
    object.name("headers");
    append_headers(out, record.headers);
  }
}

void append_time(JsonObject& object, std::string_view field, Timestamp time) {
  if (time != Timestamp{}) object.number(field, ms(time));
}

void append_value(std::string& out, const MessageEntry& e, const JournalStory& story) {
  BARTLEBY_ASSERT(e.throttled.count() >= 0);
  JsonObject object(out);
  if (e.lane) object.number("lane", e.lane->v);
  if (e.self) object.yes("self");
  object.number("timestamp", ms(e.timestamp));
  if (e.attempts != 0) object.number("attempt", e.attempts);
  append_time(object, "due", e.due);
  append_time(object, "first_failure_at", e.first_failure);
  append_time(object, "last_failure_at", e.last_failure);
  if (e.throttled.count() != 0) object.number("throttled_ms", e.throttled.count());
  if (e.attempts != 0 || e.kind != Kind::kTransient) object.text("kind", name(e.kind));
  if (story.error != ErrorText{}) {
    object.name("error");
    if (is_short(story.error)) {
      append_error(out, story.error);
    } else {
      append_error(out, bounded(story.error));
    }
  }
  if (e.dead) object.text("dead", name(*e.dead));
  if (e.done) object.yes("done");
  if (story.record) {
    object.name("record");
    append_record(out, *story.record, e);
  }
}

void append_value(std::string& out, const HeadEntry& e, const JournalStory&) {
  JsonObject(out).number("from", e.from.v);
}

void append_value(std::string& out, const Obituary& e, const JournalStory&) {
  JsonObject object(out);
  object.number("timestamp", ms(e.timestamp));
  if (e.faulting) object.yes("faulting");
  if (e.alone) object.yes("alone");
}

// ---- fingerprints ------------------------------------------------------------------------------------

// Starts the hash of one sort of entry, so that m/7 and h/7 differ.
constexpr std::uint64_t tagged(char sort, std::uint64_t first) {
  return combine(mix64(static_cast<unsigned char>(sort)), first);
}

constexpr std::uint64_t bits(std::int64_t v) { return static_cast<std::uint64_t>(v); }

std::uint64_t fingerprint_of(const MessageEntry& e) {
  const std::uint64_t dead = e.dead ? std::uint64_t{static_cast<std::uint8_t>(*e.dead)} + 1 : 0;
  const std::uint64_t small = std::uint64_t{e.lane.has_value()} | std::uint64_t{e.self} << 1 |
                              std::uint64_t{e.done} << 2 | dead << 8 |
                              std::uint64_t{static_cast<std::uint8_t>(e.kind)} << 16 | std::uint64_t{e.attempts} << 32;
  std::uint64_t h = tagged('m', bits(e.offset.v));
  h = combine(h, bits(ms(e.timestamp)));
  h = combine(h, e.lane ? e.lane->v : 0);
  h = combine(h, small);
  h = combine(h, bits(ms(e.due)));
  h = combine(h, bits(ms(e.first_failure)));
  h = combine(h, bits(ms(e.last_failure)));
  return combine(h, bits(e.throttled.count()));
}

std::uint64_t fingerprint_of(const HeadEntry& e) { return combine(tagged('h', e.lane.v), bits(e.from.v)); }

std::uint64_t fingerprint_of(const Obituary& e) {
  const std::uint64_t small = std::uint64_t{e.faulting} | std::uint64_t{e.alone} << 1;
  std::uint64_t h = tagged('x', bits(e.offset.v));
  h = combine(h, e.incarnation);
  h = combine(h, bits(ms(e.timestamp)));
  return combine(h, small);
}

}  // namespace

std::string journal_key(const JournalEntry& entry) {
  std::string key;
  const auto put = [&](std::string_view prefix, auto number) {
    key += prefix;
    append_number(key, number);
  };
  std::visit(
      Overload{[&](const MessageEntry& e) { put("m/", e.offset.v); }, [&](const HeadEntry& e) { put("h/", e.lane.v); },
               [&](const Obituary& e) {
                 put("x/", e.offset.v);
                 put("/", e.incarnation);
               }},
      entry);
  return key;
}

std::string journal_value(const JournalEntry& entry, const JournalStory& story) {
  std::string value;
  const ErrorText& error = story.error;
  value.reserve(256 + error.type.size() + error.message.size() + error.stack.size() +
                (story.record ? payload_size(*story.record) : 0));
  std::visit([&](const auto& e) { append_value(value, e, story); }, entry);
  return value;
}

std::uint64_t fingerprint(const JournalEntry& entry) {
  return std::visit([](const auto& e) { return fingerprint_of(e); }, entry);
}

ErrorText bounded(ErrorText error) {
  clean_utf8_in_place(error.type, {.bytes = kMaxErrorType});
  clean_utf8_in_place(error.message, {.bytes = kMaxErrorMessage});
  clean_utf8_in_place(error.stack, {.characters = kMaxErrorStack});
  return error;
}

}  // namespace bartleby
