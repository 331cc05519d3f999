// Recordings of the engine's events: what is written is read again, and nothing is believed that is not there.
#include "runtime/recording.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

const PartitionRef kRef{3, Epoch(70000)};

EngineConfig some_config() {
  EngineConfig c;
  c.writer = "bartleby.g.i.0123456789abcdef";
  c.key_policy = KeyPolicy::kBypass;
  c.guard.reset();
  c.seed = UINT64_MAX;
  RetryPolicy linear;
  linear.backoff = Linear{Duration(7)};
  linear.max_attempts_by_kind[static_cast<std::size_t>(Kind::kConfig)] = 9;
  RetryPolicy exponential;
  exponential.backoff = Exponential{Duration(1), 3, Duration(900)};
  c.cases = {RetryPolicy{}, linear, exponential};
  return c;
}

RecordRef some_record(std::int64_t offset) {
  RecordRef r;
  r.offset = Offset(offset);
  r.timestamp = timestamp_ms(1'700'000'000'123);
  r.lane = Lane(0xdeadbeef);
  r.slot = 17;
  r.size = 300;
  r.case_id = 2;
  r.flags = kRefuse | kReplayed;
  r.reason = Reason::kMaxHops;
  return r;
}

const std::vector<RecordRef>& some_records() {
  static const std::vector<RecordRef> kRecords{some_record(0), some_record(1), some_record(INT64_MAX)};
  return kRecords;
}

// One of each kind, with every optional field set.
std::vector<Event> one_of_each() {
  MessageEntry m;
  m.offset = Offset(4);
  m.timestamp = timestamp_ms(-5);
  m.lane = Lane(9);
  m.self = m.done = true;
  m.dead = Reason::kExhausted;
  m.attempts = 6;
  m.kind = Kind::kCrash;
  m.due = m.first_failure = m.last_failure = timestamp_ms(1'700'000'000'000);
  m.throttled = Duration(60000);
  return {AssignedIn{kRef, {Duration(1000), 5000, true, 900, true}, 77},
          RevokedIn{kRef},
          LostIn{kRef},
          RecordsIn{kRef, some_records()},
          EndIn{kRef, Offset(12)},
          OutOfRangeIn{kRef, Offset(3), Offset(4)},
          OffsetsIn{kRef, Stability::kUnstable, true, Offset(8), "b1.abc"},
          FencedIn{kRef, true},
          JournalIn{kRef, true, {{m, 3}, {HeadEntry{Lane(1), Offset(2)}, kNone}, {Obituary{}, kNone}}, true, true},
          ReadIn{kRef, 21, true, some_records(), Offset(30), true, Offset(1)},
          LogIn{kRef, Offset(1), Offset(90), 12345},
          WriteIn{WriteSerial(8), WriteResult::kRefused, {{3, Refusal::kTimeout, 4}}},
          ResolvedIn{WriteSerial(8), true, {{kRef, Offset(5), "b1."}}},
          ParkedOrder{ParkedOrder::What::kGiveUp, kRef, Offset(5), Kind::kTimeout},
          PauseIn{true},
          SettingsIn{std::make_shared<const LiveSettings>(some_config())},
          StopIn{}};
}

std::vector<Completion> some_completions() {
  Ending ending;
  ending.fate = Fate::kRetry;
  ending.kind = Kind::kThrottled;
  ending.after = Duration(250);
  ending.story = 5;
  ending.emit = 6;
  ending.emit_records = 7;
  ending.emit_bytes = 8;
  ending.emit_topic = 9;
  return {{{kRef, 4, 5}, 2, ending}, {{kRef, 6, 7}, 1, {}}};
}

Now at(std::int64_t ms) { return {Instant(Duration(ms)), timestamp_ms(1'700'000'000'000 + ms)}; }

struct Recorded {
  std::string bytes;
  std::vector<std::size_t> sizes;  // after each call of the sink
  std::vector<std::string> stopped;

  std::unique_ptr<EventRecorder> recorder(std::size_t max = EventRecorder::kMaxBytes) {
    return std::make_unique<EventRecorder>(
        some_config(),
        [this](std::string_view more) {
          bytes += more;
          sizes.push_back(bytes.size());
          return true;
        },
        [this](const std::string& why) { stopped.push_back(why); }, max);
  }
};

// Three steps: one of each event, none, one of each; with different answers.
std::string three_steps() {
  Recorded to;
  auto recorder = to.recorder();
  for (int i = 0; i < 3; ++i) {
    if (i == 1)
      recorder->before({}, {}, at(i));
    else
      recorder->before(one_of_each(), some_completions(), at(i));
    Commands commands;
    commands.free_slots.push_back(static_cast<std::uint32_t>(i));
    recorder->after(commands);
  }
  recorder.reset();
  return to.bytes;
}

