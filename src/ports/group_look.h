// A broker on which transactions may be open, and which can be asked without waiting for their end.
//
// Any thread; blocks up to the broker's own limit. For whoever must know only whether there is something: a process
// that begins after another one's death would otherwise wait until the dead one's transaction is given up.
#pragma once

#include <map>
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

  // The same of single partitions, within a limit. No row: the group has none there, or nobody said so in time.
  virtual std::map<TopicPartition, Offset> committed_within(const std::string& group,
                                                            const std::vector<TopicPartition>& tps, Duration limit) = 0;

  // The groups, ours and others', that have committed something on the topic; believed for a while. An error where not
  // everybody who knows a group has answered.
  virtual Result<std::vector<std::string>> groups_on(const std::string& topic) = 0;
};

}  // namespace bartleby
