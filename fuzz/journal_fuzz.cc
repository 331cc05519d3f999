// Journal entries: nothing crashes the decoder, and what it reads is written and read again as the same.
#include "codec/journal.h"
#include "fuzz_input.h"

namespace bartleby::fuzz {
namespace {

void check(const std::string& key, const std::string& value) {
  const Result<DecodedEntry> first = decode_journal(key, value);
  if (!first) {
    require(!first.error().message.empty());
    return;
  }
  require(journal_key(first->entry) == key);
  const Result<DecodedEntry> second = decode_journal(key, journal_value(first->entry, first->story));
  require(second.has_value());
  require(second->entry == first->entry);
  require(second->story == first->story);
  require(fingerprint(second->entry) == fingerprint(first->entry));
}

Timestamp any_time(FuzzedDataProvider& in) { return timestamp_ms(in.ConsumeIntegral<std::int64_t>()); }

Offset any_offset(FuzzedDataProvider& in) { return Offset(in.ConsumeIntegralInRange<std::int64_t>(0, INT64_MAX)); }

MessageEntry any_message(FuzzedDataProvider& in) {
  MessageEntry e;
  e.offset = any_offset(in);
  e.timestamp = any_time(in);
  if (in.ConsumeBool()) e.lane = Lane(in.ConsumeIntegral<std::uint32_t>());
  e.self = in.ConsumeBool();
  e.done = in.ConsumeBool();
  const auto reason = in.ConsumeIntegralInRange<std::size_t>(0, kReasonNames.size());
  if (reason < kReasonNames.size()) e.dead = static_cast<Reason>(reason);
  e.attempts = in.ConsumeIntegral<std::uint32_t>();
  e.kind = static_cast<Kind>(in.ConsumeIntegralInRange<std::size_t>(0, kKinds - 1));
  e.due = any_time(in);
  e.first_failure = any_time(in);
  e.last_failure = any_time(in);
  e.throttled = Duration(in.ConsumeIntegralInRange<std::int64_t>(0, INT64_MAX));
  return e;
}

JournalStory any_story(FuzzedDataProvider& in) {
  JournalStory story;
  story.error = {in.ConsumeRandomLengthString(300), in.ConsumeRandomLengthString(2000),
                 in.ConsumeRandomLengthString(2000)};
  if (in.ConsumeBool()) return story;
  LogRecord& record = story.record.emplace();
  record.offset = any_offset(in);
  record.timestamp = any_time(in);
  record.key = maybe_text(in, 100);
  record.value = maybe_text(in, 1000);
  for (int i = in.ConsumeIntegralInRange(0, 4); i > 0; --i) {
    std::string name = in.ConsumeRandomLengthString(20);
    record.headers.emplace_back(std::move(name), maybe_text(in, 20));
  }
  return story;
}

JournalEntry any_entry(FuzzedDataProvider& in) {
  switch (in.ConsumeIntegralInRange(0, 3)) {
    case 0:
      return HeadEntry{Lane(in.ConsumeIntegral<std::uint32_t>()), any_offset(in)};
    case 1:
      return Obituary{any_offset(in), in.ConsumeIntegral<std::uint64_t>(), any_time(in), in.ConsumeBool(),
                      in.ConsumeBool()};
    default:
      return any_message(in);
  }
}

}  // namespace
}  // namespace bartleby::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bartleby;
  using namespace bartleby::fuzz;
  FuzzedDataProvider in(data, size);
  if (in.ConsumeBool()) {
    static constexpr const char* kKeys[] = {"m/1", "h/1", "x/1/2"};
    const std::string key = in.ConsumeBool() ? in.PickValueInArray(kKeys) : in.ConsumeRandomLengthString(40);
    check(key, in.ConsumeRemainingBytesAsString());
    return 0;
  }
  const JournalEntry entry = any_entry(in);
  const JournalStory story = std::holds_alternative<MessageEntry>(entry) ? any_story(in) : JournalStory{};
  std::string key = journal_key(entry);
  std::string value = journal_value(entry, story);
  const Result<DecodedEntry> decoded = decode_journal(key, value);
  require(decoded.has_value() && decoded->entry == entry && fingerprint(decoded->entry) == fingerprint(entry));
  require(decoded->story == JournalStory{bounded(story.error), story.record});
  damage(in, value);
  if (in.ConsumeBool()) damage(in, key);
  check(key, value);
  return 0;
}
