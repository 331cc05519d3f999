// Intake as a pure state machine: what is read from dlqs, what is stored of it, and when to look again.
//
// Events in, commands out; no thread, no clock, no I/O. A partition has one command open at a time and partitions do
// not wait for each other. Every failure ends in the same place: the stored position is read again, and reading goes
// on from there, so a lost reply costs a repetition and never a letter. IntakeRunner carries out the commands.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "office/letter_parts.h"
#include "office/take_in.h"

namespace bartleby {

struct IntakeLimits {
  std::size_t records = 1000;  // of one read, and so of one transaction
  std::size_t bytes = std::size_t{8} << 20;
  Duration poll{200};    // how often a dlq that is read to its end is looked at
  Duration retry{1000};  // after a failure, doubled each time
  Duration max_retry{30000};
  PartLimits parts{};
};

// ---- Events
struct DlqFound {
  TopicPartition dlq;
};
struct PositionRead {
  TopicPartition dlq;
  bool answered = false;
  std::optional<IntakePosition> position;
};
struct DlqRead {
  TopicPartition dlq;
  bool answered = false;
  Offset log_start, log_end;
  std::vector<LogRecord> records;  // from where it was asked for, or from the log's start if that is higher
  std::string log_id{};            // as it was told before these were read. Empty: not known
};
struct BatchStored {
  TopicPartition dlq;
  bool done = false;
};
using IntakeEvent = std::variant<DlqFound, PositionRead, DlqRead, BatchStored>;

// ---- Commands
struct ReadPosition {
  TopicPartition dlq;
};
struct ReadDlq {
  TopicPartition dlq;
  Offset from;
  std::size_t records, bytes;
};
struct StoreBatch {
  IntakeBatch batch;
};
using IntakeCommand = std::variant<ReadPosition, ReadDlq, StoreBatch>;

class Intake {
 public:
  explicit Intake(std::string cluster, const IntakeLimits& limits = {})
      : cluster_(std::move(cluster)), limits_(limits) {}

  // What an event leads to, and what is due by now.
  void step(std::vector<IntakeEvent> events, Instant now, std::vector<IntakeCommand>& out);
  Instant next_wake() const;  // when `step` has something to do without an event

  std::int64_t lag() const;  // records seen in the dlqs that are not stored

 private:
  enum class Phase : std::uint8_t { kUnknown, kPositioning, kIdle, kReading, kStoring };
  struct Dlq {
    explicit Dlq(const PartLimits& limits) : parts(limits) {}
    Phase phase = Phase::kUnknown;
    Instant due{};
    Duration retry{0};
    std::optional<IntakePosition> stored;  // what the store has
    IntakePosition storing{};              // what it will have
    Offset position{0};                    // everything below has been looked at
    Offset done_to{0};                     // what ended below it was stored before this process read it
    Offset log_end{0};
    LetterParts parts;
  };
  using Dlqs = std::map<TopicPartition, Dlq>;

  void take(const DlqFound& event, Instant now, std::vector<IntakeCommand>& out);
  void take(PositionRead& event, Instant now, std::vector<IntakeCommand>& out);
  void take(DlqRead& event, Instant now, std::vector<IntakeCommand>& out);
  void take(const BatchStored& event, Instant now, std::vector<IntakeCommand>& out);

  static bool is_another(const Dlq& dlq, const DlqRead& event);
  Dlq* in_phase(const TopicPartition& tp, Phase phase);
  void look_at(const TopicPartition& tp, Dlq& dlq, LogRecord record, Instant now, std::vector<Arrival>& letters);
  void give_up_parts(const TopicPartition& tp, Dlq& dlq, Instant now, std::vector<Arrival>& letters);
  void failed(Dlq& dlq, Instant now);
  void read(const TopicPartition& tp, Dlq& dlq, std::vector<IntakeCommand>& out);
  void due(const TopicPartition& tp, Dlq& dlq, std::vector<IntakeCommand>& out);

  const std::string cluster_;
  const IntakeLimits limits_;
  Dlqs dlqs_;
};

}  // namespace bartleby
