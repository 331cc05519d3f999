// The forms that other programs expect: exactly their text, and the way back to the very same bytes.
#include "codec/letter_dialect.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "codec/base64.h"
#include "codec/json_scan.h"
#include "codec/letter_foreign.h"
#include "codec/time_text.h"

namespace bartleby {
namespace {

constexpr LetterForm kForms[] = {LetterForm::kWhole, LetterForm::kStackCut, LetterForm::kCompressed,
                                 LetterForm::kParts};

LetterFacts facts() {
  LetterFacts f;
  f.cluster = "prod";
  f.topic = "escrow.commands";
  f.partition = Partition(3);
  f.offset = Offset(12345);
  f.timestamp = *time_from_text("2025-01-15T10:29:59.000Z");
  f.group = "cg-payout-executor";
  f.worker = "payout-executor";
  f.instance = "payout-executor-1";
  f.reason = Reason::kExhausted;
  f.kind = Kind::kTimeout;
  f.attempts = 6;
  f.first_failure = *time_from_text("2025-01-15T10:30:00.000Z");
  f.last_failure = *time_from_text("2025-01-15T11:45:00.000Z");
  f.error = {"TonApiTimeoutException", "TON Center API timeout after 30s", "at run"};
  return f;
}

LogRecord message(Bytes key, Bytes value) {
  return {Offset(12345), facts().timestamp, std::move(key), std::move(value), {{"trace", "abc"}}};
}

const Timestamp kPublished = timestamp_ms(1736941500123);

LetterTarget target(LetterDialect dialect, std::size_t part_bytes = 512 * 1024) {
  return {"escrow.commands.dlq", 3, part_bytes, dialect};
}

Record written(LetterDialect dialect, const LogRecord& record, const LetterFacts& f = facts()) {
  return letter_records(f, record, LetterForm::kWhole, target(dialect), kPublished)[0];
}

std::vector<LogRecord> as_read(const std::vector<Record>& records) {
  std::vector<LogRecord> out;
  for (const Record& r : records) out.push_back({Offset(7), kPublished, r.key, r.value, r.headers});
  return out;
}

std::string header(const Record& record, std::string_view name) {
  for (const auto& [other, value] : record.headers)
    if (other == name) return value.value_or("(null)");
  return "";
}

TEST(Envelope, HasTheseFieldsInThisOrder) {
  const Record record = written(LetterDialect::kEnvelope, message("deal_550e8400", R"({"deal": 7,  "amount":1.50})"));
  EXPECT_EQ(record.value, R"({"original_topic":"escrow.commands","original_partition":3,"original_offset":12345,)"
                          R"("original_key":"deal_550e8400","original_value":{"deal": 7,  "amount":1.50},)"
                          R"("error_details":{"exception_class":"TonApiTimeoutException",)"
                          R"("message":"TON Center API timeout after 30s","stack_trace":"at run"},"retry_count":5,)"
                          R"("worker_instance":"payout-executor-1","first_failure_at":"2025-01-15T10:30:00.000Z",)"
                          R"("last_failure_at":"2025-01-15T11:45:00.000Z"})");
  EXPECT_EQ(record.key, "deal_550e8400");
  EXPECT_EQ(record.headers[0].first, "trace");
  EXPECT_EQ(header(record, "bartleby-letter"), letter_id(facts()));
  EXPECT_EQ(header(record, "bartleby-dialect"), "envelope");
}

TEST(Envelope, KeepsWhatIsNoJsonAsBase64WithAMarker) {
  const Record record = written(LetterDialect::kEnvelope, message("\xff\x01", "not json"));
  EXPECT_NE(record.value->find(R"("original_key":"/wE=","original_key_encoding":"base64",)"
                               R"("original_value":"bm90IGpzb24=","original_value_encoding":"base64",)"
                               R"("error_details":)"),
            std::string::npos)
      << *record.value;
  EXPECT_TRUE(is_json(*record.value));
  const Record nothing = written(LetterDialect::kEnvelope, message(std::nullopt, std::nullopt));
  EXPECT_NE(nothing.value->find(R"("original_key":null,"original_value":null,"error_details")"), std::string::npos)
      << *nothing.value;
}

TEST(Envelope, CutsTheStackAtItsCharactersAndHasNoneBelowOnTheLadder) {
  LetterFacts f = facts();
  f.error.stack.clear();
  for (int i = 0; i < 600; ++i) f.error.stack += "\xc3\xbc";
  const Record record = written(LetterDialect::kEnvelope, message("k", "{}"), f);
  EXPECT_NE(record.value->find("\"stack_trace\":\"" + f.error.stack.substr(0, 1000) + "\"}"), std::string::npos);
  const Record cut =
      letter_records(f, message("k", "{}"), LetterForm::kStackCut, target(LetterDialect::kEnvelope), kPublished)[0];
  EXPECT_NE(cut.value->find(R"("stack_trace":"")"), std::string::npos);
}

TEST(Envelope, OfAMessageThatWasNeverTriedHasNoRetriesAndTheTimeItWasWritten) {
  LetterFacts f = facts();
  f.attempts = 0;
  f.first_failure = f.last_failure = {};
  const Record record = written(LetterDialect::kEnvelope, message("k", "{}"), f);
  EXPECT_NE(record.value->find(R"("retry_count":0,)"), std::string::npos);
  EXPECT_NE(record.value->find("\"last_failure_at\":\"" + time_text(kPublished) + "\""), std::string::npos);
}

const std::string kFive =
    R"("dlq_metadata":{"original_error":"TON Center API timeout after 30s","error_type":"TonApiTimeoutException",)"
    R"("retry_count":6,"last_failure_timestamp":1736941500000,"dlq_published_at":1736941500123})";

TEST(DlqMetadata, StandsBeforeTheLastBrace) {
  const auto value = [](std::string_view original) {
    return *written(LetterDialect::kDlqMetadata, message("k", original)).value;
  };
  EXPECT_EQ(value(R"({"ticket_id":"t-1","n":1.0})"), R"({"ticket_id":"t-1","n":1.0,)" + kFive + "}");
  EXPECT_EQ(value("{ \"a\": {}\n }\n"), "{ \"a\": {}\n ," + kFive + "}\n");
  EXPECT_EQ(value("{}"), "{" + kFive + "}");
  EXPECT_EQ(value("{ }"), "{ " + kFive + "}");
}

TEST(DlqMetadata, ReplacesAnEarlierOne) {
  const auto value = [](std::string_view original) {
    return *written(LetterDialect::kDlqMetadata, message("k", original)).value;
  };
  EXPECT_EQ(value(R"({"a":1,"dlq_metadata":{"x":1},"b":2})"), R"({"a":1,"b":2,)" + kFive + "}");
  EXPECT_EQ(value(R"({"dlq_metadata" : null , "b":2 })"), R"({"b":2 ,)" + kFive + "}");
  EXPECT_EQ(value(R"({"b":2 , "dlq_metadata":[] })"), R"({"b":2 ,)" + kFive + "}");
  EXPECT_EQ(value(R"( {"dlq_metadata":1} )"), " {" + kFive + "} ");
  EXPECT_EQ(value("{\"a\":{\"dlq_metadata\":1},\"dlq\\u005fmetadata\":2}"),
            R"({"a":{"dlq_metadata":1},)" + kFive + "}");
}

TEST(DlqMetadata, OfWhatIsNoJsonObjectIsARecord) {
  for (const Bytes& value : {Bytes(), Bytes(""), Bytes("[1]"), Bytes("\"a\""), Bytes("null"), Bytes("{\"a\":1"),
                             Bytes("{\"a\":\"\xff\"}"), Bytes(R"({"dlq_metadata":1,"dlq_metadata":2})"),
                             Bytes("{\"dlq_metadata\":\"" + std::string(3000, 'x') + "\"}")}) {
    const Record record = written(LetterDialect::kDlqMetadata, message("k", value));
    EXPECT_TRUE(record.value == value);
    EXPECT_EQ(header(record, "bartleby-dialect"), "");
    const auto letter = join_letter(as_read({record}));
    ASSERT_TRUE(letter) << letter.error().message;
    EXPECT_EQ(letter->dialect, LetterDialect::kRecord);
  }
}

// ---- the way back --------------------------------------------------------------------------------------

// Values that are easy to get wrong, and pieces of JSON thrown together.
Bytes any_value(Random& random) {
  static const std::vector<std::string> kPieces = {
      "{",    "}",  "[",      "]",    ",",        ":",  "\"a\"", "\"dlq_metadata\"",     "null",   "1.50",
      " ",    "\n", "\"\\\"", "\xff", "{\"a\":1", "1}", "\"",    "\"original_value\":1", "base64", "\\u0041",
      "true", "{}"};
  static const std::vector<std::string> kWhole = {
      "",
      "null",
      " null ",
      "{}",
      " { } \n",
      R"({"a":1})",
      R"({"a":1,"dlq_metadata":{"b":2}})",
      "\"text\"",
      "[1,2]",
      R"({"dlq_metadata":{},"a":1})",
      R"({ "dlq_metadata" : {} })",
      R"({"dlq_metadata":1,"dlq_metadata":2})",
      R"({"original_value":{"original_value":1},"original_value_encoding":"base64"})",
      "plain",
      "\xff\xfe",
      "{\"a\":1}\r\n\t "};
  if (random.chance(10)) return std::nullopt;
  if (random.chance(40)) return kWhole[random.below(kWhole.size())];
  std::string text;
  if (random.chance(20)) {
    text.resize(random.below(300));
    for (char& c : text) c = static_cast<char>(random.next());
    return text;
  }
  const bool object = random.chance(50);
  if (object) text = random.chance(50) ? "{" : " {\n";
  for (std::size_t i = random.below(6); i > 0; --i)
    text += object ? "\"" + std::string(1, static_cast<char>('a' + random.below(3))) +
                         "\" : " + (random.chance(50) ? "[1 , {}]" : "\"x\"") + (i > 1 ? " , " : "")
                   : kPieces[random.below(kPieces.size())];
  if (object) text += random.chance(50) ? "}" : " } ";
  return text;
}

TEST(LetterDialects, LeadBackToTheSameBytesInEveryForm) {
  Random random(7);
  std::size_t as_record = 0;
  for (int i = 0; i < 4000; ++i) {
    LogRecord record =
        message(random.chance(20) ? Bytes() : Bytes(random.chance(50) ? "deal" : "\xff\0k"), any_value(random));
    if (random.chance(30)) record.headers.emplace_back("bartleby-dialect", "of an earlier life");
    const LetterDialect dialect = random.chance(50) ? LetterDialect::kEnvelope : LetterDialect::kDlqMetadata;
    for (const LetterForm form : kForms) {
      const auto records = letter_records(facts(), record, form, target(dialect, 1 + random.below(200)), kPublished);
      const auto letter = join_letter(as_read(records));
      ASSERT_TRUE(letter) << letter.error().message << " of " << record.value.value_or("(null)");
      ASSERT_TRUE(letter->record.value == record.value) << record.value.value_or("(null)");
      ASSERT_TRUE(letter->record.key == record.key);
      ASSERT_EQ(letter->record.headers, (Headers{{"trace", "abc"}}));
      ASSERT_EQ(letter->id, letter_id(facts()));
      as_record += letter->dialect == LetterDialect::kRecord;
      ASSERT_TRUE(letter->dialect == dialect || dialect == LetterDialect::kDlqMetadata);
      if (form == LetterForm::kWhole && letter->dialect != LetterDialect::kRecord) {
        ASSERT_TRUE(is_json(*records[0].value)) << *records[0].value;
      }
    }
  }
  EXPECT_GT(as_record, 100U);
}

TEST(LetterDialects, HeadersStayWithinTheirLimit) {
  LetterFacts f = facts();
  f.error = {std::string(200, 't'), std::string(1024, 'm'), std::string(500, 's')};
  const std::string before = "{\"a\":1,\"dlq_metadata\":\"" + std::string(2000, 'x') + "\"}";
  const Record record = written(LetterDialect::kDlqMetadata, message("k", before), f);
  EXPECT_EQ(header(record, "bartleby-dialect"), "dlq_metadata");
  std::size_t ours = 0;
  for (const auto& [name, value] : record.headers)
    if (name.starts_with("bartleby-")) ours += name.size() + value->size();
  EXPECT_LE(ours, 4096U);
  const auto letter = join_letter(as_read({record}));
  ASSERT_TRUE(letter) << letter.error().message;
  EXPECT_EQ(letter->record.value, before);
}

TEST(LetterDialects, WhatWasChangedOnItsWayIsFoundOut) {
  for (const LetterDialect dialect : {LetterDialect::kEnvelope, LetterDialect::kDlqMetadata}) {
    const LogRecord good = as_read({written(dialect, message("k", R"({"amount":100})"))})[0];
    ASSERT_TRUE(join_letter({good}));
    LogRecord bad = good;
    bad.value->replace(bad.value->find("100"), 3, "900");
    EXPECT_EQ(join_letter({bad}).error().message, "letter: the value in it is not the one that died (sha256 differs)");
    bad = good;
    bad.value = std::nullopt;
    EXPECT_FALSE(join_letter({bad}));
    bad.value = "{}";
    EXPECT_FALSE(join_letter({bad}));
    bad.value = "null";
    EXPECT_FALSE(join_letter({bad}));
    bad = good;
    for (auto& [name, value] : bad.headers)
      if (name == "bartleby-dialect") value = "of_tomorrow";
    EXPECT_EQ(join_letter({bad}).error().code, ErrorCode::kUnsupported);
    bad = good;
    std::erase_if(bad.headers, [](const auto& h) { return h.first == "bartleby-original-sha256"; });
    EXPECT_EQ(join_letter({bad}).error().message, "letter: header bartleby-original-sha256 is missing");
  }
}

TEST(LetterDialects, ANullIsNotTheTextNull) {
  for (const Bytes& value : {Bytes(), Bytes("null"), Bytes(" null")}) {
    const auto letter = join_letter(as_read({written(LetterDialect::kEnvelope, message("k", value))}));
    ASSERT_TRUE(letter) << letter.error().message;
    EXPECT_TRUE(letter->record.value == value);
  }
}

// ---- letters of other programs -------------------------------------------------------------------------

LogRecord foreign(std::string_view value) { return {Offset(4), timestamp_ms(5), "their key", Bytes(value), {}}; }

TEST(ForeignLetters, AnEnvelopeTellsItsStory) {
  const auto letter = foreign_letter(foreign(R"({
    "original_topic": "escrow.commands", "original_partition": 3, "original_offset": 12345,
    "original_key": "deal_550e8400", "original_value": { "deal": 7 , "amount": 1.50 },
    "error_details": {"exception_class": "TonApiTimeoutException", "message": "TON Center API timeout after 30s",
                      "stack_trace": "at x"},
    "retry_count": 5, "worker_instance": "payout-executor-1",
    "first_failure_at": "2025-01-15T10:30:00Z", "last_failure_at": "2025-01-15T13:45:00.1234+02:00"})"));
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->dialect, LetterDialect::kEnvelope);
  EXPECT_EQ(letter->topic, "escrow.commands");
  EXPECT_EQ(letter->partition, Partition(3));
  EXPECT_EQ(letter->offset, Offset(12345));
  EXPECT_EQ(letter->key, "deal_550e8400");
  EXPECT_EQ(letter->value, R"({ "deal": 7 , "amount": 1.50 })");
  EXPECT_EQ(letter->error, (ErrorText{facts().error.type, facts().error.message, "at x"}));
  EXPECT_EQ(letter->attempts, 6U);
  EXPECT_EQ(letter->instance, "payout-executor-1");
  EXPECT_EQ(time_text(*letter->first_failure), "2025-01-15T10:30:00.000Z");
  EXPECT_EQ(time_text(*letter->last_failure), "2025-01-15T11:45:00.123Z");
}

TEST(ForeignLetters, OursWithoutTheirHeadersAreReadLikeThem) {
  LogRecord read = as_read({written(LetterDialect::kEnvelope, message("\xff", "\xfe"))})[0];
  EXPECT_FALSE(foreign_letter(read)) << "it has headers of ours";
  read.headers.clear();
  const auto letter = foreign_letter(read);
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->key, "\xff");
  EXPECT_EQ(letter->value, "\xfe");
  EXPECT_EQ(letter->attempts, 6U);
  EXPECT_EQ(letter->last_failure, facts().last_failure);
  LogRecord nothing = as_read({written(LetterDialect::kEnvelope, message(std::nullopt, std::nullopt))})[0];
  nothing.headers.clear();
  EXPECT_TRUE(foreign_letter(nothing)->value == std::nullopt);
  EXPECT_TRUE(foreign_letter(nothing)->key == std::nullopt);
}

