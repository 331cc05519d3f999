#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "codec/journal.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

MessageEntry parked() {
  MessageEntry e;
  e.offset = Offset(12);
  e.timestamp = timestamp_ms(1736937000000);
  e.lane = Lane(4000000007);
  e.attempts = 2;
  e.kind = Kind::kTimeout;
  e.due = timestamp_ms(1736937005000);
  e.first_failure = timestamp_ms(1736937001000);
  e.last_failure = timestamp_ms(1736937004000);
  e.throttled = Duration(250);
  return e;
}

JournalStory story() {
  JournalStory s;
  s.error = {"TonApiTimeout", "no answer within \"30 s\"", "at run()\n\tat main()"};
  return s;
}

LogRecord record() {
  LogRecord r;
  r.offset = Offset(12);
  r.timestamp = timestamp_ms(1736937000000);
  r.key = "deal-7";
  r.value = std::string("\xff\0\x01", 3);
  r.headers = {{"trace", "abc"}, {"trace", std::nullopt}, {"bytes", "\x80"}, {"", ""}};
  return r;
}

std::int64_t any_time(Random& random) {
  const auto value = static_cast<std::int64_t>(random.next() >> random.below(64));
  return random.chance(20) ? -value : value;
}

std::string any_bytes(Random& random, std::uint64_t max) {
  std::string bytes;
  const bool text = random.chance(60);
  for (std::uint64_t i = random.below(max + 1); i > 0; --i)
    bytes.push_back(static_cast<char>(text ? random.below(128) : random.next()));
  return bytes;
}

Bytes maybe_bytes(Random& random, std::uint64_t max) {
  return random.chance(20) ? Bytes() : Bytes(any_bytes(random, max));
}

JournalEntry any_entry(Random& random) {
  if (random.chance(10)) {
    return HeadEntry{Lane(static_cast<std::uint32_t>(random.next())), Offset(random.between(0, INT64_MAX - 1))};
  }
  if (random.chance(10)) {
    return Obituary{Offset(random.between(0, 1000)), random.next(), timestamp_ms(any_time(random)), random.chance(50),
                    random.chance(50)};
  }
  MessageEntry e;
  e.offset = Offset(random.chance(5) ? INT64_MAX : random.between(0, 1'000'000));
  e.timestamp = timestamp_ms(any_time(random));
  if (random.chance(80)) e.lane = Lane(static_cast<std::uint32_t>(random.next()));
  e.self = random.chance(20);
  e.done = random.chance(20);
  if (random.chance(30)) e.dead = static_cast<Reason>(random.below(kReasonNames.size()));
  if (random.chance(70)) e.attempts = static_cast<std::uint32_t>(random.next() >> random.between(32, 63));
  e.kind = static_cast<Kind>(random.below(kKinds));
  if (random.chance(70)) e.due = timestamp_ms(any_time(random));
  if (random.chance(70)) e.first_failure = timestamp_ms(any_time(random));
  if (random.chance(70)) e.last_failure = timestamp_ms(any_time(random));
  if (random.chance(30)) e.throttled = Duration(random.between(0, INT64_MAX - 1));
  return e;
}

JournalStory any_story(Random& random, const JournalEntry& entry) {
  JournalStory s;
  const auto* message = std::get_if<MessageEntry>(&entry);
  if (message == nullptr) return s;
  if (random.chance(70)) s.error = bounded({any_bytes(random, 30), any_bytes(random, 200), any_bytes(random, 200)});
  if (random.chance(80)) return s;
  LogRecord& r = s.record.emplace();
  r.offset = random.chance(90) ? message->offset : Offset(3);
  r.timestamp = random.chance(90) ? message->timestamp : timestamp_ms(4);
  r.key = maybe_bytes(random, 20);
  r.value = maybe_bytes(random, 300);
  for (std::uint64_t i = random.below(5); i > 0; --i)
    r.headers.emplace_back(any_bytes(random, 5), maybe_bytes(random, 10));
  return s;
}

