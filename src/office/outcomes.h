// Outcomes of replays, from the records that workers write beside their commits: letters are resolved by them, once.
//
// Letters, items and the position in `bartleby.outcomes` change in one transaction, and the position is compared before
// it is moved: a batch that is given twice changes nothing. Nothing is kept in memory. One thread.
#pragma once

#include <cstdint>

#include "ports/broker.h"
#include "ports/store.h"

namespace bartleby {

struct OutcomesTaken {
  std::size_t records = 0;
  std::size_t resolved = 0;   // letters
  std::size_t came_back = 0;  // said to be dead again; the letter itself comes by its dlq
  std::size_t ignored = 0;    // of a life that is over, or not readable
};

// One round over all partitions, at most `records` of each. A topic that does not exist has no outcomes.
Result<OutcomesTaken> take_outcomes(Store& store, Broker& broker, std::size_t records, Timestamp now);

}  // namespace bartleby
