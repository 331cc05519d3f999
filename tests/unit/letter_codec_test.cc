#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "codec/letter.h"
#include "codec/sha256.h"
#include "codec/time_text.h"
#include "codec/utf8.h"
#include "codec/zstd_bytes.h"

namespace bartleby {
namespace {

constexpr LetterForm kForms[] = {LetterForm::kWhole, LetterForm::kStackCut, LetterForm::kCompressed,
                                 LetterForm::kParts};

LetterFacts facts() {
  LetterFacts f;
  f.cluster = "prod";
  f.topic = "escrow.commands";
  f.partition = Partition(2);
  f.offset = Offset(8812);
  f.timestamp = timestamp_ms(1736937000000);
  f.group = "cg-payout-executor";
  f.worker = "payout-executor";
  f.instance = "payout-executor-1";
  f.reason = Reason::kExhausted;
  f.kind = Kind::kTimeout;
  f.attempts = 6;
  f.first_failure = timestamp_ms(1736937001000);
  f.last_failure = timestamp_ms(1736938001500);
  f.error = {"TonApiTimeout", "no answer", "at run()"};
  return f;
}

LogRecord message() {
  LogRecord r;
  r.offset = Offset(8812);
  r.timestamp = timestamp_ms(1736937000000);
  r.key = "deal-7";
  r.value = "{\"amount\":5}";
  r.headers = {{"trace", "abc"}, {"bytes", std::string("\xff\0", 2)}, {"trace", std::nullopt}, {"", ""}};
  return r;
}

std::string noise(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random.next());
  return bytes;
}

LetterTarget target(std::size_t part_bytes = 512 * 1024) { return {"escrow.commands.dlq", 3, part_bytes}; }

// As the dlq would hand them out.
std::vector<LogRecord> as_read(const std::vector<Record>& written) {
  std::vector<LogRecord> records;
  for (const Record& out : written) {
    const Offset offset(static_cast<std::int64_t>(records.size()));
    records.push_back({offset, timestamp_ms(9), out.key, out.value, out.headers});
  }
  return records;
}

void expect_same_message(const LogRecord& a, const LogRecord& b) {
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.timestamp, b.timestamp);
  EXPECT_EQ(a.key, b.key);
  EXPECT_TRUE(a.value == b.value);
  EXPECT_EQ(a.headers, b.headers);
}

std::size_t our_bytes(const Record& record) {
  std::size_t size = 0;
  for (const auto& [name, value] : record.headers)
    if (name.starts_with("bartleby-")) size += name.size() + value->size();
  return size;
}

std::string error_of(const std::vector<LogRecord>& records) {
  const Result<Letter> letter = join_letter(records);
  return letter ? "no error" : letter.error().message;
}

TEST(LetterId, HasTheseCharactersForEver) {
  EXPECT_EQ(message_id(facts()), "msg_qsjw2qbmnetvo2g5envvhusk2n");
  EXPECT_EQ(letter_id(facts()), "ltr_vv5dyzc5f5q32tsjko2rasr5xz");
}

TEST(LetterId, DependsOnWhereTheMessageDiedAndOnNothingElse) {
  LetterFacts other = facts();
  other.instance = "another";
  other.attempts = 1;
  other.error = {};
  EXPECT_EQ(letter_id(other), letter_id(facts()));
  other.replays = 1;
  EXPECT_NE(letter_id(other), letter_id(facts()));
  EXPECT_EQ(message_id(other), message_id(facts()));
  other = facts();
  other.group = "another";
  EXPECT_NE(letter_id(other), letter_id(facts()));
  other = facts();
  other.timestamp += Duration(1);
  EXPECT_NE(letter_id(other), letter_id(facts()));
  EXPECT_NE(message_id(other), message_id(facts()));
  other = facts();
  other.partition = Partition(other.partition.v + 1);
  EXPECT_NE(letter_id(other), letter_id(facts())) << "two partitions count their offsets apart";
  EXPECT_NE(message_id(other), message_id(facts()));
}

TEST(LetterId, DoesNotLetFieldsShift) {
  LetterFacts a = facts();
  LetterFacts b = facts();
  a.cluster = "ab";
  a.topic = "c";
  b.cluster = "a";
  b.topic = "bc";
  EXPECT_NE(message_id(a), message_id(b));
}

TEST(LetterId, OfAReplayedMessageIsThatOfItsFirstLife) {
  LetterFacts second = facts();
  second.lineage = "msg_first";
  EXPECT_EQ(message_id(second), "msg_first");
}

