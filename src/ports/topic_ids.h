// What tells a topic from another one that is made later under its name.
//
// Any thread. A broker whose topics cannot be deleted has no need of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace bartleby {

class TopicIds {
 public:
  virtual ~TopicIds() = default;

  // By topic. No row, or an empty id: it is not there, we may not look at it, or its broker has no ids.
  virtual Result<std::map<std::string, std::string>> topic_ids(const std::vector<std::string>& topics) = 0;
};

}  // namespace bartleby
