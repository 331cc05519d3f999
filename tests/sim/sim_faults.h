// What may go wrong at the simulated broker, and how slow it is. Everything is off by default: then no
// message takes any time, nothing fails, and a run is the same for every seed but for the order of what
// happens at one instant. May be changed while the simulation runs.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "tests/sim/scheduler.h"

namespace bartleby::sim {

struct BrokerFaults {
  // Of every message, each way.
  Duration latency_min{0};
  Duration latency_max{0};
  // Between the end of a transaction and its marker in each partition it touched; each draws its own.
  Duration marker_delay_max{0};
  // Records looked at for one slice of a fetch or a range read.
  std::uint32_t slice_min = 500;
  std::uint32_t slice_max = 500;

  Duration client_timeout{5000};        // a client gives up waiting for the end of a transaction
  Duration transaction_timeout{10000};  // the broker gives up on a transaction that is not ended
  Duration rebalance_timeout{60000};    // an owner who does not release is expelled
  Duration stall_timeout{3000};         // a record for a stalled topic is refused

  std::size_t metadata_limit = 0;  // of a commit, in bytes; 0: none

  // Chances per mille. Of a write:
  std::uint32_t p_not_done = 0;             // fails at some stage and is taken back
  std::uint32_t p_reply_lost_done = 0;      // is committed, and the client never hears of it
  std::uint32_t p_reply_lost_not_done = 0;  // the request to commit is lost; the transaction stays pending
  std::uint32_t p_late_request = 0;         // the request to commit arrives when the client has given up
  std::uint32_t p_generation_bump = 0;      // the group's generation moves while the write is on its way
  // Of a read of offsets, of a log range, of a slice of a range; of the answer to `resolve`.
  std::uint32_t p_read_fail = 0;
  // Of a slice of a range, and of a log range: who answers has fallen behind and knows an earlier end.
  bool tells_log = true;     // which log it is; brokers before 2.8 do not
  bool short_reads = false;  // of topics that are not compacted: nothing lies where one looks
  std::uint32_t p_stale_end = 0;
  // Of `fence_writer`, and of the init in `resolve`. Half of the failed ones have taken effect.
  std::uint32_t p_fence_fail = 0;
  // Of a partition that is revoked: what its fetch had read already is handed out behind that.
  std::uint32_t p_late_records = 0;
  // A writer whose transaction is decided, but not ended everywhere, goes on under another id.
  std::uint32_t p_other_id = 0;
  // Of `Broker::produce`. Half of the failed ones have taken effect.
  std::uint32_t p_produce_fail = 0;
  // Of `commit_first`, likewise.
  std::uint32_t p_first_fail = 0;

  Duration latency(Random& r) const { return draw(r, latency_min, latency_max); }
  Duration marker_delay(Random& r) const { return draw(r, Duration(0), marker_delay_max); }
  std::uint32_t slice(Random& r) const {
    if (slice_min >= slice_max) return slice_max;
    return static_cast<std::uint32_t>(r.between(slice_min, slice_max));
  }
  static bool happens(Random& r, std::uint32_t per_mille) { return per_mille > 0 && r.below(1000) < per_mille; }

 private:
  static Duration draw(Random& r, Duration low, Duration high) {
    return low >= high ? low : Duration(r.between(low.count(), high.count()));
  }
};

// What becomes of one write; drawn from the chances, or set by a test.
enum class WriteFate : std::uint8_t { kNormal, kNotDone, kReplyLostDone, kReplyLostNotDone, kLateRequest };

}  // namespace bartleby::sim
