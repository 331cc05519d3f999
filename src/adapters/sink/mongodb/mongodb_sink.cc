#include "adapters/sink/mongodb/mongodb_sink.h"

#include <algorithm>
#include <array>
#include <map>

#include "codec/json_text.h"

namespace bartleby::mongodb {
namespace {

constexpr int kRounds = 8;  // of one document that others change at the same time
constexpr std::int32_t kConnectMs = 3000, kAnswerMs = 10000;
constexpr std::uint32_t kDuplicate = 11000;
// What a server answers because of the document itself: the next try would get the same.
constexpr std::array<std::uint32_t, 10> kOfTheDocument = {2, 9, 14, 52, 55, 56, 57, 121, 10334, 17280};

bool of_the_document(std::uint32_t code) { return std::ranges::find(kOfTheDocument, code) != kOfTheDocument.end(); }

// What libmongoc says of a document without asking the server: that it is no valid BSON, or too large.
bool said_here(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_BSON ||
         (error.domain == MONGOC_ERROR_COMMAND && error.code == MONGOC_ERROR_COMMAND_INVALID_ARG);
}

// Of an order about one document: the next try would get the same.
bool of_the_document(const bson_error_t& error) {
  return said_here(error) || (error.domain == MONGOC_ERROR_SERVER && of_the_document(error.code));
}

std::unexpected<Error> unavailable(const bson_error_t& error) {
  return fail(ErrorCode::kUnavailable, std::string("MongoDB: ") + error.message);
}

struct WriteError {
  std::uint32_t code = 0;
  std::string text;
};

// By the place of the document in what was inserted.
std::map<std::size_t, WriteError> write_errors(const bson_t& reply) {
  std::map<std::size_t, WriteError> found;
  bson_iter_t at, item, field;
  if (!bson_iter_init_find(&at, &reply, "writeErrors") || !BSON_ITER_HOLDS_ARRAY(&at)) return found;
  for (bson_iter_recurse(&at, &item); bson_iter_next(&item);) {
    std::size_t index = 0;
    WriteError error;
    bson_iter_recurse(&item, &field);
    while (bson_iter_next(&field)) {
      const std::string_view name = bson_iter_key(&field);
      if (name == "index") index = static_cast<std::size_t>(bson_iter_as_int64(&field));
      if (name == "code") error.code = static_cast<std::uint32_t>(bson_iter_as_int64(&field));
      if (name == "errmsg" && BSON_ITER_HOLDS_UTF8(&field)) error.text = bson_iter_utf8(&field, nullptr);
    }
    found[index] = std::move(error);
  }
  return found;
}

std::int64_t count_in(const bson_t& reply, const char* name) {
  bson_iter_t at;
  return bson_iter_init_find(&at, &reply, name) ? bson_iter_as_int64(&at) : 0;
}

// As it would be named by default, where all its fields go upwards.
std::string pattern_of(const bson_t& index) {
  std::string pattern;
  bson_iter_t at, field;
  if (!bson_iter_init_find(&at, &index, "key") || !bson_iter_recurse(&at, &field)) return pattern;
  while (bson_iter_next(&field)) {
    pattern += (pattern.empty() ? "" : "_") + std::string(bson_iter_key(&field)) + "_";
    append_number(pattern, bson_iter_as_int64(&field));
  }
  return pattern;
}

bool is_set(const bson_t& index, const char* name) {
  bson_iter_t at;
  return bson_iter_init_find(&at, &index, name) && bson_iter_as_bool(&at);
}

std::string index_name(const std::vector<std::string_view>& fields) {
  std::string name;
  for (const std::string_view field : fields) name += (name.empty() ? "" : "_") + std::string(field) + "_1";
  return name;
}

void append_index(bson_t& list, std::size_t place, const std::vector<std::string_view>& fields, bool unique) {
  bson_t index = BSON_INITIALIZER, keys = BSON_INITIALIZER;
  std::string number;
  append_number(number, place);
  bson_append_document_begin(&list, number.data(), length(number), &index);
  bson_append_document_begin(&index, "key", -1, &keys);
  for (const std::string_view field : fields) bson_append_int32(&keys, field.data(), length(field), 1);
  bson_append_document_end(&index, &keys);
  append_text(index, "name", index_name(fields));
  if (unique) bson_append_bool(&index, "unique", -1, true);
  bson_append_document_end(&list, &index);
}

// The document as it was read: whoever changes it raises its revision.
Bson unchanged(const bson_t& found, std::int64_t revision) {
  Bson condition = key_of(found, "_id");
  if (revision > 0) {
    append_integer(*condition, "history_state.revision", revision);
  } else {
    bson_t none = BSON_INITIALIZER;
    bson_append_document_begin(condition.get(), "history_state", -1, &none);
    bson_append_bool(&none, "$exists", -1, false);
    bson_append_document_end(condition.get(), &none);
  }
  return condition;
}

Bson same_revision(std::int64_t revision) {
  Bson update = empty_bson();
  bson_t fields = BSON_INITIALIZER;
  bson_append_document_begin(update.get(), "$set", -1, &fields);
  append_integer(fields, "history_state.revision", revision);
  bson_append_document_end(update.get(), &fields);
  return update;
}

// Owned by libmongoc's caller, whether the call succeeded or not.
struct Reply {
  bson_t bson = BSON_INITIALIZER;
  Reply() { bson_destroy(&bson); }  // every call makes it anew
  ~Reply() { bson_destroy(&bson); }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
};

}  // namespace

Result<std::unique_ptr<MongodbSink>> MongodbSink::open(Options options) {
  if (const auto loaded = load_library(); !loaded) return std::unexpected(loaded.error());
  bson_error_t error;
  Handle<mongoc_uri_t> uri(mongoc_uri_new_with_error(options.url.c_str(), &error));
  if (!uri) return fail(ErrorCode::kInvalid, std::string("no address of MongoDB: ") + error.message);
  for (const auto& [name, value] :
       {std::pair{MONGOC_URI_CONNECTTIMEOUTMS, kConnectMs}, std::pair{MONGOC_URI_SERVERSELECTIONTIMEOUTMS, kConnectMs},
        std::pair{MONGOC_URI_SOCKETTIMEOUTMS, kAnswerMs}})
    if (!mongoc_uri_has_option(uri.get(), name)) mongoc_uri_set_option_as_int32(uri.get(), name, value);
  mongoc_uri_set_appname(uri.get(), "bartleby");
  std::unique_ptr<MongodbSink> sink(new MongodbSink(std::move(options)));
  sink->client_.reset(mongoc_client_new_from_uri_with_error(uri.get(), &error));
  if (!sink->client_) return fail(ErrorCode::kInvalid, std::string("no client of MongoDB: ") + error.message);
  mongoc_client_set_error_api(sink->client_.get(), MONGOC_ERROR_API_VERSION_2);
  // A letter leaves the queue when it is acknowledged: nothing else may be taken for that.
  const mongoc_write_concern_t* concern = mongoc_uri_get_write_concern(uri.get());
  if (!mongoc_write_concern_is_acknowledged(concern) ||
      (mongoc_write_concern_journal_is_set(concern) && !mongoc_write_concern_get_journal(concern)))
    return fail(ErrorCode::kInvalid, "MongoDB: w=0 and journal=false may not be set: letters could be lost");
  // Others may not have yet what we have written.
  const Handle<mongoc_read_prefs_t> primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  mongoc_client_set_read_prefs(sink->client_.get(), primary.get());
  if (mongoc_write_concern_get_w(concern) == MONGOC_WRITE_CONCERN_W_DEFAULT) {
    const Handle<mongoc_write_concern_t> majority(mongoc_write_concern_copy(concern));
    const std::int32_t limit = mongoc_write_concern_get_wtimeout(concern);
    mongoc_write_concern_set_wmajority(majority.get(), limit > 0 ? limit : kAnswerMs);
    mongoc_client_set_write_concern(sink->client_.get(), majority.get());
  }
  sink->collection_.reset(mongoc_client_get_collection(sink->client_.get(), sink->options_.database.c_str(),
                                                       sink->options_.collection.c_str()));
  return sink;
}

// Only what is missing is asked for: not every server takes it well to be asked again.
Result<void> MongodbSink::prepare() {
  std::map<std::string, bool, std::less<>> there;  // by pattern: whether it is unique
  bson_error_t error;
  {
    const Handle<mongoc_cursor_t> cursor(mongoc_collection_find_indexes_with_opts(collection_.get(), nullptr));
    const bson_t* one = nullptr;
    while (mongoc_cursor_next(cursor.get(), &one)) {
      bool& unique = there[pattern_of(*one)];
      unique = unique || (is_set(*one, "unique") && !bson_has_field(one, "partialFilterExpression"));
    }
    if (mongoc_cursor_error(cursor.get(), &error)) return unavailable(error);
  }
  // Without it a ticket may have two documents, and nobody would notice. Only people know which of them may go.
  const std::string name = index_name({options_.key});
  if (const auto ours = there.find(name); ours != there.end() && !ours->second)
    return fail(ErrorCode::kInvalid, "MongoDB: the index on " + options_.key + " of " + options_.database + "." +
                                         options_.collection +
                                         " is not unique, or not of all documents: drop it, and documents that have"
                                         " the same value there; then it is made as it must be");
  const std::array<std::vector<std::string_view>, 4> wanted = {
      {{options_.key}, {"task_type"}, {"dlq_metadata.dlq_published_at"}, {"task_type", "dlq_metadata.error_type"}}};
  const Bson command = empty_bson();
  append_text(*command, "createIndexes", options_.collection);
  bson_t list = BSON_INITIALIZER;
  bson_append_array_begin(command.get(), "indexes", -1, &list);
  std::size_t missing = 0;
  for (const auto& fields : wanted)
    if (!there.contains(index_name(fields))) append_index(list, missing++, fields, &fields == wanted.data());
  bson_append_array_end(command.get(), &list);
  if (missing == 0) return {};
  Reply reply;
  if (!mongoc_client_write_command_with_opts(client_.get(), options_.database.c_str(), command.get(), nullptr,
                                             &reply.bson, &error))
    return unavailable(error);
  return {};
}

Result<std::vector<RefusedLetter>> MongodbSink::write(std::span<const SinkLetter> letters) {
  std::vector<RefusedLetter> refused;
  std::vector<Bson> documents;
  std::vector<const bson_t*> pointers;
  for (const SinkLetter& letter : letters) {
    Lives one;
    one.add(life_of(letter, options_.key, options_.limits));
    documents.push_back(document_of(one, options_.key, 1, options_.limits));
    pointers.push_back(documents.back().get());
  }
  if (documents.empty()) return refused;

  const Bson unordered = empty_bson();
  bson_append_bool(unordered.get(), "ordered", -1, false);
  Reply reply;
  bson_error_t error;
  std::map<std::size_t, WriteError> wrong;
  if (!mongoc_collection_insert_many(collection_.get(), pointers.data(), pointers.size(), unordered.get(), &reply.bson,
                                     &error)) {
    wrong = write_errors(reply.bson);
    if (wrong.empty() && said_here(error)) return write_alone(letters, error.message);
    if (wrong.empty()) return unavailable(error);
  }
  // What went wrong for another reason than the documents says nothing of the others either.
  bson_iter_t at;
  if (bson_iter_init_find(&at, &reply.bson, "writeConcernErrors"))
    return fail(ErrorCode::kUnavailable, "MongoDB: not acknowledged by a majority in time");
  for (const auto& [index, why] : wrong) {
    if (index >= letters.size()) return fail(ErrorCode::kUnavailable, "MongoDB: an answer that makes no sense");
    if (why.code == kDuplicate) {
      std::string no;
      if (auto done = compose(life_of(letters[index], options_.key, options_.limits), no); !done)
        return std::unexpected(done.error());
      if (!no.empty()) refused.push_back({index, std::move(no)});
    } else if (of_the_document(why.code)) {
      refused.push_back({index, why.text});
    } else {
      return fail(ErrorCode::kUnavailable, "MongoDB: " + why.text);
    }
  }
  return refused;
}

// One of them is nothing that could be sent, and libmongoc does not say which.
Result<std::vector<RefusedLetter>> MongodbSink::write_alone(std::span<const SinkLetter> letters, std::string why) {
  std::vector<RefusedLetter> refused;
  if (letters.size() == 1) refused.push_back({0, std::move(why)});
  for (std::size_t i = 0; letters.size() > 1 && i < letters.size(); ++i) {
    auto alone = write(letters.subspan(i, 1));
    if (!alone) return alone;
    for (RefusedLetter& one : *alone) refused.push_back({i, std::move(one.why)});
  }
  return refused;
}

Result<void> MongodbSink::compose(Life life, std::string& refused) {
  const Bson key = key_of(*life.document, options_.key);
  bool seen = false;
  for (int round = 0; round < kRounds; ++round) {
    const Handle<mongoc_cursor_t> cursor(
        mongoc_collection_find_with_opts(collection_.get(), key.get(), nullptr, nullptr));
    const bson_t* found = nullptr;
    bson_error_t error;
    if (!mongoc_cursor_next(cursor.get(), &found)) {
      if (mongoc_cursor_error(cursor.get(), &error)) return unavailable(error);
      // It was there a moment ago: somebody took it away, or it was another index that said no.
      Lives alone;
      alone.add({life.died, life.replays, life.letter, copy_of(*life.document)});
      const Bson document = document_of(alone, options_.key, 1, options_.limits);
      Reply reply;
      if (mongoc_collection_insert_one(collection_.get(), document.get(), nullptr, &reply.bson, &error)) return {};
      const bool duplicate = error.domain == MONGOC_ERROR_SERVER && error.code == kDuplicate;
      if (!duplicate && !of_the_document(error)) return unavailable(error);
      refused = error.message;
      if (!duplicate) return {};
      continue;
    }
    seen = true;
    refused.clear();
    auto lives = lives_of(*found);
    if (!lives) return std::unexpected(lives.error());
    const bool is_new = lives->add({life.died, life.replays, life.letter, copy_of(*life.document)});
    const Bson condition = unchanged(*found, lives->revision);
    // What is there may have been read from a server alone that has not given it to the others, as after a write that
    // was not acknowledged in time: then it can be lost with that server. A write that changes nothing is acknowledged
    // when everything before it is.
    const Bson document = is_new ? document_of(*lives, options_.key, lives->revision + 1, options_.limits)
                                 : same_revision(std::max<std::int64_t>(lives->revision, 1));
    if (options_.before_replace) options_.before_replace();
    Reply reply;
    const auto change = is_new ? mongoc_collection_replace_one : mongoc_collection_update_one;
    if (!change(collection_.get(), condition.get(), document.get(), nullptr, &reply.bson, &error)) {
      if (!of_the_document(error)) return unavailable(error);
      refused = error.message;
      return {};
    }
    if (count_in(reply.bson, "matchedCount") > 0) return {};
  }
  if (!seen && !refused.empty()) return {};  // a unique index that is not ours
  refused.clear();
  return fail(ErrorCode::kUnavailable, "MongoDB: others change the document of " + life.letter + " all the time");
}

}  // namespace bartleby::mongodb
