// The thread that takes in letters: finds dlqs, carries out what Intake asks for, says what arrived.
//
// Owns its thread; `stop` (and the destructor) ends it after the command at hand. Broker and store must outlive it. A
// broker or a store that fails is asked again later, with a line in the log; nothing is skipped. What goes on failing
// is among the `troubles`.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "office/intake.h"
#include "ports/broker.h"

namespace bartleby {

struct IntakeOptions {
  std::string cluster;
  // Which topics are dlqs, and of what class; nothing: it is none.
  std::function<std::optional<DlqClass>(const std::string& topic)> dlq_class;
  // Everything below this offset is taken in, and may be deleted; absent: nobody wants to know.
  std::function<void(const TopicPartition& dlq, Offset to)> passed{};
  // The group that shall show how far intake is in this topic; empty: none.
  std::function<std::string(const std::string& topic)> group_of{};
  Duration show{1000};  // how often that is committed, at most
  TakeIn::SinksOf sinks_of{};
  TakeIn::SourceOf source_of{};
  std::size_t most_shelves = kMaxShelves;
  Duration discover{2000};  // how often topics are listed
  IntakeLimits limits{};
};

// A step that failed and has not worked since.
struct IntakeTrouble {
  std::string dlq;    // empty: all of them
  std::string doing;  // reading, storing, …
  std::string error;
  Timestamp since;
  std::uint64_t times = 0;  // in a row
};

struct IntakeCounts {
  std::uint64_t stored = 0, came_back = 0, duplicates = 0, incidents = 0, overflowed = 0, missed = 0, failures = 0;
  std::int64_t lag = 0;
  std::optional<IntakeTrouble> trouble{};  // the one that has lasted longest
};

class IntakeRunner {
 public:
  // What was taken in from a dlq, in the runner's thread.
  using Heard = std::function<void(const std::string& dlq, const IntakeReport& report)>;

  IntakeRunner(Broker& broker, Store& store, Log& log, const Clock& clock, IntakeOptions options, Heard heard = {});
  ~IntakeRunner();
  IntakeRunner(const IntakeRunner&) = delete;
  IntakeRunner& operator=(const IntakeRunner&) = delete;

  void start();
  void stop();
  IntakeCounts counts() const;

  // Without the thread: everything that is due now, until nothing more is. For tests, and for a first round.
  void run_until_idle();

 private:
  void work();
  bool round();  // whether something was done
  void find_dlqs(std::vector<IntakeEvent>& events);
  Result<void> read_ids(const std::vector<TopicSpec>& dlqs);
  void tell_anew(const IntakeBatch& batch);
  IntakeEvent carry_out(ReadPosition& command);
  IntakeEvent carry_out(ReadDlq& command);
  // What nothing was added to, or whose leader does not answer, is told here; the others are left.
  void look_at_ends(std::vector<IntakeCommand>& commands);
  IntakeEvent carry_out(StoreBatch& command);
  void tell(const std::string& dlq, const IntakeReport& report);
  void moved(const TopicPartition& dlq, Offset to);
  bool show_positions();
  void complain(const TopicPartition& dlq, std::string_view doing, const Error& error);
  void went_well(const TopicPartition& dlq, std::string_view doing);

  Broker& broker_;
  Log& log_;
  const Clock& clock_;
  const IntakeOptions options_;
  const Heard heard_;
  TakeIn take_in_;
  Intake intake_;
  Instant next_discovery_{};
  std::map<std::string, DlqClass> known_;                         // as they are stored
  std::map<std::string, std::string> ids_;                        // of dlqs; or that the broker tells none
  std::map<TopicPartition, std::pair<Offset, Offset>> read_out_;  // ranges of those that were read to their end
  std::vector<IntakeEvent> events_;
  std::map<TopicPartition, Offset> to_show_;        // positions that their groups do not show yet
  std::map<std::string, std::string> shown_badly_;  // groups that did not take theirs, and why
  Instant next_show_{};
  std::set<std::string> overflowing_;  // dlqs of which it was told

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;                                                     // under the mutex
  IntakeCounts counts_{};                                                     // under the mutex
  std::map<std::pair<TopicPartition, std::string>, IntakeTrouble> troubles_;  // under the mutex; by what was done
  std::thread thread_;
};

}  // namespace bartleby
