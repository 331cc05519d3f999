// One operation being carried out, as a pure state machine: events in, commands out; no thread, no clock, no I/O.
//
// It keeps nothing that matters: before every step it looks at what is durable (`OperationSeen`) and decides from that
// alone, so a crash between any two commands, or a lost answer, costs a look. A replay goes batch by batch, each in
// three steps: taken (the letters are `replaying`, their items `unknown`), sent together with the cursor on the
// broker, written down. After a crash the broker's cursor tells which of the three it was. Only the pace is in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/time.h"
#include "model/operation_facts.h"

namespace bartleby {

struct RunLimits {
  std::int64_t batch = 2000;  // letters sent in one write
  std::int64_t slice = 1000;  // letters discarded, restored or purged in one transaction
  Duration poll{200};         // how often outcomes, and what people want, are looked at
  Duration retry{1000};       // after a failure, doubled each time
  Duration max_retry{30000};
  Duration quiet{std::chrono::hours(1)};  // all sent, and no outcome for so long: done; the canary: halted
};

// ---- Events
struct OperationSeen {
  bool answered = false;
  std::string id;
  OperationKind kind = OperationKind::kReplay;
  OperationState state = OperationState::kPlanned;
  OperationSettings settings;
  std::int64_t letters = 0;
  std::int64_t cursor = 0;     // items below it are dealt with
  std::int64_t taken_to = 0;   // items from the cursor up to here are taken; the cursor itself: none are
  std::int64_t broker_at = 0;  // of a replay: the cursor that moves with what is sent
  ResultCounts results{};
  std::optional<Timestamp> last_result;  // when an item changed last; where outcomes are awaited: canary and end
};
struct CommandDone {
  enum class Result : std::uint8_t { kDone, kFailed, kRefused } result = Result::kFailed;
  std::string why;  // of a refusal: the broker will never take these records
};
using RunEvent = std::variant<OperationSeen, CommandDone>;

// ---- Commands; one is open at a time
struct Look {};
struct TakeLetters {
  std::int64_t from, to;
};
struct SendLetters {
  std::int64_t from, to;
};
// Sent: the cursor moves, items say so.
struct WriteDown {
  std::int64_t from, to;
};
// Taken and not sent when somebody paused or cancelled: they are open again, and wait or are skipped.
struct GiveBack {
  std::int64_t from, to;
};
// Cannot be sent: it is open again, its item says why, and the cursor goes past it.
struct ReturnLetter {
  std::int64_t at;
  std::string why;
};
// Discard, restore, purge: changed and written down in one transaction.
struct ChangeSlice {
  OperationKind kind;
  std::int64_t from, to;
};
struct MoveOperation {
  OperationCause cause;
  std::string note;
};
using RunCommand =
    std::variant<Look, TakeLetters, SendLetters, WriteDown, GiveBack, ReturnLetter, ChangeSlice, MoveOperation>;

class OperationRun {
 public:
  explicit OperationRun(const RunLimits& limits = {}) : limits_(limits) {}

  // What the answer to the last command leads to, or what is due by now; nothing: not before `next_wake`.
  std::optional<RunCommand> step(std::optional<RunEvent> event, Now now);
  Instant next_wake() const { return due_; }
  bool over() const { return over_; }  // nothing of it is left to do here

 private:
  std::optional<RunCommand> decide(const OperationSeen& seen, Now now);
  std::optional<RunCommand> decide_replay(const OperationSeen& seen, Now now);
  std::optional<RunCommand> wait(Instant until);
  void refused(const SendLetters& sent, const std::string& why);
  std::optional<RunCommand> paced(const OperationSeen& seen, std::int64_t until, Now now);

  const RunLimits limits_;
  bool asked_ = false;  // a command is open
  bool over_ = false;
  // A batch was refused: half of it goes, and half of that, until one letter is, and twice as many after each success.
  std::optional<std::int64_t> at_most_;
  std::optional<SendLetters> sending_;
  std::optional<std::string> refused_;  // why the letter that went alone was
  Instant due_{};
  Duration retry_{0};
  std::optional<std::int64_t> paced_from_us_;  // when the letters sent so far were due, in microseconds
};

// Why an operation with these results must not go on; nothing: it may. `canary`: everything sent so far is known.
std::optional<std::string> reason_to_halt(const OperationSeen& seen, bool canary);

}  // namespace bartleby