TEST(Recording, HoldsEveryKindOfEventAndTheConfiguration) {
  const std::vector<Event> events = one_of_each();
  std::set<std::size_t> kinds;
  for (const Event& e : events) kinds.insert(e.index());
  ASSERT_EQ(kinds.size(), std::variant_size_v<Event>);

  const std::string bytes = three_steps();
  auto reader = RecordingReader::open(bytes);
  ASSERT_TRUE(reader.has_value()) << reader.error().message;
  EXPECT_EQ(reader->config().writer, some_config().writer);
  EXPECT_EQ(reader->config().seed, UINT64_MAX);
  EXPECT_FALSE(reader->config().guard);
  ASSERT_EQ(reader->config().cases.size(), 3u);
  EXPECT_EQ(std::get<Exponential>(reader->config().cases[2].backoff).max, Duration(900));
  EXPECT_EQ(reader->config().cases[1].attempts_for(Kind::kConfig), 9u);

  // Written again, what was read is the same bytes: no field is lost or moved.
  Recorded again;
  auto recorder = again.recorder();
  RecordedStep step;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto more = reader->next(step);
    ASSERT_TRUE(more.has_value() && *more);
    EXPECT_EQ(step.now.steady, at(i).steady);
    EXPECT_EQ(step.now.wall, at(i).wall);
    Commands commands;
    commands.free_slots.push_back(i);
    EXPECT_EQ(step.answer, hash_of(commands));
    recorder->before(step.events, step.completions, step.now);
    recorder->after(commands);
  }
  recorder.reset();
  EXPECT_EQ(again.bytes, bytes);
  EXPECT_FALSE(*reader->next(step));
  EXPECT_FALSE(reader->cut_off());
}

TEST(Recording, GivesBackTheFieldsOfAnEvent) {
  const std::string bytes = three_steps();
  auto reader = RecordingReader::open(bytes);
  RecordedStep step;
  ASSERT_TRUE(*reader->next(step));
  const auto& records = std::get<RecordsIn>(step.events[3]);
  ASSERT_EQ(records.records.size(), 3u);
  EXPECT_EQ(records.ref, kRef);
  EXPECT_EQ(records.records[2].offset, Offset(INT64_MAX));
  EXPECT_EQ(records.records[1].lane, Lane(0xdeadbeef));
  EXPECT_EQ(records.records[1].reason, Reason::kMaxHops);
  const auto& journal = std::get<JournalIn>(step.events[8]);
  EXPECT_EQ(std::get<MessageEntry>(journal.items[0].entry).timestamp, timestamp_ms(-5));
  EXPECT_EQ(std::get<MessageEntry>(journal.items[0].entry).dead, Reason::kExhausted);
  ASSERT_EQ(step.completions.size(), 2u);
  EXPECT_FALSE(step.completions[1].last);
  const Completion& completion = step.completions[0];
  EXPECT_EQ(completion.last->after, Duration(250));
  EXPECT_EQ(completion.last->emit_topic, 9u);
}

TEST(Recording, EveryPartOfTheCommandsIsInTheirHash) {
  std::vector<Commands> all(1);
  const auto more = [&](const auto& change) { change(all.emplace_back()); };
  more([](Commands& c) { c.runs.push_back({{kRef, 1, 2}, 0, 1, 1, false, false}); });
  more([](Commands& c) { c.runs.push_back({{kRef, 1, 2}, 0, 1, 2, false, false}); });
  more([](Commands& c) { c.items.push_back({Offset(1), 2, 3}); });
  more([](Commands& c) { c.free_slots.push_back(1); });
  more([](Commands& c) { c.free_stories.push_back(1); });
  more([](Commands& c) { c.free_emits.push_back(1); });
  more([](Commands& c) { c.others.emplace_back(Stopped{}); });
  more([](Commands& c) { c.others.emplace_back(WritePlan{WriteSerial(1), {{kRef, Offset(2), "a"}}, {}}); });
  more([](Commands& c) { c.others.emplace_back(WritePlan{WriteSerial(1), {{kRef, Offset(2), "b"}}, {}}); });
  more([](Commands& c) { c.alarms.push_back({AlarmType::kExpiring, kRef, Offset(2), 0}); });
  std::set<std::uint64_t> hashes;
  for (const Commands& c : all) hashes.insert(hash_of(c));
  EXPECT_EQ(hashes.size(), all.size());
}

TEST(Recording, AFileThatIsCutOffAnywhereIsReadUpToThere) {
  const std::string bytes = three_steps();
  std::size_t whole = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    auto reader = RecordingReader::open(std::string_view(bytes).substr(0, size));
    if (!reader) {
      EXPECT_EQ(whole, 0u) << size;
      EXPECT_NE(reader.error().message, "");
      continue;
    }
    RecordedStep step;
    std::size_t steps = 0;
    while (true) {
      const auto more = reader->next(step);
      ASSERT_TRUE(more.has_value()) << size << ": " << more.error().message;
      if (!*more) break;
      ++steps;
      EXPECT_EQ(!step.answer.has_value(), reader->cut_off()) << size;
    }
    EXPECT_GE(steps, whole) << size;
    whole = steps;
  }
  EXPECT_EQ(whole, 3u);  // the last one without its answer
}