std::string error_of(std::string_view key, std::string_view value) {
  const Result<DecodedEntry> decoded = decode_journal(key, value);
  return decoded ? "no error" : decoded.error().message;
}

TEST(Journal, WritesAParkedMessageLikeThis) {
  EXPECT_EQ(journal_key(parked()), "m/12");
  EXPECT_EQ(journal_value(parked(), story()),
            R"({"lane":4000000007,"timestamp":1736937000000,"attempt":2,"due":1736937005000,)"
            R"("first_failure_at":1736937001000,"last_failure_at":1736937004000,"throttled_ms":250,"kind":"timeout",)"
            R"("error":{"type":"TonApiTimeout","message":"no answer within \"30 s\"",)"
            R"~("stack":"at run()\n\tat main()"}})~");
}

TEST(Journal, WritesOnlyWhatADoneEntryNeeds) {
  MessageEntry e;
  e.offset = Offset(5);
  e.timestamp = timestamp_ms(77);
  e.lane = Lane(3);
  e.done = true;
  EXPECT_EQ(journal_value(e, {}), R"({"lane":3,"timestamp":77,"done":true})");
}

TEST(Journal, WritesADeathDecisionWithItsRecordLikeThis) {
  MessageEntry e;
  e.offset = Offset(12);
  e.timestamp = timestamp_ms(1736937000000);
  e.self = true;
  e.dead = Reason::kExhausted;
  e.kind = Kind::kPermanent;
  JournalStory s;
  s.record = record();
  EXPECT_EQ(journal_value(e, s),
            R"({"self":true,"timestamp":1736937000000,"kind":"permanent","dead":"EXHAUSTED","record":{"key":"deal-7",)"
            R"("value":{"base64":"/wAB"},"headers":[["trace","abc"],["trace",null],["bytes",{"base64":"gA=="}],)"
            R"(["",""]]}})");
}

TEST(Journal, WritesHeadsAndObituariesLikeThis) {
  const HeadEntry head{Lane(UINT32_MAX), Offset(99)};
  EXPECT_EQ(journal_key(head), "h/4294967295");
  EXPECT_EQ(journal_value(head, {}), R"({"from":99})");
  const Obituary obituary{Offset(12), UINT64_MAX, timestamp_ms(-1), true, false};
  EXPECT_EQ(journal_key(obituary), "x/12/18446744073709551615");
  EXPECT_EQ(journal_value(obituary, {}), R"({"timestamp":-1,"faulting":true})");
}

TEST(Journal, ReadsBackWhatWasWritten) {
  Random random(4);
  for (int i = 0; i < 5000; ++i) {
    const JournalEntry entry = any_entry(random);
    const JournalStory written = any_story(random, entry);
    const std::string value = journal_value(entry, written);
    const Result<DecodedEntry> decoded = decode_journal(journal_key(entry), value);
    ASSERT_TRUE(decoded) << value << ": " << decoded.error().message;
    ASSERT_EQ(decoded->entry, entry) << value;
    ASSERT_EQ(decoded->story, written) << value;
    ASSERT_EQ(fingerprint(decoded->entry), fingerprint(entry));
  }
}

TEST(Journal, KeepsLargeRecordsExactly) {
  JournalStory s = story();
  s.record = record();
  s.record->value = std::string(3'000'000, '\xfe');
  const Result<DecodedEntry> decoded = decode_journal("m/12", journal_value(parked(), s));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->story, s);
}

TEST(Journal, IgnoresFieldsOfALaterVersion) {
  const auto decoded = decode_journal("m/1", R"({"new":{"deep":[1,2,{}]},"timestamp":5,"other":null,"done":true})");
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(std::get<MessageEntry>(decoded->entry).done);
  EXPECT_TRUE(decode_journal("h/1", R"({"from":3,"until":9})"));
}

