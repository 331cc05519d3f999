// Which alerts hold, and what a destination has to be told: pure, decided from what the store says.
//
// A dlq with open letters is a LetterArrived (critical where it is financial); an issue that is new or regressed and
// has open letters is an IssueNew or IssueRegressed. Nothing is remembered of how it came about, so an office that
// starts again tells the same. A destination is told of everything that holds when that has changed and every
// `resend`, and once of each that has ended: again, with growing pauses, until it has taken it. One thread.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "model/issue.h"
#include "office/letters.h"
#include "ports/alerter.h"

namespace bartleby {

constexpr std::size_t kMaxIssueAlerts = 200;  // the latest ones

struct AlertFacts {
  std::vector<DlqState> dlqs;
  std::vector<Issue> issues;  // new and regressed
};

struct AlertKey {
  std::string name;
  AlertTexts labels;

  auto operator<=>(const AlertKey&) const = default;
};
using Alerts = std::map<AlertKey, Alert>;

// What holds; `before` is what held, and keeps its beginning. `keep` is how long it holds without another word.
Alerts alerts_of(const AlertFacts& facts, const Alerts& before, Timestamp now, Duration keep);

// What one destination knows.
class AlertTelling {
 public:
  // Everything that holds and everything that ended; empty: nothing to say now.
  std::vector<Alert> due(const Alerts& holding, Now now) const;
  void told(const Alerts& holding, bool taken, Now now, Duration resend);

 private:
  Alerts known_;  // what it may believe
  Instant next_{};
  Duration pause_{0};  // after a failure
};

}  // namespace bartleby