TEST(Recording, EventsAreHandedOverBeforeTheEngineTakesThem) {
  Recorded to;
  auto recorder = to.recorder();
  recorder->before(one_of_each(), some_completions(), at(1));
  auto reader = RecordingReader::open(to.bytes);  // as if the process had died now
  ASSERT_TRUE(reader.has_value());
  RecordedStep step;
  ASSERT_TRUE(*reader->next(step));
  EXPECT_EQ(step.events.size(), one_of_each().size());
  EXPECT_FALSE(step.answer);
  EXPECT_TRUE(reader->cut_off());
}

TEST(Recording, StopsAtItsLargestSizeAndSaysSoOnce) {
  Recorded to;
  auto recorder = to.recorder(1000);
  for (int i = 0; i < 100; ++i) {
    recorder->before(one_of_each(), some_completions(), at(i));
    recorder->after({});
  }
  recorder.reset();
  EXPECT_LE(to.bytes.size(), 1000u);
  EXPECT_EQ(to.stopped.size(), 1u);
  auto reader = RecordingReader::open(to.bytes);
  RecordedStep step;
  ASSERT_TRUE(reader.has_value() && *reader->next(step));
}

TEST(Recording, ASinkThatFailsEndsIt) {
  int calls = 0;
  std::vector<std::string> stopped;
  EventRecorder recorder(
      some_config(), [&](std::string_view) { return ++calls < 2; },
      [&](const std::string& why) { stopped.push_back(why); });
  for (int i = 0; i < 5; ++i) {
    recorder.before({}, {}, at(i));
    recorder.after({});
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(stopped.size(), 1u);
}

std::string why_not(const std::string& bytes) {
  auto reader = RecordingReader::open(bytes);
  if (!reader) return reader.error().message;
  RecordedStep step;
  while (true) {
    const auto more = reader->next(step);
    if (!more) return more.error().message;
    if (!*more) return "";
  }
}

TEST(Recording, NothingIsBelieved) {
  const std::string bytes = three_steps();
  EXPECT_EQ(why_not(bytes), "");
  EXPECT_NE(why_not("something else").find("no recording"), std::string::npos);
  std::string newer = bytes;
  newer[newer.find('\n') - 1] = '9';
  EXPECT_NE(why_not(newer).find("another version"), std::string::npos);
  EXPECT_NE(why_not(bytes + "e\x01z").find("make no sense"), std::string::npos);  // a time that ends too early
  EXPECT_NE(why_not(bytes + std::string("e\x03\0\0\x05", 5)).find("make no sense"), std::string::npos);  // five events
  EXPECT_NE(why_not(bytes + std::string("e\x04\0\0\x01\x63", 6)).find("make no sense"), std::string::npos);
  EXPECT_NE(why_not(bytes + std::string("a\x08________", 10)).find("no events"), std::string::npos);
  EXPECT_NE(why_not(bytes + "e" + std::string(12, '\xff')).find("a length"), std::string::npos);
  // Whatever a single byte becomes, reading comes to an end and says something or nothing.
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const char c : {'\0', '\x7f', '\x80', '\xff'}) {
      std::string damaged = bytes;
      damaged[i] = c;
      why_not(damaged);
    }
}

TEST(Recording, ARecordOfACaseThatThereIsNotIsRefused) {
  for (const bool fetched : {true, false}) {
    Recorded to;
    auto recorder = to.recorder();
    std::vector<RecordRef> records{some_record(1)};
    records[0].case_id = 3;
    if (fetched)
      recorder->before(std::vector<Event>{RecordsIn{kRef, records}}, {}, at(1));
    else
      recorder->before(std::vector<Event>{ReadIn{kRef, 1, true, records, Offset(2), true, Offset(0)}}, {}, at(1));
    recorder.reset();
    EXPECT_NE(why_not(to.bytes).find("case"), std::string::npos);
  }
}

TEST(Recording, AFileIsMadeForEachLifeAndItsOwnerAloneReadsIt) {
  const support::ScratchFolder scratch;
  const std::string folder = scratch.path() + "/a/b";
  EngineConfig config = some_config();
  for (int life = 0; life < 2; ++life) {
    config.writer = "w" + std::to_string(life);
    auto made = record_to_file(folder, "orders/eu", timestamp_ms(5), config, {});
    ASSERT_TRUE(made.has_value()) << made.error().message;
    (*made)->before(one_of_each(), some_completions(), at(1));
    (*made)->after({});
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::ifstream file(entry.path(), std::ios::binary);
    EXPECT_EQ(why_not(std::string(std::istreambuf_iterator<char>(file), {})), "");
  }
  EXPECT_EQ(files, 2);
  const auto again = record_to_file(folder, "orders/eu", timestamp_ms(5), config, {});
  ASSERT_FALSE(again.has_value());  // never over another one
  EXPECT_NE(again.error().message.find(".events"), std::string::npos);
}

}  // namespace
}  // namespace bartleby
