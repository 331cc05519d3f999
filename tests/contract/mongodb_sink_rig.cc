// The MongoDB sink under the contract, on a server that scripts/ferretdb starts once for the whole program; and what
// that sink alone has: its indexes, servers that are away or say no.
//
// Where the server cannot be had every one of these tests is skipped, and says why. BARTLEBY_TEST_MONGODB: the address
// of one that is running already.
#include <gtest/gtest.h>

#ifdef BARTLEBY_HAS_MONGODB

#include <unistd.h>

#include <cstdlib>
#include <set>

#include "adapters/sink/mongodb/mongodb_sink.h"
#include "tests/contract/sink_contract.h"
#include "tests/support/script_server.h"

namespace bartleby::contract {
namespace {

using mongodb::Bson;
using mongodb::Handle;

// One for the program. BARTLEBY_TEST_MONGODB: one that is running already.
const std::string& server_url() {
  static const support::ScriptServer one(BARTLEBY_SOURCE "/scripts/ferretdb", "BARTLEBY_TEST_MONGODB");
  EXPECT_FALSE(one.not_started()) << "scripts/ferretdb could not start it";
  return one.address();
}

constexpr const char* kDatabase = "sink_test";

class MongodbRig : public SinkRig {
 public:
  MongodbRig() {
    static int number = 0;
    collection_name_ = "tickets_" + std::to_string(::getpid()) + "_" + std::to_string(++number);
    if (server_url().empty()) return;
    sink_ = another();
    client_.reset(mongoc_client_new(server_url().c_str()));
    collection_.reset(mongoc_client_get_collection(client_.get(), kDatabase, collection_name_.c_str()));
  }
  ~MongodbRig() override {
    if (collection_) mongoc_collection_drop(collection_.get(), nullptr);
  }

  std::string why_not() const override {
    return sink_ ? "" : "there is no server here; what scripts/ferretdb said is above";
  }
  Sink& sink() override { return *sink_; }
  std::unique_ptr<Sink> another() override { return another({}); }
  std::unique_ptr<Sink> another(std::function<void()> before_replace, mongodb::DocumentLimits limits = {}) {
    auto opened = mongodb::MongodbSink::open({.url = server_url() + "?socketTimeoutMS=60000",
                                              .database = kDatabase,
                                              .collection = collection_name_,
                                              .key = "ticket_id",
                                              .limits = limits,
                                              .before_replace = std::move(before_replace)});
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

  std::string document(const std::string& key) override {
    const Bson filter = mongodb::empty_bson();
    mongodb::append_text(*filter, "ticket_id", key);
    std::string found;
    const Handle<mongoc_cursor_t> cursor(
        mongoc_collection_find_with_opts(collection_.get(), filter.get(), nullptr, nullptr));
    const bson_t* one = nullptr;
    while (mongoc_cursor_next(cursor.get(), &one)) {
      EXPECT_EQ(found, "") << "two documents of one key";
      const Bson plain = mongodb::empty_bson();
      bson_copy_to_excluding_noinit(one, plain.get(), "_id", nullptr);
      char* text = bson_as_json(plain.get(), nullptr);
      found = text;
      bson_free(text);
    }
    bson_error_t error;
    EXPECT_FALSE(mongoc_cursor_error(cursor.get(), &error)) << error.message;
    return found;
  }
  std::size_t documents() override {
    const Bson all = mongodb::empty_bson();
    bson_error_t error;
    const std::int64_t n =
        mongoc_collection_count_documents(collection_.get(), all.get(), nullptr, nullptr, nullptr, &error);
    EXPECT_GE(n, 0) << error.message;
    return static_cast<std::size_t>(n);
  }
  void put(const std::string& json) override {
    bson_error_t error;
    const Bson document(bson_new_from_json(reinterpret_cast<const std::uint8_t*>(json.data()),
                                           static_cast<ssize_t>(json.size()), &error));
    ASSERT_TRUE(document) << error.message;
    ASSERT_TRUE(mongoc_collection_insert_one(collection_.get(), document.get(), nullptr, nullptr, &error))
        << error.message;
  }
  std::set<std::string> indexes() {
    std::set<std::string> found;
    const Handle<mongoc_cursor_t> cursor(mongoc_collection_find_indexes_with_opts(collection_.get(), nullptr));
    const bson_t* one = nullptr;
    while (mongoc_cursor_next(cursor.get(), &one)) {
      bson_iter_t at;
      std::string name = bson_iter_init_find(&at, one, "name") ? bson_iter_utf8(&at, nullptr) : "";
      if (bson_iter_init_find(&at, one, "unique") && bson_iter_as_bool(&at)) name += " unique";
      found.insert(name);
    }
    return found;
  }

  void make_index(const std::string& field, const std::string& name, bool unique) {
    bson_error_t error;
    const std::string command = R"({"createIndexes":")" + collection_name_ + R"(","indexes":[{"key":{")" + field +
                                R"(":1},"name":")" + name + R"(")" + (unique ? R"(,"unique":true)" : "") + "}]}";
    const Bson asked(bson_new_from_json(reinterpret_cast<const std::uint8_t*>(command.data()), -1, &error));
    ASSERT_TRUE(asked) << error.message;
    ASSERT_TRUE(mongoc_client_command_simple(client_.get(), kDatabase, asked.get(), nullptr, nullptr, &error))
        << error.message;
  }

 private:
  std::string collection_name_;
  std::unique_ptr<Sink> sink_;
  Handle<mongoc_client_t> client_;
  Handle<mongoc_collection_t> collection_;
};

