#include "adapters/sink/mongodb/document.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "adapters/sink/mongodb/bson_value.h"
#include "codec/json_text.h"
#include "codec/utf8.h"

namespace bartleby::mongodb {
namespace {

constexpr std::size_t kMaxKey = 512;
constexpr std::size_t kMaxDepth = 1000;  // that is parsed at all
constexpr std::size_t kMaxHeaders = std::size_t{64} << 10;
constexpr std::string_view kHistory = "history", kState = "history_state", kFacts = "bartleby",
                           kMetadata = "dlq_metadata", kProcessed = "processed_at";
constexpr std::array kOurs = {std::string_view("_id"), kHistory, kState, kFacts, kMetadata, kProcessed};

bool is_ours(std::string_view name) { return std::ranges::find(kOurs, name) != kOurs.end(); }

const JsonTree* member(const JsonTree& object, std::string_view name) {
  const JsonTree* found = nullptr;
  for (const JsonMember& one : object.members)
    if (json_unquoted(one.first) == name) found = &one.second;
  return found;
}

std::optional<std::int64_t> integer(const JsonTree* tree) {
  std::int64_t value = 0;
  if (tree == nullptr || tree->kind != JsonTree::Kind::kNumber) return std::nullopt;
  const char* end = tree->text.data() + tree->text.size();
  const auto read = std::from_chars(tree->text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

bool usable_key(const JsonTree* tree) {
  if (tree == nullptr) return false;
  if (tree->kind != JsonTree::Kind::kString) return integer(tree).has_value();
  const std::string text = json_unquoted(tree->text);
  return !text.empty() && text.size() <= kMaxKey && !text.contains('\0') && is_utf8(text);
}

// The seed's five fields. What the message's own say of its publishing is nearer to the truth than when it was read.
void append_metadata(bson_t& to, const SinkLetter& from, const JsonTree* own) {
  const StoredLetter& letter = from.letter;
  bson_t child = BSON_INITIALIZER;
  bson_append_document_begin(&to, kMetadata.data(), length(kMetadata), &child);
  append_text(child, "original_error", letter.error_message);
  append_text(child, "error_type", letter.error_type);
  append_integer(child, "retry_count", letter.attempts);
  append_integer(child, "last_failure_timestamp", ms(letter.died_at));
  const auto published = own == nullptr ? std::nullopt : integer(member(*own, "dlq_published_at"));
  append_integer(child, "dlq_published_at", published.value_or(ms(from.published_at)));
  bson_append_document_end(&to, &child);
}

void append_headers(bson_t& to, const Headers& headers) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers) bytes += name.size() + (value ? value->size() : 0);
  if (headers.empty() || bytes > kMaxHeaders) return;
  bson_t list = BSON_INITIALIZER;
  bson_append_array_begin(&to, "headers", -1, &list);
  std::string place;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    place.clear();
    append_number(place, i);
    bson_t one = BSON_INITIALIZER;
    bson_append_document_begin(&list, place.data(), length(place), &one);
    append_bytes(one, "name", headers[i].first);
    if (headers[i].second)
      append_bytes(one, "value", *headers[i].second);
    else
      bson_append_null(&one, "value", -1);
    bson_append_document_end(&list, &one);
  }
  bson_append_array_end(&to, &list);
}

enum class Value : std::uint8_t { kInFields, kBeside, kLeftOut };

void append_facts(bson_t& to, const SinkLetter& from, Value value) {
  const StoredLetter& letter = from.letter;
  bson_t facts = BSON_INITIALIZER;
  bson_append_document_begin(&to, kFacts.data(), length(kFacts), &facts);
  append_text(facts, "letter", letter.id);
  append_integer(facts, "replays", letter.replays);
  append_text(facts, "lineage", letter.lineage);
  append_text(facts, "cluster", letter.shelf.cluster);
  append_text(facts, "dlq", letter.shelf.dlq);
  append_integer(facts, "dlq_partition", letter.dlq.partition.v);
  append_integer(facts, "dlq_offset", letter.dlq.offset.v);
  append_text(facts, "topic", letter.shelf.topic);
  if (letter.origin) {
    append_integer(facts, "partition", letter.origin->partition.v);
    append_integer(facts, "offset", letter.origin->offset.v);
  }
  append_text(facts, "group", letter.shelf.group);
  append_text(facts, "worker", letter.shelf.worker);
  append_text(facts, "instance", letter.instance);
  append_text(facts, "reason", name(letter.shelf.reason));
  append_text(facts, "kind", name(letter.kind));
  append_integer(facts, "attempts", letter.attempts);
  append_text(facts, "dialect", letter.dialect);
  if (letter.first_failure_at) append_date(facts, "first_failure_at", *letter.first_failure_at);
  append_date(facts, "died_at", letter.died_at);
  if (!from.payload.stack.empty()) append_text(facts, "stack", from.payload.stack);
  if (from.payload.key) append_bytes(facts, "key", *from.payload.key);
  append_headers(facts, from.payload.headers);
  if (value == Value::kBeside && from.payload.value) append_bytes(facts, "value", *from.payload.value);
  if (value == Value::kLeftOut) append_text(facts, "left_out", "value: too large for a document");
  bson_append_document_end(&to, &facts);
}

// The fields of the message as the document's. Answers with what it has of the value.
Value append_fields(bson_t& to, const JsonTree& object, const std::string& key) {
  BsonWriter writer;
  const auto members = members_that_count(object);
  if (members.size() != object.members.size()) writer.not_exact();
  for (const JsonMember* one : members) {
    std::string field = writer.field(writer.text(one->first));
    if (field == key) continue;  // stands first already, where it can
    if (field == kMetadata && one->second.kind == JsonTree::Kind::kObject &&
        integer(member(one->second, "dlq_published_at")))
      continue;  // what a dead letter was given on its way: it is the document's own
    if (is_ours(field)) {
      field += '_';
      writer.not_exact();
    }
    if (bson_has_field(&to, field.c_str())) {  // made so by being renamed
      writer.not_exact();
      continue;
    }
    writer.append(to, field, one->second);
  }
  return writer.exact() ? Value::kInFields : Value::kBeside;
}

bool is_name(const bson_iter_t& at, std::string_view name) { return name == bson_iter_key(&at); }

// Everything of a document but some of its fields.
Bson without(const bson_t& document, std::initializer_list<std::string_view> names) {
  Bson out = empty_bson();
  bson_iter_t at;
  if (bson_iter_init(&at, &document))
    while (bson_iter_next(&at))
      if (std::ranges::none_of(names, [&](std::string_view name) { return is_name(at, name); }))
        bson_append_iter(out.get(), bson_iter_key(&at), -1, &at);
  return out;
}

std::int64_t whole(bson_iter_t at, std::string_view name, std::int64_t otherwise) {
  bson_iter_t found;
  if (!bson_iter_find_descendant(&at, std::string(name).c_str(), &found)) return otherwise;
  if (BSON_ITER_HOLDS_DATE_TIME(&found)) return bson_iter_date_time(&found);
  return BSON_ITER_HOLDS_NUMBER(&found) ? bson_iter_as_int64(&found) : otherwise;
}

Life life_in(Bson document) {
  Life life;
  bson_iter_t at, found;
  if (bson_iter_init(&at, document.get()) && bson_iter_find_descendant(&at, "bartleby.letter", &found) &&
      BSON_ITER_HOLDS_UTF8(&found)) {
    std::uint32_t size = 0;
    const char* text = bson_iter_utf8(&found, &size);
    life.letter.assign(text, size);
    bson_iter_init(&at, document.get());
    life.replays = whole(at, "bartleby.replays", 0);
    bson_iter_init(&at, document.get());
    life.died = whole(at, "bartleby.died_at", INT64_MIN);
  }
  life.document = std::move(document);
  return life;
}

// A life without the message's fields: what it was, and why it died.
Bson shortened(const bson_t& life, const std::string& key) {
  Bson out = empty_bson();
  bson_iter_t at;
  if (!bson_iter_init(&at, &life)) return out;
  while (bson_iter_next(&at)) {
    if (is_name(at, key) || is_name(at, kMetadata) || is_name(at, kProcessed))
      bson_append_iter(out.get(), bson_iter_key(&at), -1, &at);
    if (!is_name(at, kFacts) || !BSON_ITER_HOLDS_DOCUMENT(&at)) continue;
    std::uint32_t size = 0;
    const std::uint8_t* bytes = nullptr;
    bson_iter_document(&at, &size, &bytes);
    bson_t facts;
    if (!bson_init_static(&facts, bytes, size)) continue;
    const Bson fewer = without(facts, {"value", "headers", "key", "left_out"});
    append_text(*fewer, "left_out", "fields: the document would be too large");
    append_document(*out, kFacts, *fewer);
  }
  return out;
}

}  // namespace

