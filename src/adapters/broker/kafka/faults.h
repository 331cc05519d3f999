// What tests make go wrong with a write, on the client's side of a real broker: a reply that nobody reads, a request
// that is not sent, or sent late. No program does any of this.
#pragma once

#include <cstdint>

namespace bartleby::kafka {

// What becomes of a member's next write.
enum class WriteFate : std::uint8_t {
  kNotDone,           // it is aborted before its end
  kReplyLostDone,     // it is committed, and the answer is `kUnknown`
  kReplyLostNotDone,  // its transaction stays open
  kLateRequest,       // the same; its end is sent when it is resolved: every other one before that, the others after
};

}  // namespace bartleby::kafka
