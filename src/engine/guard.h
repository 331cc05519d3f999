// The outage guard: a dead dependency or a bad deploy stops the work instead of pouring the topic into the dlq.
//
// Evidence first: of at least `of` different messages within the window, `open_percent` failed with one
// retryable kind. Open means: no dispatch but one probe per interval, each of another lane, and nothing that
// fails with a retryable kind counts. Two successes of different messages close it. It never stays open
// longer than it may; then it stays off until one whole window was good.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

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

  // An attempt of a message ended. Returns true if that opened the guard.
  bool failed(Kind kind, PartitionRef ref, Offset offset, Now now, Duration longest);
  // `again`: it has failed before. Returns true if that closed it.
  bool succeeded(PartitionRef ref, Offset offset, bool again, Instant now);

  // Time passes: an outage that lasted too long is let go. Returns true if that closed it.
  bool tick(Instant now);

  bool open() const { return open_; }
  Instant since() const { return opened_; }
  bool may_probe(Instant now) const { return open_ && !probing_ && now >= next_probe_; }
  void probe_started(Instant now);
  void probe_gone() { probing_ = false; }
  void forget(PartitionRef ref);  // its messages may come back under another assignment
  bool may_write_letter();        // of an exhausted message, while open; takes one from the window's share
  Instant next_event(Instant now) const;

 private:
  struct Sample {
    Instant at;
    PartitionRef ref;
    Offset offset;
    std::uint8_t kind;  // kKinds = success
  };

  void add(std::uint8_t kind, PartitionRef ref, Offset offset, bool again, Instant now);
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
  std::optional<std::pair<PartitionRef, Offset>> first_success_;
  // The last messages, one sample each, at most kSamples: enough to judge, bounded whatever the rate.
  static constexpr std::size_t kSamples = 256;
  std::vector<Sample> samples_;
  std::size_t at_ = 0;
};

}  // namespace bartleby