TEST(Journal, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(error_of("m/1", "{}"), "journal entry m/1: field timestamp is missing");
  EXPECT_EQ(error_of("h/1", "{}"), "journal entry h/1: field from is missing");
  EXPECT_EQ(error_of("x/1/2", R"({"alone":true})"), "journal entry x/1/2: field timestamp is missing");
  const std::pair<const char*, const char*> wrong[] = {
      {"lane", "4294967296"},
      {"lane", "-1"},
      {"lane", "null"},
      {"lane", "1.0"},
      {"self", "1"},
      {"done", "\"true\""},
      {"attempt", "-1"},
      {"attempt", "4294967296"},
      {"due", "\"soon\""},
      {"due", "1e3"},
      {"dead", "\"dead\""},
      {"dead", "true"},
      {"throttled_ms", "-1"},
      {"kind", "\"\""},
      {"kind", "3"},
      {"error", "\"text\""},
      {"error", R"({"type":1})"},
      {"record", "[]"},
      {"record", R"({"key":{"base64":"A"}})"},
      {"record", R"({"value":{"base64":"AAA=","x":1}})"},
      {"record", R"({"headers":[["a"]]})"},
      {"record", R"({"offset":-1})"},
      {"due", "9223372036854775808"},
  };
  for (const auto& [field, value] : wrong) {
    const std::string text = std::string(R"({"timestamp":1,")") + field + "\":" + value + "}";
    EXPECT_EQ(error_of("m/1", text),
              std::string("journal entry m/1: field ") + field + " has the wrong type or is out of range")
        << text;
  }
  EXPECT_EQ(error_of("m/1", R"({"timestamp":1,"timestamp":1})"), "journal entry m/1: field timestamp is given twice");
}

TEST(Journal, RefusesWhatIsNotOneJsonObject) {
  for (const char* value : {"", " ", "null", "[]", "3", "{", R"({"timestamp":1}})", R"({"timestamp":1} {})",
                            R"({"timestamp":1,})", "{\"timestamp\":1,\"x\":\"\xff\"}", R"({"timestamp":01})"}) {
    const Result<DecodedEntry> decoded = decode_journal("m/1", value);
    ASSERT_FALSE(decoded) << value;
    EXPECT_EQ(decoded.error().code, ErrorCode::kMalformed);
  }
  std::string deep = R"({"timestamp":1,"x":)";
  deep += std::string(1000, '[') + std::string(1000, ']') + "}";
  EXPECT_FALSE(decode_journal("m/1", deep));
  EXPECT_TRUE(decode_journal("m/1", R"({"timestamp":1})")) << "works again after errors";
}

TEST(Journal, RefusesKeysThatItDoesNotWrite) {
  for (const char* key : {"",        "m",
                          "m/",      "m/-1",
                          "m/+1",    "m/01",
                          "m/1/",    "m/1x",
                          "m/ 1",    "m/9223372036854775808",
                          "M/1",     "h/4294967296",
                          "h/-1",    "x/1",
                          "x/1/",    "x//1",
                          "x/1/2/3", "x/1/01",
                          "y/1",     "x/1/-1"}) {
    const Result<DecodedEntry> decoded = decode_journal(key, R"({"timestamp":1,"from":1})");
    EXPECT_FALSE(decoded) << key;
  }
}

TEST(Journal, BoundsTheSizeOfWhatItReads) {
  const std::string padding(70'000, ' ');
  const Result<DecodedEntry> plain = decode_journal("m/1", R"({"timestamp":1})" + padding);
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(decode_journal("m/1", R"({"timestamp":1,"record":{}})" + padding));
  const Result<DecodedEntry> huge = decode_journal("m/1", std::string(33U << 20, ' '));
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::kTooLarge);
}

TEST(Fingerprint, HasTheSameBitsForEver) {
  MessageEntry e;
  e.offset = Offset(12);
  e.timestamp = timestamp_ms(1736937000000);
  e.lane = Lane(7);
  EXPECT_EQ(fingerprint(e), 0x82978c66bf062a1bULL);
  EXPECT_EQ(fingerprint(HeadEntry{Lane(7), Offset(12)}), 0xad9557dd4f34835cULL);
  EXPECT_EQ(fingerprint(Obituary{Offset(12), 3, timestamp_ms(5), true, false}), 0xc4fe3bb111d2653cULL);
}

