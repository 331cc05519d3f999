// What tests make go wrong. No program does any of this: an embedded broker has no network, so its replies are
// not lost and its members do not freeze, but a test of what stands on the port needs a broker that can.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"

namespace bartleby::embedded {

struct Job;

// What becomes of a member's next write.
enum class WriteFate : std::uint8_t {
  kNotDone,           // it is not written
  kReplyLostDone,     // it is written, and the answer is `kUnknown`
  kReplyLostNotDone,  // it has its offsets and stays open until it is resolved, fenced, or given up
  kLateRequest,       // the same, but some of them are written before that
};

// A write that stays open.
struct HeldWrite {
  std::string transactional_id;
  std::string group;
  std::shared_ptr<Job> job;
  Instant told;      // when its member gives up waiting
  Instant late;      // when the request to end it arrives
  Instant given_up;  // by the broker
  bool was_told = false;
};

}  // namespace bartleby::embedded
