// An engine with one partition whose broker, log and handler are played by hand, at once and in one thread.
//
// Offsets, journal and log are answered as those of a new group; a write is done as soon as it is asked for; a read or
// a sweep is answered from the log in memory, in slices. The clock is the caller's. What is measured is therefore
// the engine, plus this file: one pass over the commands of each step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace bartleby::bench {

constexpr std::size_t kBatch = 500;  // records handed over at a time, and in one slice of a sweep

EngineConfig plain_config();

class Rig {
 public:
  // What the first message of a run ended with; nothing = the whole run succeeded plainly.
  using Handler = std::function<std::optional<Ending>(const Run&, const RunItem& first, Now now)>;

  // Takes the partition over; `log` stays the caller's.
  Rig(EngineConfig config, std::span<const RecordRef> log, Handler handler = {});

  // Hands the next batch over, if there is one and intake is open, and works until nothing is left to do now.
  bool feed();
  // The same without a batch.
  void work();

  void set_now(Instant now);
  void pass(Duration time) { set_now(now_.steady + time); }
  // On to when the engine wants to be called next; false if that is never.
  bool sleep();

  Now now() const { return now_; }
  std::uint64_t handled() const { return handled_; }
  std::uint64_t checksum() const { return checksum_; }
  std::uint64_t slots_out() const { return slots_out_; }  // handed to the engine and not given back
  std::size_t rest() const { return log_.size() - fed_; }
  Offset committed() const { return committed_; }
  std::uint64_t writes() const { return engine_.counters().writes; }
  const Engine& engine() const { return engine_; }
  const PartitionEngine& partition() const { return *engine_.partition(kRef); }

 private:
  static constexpr PartitionRef kRef{0, Epoch(1)};

  void settle();
  void carry_out();
  void answer(const Command& command);
  void next_slice();

  Engine engine_;
  std::span<const RecordRef> log_;
  Handler handler_;
  Now now_{};
  Commands commands_;
  std::vector<Completion> completions_;
  std::vector<Event> events_;
  std::optional<Sweep> sweep_;
  std::size_t fed_ = 0;
  bool intake_ = false;
  Offset committed_;
  std::uint64_t handled_ = 0;
  std::uint64_t checksum_ = 0;
  std::uint64_t slots_out_ = 0;
};

}  // namespace bartleby::bench
