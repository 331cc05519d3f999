#include "codec/archive_line.h"

#include <simdjson.h>

#include <utility>

#include "codec/base64.h"
#include "codec/json_text.h"
#include "codec/time_text.h"

namespace bartleby {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxDepth = 16;

void append(std::string& out, const Bytes& bytes) {
  if (bytes)
    append_json_bytes(out, *bytes);
  else
    out += "null";
}

void append(std::string& out, const LifeBytes& life) {
  JsonObject one(out);
  one.number("life", life.life);
  one.text("stack", life.payload.stack);
  one.name("key");
  append(out, life.payload.key);
  one.name("value");
  append(out, life.payload.value);
  one.name("headers");
  out += '[';
  bool first = true;
  for (const auto& [name, value] : life.payload.headers) {
    out += first ? "[" : ",[";
    first = false;
    append_json_bytes(out, name);
    out += ',';
    append(out, value);
    out += ']';
  }
  out += ']';
}

// A string, {"base64": "…"} or null.
bool take(dom::element from, Bytes& to) {
  std::string_view text;
  if (from.is_null()) {
    to.reset();
    return true;
  }
  if (from.get(text) == simdjson::SUCCESS) {
    to.emplace(text);
    return true;
  }
  return from.at_key("base64").get(text) == simdjson::SUCCESS &&
         append_from_base64(to.emplace(), text, Base64::kPadded);
}

bool take(dom::element from, LifeBytes& to) {
  std::uint64_t life = 0;
  std::string_view stack;
  dom::element key, value;
  dom::array headers;
  if (from.at_key("life").get(life) != simdjson::SUCCESS || !std::in_range<std::uint32_t>(life)) return false;
  if (from.at_key("stack").get(stack) != simdjson::SUCCESS) return false;
  if (from.at_key("key").get(key) != simdjson::SUCCESS || !take(key, to.payload.key)) return false;
  if (from.at_key("value").get(value) != simdjson::SUCCESS || !take(value, to.payload.value)) return false;
  if (from.at_key("headers").get(headers) != simdjson::SUCCESS) return false;
  to.life = static_cast<std::uint32_t>(life);
  to.payload.stack = stack;
  for (const dom::element header : headers) {
    dom::array pair;
    if (header.get(pair) != simdjson::SUCCESS || pair.size() != 2) return false;
    Bytes name, content;
    if (!take(pair.at(0), name) || !name || !take(pair.at(1), content)) return false;
    to.payload.headers.emplace_back(std::move(*name), std::move(content));
  }
  return true;
}

}  // namespace

std::string archive_line(const StoredLetter& letter, std::span<const LifeBytes> lives) {
  std::string out;
  {
    JsonObject line(out);
    line.number("v", 1);
    line.text("id", letter.id);
    line.text("lineage", letter.lineage);
    line.number("replays", letter.replays);
    line.text("dlq", letter.shelf.dlq);
    line.number("partition", letter.dlq.partition.v);
    line.number("offset", letter.dlq.offset.v);
    line.text("topic", letter.shelf.topic);
    line.text("group", letter.shelf.group);
    line.text("worker", letter.shelf.worker);
    line.text("reason", name(letter.shelf.reason));
    line.text("kind", name(letter.kind));
    line.number("attempts", letter.attempts);
    line.text("error_type", letter.error_type);
    line.text("error_message", letter.error_message);
    line.text("died_at", time_text(letter.died_at));
    line.text("arrived_at", time_text(letter.arrived_at));
    line.name("lives");
    out += '[';
    for (std::size_t i = 0; i < lives.size(); ++i) {
      if (i > 0) out += ',';
      append(out, lives[i]);
    }
    out += ']';
  }
  out += '\n';
  return out;
}

Result<ArchivedLetter> archived_letter(std::string_view line) {
  if (line.size() > kMaxArchiveLine) return fail(ErrorCode::kTooLarge, "a line of the archive is too long");
  dom::parser parser(kMaxArchiveLine);
  dom::element document;
  if (parser.allocate(line.size() + 1, kMaxDepth) != simdjson::SUCCESS ||
      parser.parse(line.data(), line.size()).get(document) != simdjson::SUCCESS)
    return fail(ErrorCode::kMalformed, "a line of the archive is no JSON");
  ArchivedLetter letter;
  std::string_view id;
  std::uint64_t replays = 0;
  dom::array lives;
  bool good = document.at_key("id").get(id) == simdjson::SUCCESS &&
              document.at_key("replays").get(replays) == simdjson::SUCCESS && std::in_range<std::uint32_t>(replays) &&
              document.at_key("lives").get(lives) == simdjson::SUCCESS;
  if (good) {
    letter.id = id;
    letter.replays = static_cast<std::uint32_t>(replays);
    for (const dom::element life : lives) good = good && take(life, letter.lives.emplace_back());
  }
  if (!good || letter.lives.empty())
    return fail(ErrorCode::kMalformed, "a line of the archive lacks a field, or has one of the wrong type");
  return letter;
}

}  // namespace bartleby