INSTANTIATE_TEST_SUITE_P(Mongodb, SinkContract,
                         testing::Values(SinkRigFactory{"Mongodb", [] { return std::make_unique<MongodbRig>(); }}),
                         [](const auto& instance) { return instance.param.name; });

TEST(MongodbSink, MakesItsFourIndexesAndMayDoSoAgain) {
  MongodbRig rig;
  if (!rig.why_not().empty()) GTEST_SKIP() << rig.why_not();
  for (int i = 0; i < 2; ++i) {
    const auto prepared = rig.sink().prepare();
    ASSERT_TRUE(prepared) << prepared.error().message;
  }
  EXPECT_EQ(rig.indexes(),
            (std::set<std::string>{"_id_", "ticket_id_1 unique", "task_type_1", "dlq_metadata.dlq_published_at_1",
                                   "task_type_1_dlq_metadata.error_type_1"}));
}

TEST(MongodbSink, ADocumentThatOthersChangeWhileItIsComposedIsComposedAnew) {
  MongodbRig rig;
  if (!rig.why_not().empty()) GTEST_SKIP() << rig.why_not();
  ASSERT_TRUE(rig.sink().prepare());
  const std::string ticket = R"({"ticket_id":"t"})";
  int others = 0;
  const auto sink = rig.another([&] {
    if (++others > 3) return;
    const std::vector theirs = {life(others, ticket)};
    EXPECT_TRUE(rig.sink().write(theirs));
  });
  rig.put(ticket);  // by somebody who knows nothing of revisions
  const std::vector ours = {life(9, ticket)};
  const auto written = sink->write(ours);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(others, 4);
  const std::string document = rig.document("t");
  for (const char* letter : {"ltr_1", "ltr_2", "ltr_3", "ltr_9"}) {
    EXPECT_NE(document.find(letter), std::string::npos) << letter << " in " << document;
    EXPECT_EQ(document.find(letter), document.rfind(letter)) << letter;
  }
  // Somebody who never rests: nothing is refused, it is tried again later.
  int more = 100;
  const auto unlucky = rig.another([&] { EXPECT_TRUE(rig.sink().write(std::vector{life(++more, ticket)})); });
  const auto lost = unlucky->write(std::vector{life(50, ticket)});
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().retryable);
}

// Reading it says nothing of whether it would survive the server it was read from.
TEST(MongodbSink, ALetterThatIsThereAlreadyIsAcknowledgedByAWriteOfItsOwn) {
  MongodbRig rig;
  if (!rig.why_not().empty()) GTEST_SKIP() << rig.why_not();
  ASSERT_TRUE(rig.sink().prepare());
  const std::vector letters = {life(1, R"({"ticket_id":"t"})")};
  ASSERT_TRUE(rig.sink().write(letters));
  int writes = 0;
  const auto again = rig.another([&] {
    if (++writes > 1) return;
    EXPECT_TRUE(rig.sink().write(std::vector{life(2, R"({"ticket_id":"t"})")}));
  });
  const auto written = again->write(letters);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_TRUE(written->empty());
  EXPECT_EQ(writes, 2) << "the first met another writer";
  const std::string after = rig.document("t");
  ASSERT_TRUE(again->write(letters));
  EXPECT_EQ(writes, 3);
  EXPECT_EQ(rig.document("t"), after) << "it changes nothing";
}

