// A broker on which transactions may be open, and which can be asked without waiting for their end.
//
// Any thread; blocks up to the broker's own limit. For whoever must know only whether there is something: a process
// that begins after another one's death would otherwise wait until the dead one's transaction is given up.
#pragma once

#include <string>
#include <vector>

#include "ports/broker.h"

namespace bartleby {

class GroupLook {
 public:
  virtual ~GroupLook() = default;

  // What the group has committed by now on all partitions of its topics; what is pending is not looked at.
  virtual Result<std::vector<CommittedOffset>> offsets_by_now(const std::string& group,
                                                              const std::vector<std::string>& topics) = 0;
};

}  // namespace bartleby
