// The dlqs as people see them: letters by state, and how far intake has come against what the broker holds.
// Reads store and broker, any thread. A topic that the broker does not have any more has no lag.
#pragma once

#include <vector>

#include "office/letters.h"
#include "ports/broker.h"

namespace bartleby {

struct DlqView {
  DlqState state;
  std::int32_t partitions = 0;  // 0: the topic is gone
  std::int64_t lag = 0;         // records that are not taken in yet
  std::int64_t missed = 0;      // records that were deleted before they were
};

Result<std::vector<DlqView>> dlq_views(Store& store, Broker& broker);

}  // namespace bartleby