TEST(MongodbSink, AnIndexOnTheKeyThatIsNotUniqueIsToldWithWhatToDo) {
  MongodbRig rig;
  if (!rig.why_not().empty()) GTEST_SKIP() << rig.why_not();
  rig.put(R"({"ticket_id":"t"})");
  rig.make_index("ticket_id", "ticket_id_1", false);
  const auto prepared = rig.sink().prepare();
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().message.find("is not unique"), std::string::npos) << prepared.error().message;
  EXPECT_NE(prepared.error().message.find("drop it"), std::string::npos) << prepared.error().message;
}

TEST(MongodbSink, AUniqueIndexOnTheKeyByAnyNameWillDo) {
  MongodbRig rig;
  if (!rig.why_not().empty()) GTEST_SKIP() << rig.why_not();
  rig.put(R"({"ticket_id":"t"})");
  rig.make_index("ticket_id", "by_ticket", true);
  const auto prepared = rig.sink().prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(rig.indexes().count("by_ticket unique"), 1U);
  EXPECT_EQ(rig.indexes().size(), 5U);
}

TEST(MongodbSink, AnAddressThatAsksForNoAcknowledgementIsRefused) {
  for (const char* options : {"w=0", "journal=false", "w=majority&journal=false"}) {
    const auto opened = mongodb::MongodbSink::open({std::string("mongodb://h/?") + options, "d", "c", "k"});
    ASSERT_FALSE(opened) << options;
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
    EXPECT_NE(opened.error().message.find("may not be set"), std::string::npos) << opened.error().message;
  }
  EXPECT_TRUE(mongodb::MongodbSink::open({"mongodb://h/?w=1&journal=true", "d", "c", "k"}));
}

// One that lags behind has not what was just written, and the same letter would be composed anew for ever.
TEST(MongodbSink, DocumentsAreReadFromThePrimaryWhateverTheAddressSays) {
  const auto opened = mongodb::MongodbSink::open({"mongodb://h/?readPreference=secondaryPreferred", "d", "c", "k"});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->read_mode(), MONGOC_READ_PRIMARY);
}

TEST(MongodbSink, WhatTheClientItselfDoesNotSendIsRefusedAndTheOthersAreWritten) {
  MongodbRig rig;
  if (!rig.why_not().empty()) GTEST_SKIP() << rig.why_not();
  ASSERT_TRUE(rig.sink().prepare());
  constexpr std::size_t kAny = std::size_t{1} << 30;
  const auto sink = rig.another({}, {.life = kAny, .document = kAny});
  const std::string large = R"({"ticket_id":"large","log":")" + std::string(17 << 20, 'x') + "\"}";
  const std::string old = R"({"ticket_id":"old","log":")" + std::string(9 << 20, 'x') + "\"}";
  const std::vector letters = {life(1, R"({"ticket_id":"a"})"), life(2, large), life(3, R"({"ticket_id":"b"})"),
                               life(4, old)};
  for (int i = 0; i < 2; ++i) {  // the second time the others are there
    const auto written = sink->write(letters);
    ASSERT_TRUE(written) << written.error().message;
    ASSERT_EQ(written->size(), 1U);
    EXPECT_EQ(written->front().index, 1U);
    EXPECT_NE(written->front().why.find("too large"), std::string::npos) << written->front().why;
  }
  for (const char* key : {"a", "b", "old"}) EXPECT_NE(rig.document(key), "") << key;
  // Composed with what is there it is too large.
  const auto composed = sink->write(std::vector{life(5, old)});
  ASSERT_TRUE(composed) << composed.error().message;
  EXPECT_EQ(composed->size(), 1U);
}

TEST(MongodbSink, AnAddressThatIsNoneIsRefusedWithoutItsPassword) {
  const auto opened = mongodb::MongodbSink::open({"mongodb://ann:hush@host:notaport/", "d", "c", "k"});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(opened.error().message.find("hush"), std::string::npos) << opened.error().message;
}

TEST(MongodbSink, AServerThatIsAwayIsUnavailable) {
  auto opened = mongodb::MongodbSink::open({"mongodb://127.0.0.1:1/", "d", "c", "k"});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->prepare().error().code, ErrorCode::kUnavailable);
  const std::vector letters = {life(1, "{}")};
  const auto written = (*opened)->write(letters);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(written.error().retryable);
}

}  // namespace
}  // namespace bartleby::contract

#else

TEST(MongodbSink, Contract) { GTEST_SKIP() << "built without libmongoc: scripts/setup test"; }

#endif
