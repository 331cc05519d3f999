// An Engine with one partition, without bytes, threads or a broker: its log is a list of references in memory.
//
// Writes are done at once, reads and sweeps are answered from the list, handlers are a function. What survives the
// process is apart (`BareLog`), so that another engine can take over from it; the journal goes through its
// codec both ways. The clock is the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace bartleby::sim {

struct BareLog {
  std::vector<RecordRef> records;              // by offset
  std::map<std::string, std::string> journal;  // live entries
  std::optional<Offset> offset = Offset(0);
  std::string metadata;
};

class BareEngine {
 public:
  // What the message ended with; nothing = it succeeded plainly.
  using Handler = std::function<std::optional<Ending>(const Run&, const RunItem&, Now)>;
  using OnLetter = std::function<void(const PlannedRecord&, const std::string& story)>;

  BareEngine(EngineConfig config, BareLog& log, Now now, Handler handler);

  bool feed(std::size_t batch = 500);  // the next records, if intake is open; then works
  void work();                         // until nothing is left to do now
  void pass(Duration time);            // moves the clock, in the engine's own steps, and works
  void tell(Event event) { events_.push_back(std::move(event)); }
  void on_letter(OnLetter callback) { on_letter_ = std::move(callback); }
  std::uint32_t story(std::string text);

  Now now() const { return now_; }
  const Engine& engine() const { return engine_; }
  const PartitionEngine& partition() const { return *engine_.partition(kRef); }
  std::size_t slots_out() const { return slots_out_; }  // messages in the engine's memory
  std::size_t stories_out() const { return stories_.size(); }

 private:
  static constexpr PartitionRef kRef{0, Epoch(1)};
  void step();
  void answer(Command& command);
  void write(const WritePlan& plan);
  void read_journal();
  void next_slice();

  Engine engine_;
  BareLog& log_;
  Now now_;
  Handler handler_;
  OnLetter on_letter_;
  Commands commands_;
  std::vector<Event> events_;
  std::vector<Completion> completions_;
  std::map<std::uint32_t, std::string> stories_;
  std::uint32_t last_story_ = 0;
  std::optional<Sweep> sweep_;
  std::size_t fed_ = 0;
  std::size_t slots_out_ = 0;
  bool intake_ = false;
};

}  // namespace bartleby::sim