bool Lives::add(Life life) {
  if (std::ranges::any_of(lives, [&](const Life& one) { return one.same_as(life); })) return false;
  if (left_out > 0 && life < lives.front()) return false;  // left out already: there was no room for it
  lives.insert(std::upper_bound(lives.begin(), lives.end(), life), std::move(life));
  return true;
}

Life life_of(const SinkLetter& from, const std::string& key, const DocumentLimits& limits) {
  Life life;
  life.died = ms(from.letter.died_at);
  life.replays = from.letter.replays;
  life.letter = from.letter.id;
  Result<JsonTree> tree = fail(ErrorCode::kMalformed, "");
  if (from.payload.value && is_utf8(*from.payload.value)) tree = json_tree(*from.payload.value, kMaxDepth);
  const bool object = tree && tree->kind == JsonTree::Kind::kObject;
  const JsonTree* name = object ? member(*tree, key) : nullptr;

  const auto build = [&](bool fields) {
    Bson out = empty_bson();
    Value value = Value::kBeside;
    if (usable_key(name))
      BsonWriter().append(*out, key, *name);
    else
      append_text(*out, key, life.letter);
    if (!fields)
      value = Value::kLeftOut;
    else if (object)
      value = append_fields(*out, *tree, key);
    if (value == Value::kInFields && name != nullptr && !usable_key(name)) value = Value::kBeside;
    const JsonTree* own = object ? member(*tree, kMetadata) : nullptr;
    append_metadata(*out, from, own != nullptr && own->kind == JsonTree::Kind::kObject ? own : nullptr);
    append_date(*out, kProcessed, from.letter.arrived_at);
    append_facts(*out, from, value);
    return out;
  };
  life.document = build(true);
  if (life.document->len > limits.life) life.document = build(false);
  return life;
}

