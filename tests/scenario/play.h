// Plays a scenario on a stage, through the real pump and engine, and says what happened.
//
// The handler is played: it answers as its script says and keeps its timeout, as every real one does. Bounded: a
// play that does not come to its end is one that went wrong, and `Played::broken` says how. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codec/letter.h"
#include "runtime/pump.h"
#include "tests/scenario/scenario.h"
#include "tests/scenario/stage.h"

namespace bartleby::scenario {

struct Attempt {
  std::string name;
  std::uint32_t number = 0;  // as the engine counts
  Duration began{}, ended{};
  std::optional<Fate> fate;  // absent: it was never answered
};

struct Played {
  std::vector<Attempt> attempts;
  std::map<std::string, Letter> letters;  // by message
  std::map<std::string, Bytes> written;   // values of letters as they lie there
  std::map<std::string, ParkedMessage> parked;
  std::map<std::string, bool> committed;  // the group's offset is past it
  std::vector<Duration> guard_opened, guard_closed;
  Timestamp begin{};                              // the calendar at 0s
  std::multimap<Duration, std::string> timeline;  // everything, in words
  std::string broken;                             // empty: it was played to its end

  std::string text() const;  // the timeline, a line each
};

Played play(const Scenario& scenario, Stage& stage);

// What did not come as expected, a line each with FILE:LINE; empty: everything did.
std::string unmet(const Scenario& scenario, const Played& played);

}  // namespace bartleby::scenario