TEST(Fingerprint, ChangesWithEveryFact) {
  const std::function<void(MessageEntry&)> changes[] = {
      [](MessageEntry& e) { e.offset = Offset(13); },
      [](MessageEntry& e) { e.timestamp += Duration(1); },
      [](MessageEntry& e) { e.lane = Lane(1); },
      [](MessageEntry& e) { e.lane = Lane(0); },
      [](MessageEntry& e) { e.lane.reset(); },
      [](MessageEntry& e) { e.self = true; },
      [](MessageEntry& e) { e.done = true; },
      [](MessageEntry& e) { e.dead = Reason::kExhausted; },
      [](MessageEntry& e) { e.dead = Reason::kRejected; },
      [](MessageEntry& e) { e.attempts = 3; },
      [](MessageEntry& e) { e.kind = Kind::kTransient; },
      [](MessageEntry& e) { e.due += Duration(1); },
      [](MessageEntry& e) { e.first_failure += Duration(1); },
      [](MessageEntry& e) { e.last_failure += Duration(1); },
      [](MessageEntry& e) { e.throttled += Duration(1); },
  };
  std::vector<std::uint64_t> seen = {fingerprint(parked())};
  for (const auto& change : changes) {
    MessageEntry e = parked();
    change(e);
    seen.push_back(fingerprint(e));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(Bounded, CutsBetweenCharacters) {
  ErrorText error;
  error.type = std::string(199, 'x') + "é";
  for (int i = 0; i < 600; ++i) error.message += "€";
  for (int i = 0; i < 600; ++i) error.stack += "😀";
  const ErrorText cut = bounded(error);
  EXPECT_EQ(cut.type, std::string(199, 'x'));
  EXPECT_EQ(cut.message.size(), 1023U);
  EXPECT_EQ(cut.stack.size(), kMaxErrorStack * 4);
  EXPECT_TRUE(is_utf8(cut.message) && is_utf8(cut.stack));
  EXPECT_EQ(bounded(cut), cut);
}

TEST(Bounded, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(bounded({"", "a\xff\xfe b", ""}).message, "a\xef\xbf\xbd\xef\xbf\xbd b");
  EXPECT_EQ(bounded({"", "cut \xe2\x82", ""}).message, "cut \xef\xbf\xbd") << "half a character is one replacement";
  EXPECT_EQ(bounded({"", "\xc0\xaf", ""}).message, "\xef\xbf\xbd\xef\xbf\xbd") << "overlong";
  EXPECT_EQ(bounded({"", "\xed\xa0\x80", ""}).message, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") << "surrogate";
  EXPECT_EQ(bounded({"", "\xf4\x90\x80\x80", ""}).message.size(), 12U) << "above U+10FFFF";
  EXPECT_EQ(bounded({"", "fine: é € 😀", ""}).message, "fine: é € 😀");
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const ErrorText cut = bounded({any_bytes(random, 300), any_bytes(random, 1500), any_bytes(random, 700)});
    ASSERT_TRUE(is_utf8(cut.type) && is_utf8(cut.message) && is_utf8(cut.stack));
    ASSERT_TRUE(cut.type.size() <= kMaxErrorType && cut.message.size() <= kMaxErrorMessage);
    ASSERT_EQ(bounded(cut), cut);
  }
}

TEST(Journal, BoundsAndRepairsAStoryThatNobodyBounded) {
  JournalStory s;
  s.error = {"\xff", std::string(5000, '\x01'), std::string(5000, '\x90')};
  const Result<DecodedEntry> decoded = decode_journal("m/12", journal_value(parked(), s));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->story.error, bounded(s.error));
}

}  // namespace
}  // namespace bartleby