TEST(Letter, CarriesTheseHeaders) {
  const std::vector<Record> records = letter_records(facts(), message(), LetterForm::kWhole, target());
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].topic, "escrow.commands.dlq");
  EXPECT_EQ(records[0].partition, Partition(2));
  EXPECT_EQ(records[0].key, message().key);
  EXPECT_EQ(records[0].value, message().value);
  Headers expected = message().headers;
  const Headers ours = {
      {"bartleby-v", "1"},
      {"bartleby-letter", "ltr_vv5dyzc5f5q32tsjko2rasr5xz"},
      {"bartleby-lineage", "msg_qsjw2qbmnetvo2g5envvhusk2n"},
      {"bartleby-replays", "0"},
      {"bartleby-cluster", "prod"},
      {"bartleby-topic", "escrow.commands"},
      {"bartleby-partition", "2"},
      {"bartleby-offset", "8812"},
      {"bartleby-timestamp", "2025-01-15T10:30:00.000Z"},
      {"bartleby-group", "cg-payout-executor"},
      {"bartleby-worker", "payout-executor"},
      {"bartleby-instance", "payout-executor-1"},
      {"bartleby-reason", "EXHAUSTED"},
      {"bartleby-error-kind", "timeout"},
      {"bartleby-error-type", "TonApiTimeout"},
      {"bartleby-error-message", "no answer"},
      {"bartleby-error-stack", "at run()"},
      {"bartleby-attempts", "6"},
      {"bartleby-first-failure-at", "2025-01-15T10:30:01.000Z"},
      {"bartleby-last-failure-at", "2025-01-15T10:46:41.500Z"},
  };
  expected.insert(expected.end(), ours.begin(), ours.end());
  EXPECT_EQ(records[0].headers, expected);
}

TEST(Letter, GoesToTheSourcesPartitionModuloTheTargets) {
  LetterFacts f = facts();
  f.partition = Partition(7);
  EXPECT_EQ(letter_records(f, message(), LetterForm::kWhole, target())[0].partition, Partition(1));
}

TEST(Letter, IsReadBackByteForByteInEveryForm) {
  Random random(6);
  for (int i = 0; i < 300; ++i) {
    LetterFacts f = facts();
    f.offset = Offset(random.between(0, INT64_MAX - 1));
    f.timestamp = timestamp_ms(random.between(-1, 1LL << random.between(1, 62)));
    f.replays = static_cast<std::uint32_t>(random.below(4));
    if (f.replays > 0) f.lineage = "msg_of-an-earlier-life";
    f.reason = static_cast<Reason>(random.below(kReasonNames.size()));
    f.kind = static_cast<Kind>(random.below(kKinds));
    f.error = {};
    LogRecord r;
    r.offset = f.offset;
    r.timestamp = f.timestamp;
    if (random.chance(80)) r.key = noise(random, random.below(40));
    if (random.chance(90)) r.value = noise(random, random.below(5000));
    for (std::uint64_t n = random.below(6); n > 0; --n) {
      auto& [name, value] = r.headers.emplace_back(noise(random, random.below(3)), std::nullopt);
      if (random.chance(80)) value = noise(random, random.below(9));
    }
    for (const LetterForm form : kForms) {
      std::vector<LogRecord> records = as_read(letter_records(f, r, form, target(1 + random.below(2000))));
      for (std::size_t k = records.size(); k > 1; --k) std::swap(records[k - 1], records[random.below(k)]);
      const Result<Letter> letter = join_letter(records);
      ASSERT_TRUE(letter) << letter.error().message;
      ASSERT_EQ(letter->facts, f);
      ASSERT_EQ(letter->id, letter_id(f));
      expect_same_message(letter->record, r);
    }
  }
}

TEST(Letter, ReplacesTheHeadersOfAnEarlierLife) {
  LogRecord record = message();
  for (int life = 0; life < 5; ++life) {
    const std::vector<Record> records = letter_records(facts(), record, LetterForm::kCompressed, target());
    record.headers = records[0].headers;
  }
  EXPECT_EQ(record.headers.size(), message().headers.size() + 20) << "the story without its stack, and the encoding";
  record.headers.emplace_back("Bartleby-letter", "not ours");
  const auto again = letter_records(facts(), record, LetterForm::kWhole, target());
  EXPECT_EQ(again[0].headers[4].first, "Bartleby-letter") << "what is not ours stays";
}