TEST(ForeignLetters, DlqMetadataIsTakenOutOfTheTicket) {
  const auto letter = foreign_letter(foreign(
      R"({"ticket_id": "t-1", "dlq_metadata": {"original_error": "boom", "error_type": "ValueError", "retry_count": 3,
          "last_failure_timestamp": 1234567890000, "dlq_published_at": 1234567890001}, "task_type": "BUILD"})"));
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->dialect, LetterDialect::kDlqMetadata);
  EXPECT_EQ(letter->value, R"({"ticket_id": "t-1", "task_type": "BUILD"})");
  EXPECT_EQ(letter->key, "their key");
  EXPECT_EQ(letter->error, (ErrorText{"ValueError", "boom", ""}));
  EXPECT_EQ(letter->attempts, 3U);
  EXPECT_EQ(letter->last_failure, timestamp_ms(1234567890000));
  EXPECT_EQ(letter->topic, "");
  EXPECT_FALSE(letter->partition || letter->offset || letter->first_failure);
}

TEST(ForeignLetters, WhatIsNeitherIsNone) {
  for (const char* other :
       {"", "text", "{}", "[]", R"({"dlq_metadata":1})", R"({"dlq_metadata":{}})",
        R"({"dlq_metadata":{"error_type":1}})", R"({"dlq_metadata":{"error_type":"a"},"dlq_metadata":{}})",
        R"({"original_topic":"t","original_partition":0,"original_offset":1,"error_details":{}})",
        R"({"original_topic":"t","original_partition":-1,"original_offset":1,"original_value":1,"error_details":{}})",
        R"({"original_topic":"","original_partition":0,"original_offset":1,"original_value":1,"error_details":{}})",
        R"({"original_topic":"t","original_partition":0,"original_offset":1.5,"original_value":1,"error_details":{}})",
        R"({"original_topic":"t","original_partition":0,"original_offset":1,"original_value":1,"error_details":7})",
        R"({"original_topic":"t","original_partition":0,"original_offset":1,"original_value":"!",)"
        R"("original_value_encoding":"base64","error_details":{}})"})
    EXPECT_FALSE(foreign_letter(foreign(other))) << other;
  EXPECT_FALSE(foreign_letter({Offset(1), {}, "k", std::nullopt, {}}));
  const auto bare = foreign_letter(foreign(
      R"({"original_topic":"t","original_partition":0,"original_offset":1,"original_value":"a","error_details":{},)"
      R"("retry_count":4294967295,"first_failure_at":"soon","last_failure_at":true})"));
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->value, "\"a\"");
  EXPECT_EQ(bare->attempts, UINT32_MAX);
  EXPECT_FALSE(bare->first_failure || bare->last_failure);
}

TEST(Rfc3339, IsReadAsOthersWriteIt) {
  const auto text = [](std::string_view from) {
    const auto time = time_from_rfc3339(from);
    return time ? time_text(*time) : "none";
  };
  EXPECT_EQ(text("2025-01-15T10:30:00Z"), "2025-01-15T10:30:00.000Z");
  EXPECT_EQ(text("2025-01-15 10:30:00.5z"), "2025-01-15T10:30:00.500Z");
  EXPECT_EQ(text("2025-01-15t10:30:00.123456789-05:30"), "2025-01-15T16:00:00.123Z");
  for (const char* bad :
       {"", "2025-01-15T10:30:00", "2025-01-15T10:30:00.Z", "2025-01-15T10:30:00+5:30", "2025-02-30T10:30:00Z",
        "2025-01-15T10:30:00+24:00", "2025-01-15T10:30:00Zx", "1736937000000", "2025-01-15T10:30:00+0a:00"})
    EXPECT_EQ(text(bad), "none") << bad;
}

}  // namespace
}  // namespace bartleby
