// One seed is one world: what it contains and what goes wrong in it.
//
// Every fault is off in half of the seeds, and limits are small in most, so that each seed is a mixture nobody
// thought of. A minimiser turns faults off one by one (`off`) while a failure stays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/config.h"
#include "engine/start.h"
#include "tests/sim/sim_faults.h"

namespace bartleby::sim {

enum class Fault : std::uint8_t {
  kCrash,
  kCrashAtCommand,
  kFreeze,
  kStop,
  kRebalance,
  kGeneration,
  kLateAssignment,
  kNotDone,
  kReplyLostDone,
  kReplyLostNotDone,
  kLateRequest,
  kReadFail,
  kFenceFail,
  kMarkerDelay,
  kLatency,
  kDlqDenied,
  kDlqSmall,
  kJournalDenied,
  kJournalFrozen,
  kEmitDenied,
  kDlqStalled,
  kPoison,
  kCrashPoison,
  kReject,
  kThrottle,
  kSlow,
  kOutage,
  kEmit,
  kReplay,
  kSkip,
  kMalformed,
  kNullKeys,
  kJournalLost,
  kRetention,
  kCompaction,
  kOffsetReset,
  kOffsetLost,
  kPartitionAdded,
  kRecreated,
  kClockJump,
  kTinyMetadata,
  kTinyLanes,
  kTinyBytes,
  kTinyWrites,
  kTinyParked,
  kTinyAhead,
  kBypass,
  kPolicyChange,
  kNoDeadLetters,
  kOrders,
  kCollision,
  kTwoVersions,
  kStrayAnswers,
  kCrowd,
  kSettings,
  kFarJump,
  kMetadataRefused,
  kJournalCut,
  kUnrun,
  kStaleEnd,
  kLargeEmits,
  kTogether,
  kShortLog,
  kRegrown,
  kNoLogIds,
  kLogCut,
  kJournalCompacted,
  kProduceFail,
  kOpenTransaction,
  kLastFault,
};

std::string fault_name(Fault fault);

// What a guard may do at most, whichever settings are in force.
struct GuardBounds {
  std::uint32_t of;
  std::uint32_t letters;
  Duration longest, shortest;  // window
};

struct Options {
  std::uint64_t seed = 1;
  std::uint32_t partitions = 1;
  std::uint32_t instances = 1;
  std::uint32_t messages = 60;
  std::uint32_t keys = 4;
  Duration span{60000};    // faults happen in it
  Duration heal{3000000};  // and then everything must end
  std::vector<bool> on;    // by Fault
  BrokerFaults broker;
  EngineConfig engine;
  std::optional<LiveSettings> other;  // with kSettings: what people change to, and back
  Duration retention{0};              // 0: for ever
  std::uint64_t retention_bytes = 0;  // 0: without limit
  StartAt start = StartAt::kEarliest;
  std::uint32_t history = 0;  // messages that are there before the group
  bool one_host = false;      // all processes say the same name

  bool has(Fault f) const { return on[static_cast<std::size_t>(f)]; }

  // The widest of what may be in force at any moment: what is checked from outside does not know which it is.
  std::vector<RetryPolicy> policies(std::uint16_t case_id) const;
  std::optional<GuardBounds> guard_bounds() const;
};

Options draw_options(std::uint64_t seed, const std::vector<Fault>& off);

}  // namespace bartleby::sim