TEST(Letter, KeepsANullValueNullInEveryForm) {
  LogRecord lost;
  for (const LetterForm form : kForms) {
    const std::vector<Record> records = letter_records(facts(), lost, form, target());
    ASSERT_EQ(records.size(), 1U);
    EXPECT_FALSE(records[0].value);
    EXPECT_FALSE(join_letter(as_read(records))->record.value);
  }
  lost.value = "";
  for (const LetterForm form : kForms)
    EXPECT_EQ(join_letter(as_read(letter_records(facts(), lost, form, target())))->record.value, "");
}

TEST(Letter, LosesOnlyTheStackWhenItIsCut) {
  const Result<Letter> letter =
      join_letter(as_read(letter_records(facts(), message(), LetterForm::kStackCut, target())));
  LetterFacts expected = facts();
  expected.error.stack.clear();
  EXPECT_EQ(letter->facts, expected);
}

TEST(Letter, StaysWithinFourKilobytesOfHeaders) {
  LetterFacts f = facts();
  f.error.type = std::string(5000, 't');
  for (int i = 0; i < 2000; ++i) f.error.message += "€";
  for (int i = 0; i < 2000; ++i) f.error.stack += "😀";
  f.group = std::string(255, 'g');
  f.instance = std::string(600, 'i');
  for (const LetterForm form : kForms)
    for (const Record& record : letter_records(f, message(), form, target(4))) EXPECT_LE(our_bytes(record), 4096U);
  const LetterFacts cut = join_letter(as_read(letter_records(f, message(), LetterForm::kWhole, target())))->facts;
  EXPECT_EQ(cut.error.message.size(), 1023U) << "the stack gives way first";
  EXPECT_GT(cut.error.stack.size(), 500U) << "and no more than needed";
  EXPECT_TRUE(is_utf8(cut.error.stack));

  f.instance = std::string(2400, 'i');
  const auto longer = letter_records(f, message(), LetterForm::kWhole, target());
  EXPECT_LE(our_bytes(longer[0]), 4096U);
  const LetterFacts more_cut = join_letter(as_read(longer))->facts;
  EXPECT_EQ(more_cut.error.stack, "");
  EXPECT_LT(more_cut.error.message.size(), 1023U);
  EXPECT_EQ(more_cut.instance, f.instance);
}

TEST(Letter, InPartsNamesItselfOnEachAndTellsItsStoryOnce) {
  Random random(7);
  LogRecord record = message();
  record.value = noise(random, 2500);
  const std::vector<Record> parts = letter_records(facts(), record, LetterForm::kParts, target(1000));
  ASSERT_EQ(parts.size(), 3U);
  const std::string hash = sha256_hex(*record.value);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].key, record.key);
    EXPECT_EQ(parts[i].partition, Partition(2));
    EXPECT_LE(parts[i].value->size(), 1000U);
    EXPECT_EQ(parts[i].headers.back(), (std::pair<std::string, Bytes>("bartleby-sha256", hash)));
  }
  const Headers second = {{"bartleby-v", "1"},
                          {"bartleby-letter", letter_id(facts())},
                          {"bartleby-encoding", "zstd"},
                          {"bartleby-part", "2/3"},
                          {"bartleby-sha256", hash}};
  EXPECT_EQ(parts[1].headers, second);
}

TEST(Letter, InPartsSaysWhatIsMissingOrDoesNotBelong) {
  Random random(8);
  LogRecord record = message();
  record.value = noise(random, 2500);
  const std::vector<LogRecord> parts = as_read(letter_records(facts(), record, LetterForm::kParts, target(1000)));
  const std::string letter = "letter " + letter_id(facts()) + ": ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<LogRecord> some = parts;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(error_of(some), letter + "part " + std::to_string(i + 1) + " is missing");
    EXPECT_EQ(join_letter(some).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(error_of({parts[i]}), letter + "part " + (i == 0 ? "2" : "1") + " is missing");
  }
  std::vector<LogRecord> twice = parts;
  twice.push_back(parts[1]);
  EXPECT_EQ(error_of(twice), "no error") << "the same part read twice";
  twice.back().value->back() ^= 1;
  EXPECT_EQ(error_of(twice), letter + "two different parts 2");

  LetterFacts other = facts();
  other.offset = Offset(1);
  std::vector<LogRecord> mixed = parts;
  mixed[2] = as_read(letter_records(other, record, LetterForm::kParts, target(1000)))[2];
  EXPECT_EQ(error_of(mixed), letter + "parts of different letters");

  std::vector<LogRecord> broken = parts;
  broken[1].value->back() ^= 1;
  EXPECT_NE(error_of(broken), "no error");
}