Bson key_of(const bson_t& document, const std::string& key) {
  Bson out = empty_bson();
  bson_iter_t at;
  if (bson_iter_init_find(&at, &document, key.c_str())) bson_append_iter(out.get(), key.c_str(), -1, &at);
  return out;
}

Result<Lives> lives_of(const bson_t& document) {
  Lives out;
  bson_iter_t at;
  if (!bson_iter_init(&at, &document)) return fail(ErrorCode::kMalformed, "a document of the collection is damaged");
  out.revision = whole(at, "history_state.revision", 0);
  bson_iter_init(&at, &document);
  out.left_out = whole(at, "history_state.left_out", 0);
  if (bson_iter_init_find(&at, &document, kHistory.data()) && BSON_ITER_HOLDS_ARRAY(&at)) {
    bson_iter_t item;
    for (bson_iter_recurse(&at, &item); bson_iter_next(&item);) {
      std::uint32_t size = 0;
      const std::uint8_t* bytes = nullptr;
      bson_t one;
      if (!BSON_ITER_HOLDS_DOCUMENT(&item)) continue;
      bson_iter_document(&item, &size, &bytes);
      if (bson_init_static(&one, bytes, size)) out.lives.push_back(life_in(copy_of(one)));
    }
  }
  out.lives.push_back(life_in(without(document, {"_id", kHistory, kState})));
  std::ranges::sort(out.lives, {}, [](const Life& one) { return std::tie(one.died, one.replays, one.letter); });
  return out;
}

Bson document_of(Lives& from, const std::string& key, std::int64_t revision, const DocumentLimits& limits) {
  constexpr std::size_t kFrame = 64;  // what an item of the history costs beside itself
  std::size_t size = 1024;
  for (const Life& one : from.lives) size += one.document->len + kFrame;
  for (std::size_t i = 0; i + 1 < from.lives.size() && size > limits.document; ++i) {
    size -= from.lives[i].document->len;
    from.lives[i].document = shortened(*from.lives[i].document, key);
    size += from.lives[i].document->len;
  }
  std::size_t drop = 0;
  for (; drop + 1 < from.lives.size() && (size > limits.document || from.lives.size() - drop > limits.history + 1);
       ++drop)
    size -= from.lives[drop].document->len + kFrame;
  from.lives.erase(from.lives.begin(), from.lives.begin() + static_cast<std::ptrdiff_t>(drop));
  from.left_out += static_cast<std::int64_t>(drop);

  Bson out = copy_of(*from.lives.back().document);
  bson_t list = BSON_INITIALIZER;
  bson_append_array_begin(out.get(), kHistory.data(), length(kHistory), &list);
  std::string place;
  for (std::size_t i = 0; i + 1 < from.lives.size(); ++i) {
    place.clear();
    append_number(place, i);
    append_document(list, place, *from.lives[i].document);
  }
  bson_append_array_end(out.get(), &list);
  bson_t state = BSON_INITIALIZER;
  bson_append_document_begin(out.get(), kState.data(), length(kState), &state);
  append_integer(state, "revision", revision);
  append_integer(state, "left_out", from.left_out);
  bson_append_document_end(out.get(), &state);
  return out;
}

}  // namespace bartleby::mongodb
