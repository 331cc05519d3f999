// The answer table of the push protocol: what a reply means for the message. A pure function.
//
// A status alone never loses a message: only a 2xx (or an explicit outcome) finishes it, only the codes of the list
// `reject` (or an explicit outcome) give it up, everything else is tried again with the kind that fits. An outcome
// that is unknown, or given twice with different values, is a fault of the endpoint (kind `config`), not a guess.
#pragma once

#include <vector>

#include "adapters/handler/http/http_reply.h"
#include "model/outcome.h"

namespace bartleby {

struct PushVerdict {
  bool pending = false;  // not finished yet; nothing else counts then
  Decision decision;
};

PushVerdict push_verdict(const HttpReply& reply, const std::vector<int>& reject, Timestamp now);

// `Retry-After`: seconds or an HTTP date; nullopt where it is neither. Never negative, at most a year.
std::optional<Duration> retry_after(std::string_view text, Timestamp now);

}  // namespace bartleby