TEST(Letter, WithAnotherValueThanItsHashIsRefused) {
  LogRecord record = message();
  std::vector<LogRecord> parts = as_read(letter_records(facts(), record, LetterForm::kParts, target()));
  parts[0].value = zstd_compressed("something else");
  EXPECT_EQ(error_of(parts), "letter: the value is not the one that was sent (sha256 differs)");
}

TEST(Letter, NamesTheHeaderThatIsWrong) {
  const std::vector<LogRecord> good = as_read(letter_records(facts(), message(), LetterForm::kWhole, target()));
  const auto with = [&](std::string_view name, Bytes value) {
    std::vector<LogRecord> records = good;
    for (auto& [other, content] : records[0].headers)
      if (other == name) content = value;
    return error_of(records);
  };
  EXPECT_EQ(with("bartleby-v", "2"), "letter: header bartleby-v names a version that is not known");
  EXPECT_EQ(with("bartleby-offset", "-1"), "letter: header bartleby-offset is not a number in range");
  EXPECT_EQ(with("bartleby-offset", "1x"), "letter: header bartleby-offset is not a number in range");
  EXPECT_EQ(with("bartleby-partition", "2147483648"), "letter: header bartleby-partition is not a number in range");
  EXPECT_EQ(with("bartleby-timestamp", "yesterday"), "letter: header bartleby-timestamp is not a time");
  EXPECT_EQ(with("bartleby-reason", "BORED"), "letter: header bartleby-reason is not a name that is known");
  EXPECT_EQ(with("bartleby-group", std::nullopt), "letter: header bartleby-group is null");
  EXPECT_EQ(with("bartleby-topic", "other"), "letter: header bartleby-letter is not the id of this letter");
  std::vector<LogRecord> twice = good;
  twice[0].headers.emplace_back("bartleby-group", "cg-other");
  EXPECT_EQ(error_of(twice), "letter: header bartleby-group is given twice");
  for (std::size_t i = message().headers.size(); i < good[0].headers.size(); ++i) {
    std::vector<LogRecord> without = good;
    const std::string name = good[0].headers[i].first;
    without[0].headers.erase(without[0].headers.begin() + static_cast<std::ptrdiff_t>(i));
    const bool optional = name.starts_with("bartleby-error-") || name.ends_with("-failure-at");
    const bool may_go = optional && name != "bartleby-error-kind";
    EXPECT_EQ(error_of(without), may_go ? "no error" : "letter: header " + name + " is missing");
  }
  EXPECT_EQ(error_of({}), "letter: no records");
  EXPECT_EQ(error_of({message()}), "letter: header bartleby-v is missing");
}

TEST(Zstd, UnpacksNoMoreThanAllowed) {
  const std::string frame = zstd_compressed(std::string(1000, 'x'));
  EXPECT_EQ(zstd_decompressed(frame, 1000), std::string(1000, 'x'));
  EXPECT_EQ(zstd_decompressed(frame, 999).error().code, ErrorCode::kTooLarge);
  EXPECT_FALSE(zstd_decompressed(frame + frame, 5000));
  EXPECT_FALSE(zstd_decompressed(frame.substr(0, frame.size() - 1), 5000));
  EXPECT_FALSE(zstd_decompressed("", 5000));
}

TEST(Sha256, IsTheStandardOne) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(TimeText, IsTheInverseOfItself) {
  EXPECT_EQ(time_text(timestamp_ms(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(time_text(timestamp_ms(-1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(time_text(timestamp_ms(951782400000)), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(time_text(timestamp_ms(253402300799999)), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(time_text(timestamp_ms(1736937000000000)), "1736937000000000") << "microseconds by mistake";
  Random random(9);
  for (int i = 0; i < 5000; ++i) {
    const std::int64_t size = static_cast<std::int64_t>(random.next() >> random.between(1, 60));
    const Timestamp time = timestamp_ms(random.chance(30) ? -size : size);
    ASSERT_EQ(time_from_text(time_text(time)), time) << time_text(time);
  }
  for (const char* text : {"", "0", "1736937000000", "2025-02-29T00:00:00.000Z", "2025-01-01T24:00:00.000Z",
                           "2025-01-01 00:00:00.000Z", "2025-01-01T00:00:00Z", "2025-13-01T00:00:00.000Z"})
    EXPECT_EQ(time_from_text(text), std::nullopt) << text;
}

}  // namespace
}  // namespace bartleby
