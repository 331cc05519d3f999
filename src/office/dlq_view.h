// The dlqs as people see them: letters by state, how far intake has come against what the broker holds, and what the
// topic's retention deletes next.
//
// Reads store and broker, any thread. A topic that the broker does not have any more has no lag. What a limit of bytes
// will delete depends on what comes, so only a limit of time is foreseen.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "office/letters.h"
#include "ports/broker.h"

namespace bartleby {

struct DlqView {
  DlqState state;
  std::int32_t partitions = 0;             // 0: the topic is gone
  std::int64_t lag = 0;                    // records that are not taken in yet
  std::int64_t missed = 0;                 // records that were deleted before they were
  std::int64_t expiring = 0;               // records that are not taken in yet and are too old within a day
  std::optional<Timestamp> next_expiry{};  // when the oldest record in the log is
  std::string dialect;                     // of its newest letter; empty: there is none
};

Result<std::vector<DlqView>> dlq_views(Store& store, Broker& broker, Timestamp now);

// Up to where intake has taken in each partition of a dlq; of one that it has not discovered, nothing.
Result<std::map<Partition, Offset>> intake_positions(Connection& connection, std::string_view dlq);

// A line in the log for each dlq with records that are about to go unseen.
void warn_of_expiry(Store& store, Broker& broker, Log& log, Timestamp now);

}  // namespace bartleby
