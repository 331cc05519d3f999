// A broker and its clock, for one scenario: the simulated broker or the embedded one on a file.
//
// Time moves only while a member polls: on the simulated broker to the next thing that happens, on the embedded one
// when it has nothing to do. Nothing sleeps. One thread.
#pragma once

#include <memory>

#include "ports/broker.h"

namespace bartleby::scenario {

class Stage {
 public:
  virtual ~Stage() = default;
  virtual Broker& broker() = 0;
  virtual Now now() const = 0;
};

std::unique_ptr<Stage> simulated_stage();
std::unique_ptr<Stage> embedded_stage();

}  // namespace bartleby::scenario
