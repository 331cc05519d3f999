// A sink in memory, between the office and a seed's faults.
//
// It keeps the first of each life that it was given, as the real ones do: writing one again changes nothing. A call may
// fail with some of its letters written, be done and answered with an error, or end the process before, within or after
// it. Some letters it refuses, until it is healed or by chance takes them. `given` is told of every life. One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ports/sink.h"
#include "tests/sim/coverage.h"
#include "tests/sim/office_faults.h"

namespace bartleby::sim {

inline const std::string kOfficeSink = "forensics";

class SimSink : public Sink {
 public:
  using Life = std::pair<std::string, std::uint32_t>;  // the letter's id and how often it was replayed before

  SimSink(OfficeFate& fate, Random& random, OfficeCoverage& coverage)
      : fate_(fate), random_(random), coverage_(coverage) {}

  std::function<void(const SinkLetter&)> given;
  std::uint32_t refuses = 0;  // of 100 letters
  const std::map<Life, LetterPayload>& lives() const { return lives_; }
  // Whether it has answered and the store has done nothing since.
  bool answered = false;

  Result<void> prepare() override {
    return fate_.asked([]() -> Result<void> { return {}; });
  }

  Result<std::vector<RefusedLetter>> write(std::span<const SinkLetter> letters) override {
    const CallFate fate = fate_.next();
    const bool whole = fate != CallFate::kFails && fate != CallFate::kCrashWithin;
    const std::size_t most = whole ? letters.size() : random_.below(letters.size());
    std::vector<RefusedLetter> refused;
    for (std::size_t i = 0; i < most; ++i)
      if (!take(letters[i])) refused.push_back({i, "not like this"});
    if (fate == CallFate::kCrashWithin || fate == CallFate::kCrashAfter) throw OfficeCrash{};
    if (fate == CallFate::kFails) coverage_.saw(OfficeSeen::kSinkFailed);
    if (fate == CallFate::kReplyLost) coverage_.saw(OfficeSeen::kSinkReplyLost);
    if (fate != CallFate::kNormal) return did_not_answer();
    answered = true;
    return refused;
  }

 private:
  bool take(const SinkLetter& one) {
    if (given) given(one);
    const Life life{one.letter.id, one.letter.replays};
    if (!lives_.contains(life) && random_.chance(refuses)) {
      coverage_.saw(OfficeSeen::kSinkRefused);
      refused_.insert(life);
      return false;
    }
    if (refused_.erase(life) > 0) coverage_.saw(OfficeSeen::kSinkTookRefused);
    lives_.try_emplace(life, one.payload);
    return true;
  }

  OfficeFate& fate_;
  Random& random_;
  OfficeCoverage& coverage_;
  std::map<Life, LetterPayload> lives_;
  std::set<Life> refused_;
};

}  // namespace bartleby::sim
