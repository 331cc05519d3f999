// Recordings of events: nothing crashes the reader, and what it reads is written and read again as the same.
#include "fuzz_input.h"
#include "runtime/recording.h"

namespace bartleby::fuzz {
namespace {

// A recording with a step of every kind of event that has lists or optional fields, to be damaged.
std::string valid_recording() {
  std::string bytes;
  EngineConfig config;
  config.writer = "w";
  const PartitionRef ref{1, Epoch(2)};
  const std::vector<RecordRef> records(3);
  MessageEntry entry;
  entry.lane = Lane(5);
  entry.dead = Reason::kExhausted;
  Ending ending;
  ending.after = Duration(5);
  const std::vector<Event> events{AssignedIn{ref, {Duration(5), 6, true, 8, true}, 7},
                                  RecordsIn{ref, records},
                                  OffsetsIn{ref, Stability::kStable, true, Offset(4), "b1."},
                                  JournalIn{ref, true, {{entry, 3}, {HeadEntry{}, 4}, {Obituary{}, 5}}, true, false},
                                  ReadIn{ref, 3, true, records, Offset(9), true, Offset(0)},
                                  WriteIn{WriteSerial(4), WriteResult::kRefused, {{1, Refusal::kDenied, 2}}},
                                  ResolvedIn{WriteSerial(4), true, {{ref, Offset(3), "b1."}}},
                                  ParkedOrder{ParkedOrder::What::kRunNow, ref, Offset(3), Kind::kTimeout}};
  EventRecorder recorder(config, [&](std::string_view more) {
    bytes += more;
    return true;
  });
  const std::vector<Completion> completions{{{ref, 2, 3}, 1, ending}, {{ref, 4, 5}, 2, {}}};
  recorder.before(events, completions, {Instant(Duration(5)), timestamp_ms(6)});
  recorder.after({});
  recorder.before({}, {}, {Instant(Duration(7)), timestamp_ms(8)});
  return bytes;
}

// What can be read, written again: the engine's answers are not known here, so all get the same.
std::string rewritten(std::string_view bytes) {
  std::string out;
  auto reader = RecordingReader::open(bytes);
  if (!reader) {
    require(!reader.error().message.empty());
    return out;
  }
  EventRecorder recorder(reader->config(), [&](std::string_view more) {
    out += more;
    return true;
  });
  RecordedStep step;
  while (true) {
    const auto more = reader->next(step);
    if (!more) require(!more.error().message.empty());
    if (!more || !*more) return out;
    recorder.before(step.events, step.completions, step.now);
    recorder.after({});
  }
}

}  // namespace
}  // namespace bartleby::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bartleby;
  using namespace bartleby::fuzz;
  FuzzedDataProvider in(data, size);
  std::string bytes;
  if (in.ConsumeBool()) {
    bytes = valid_recording();
    damage(in, bytes);
  } else {
    bytes = "bartleby events 1\n" + in.ConsumeRemainingBytesAsString();
  }
  const std::string once = rewritten(bytes);
  require(rewritten(once) == once);
  return 0;
}
