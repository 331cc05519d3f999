// A broker that keeps its log itself, and so can wait with deleting: for whoever must see every record of a topic.
//
// Any thread. What follows the offset stays for as long again, and as much again, as the topic's retention says; then
// it goes all the same, for a disk has an end. Nothing of this is kept over a restart: say it again.
#pragma once

#include "model/record.h"

namespace bartleby {

class LogKeeper {
 public:
  virtual ~LogKeeper() = default;

  // Everything below `offset` was seen.
  virtual void keep_from(const TopicPartition& tp, Offset offset) = 0;
};

}  // namespace bartleby
