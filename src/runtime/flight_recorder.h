// What runs inside this process, in a mapped file that survives the process: the evidence when a message kills it.
//
// A slot per running handler {journal, partition, offset, record time, attempt, alone}. A fault (SIGSEGV, SIGBUS,
// SIGILL, SIGFPE, SIGABRT) marks the slot of the thread it struck; a clean stop clears all. The next start reads what
// was left and writes an obituary per slot. Any thread takes and gives back slots; the signal handler touches nothing
// but the mapped page. When no slot is free the handler runs without one, and that is counted. A file that is no
// recorder, or of another version, is put aside and never read.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/journal.h"

namespace bartleby {

struct FlightEntry {
  std::string journal;  // topic of the journal that the obituary goes into
  Partition partition;
  Offset offset;
  Timestamp timestamp;
  std::uint32_t attempt = 1;
  bool alone = false;
};

// Somebody who ran when the process died.
struct Casualty {
  FlightEntry flight;
  std::uint64_t incarnation = 0;
  bool faulting = false;

  Obituary obituary() const { return {flight.offset, incarnation, flight.timestamp, faulting, flight.alone}; }
};

class FlightRecorder {
 public:
  static constexpr std::uint32_t kSlots = 4096;

  // Reads what an earlier life left, then begins anew with this incarnation.
  static Result<std::unique_ptr<FlightRecorder>> open(const std::filesystem::path& file, std::uint64_t incarnation);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  const std::vector<Casualty>& casualties() const { return casualties_; }
  // The obituaries are durable: a crash from here on does not write them again.
  void forget_casualties();

  // Returns the slot's number, or kNoSlot.
  std::uint32_t begin(const FlightEntry& flight);
  void end(std::uint32_t slot);
  // For a thread that runs one message after the other: a slot that stays its own in between, where it names nobody.
  std::uint32_t claim();
  void name_journal(std::uint32_t slot, std::string_view topic);  // while it names nobody
  void run(std::uint32_t slot, Partition partition, Offset offset, Timestamp timestamp, std::uint32_t attempt,
           bool alone);
  void rest(std::uint32_t slot);
  // A handler that has long passed its deadline: named as the one who brought the process down.
  void mark(std::uint32_t slot);

  // This thread is about to run / has run the code of a slot's message: a fault of the thread is the slot's.
  static void enter(const FlightRecorder* recorder, std::uint32_t slot);
  static void leave();

  void clear();
  std::uint64_t without_slot() const { return without_slot_.load(std::memory_order_relaxed); }

  // Installs the signal handlers, once per process; each thread that runs handlers calls `alternate_stack` first, so
  // that an overflow of its stack can still be recorded.
  static void install_signal_handlers();
  static void alternate_stack();

  static constexpr std::uint32_t kNoSlot = 0xffffffff;

 private:
  struct Page;
  FlightRecorder(Page* page, std::vector<Casualty> casualties);

  Page* page_;
  std::vector<Casualty> casualties_;
  std::uint64_t incarnation_ = 0;
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint64_t> without_slot_{0};
};

}  // namespace bartleby
