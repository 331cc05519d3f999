#include "cli/message_text.h"

#include <algorithm>

#include "cli/table.h"
#include "cli/text.h"
#include "codec/letter.h"
#include "codec/letter_headers.h"
#include "codec/time_text.h"
#include "codec/utf8.h"

namespace bartleby::cli {
namespace {

std::string value_text(const Bytes& value, const MessageView& view) {
  if (!value) return "(null)";
  if (value->empty()) return "(empty)";
  std::string prefix;
  if (!is_utf8(*value)) prefix = "(" + counted(static_cast<std::int64_t>(value->size()), "byte") + ", not text) ";
  // Four bytes a character at most: no need to look at a long value's end.
  const std::string text = shown(std::string_view(*value).substr(0, view.longest * 4));
  const std::string fitting = cut(text, view.longest);
  if (fitting.size() == text.size() && text.size() >= value->size()) return prefix + text;
  return prefix + fitting + " (" + counted(static_cast<std::int64_t>(value->size()), "byte") + "; all of it: -o jsonl)";
}

std::string headers_text(const Headers& headers) {
  std::string text;
  for (const auto& [name, value] : headers) {
    if (!text.empty()) text += "  ";
    text += shown(name) + "=" + (value ? cut(shown(*value), 80) : "(null)");
  }
  return text;
}

bool is_letter(const LogRecord& record) {
  return std::ranges::any_of(record.headers, [](const auto& h) { return h.first == letter_header::kVersion; });
}

std::string story_text(const Letter& letter, const MessageView& view) {
  const LetterFacts& f = letter.facts;
  std::string out = "  " + painted("died " + std::string(name(f.reason)) + " after " + counted(f.attempts, "attempt"),
                                   Colour::kBad, view.colours);
  if (f.attempts > 1 && f.last_failure > f.first_failure) out += " over " + span_text(f.last_failure - f.first_failure);
  out += "  worker " + shown(f.worker);
  if (f.group != f.worker) out += "  group " + shown(f.group);
  out += "  instance " + shown(f.instance) + "\n";
  out += "  error " + std::string(name(f.kind));
  if (!f.error.type.empty()) out += "  " + shown(f.error.type);
  if (!f.error.message.empty()) out += ": " + shown(f.error.message);
  out += "\n";
  if (f.first_failure != Timestamp{})
    out += "  failed first " + time_text(f.first_failure) + ", last " + time_text(f.last_failure) + " (" +
           ago_text(f.last_failure, view.now) + ")\n";
  out += "  came from " + shown(f.topic) + " " + std::to_string(f.partition.v) + ":" + std::to_string(f.offset.v) +
         " of " + time_text(f.timestamp);
  if (f.replays > 0) out += "  replayed " + counted(f.replays, "time");
  return out + "\n";
}

}  // namespace

LogRecord record_of(const JsonValue& item) {
  LogRecord record;
  record.offset = Offset(item.integer("offset"));
  record.timestamp = time_from_text(item.text("timestamp")).value_or(Timestamp{});
  if (auto key = item["key"].if_bytes()) record.key = Bytes(std::string_view(*key));
  if (auto value = item["value"].if_bytes()) record.value = Bytes(std::string_view(*value));
  for (const JsonValue& pair : item["headers"].items()) {
    if (pair.items().size() != 2) continue;
    Bytes value;
    if (auto bytes = pair.items()[1].if_bytes()) value = Bytes(std::string_view(*bytes));
    record.headers.emplace_back(pair.items()[0].if_bytes().value_or(""), std::move(value));
  }
  return record;
}

std::string message_text(std::int64_t partition, const LogRecord& record, const MessageView& view) {
  const std::string place = std::to_string(partition) + ":" + std::to_string(record.offset.v);
  std::string out = painted(place, Colour::kBold, view.colours) + "  " + time_text(record.timestamp) + "  " +
                    (record.key ? "key " + shown(*record.key) : "no key");
  const auto rest = [&](const LogRecord& r) {
    if (!r.headers.empty()) out += "  headers  " + headers_text(r.headers) + "\n";
    out += "  " + value_text(r.value, view) + "\n";
    return out;
  };
  if (!is_letter(record)) {
    out += "\n";
    return rest(record);
  }
  const auto part = std::ranges::find_if(record.headers, [](const auto& h) { return h.first == letter_header::kPart; });
  if (part != record.headers.end()) {
    out += "  letter, part " + shown(part->second.value_or("?")) + "\n";
    return rest(record);
  }
  const auto letter = join_letter({record});
  if (!letter) {
    out += "  not a letter that can be read: " + shown(letter.error().message) + "\n";
    return rest(record);
  }
  out += "  letter " + shown(letter->id) + "\n" + story_text(*letter, view);
  return rest(letter->record);
}

}  // namespace bartleby::cli
