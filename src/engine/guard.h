// The outage guard: a dead dependency or a bad deploy stops the work instead of pouring the topic into the dlq.
//
// Evidence first: of at least `of` different messages within the window, the newest, `open_percent` failed with one
// retryable kind. Open means: no dispatch but one probe per interval, each of another lane, and nothing that
// fails with a retryable kind counts. Two successes of different messages close it. It never stays open
// longer than it may; then it stays off until one whole window was good.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/time.h"
#include "engine/config.h"
#include "model/failure.h"
#include "model/ids.h"

namespace bartleby {

class OutageGuard {
 public:
  explicit OutageGuard(std::optional<GuardConfig> config) : config_(config) {}

  // From now on. Returns true if that closed it: it is off.
  bool set(std::optional<GuardConfig> config);

  // An attempt of a message ended. `again`: it has failed before. Returns true if that opened the guard.
  bool failed(Kind kind, PartitionRef ref, Offset offset, bool again, Now now, Duration longest);
  // Returns true if that closed it.
  bool succeeded(PartitionRef ref, Offset offset, bool again, Instant now);

  // Time passes: an outage that lasted too long is let go. Returns true if that closed it.
  bool tick(Instant now);
  void give_up(Instant now);  // though its time is not over

  bool open() const { return open_; }
  Instant since() const { return opened_; }
  bool may_probe(Instant now) const { return open_ && !probing_ && now >= next_probe_; }
  void probe_started(Instant now);
  void probe_gone() { probing_ = false; }
  void forget(PartitionRef ref);  // it has left
  bool may_write_letter();        // of an exhausted message, while open; takes one from the window's share
  Instant next_event(Instant now) const;

 private:
  // What was seen within a part of the window.
  struct Part {
    std::int64_t number = -1;  // of parts since the clock began
    std::array<std::uint32_t, kKinds + 1> messages{};
    std::uint32_t first_attempts = 0;
  };
  struct Failure {
    std::int64_t part;
    std::uint8_t kind;
  };
  using Who = std::pair<PartitionRef, Offset>;

  void add(std::uint8_t kind, PartitionRef ref, Offset offset, bool again, Instant now);
  void take_back(Who who);
  void forget_all();
  Part& part(Instant now);
  bool evidence() const;

  std::optional<GuardConfig> config_;
  bool open_ = false;
  bool probing_ = false;
  bool spent_ = false;  // gave up an outage; off until a good window
  Instant opened_{};
  Instant give_up_ = kNever;
  Instant next_probe_{};
  Instant spent_since_{};
  Instant letters_from_{};
  std::uint32_t letters_ = 0;
  std::optional<Who> first_success_;
  // Every message counts once within the window, by what became of it last. Of those that failed so many are known;
  // one that fails again after so many others counts as another.
  static constexpr std::int64_t kParts = 60;
  static constexpr std::size_t kKnown = 4096;
  std::array<Part, kParts> parts_{};
  std::int64_t newest_ = -1;  // part
  Instant part_ends_{};
  std::map<Who, Failure> failed_;
  std::deque<Who> known_;  // in their order; some have succeeded since
};

}  // namespace bartleby
