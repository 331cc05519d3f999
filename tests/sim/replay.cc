#include "tests/sim/replay.h"

#include <array>

#include "engine/engine.h"
#include "runtime/recording.h"

namespace bartleby::sim {
namespace {

constexpr std::size_t kShown = 20;  // events of the step that differs

std::string number(std::int64_t n) { return std::to_string(n); }

std::string at(PartitionRef ref) { return " of partition " + number(ref.index) + " epoch " + number(ref.epoch.v); }

std::string yes(bool answered) { return answered ? ", answered" : ", not answered"; }

std::string records(std::span<const RecordRef> all) {
  if (all.empty()) return ", no records";
  return ", " + number(static_cast<std::int64_t>(all.size())) + " records from " + number(all.front().offset.v) +
         " to " + number(all.back().offset.v);
}

std::string words(const Completion& c) {
  constexpr std::array<const char*, 5> kFates = {"done", "skip", "retry", "reject", "logical failure"};
  std::string text = "run " + number(c.token.serial) + at(c.token.ref) + " over, " + number(c.done) + " done";
  if (!c.last) return text;
  text += std::string(", then ") + kFates[static_cast<std::size_t>(c.last->fate)];
  if (c.last->fate == Fate::kRetry || c.last->fate == Fate::kReject) text += " " + std::string(name(c.last->kind));
  if (c.last->after) text += " after " + number(c.last->after->count()) + " ms";
  if (c.last->emit_records > 0) text += ", emits " + number(c.last->emit_records);
  return text;
}

std::string words(const WriteIn& in) {
  constexpr std::array<const char*, 4> kResults = {"done", "refused", "not done", "unknown"};
  return "write " + number(static_cast<std::int64_t>(in.serial.v)) + " " +
         kResults[static_cast<std::size_t>(in.result)] + ", " + number(static_cast<std::int64_t>(in.refused.size())) +
         " records refused";
}

std::string words(const Event& event) {
  return std::visit(
      [](const auto& in) -> std::string {
        using T = std::decay_t<decltype(in)>;
        if constexpr (std::is_same_v<T, AssignedIn>) return "assigned" + at(in.ref);
        if constexpr (std::is_same_v<T, RevokedIn>) return "revoked" + at(in.ref);
        if constexpr (std::is_same_v<T, LostIn>) return "lost" + at(in.ref);
        if constexpr (std::is_same_v<T, RecordsIn>) return "fetch" + at(in.ref) + records(in.records);
        if constexpr (std::is_same_v<T, EndIn>) return "end" + at(in.ref) + " at " + number(in.next.v);
        if constexpr (std::is_same_v<T, OutOfRangeIn>)
          return "out of range" + at(in.ref) + ", log from " + number(in.log_start.v) + " to " + number(in.log_end.v);
        if constexpr (std::is_same_v<T, OffsetsIn>)
          return "offsets" + at(in.ref) + yes(in.answered) + (in.offset ? ", " + number(in.offset->v) : ", none");
        if constexpr (std::is_same_v<T, FencedIn>) return "writer fenced" + at(in.ref) + yes(in.answered);
        if constexpr (std::is_same_v<T, JournalIn>)
          return "journal" + at(in.ref) + yes(in.answered) + ", " + number(static_cast<std::int64_t>(in.items.size())) +
                 " entries" + (in.tail ? ", tail" : "");
        if constexpr (std::is_same_v<T, ReadIn>)
          return "read " + number(in.serial) + at(in.ref) + yes(in.answered) + records(in.records) +
                 (in.end ? ", the last" : "");
        if constexpr (std::is_same_v<T, LogIn>)
          return "log" + at(in.ref) + yes(in.answered) + " from " + number(in.log_start.v) + " to " +
                 number(in.log_end.v);
        if constexpr (std::is_same_v<T, WriteIn>) return words(in);
        if constexpr (std::is_same_v<T, ResolvedIn>)
          return "write " + number(static_cast<std::int64_t>(in.serial.v)) + " resolved" + yes(in.answered);
        if constexpr (std::is_same_v<T, ParkedOrder>)
          return in.what == ParkedOrder::What::kRunNow ? "order: run now" : "order: give up";
        if constexpr (std::is_same_v<T, PauseIn>) return in.paused ? "pause" : "resume";
        if constexpr (std::is_same_v<T, SettingsIn>) return "settings changed";
        if constexpr (std::is_same_v<T, StopIn>) return "stop";
      },
      event);
}

std::string describe(const Replay& so_far, const RecordedStep& step, const Commands& commands) {
  const auto size = [](const auto& all) { return number(static_cast<std::int64_t>(all.size())); };
  std::string text = "step " + number(static_cast<std::int64_t>(so_far.steps)) + " at " + number(ms(step.now.steady)) +
                     " ms differs; its events:\n";
  const auto list = [&text](const auto& all) {
    for (std::size_t i = 0; i < all.size() && i < kShown; ++i) text += "  " + words(all[i]) + "\n";
    if (all.size() > kShown) text += "  … " + number(static_cast<std::int64_t>(all.size() - kShown)) + " more\n";
  };
  list(step.events);
  list(step.completions);
  text += "the engine now answers with " + size(commands.runs) + " runs of " + size(commands.items) + " messages, " +
          size(commands.others) + " other commands, " + size(commands.alarms) + " alarms, and frees " +
          size(commands.free_slots) + " messages, " + size(commands.free_stories) + " stories, " +
          size(commands.free_emits) + " emits";
  return text;
}

}  // namespace

std::string Replay::text() const {
  if (!identical()) return different;
  return std::to_string(steps) + " steps, " + std::to_string(events) + " events: identical" +
         (cut_off ? " (the last step is cut off)" : "");
}

Replay replay(std::string_view recording) {
  Replay result;
  auto reader = RecordingReader::open(recording);
  if (!reader) {
    result.different = reader.error().message;
    return result;
  }
  Engine engine(reader->config());
  Commands commands;
  RecordedStep step;
  while (true) {
    const auto more = reader->next(step);
    if (!more) {
      result.different = "step " + std::to_string(result.steps + 1) + " cannot be read: " + more.error().message;
      return result;
    }
    if (!*more) break;
    ++result.steps;
    result.events += step.events.size() + step.completions.size();
    commands.clear();
    engine.step(step.events, step.completions, step.now, commands);
    if (step.answer && hash_of(commands) != *step.answer) {
      result.different = describe(result, step, commands);
      return result;
    }
  }
  result.cut_off = reader->cut_off();
  return result;
}

}  // namespace bartleby::sim
